//! What a trial calls, how, and for how long: its settings.

use std::time::Duration;

use rpcgauge_trial::{Address, ConnectionUse, Keepalive, MAX_IN_FLIGHT, Schedule, Stop, Timing};
use rpcgauge_wire::{Head, Limits, PrepareError, Protocol, grpc};

use crate::error::LoadError;
use crate::tls::Tls;
use crate::warmup::WarmupBounds;

/// A server and how to call it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Where it listens.
    pub address: Address,
    /// The version of HTTP of every connection. gRPC needs HTTP/2.
    pub protocol: Protocol,
    /// TLS settings; `None` for plaintext. The version of HTTP is negotiated by ALPN.
    pub tls: Option<Tls>,
}

/// What kind of call a request is: how its body is framed and how a response says that it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallStyle {
    /// The body is the message; a status that is not [`Expect::status`] is a failure.
    Http {
        /// The method, as in `POST`.
        method: String,
    },
    /// A unary gRPC call. `content-type` and `te` are set, and each message gets its prefix here.
    Grpc {
        /// The content-subtype of the messages (`proto`, `json`, ...); `None` is plain
        /// `application/grpc`.
        subtype: Option<String>,
    },
}

/// The head that all calls of a trial share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How the call is made.
    pub style: CallStyle,
    /// The path with its query; for gRPC `/pkg.Service/Method`.
    pub path: String,
    /// `HOST` or `HOST:PORT` as sent to the server; `localhost` for a Unix socket.
    pub authority: String,
    /// Further fields, such as `content-type`, `accept-encoding`, `grpc-encoding` and
    /// `grpc-timeout`. Names may be in any case.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// Checks and encodes the head. `close` says that the connection ends with the call; `tls` decides the
    /// URI's scheme.
    pub(crate) fn prepare(&self, close: bool, tls: bool) -> Result<Head, PrepareError> {
        let builder = match &self.style {
            CallStyle::Http { method } => Head::builder(method, &self.path, &self.authority),
            CallStyle::Grpc { subtype } => {
                for (name, value) in &self.headers {
                    grpc::check_metadata(name, value)?;
                }
                grpc::head(&self.path, &self.authority, subtype.as_deref())
            }
        };
        let builder = builder
            .close(close)
            .scheme(if tls { "https" } else { "http" });
        self.headers
            .iter()
            .fold(builder, |builder, (name, value)| builder.field(name, value))
            .build()
    }
}

/// What a response must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    /// The HTTP status that it must have; `None` accepts 200 to 299. gRPC calls ignore this.
    pub status: Option<u16>,
    /// The media type of the response (parameters are ignored); `None` accepts any. gRPC calls ignore this:
    /// they check their own content type, with [`CallStyle::Grpc`]'s subtype.
    pub content_type: Option<String>,
    /// The `content-encoding` (HTTP) or `grpc-encoding` (gRPC) that the response may have. A response may
    /// always be uncompressed; if an encoding is named here, [`crate::Measurement::uncompressed_responses`]
    /// counts those.
    pub encoding: Option<String>,
    /// The maximum size of a response's message as carried, bytes. A larger one fails its call.
    pub max_response_bytes: u32,
}

impl Default for Expect {
    /// Status 200 to 299, any content type, no encoding, and responses of up to 64 MiB: a bound far above
    /// what a call should carry.
    fn default() -> Self {
        Expect {
            status: None,
            content_type: None,
            encoding: None,
            max_response_bytes: 64 << 20,
        }
    }
}

/// How one variant is called and timed.
#[derive(Debug, Clone)]
pub struct Trial {
    /// What is called.
    pub endpoint: Endpoint,
    /// The head of every request.
    pub request: Request,
    /// What its responses must be like.
    pub expect: Expect,
    /// When calls are due.
    pub schedule: Schedule,
    /// The seed of random arrivals, which makes them repeatable.
    pub seed: u64,
    /// Connections open at the same time, 1 to [`MAX_IN_FLIGHT`]; those that an HTTP/2 server is about to end
    /// (GOAWAY) may continue in addition until their calls have ended. A closed loop with
    /// [`ConnectionUse::PerCall`] has one for each call in flight instead.
    pub connections: u32,
    /// How long a connection is used.
    pub connection_use: ConnectionUse,
    /// How silent connections are probed and given up; `None` leaves that to the deadlines of their calls.
    pub keepalive: Option<Keepalive>,
    /// Whether stages are timed.
    pub timing: Timing,
    /// Whether slow calls are kept, which costs each call a little.
    pub keeps_slow: bool,
    /// The bounds of the warm-up; `None` measures from the first call.
    pub warmup: Option<WarmupBounds>,
    /// The maximum number of requests sent, including the warm-up's and retries; `None` for no bound. The
    /// trial is complete once they are used up.
    pub max_requests: Option<u64>,
    /// When the measured part ends.
    pub stop: Stop,
    /// A call that has not ended this long after it was due has failed.
    pub deadline: Duration,
    /// How long calls in flight may still end after the last one was started.
    pub drain: Duration,
    /// The trial ends early once all calls have failed for this long, more than 0: at the first failure that
    /// comes this long after the first failed call. Otherwise a server that answers no call would hold the
    /// trial for one deadline per call. The warm-up and the measured part each get this time; between them, a
    /// closed loop's calls in flight have this time to end.
    pub patience: Duration,
    /// How much a server may make a connection hold. The number of calls in flight on a connection does not
    /// depend on this, but on the schedule and on what the server allows.
    pub limits: Limits,
}

impl Trial {
    /// Returns a trial of one call on a kept connection, without a warm-up, with a deadline of 10 s. Longer trials start
    /// from it.
    pub fn new(endpoint: Endpoint, request: Request) -> Trial {
        let bound = Duration::from_secs(10);
        Trial {
            endpoint,
            request,
            expect: Expect::default(),
            schedule: Schedule::Closed { in_flight: 1 },
            seed: 0,
            connections: 1,
            connection_use: ConnectionUse::Reuse,
            keepalive: None,
            timing: Timing::Load,
            keeps_slow: false,
            warmup: None,
            max_requests: None,
            stop: Stop {
                calls: Some(1),
                time_ms: None,
            },
            deadline: bound,
            drain: bound,
            patience: bound,
            limits: Limits::default(),
        }
    }

    /// Refuses settings that cannot be carried out.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let refuse = |what, allowed| Err(LoadError::setting(what, allowed));
        if !(1..=MAX_IN_FLIGHT).contains(&self.connections) {
            return refuse("the number of connections", "1 to 65,536");
        }
        let endless = self.stop.calls.is_none() && self.stop.time_ms.is_none();
        if endless && self.schedule.lasts().is_none() {
            return refuse("the end of the trial", "a number of calls, a time, or both");
        }
        if self.stop.calls == Some(0) || self.stop.time_ms == Some(0) {
            return refuse("the end of the trial", "more than 0 calls and 0 ms");
        }
        if self.deadline.is_zero() {
            return refuse("the deadline", "more than 0");
        }
        if self.patience.is_zero() {
            return refuse("the patience", "more than 0");
        }
        let never = |keepalive: Keepalive| keepalive.time_ms == 0 || keepalive.timeout_ms == 0;
        if self.keepalive.is_some_and(never) {
            return refuse("the times of the keep-alive", "more than 0");
        }
        let grpc = matches!(self.request.style, CallStyle::Grpc { .. });
        if grpc && self.endpoint.protocol != Protocol::Http2 {
            return refuse("the protocol of a gRPC call", "HTTP/2");
        }
        if self.timing == Timing::Stages && self.schedule != (Schedule::Closed { in_flight: 1 }) {
            return refuse("stage timing", "a closed loop with one call in flight");
        }
        if self.timing == Timing::Stages && self.connections != 1 {
            return refuse("the number of connections of a stage trial", "1");
        }
        if self.warmup.is_some() && matches!(self.schedule, Schedule::Ramp { .. }) {
            return refuse(
                "the warm-up of a ramp",
                "absent: a first part can be the warm-up",
            );
        }
        Ok(self.schedule.check()?)
    }
}
