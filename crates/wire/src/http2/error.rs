//! HTTP/2 error codes, and the rules of HTTP/2 that a server can break.

/// An error code of RST_STREAM and GOAWAY (RFC 9113 §7). Unknown codes are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Graceful end.
    pub const NO_ERROR: ErrorCode = ErrorCode(0x0);
    /// Unspecific protocol error.
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(0x1);
    /// Unexpected internal error.
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(0x2);
    /// Flow control was not kept.
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(0x3);
    /// SETTINGS were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: ErrorCode = ErrorCode(0x4);
    /// A frame came on a half-closed stream.
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(0x5);
    /// A frame has a wrong size.
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(0x6);
    /// The stream was not processed.
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(0x7);
    /// The stream is no longer needed.
    pub const CANCEL: ErrorCode = ErrorCode(0x8);
    /// The field compression context is lost.
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(0x9);
    /// A tunnel's connection was reset.
    pub const CONNECT_ERROR: ErrorCode = ErrorCode(0xa);
    /// The peer causes too much load.
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(0xb);
    /// The transport is not secure enough.
    pub const INADEQUATE_SECURITY: ErrorCode = ErrorCode(0xc);
    /// HTTP/1.1 is wanted instead.
    pub const HTTP_1_1_REQUIRED: ErrorCode = ErrorCode(0xd);

    /// The code's name in RFC 9113 §7, when it has one.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        NAMES.get(self.0 as usize).copied()
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

/// A rule of RFC 9113 that the server broke. Each message names the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Http2Violation {
    /// The first bytes are no SETTINGS frame.
    #[error("the server's first frame is not SETTINGS (RFC 9113 §3.4)")]
    Preface,
    /// The first bytes are an HTTP/1.x answer.
    #[error("the server speaks HTTP/1.x only, where HTTP/2 is needed (RFC 9113 §3.4)")]
    Http1Answer,
}
