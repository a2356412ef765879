//! Why a call or a connection failed.

use crate::http1;
use crate::http2::{self, ErrorCode, hpack};
use crate::websocket;

/// How much of a response had arrived when the connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Before the first byte of the response.
    BeforeHead,
    /// Inside the head.
    InHead,
    /// After the head, but before the end of the body or trailers.
    InBody,
    /// After a WebSocket's opening handshake, but before its closing handshake.
    InWebSocket,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::BeforeHead => "before the response",
            Stage::InHead => "in the middle of the response head",
            Stage::InBody => "in the middle of the response body",
            Stage::InWebSocket => "without the WebSocket's closing handshake",
        })
    }
}

/// Why a call ended without a complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum Failure {
    #[error("the connection closed {stage}")]
    Closed { stage: Stage },
    #[error("the server reset the call with {code}")]
    Reset { code: ErrorCode },
    /// The server sent GOAWAY and reported that it did not process this call.
    #[error("the server is going away ({code}) and did not process the call")]
    GoneAway { code: ErrorCode },
    #[error("the server violated the protocol: {0}")]
    Violation(#[from] Violation),
    #[error("the response is over a limit: {0}")]
    Limit(#[from] LimitExceeded),
}

impl Failure {
    /// Whether the server reported that it did not process the call, which makes a retry safe (RFC
    /// 9113 §8.7): it refused the stream, or its GOAWAY names a lower last stream.
    pub fn not_processed(&self) -> bool {
        matches!(
            self,
            Failure::GoneAway { .. }
                | Failure::Reset {
                    code: ErrorCode::REFUSED_STREAM
                }
        )
    }
}

/// A protocol rule that the server violated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A rule of HTTP/1.1.
    #[error(transparent)]
    Http1(#[from] http1::Http1Violation),
    /// A rule of HTTP/2.
    #[error(transparent)]
    Http2(#[from] http2::Http2Violation),
    /// A rule of HPACK.
    #[error(transparent)]
    Hpack(#[from] hpack::HpackError),
    /// A rule of WebSocket.
    #[error(transparent)]
    WebSocket(#[from] websocket::WebSocketViolation),
}

impl Violation {
    /// Whether the server does not speak the connection's version of HTTP: its first bytes belong
    /// to the other version, or its first HTTP/2 frame is not SETTINGS.
    pub fn is_other_protocol(&self) -> bool {
        use http1::Http1Violation;
        use http2::Http2Violation;
        matches!(
            self,
            Violation::Http1(Http1Violation::Http2Response)
                | Violation::Http2(Http2Violation::Http1Response | Http2Violation::Preface)
        )
    }
}

/// A limit of [`crate::Limits`], or of [`crate::TextDeframer`], that a response exceeded. Each message
/// names the field or parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum LimitExceeded {
    #[error("a head of more than {0} bytes (max_head_bytes)")]
    HeadBytes(usize),
    #[error("a field list of more than {0} bytes (max_header_list_bytes)")]
    HeaderListBytes(u32),
    #[error("more than {0} fields (max_fields)")]
    Fields(usize),
    #[error("more than {0} interim responses (max_interim_responses)")]
    InterimResponses(u32),
    #[error("a body of more than {0} bytes (max_body_bytes)")]
    BodyBytes(u64),
    #[error("a message of more than {0} bytes (max_message_bytes)")]
    MessageBytes(u32),
    #[error("a chunk size line of more than {0} bytes (max_chunk_line_bytes)")]
    ChunkLineBytes(usize),
    #[error("more than {0} CONTINUATION frames (max_continuations)")]
    Continuations(u32),
    #[error("more than {0} bytes of replies that the server does not read (max_queued_replies)")]
    QueuedReplies(usize),
}

impl LimitExceeded {
    /// Whether the server flooded the client with data that no response needs, rather than sent a
    /// larger response than this client accepts.
    pub fn is_flood(&self) -> bool {
        matches!(
            self,
            LimitExceeded::InterimResponses(_)
                | LimitExceeded::ChunkLineBytes(_)
                | LimitExceeded::Continuations(_)
                | LimitExceeded::QueuedReplies(_)
        )
    }
}

/// Why a connection accepts no more calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum Closing {
    /// `Connection: close` from either side, an HTTP/1.0 response without keep-alive, or a body
    /// whose end is the end of the connection.
    #[error("the server closes the connection after this response")]
    ServerCloses,
    #[error("the server is going away ({code})")]
    GoAway { code: ErrorCode },
    /// The transport ended or failed.
    #[error("the connection ended")]
    Ended,
    /// The server violated the protocol or a limit in a way that ends the connection.
    #[error("{0}")]
    Failed(Failure),
    /// An HTTP/1.1 response was complete before its request was fully sent. The server would read
    /// the next request as the rest of this one.
    #[error("the connection cannot be reused: the response came before the whole request was sent")]
    ClientCloses,
}

/// Why a call was not started. Nothing was queued for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum StartError {
    #[error("the connection has reached its limit of calls in flight")]
    Full,
    #[error("the connection accepts no more calls")]
    Closing,
    /// The request's fields exceed the server's SETTINGS_MAX_HEADER_LIST_SIZE.
    #[error("the request's fields take {bytes} bytes, but the server accepts only {accepted}")]
    HeadTooLarge {
        /// Size of the field list as defined in RFC 9113 §6.5.2.
        bytes: u64,
        /// The server's limit.
        accepted: u32,
    },
}

/// Why a message was not accepted. Nothing was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum SendError {
    /// The server may end an exchange before the client has sent its last message.
    #[error("the exchange has ended")]
    Ended,
    #[error("the exchange's last message was sent before")]
    AfterLast,
    /// See [`crate::Client::is_waiting`].
    #[error("an earlier message of the exchange is still waiting to be sent")]
    Waiting,
}

/// Why a request's head is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum PrepareError {
    #[error("method {0:?} is not a token: use letters, as in POST")]
    Method(String),
    #[error("method CONNECT opens a tunnel, which has no response to measure: use another")]
    Tunnel,
    /// The path does not start with `/`, or contains spaces, `#` or control characters.
    #[error("path {0:?} must start with / and must not contain spaces, # or control characters")]
    Path(String),
    /// The authority is empty or contains characters that are not allowed in a host and port.
    #[error("authority {0:?} must be HOST or HOST:PORT")]
    Authority(String),
    #[error("scheme {0:?} must be http or https")]
    Scheme(String),
    #[error("header name {0:?} is not a token: use letters, digits and -")]
    FieldName(String),
    #[error("header {0:?} is set by the protocol itself: leave it out")]
    ReservedField(String),
    /// A field's value contains control characters, or is surrounded by spaces.
    #[error("header {0:?} has a value with control characters or spaces around it")]
    FieldValue(String),
    #[error("metadata {0:?} is not base64, but its name ends in -bin: encode its value")]
    BinaryField(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_differs_from_a_large_response() {
        let table = [
            (LimitExceeded::HeadBytes(1), false),
            (LimitExceeded::HeaderListBytes(1), false),
            (LimitExceeded::Fields(1), false),
            (LimitExceeded::BodyBytes(1), false),
            (LimitExceeded::MessageBytes(1), false),
            (LimitExceeded::InterimResponses(1), true),
            (LimitExceeded::ChunkLineBytes(1), true),
            (LimitExceeded::Continuations(1), true),
            (LimitExceeded::QueuedReplies(1), true),
        ];
        for (limit, is_flood) in table {
            assert_eq!(limit.is_flood(), is_flood, "{limit}");
        }
    }
}
