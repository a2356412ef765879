//! How long a client may take.

use std::time::Duration;

/// How long a client may take before its connection or its call is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// A new connection has this long to bring its first request.
    pub first_request: Duration,
    /// An HTTP/1.1 connection has this long to bring each request's head, idle time included.
    pub request_head: Duration,
    /// A request has this long to bring its body after its head. A gRPC call's own `grpc-timeout`
    /// can only shorten this.
    pub request_body: Duration,
}

impl Timeouts {
    /// The defaults: long enough for a busy machine, and for a connection that is kept between two
    /// calls a minute.
    pub const DEFAULT: Self = Self {
        first_request: Duration::from_secs(30),
        request_head: Duration::from_secs(120),
        request_body: Duration::from_secs(30),
    };
}

impl Default for Timeouts {
    fn default() -> Self {
        Self::DEFAULT
    }
}
