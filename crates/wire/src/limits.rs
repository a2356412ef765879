//! Limits on the memory and work that a server can cost the client.

/// Bounds on one connection. If a server exceeds one, its call (or the connection) fails with
/// [`crate::Failure::Limit`]. Nothing is truncated silently.
///
/// The HTTP/2 values that are sent to the server are clamped to the range that RFC 9113 allows:
/// windows up to 2^31-1 (the connection's at least 65,535), frames of 16,384 to 2^24-1 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one HTTP/1.1 response head or trailer section, and of one HTTP/2 field block on
    /// the wire (HEADERS with its CONTINUATION frames). Default 65,536.
    pub max_head_bytes: usize,
    /// Bytes of one decoded HTTP/2 field list, each field counted as name + value + 32 (RFC 9113
    /// §6.5.2). It is sent to the server as SETTINGS_MAX_HEADER_LIST_SIZE. Default 65,536.
    pub max_header_list_bytes: u32,
    /// Fields in one response head or trailer section. Default 256.
    pub max_fields: usize,
    /// Interim (1xx) responses before the final one. Default 16.
    pub max_interim_responses: u32,
    /// Bytes of one response body after transfer decoding, except in an exchange of messages
    /// ([`crate::Client::open`]). Default 1 GiB.
    pub max_body_bytes: u64,
    /// Bytes of one HTTP/1.1 chunk size line, with its extensions. Default 256.
    pub max_chunk_line_bytes: usize,
    /// CONTINUATION frames after one HEADERS frame. Default 32.
    pub max_continuations: u32,
    /// Bytes of queued replies (PING and SETTINGS acknowledgements, RST_STREAM, WINDOW_UPDATE) that
    /// the server has not read yet. Default 1 MiB.
    pub max_queued_replies: usize,

    /// Maximum HTTP/2 calls in flight, even if the server allows more. Default 1,000.
    pub max_calls_in_flight: u32,
    /// Maximum HTTP/2 calls in flight before the server's SETTINGS arrive. Default 1, so that no
    /// call is refused only because the server's limit is still unknown.
    pub max_calls_before_settings: u32,
    /// Receive window of each HTTP/2 stream, in bytes (SETTINGS_INITIAL_WINDOW_SIZE), and of an
    /// HTTP/1.1 exchange. Default 16 MiB. The response to [`crate::Client::start`] is consumed as
    /// soon as it is read, so it never needs to slow a server down.
    pub stream_window: u32,
    /// Receive window of the whole HTTP/2 connection, in bytes. Default 64 MiB.
    pub connection_window: u32,
    /// Maximum HTTP/2 frame payload that the server may send (SETTINGS_MAX_FRAME_SIZE). Default
    /// 16,384, as in the RFC.
    pub max_frame_size: u32,
    /// Size of the HPACK table for received fields (SETTINGS_HEADER_TABLE_SIZE). Default 4,096, as
    /// in the RFC.
    pub header_table_size: u32,
    /// Size of the HPACK table for sent fields, reduced to what the server allows. Default 4,096.
    pub encoder_table_size: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_head_bytes: 64 * 1024,
            max_header_list_bytes: 64 * 1024,
            max_fields: 256,
            max_interim_responses: 16,
            max_body_bytes: 1 << 30,
            max_chunk_line_bytes: 256,
            max_continuations: 32,
            max_queued_replies: 1 << 20,
            max_calls_in_flight: 1000,
            max_calls_before_settings: 1,
            stream_window: 16 << 20,
            connection_window: 64 << 20,
            max_frame_size: 16_384,
            header_table_size: 4096,
            encoder_table_size: 4096,
        }
    }
}
