//! The settings of a trial: what it calls, how, and for how long.

use std::sync::Arc;
use std::time::Duration;

use rpcgauge_trial::{
    Address, ConnectionUse, DeadlineFrom, Keepalive, MAX_IN_FLIGHT, MAX_MS, MixOrder, Pace,
    Schedule, Stop, StreamForm, Streaming, Timing, is_rate,
};
use rpcgauge_wire::{Head, Limits, PrepareError, Protocol, grpc, websocket};

use crate::bodies::PairBy;
use crate::demand::Demand;
use crate::error::LoadError;
use crate::tls::Tls;
use crate::warmup::WarmupBounds;

/// A server and how to call it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The address on which the server listens.
    pub address: Address,
    /// More addresses of the server. If there are any, connections are opened to all addresses in turn, and a
    /// connection that is reopened keeps its address.
    pub more_addresses: Vec<Address>,
    /// The HTTP version of every connection. gRPC requires HTTP/2.
    pub protocol: Protocol,
    /// TLS settings; `None` for plaintext. The HTTP version is negotiated by ALPN.
    pub tls: Option<Tls>,
}

impl Endpoint {
    /// The address of the connection with this index.
    pub(crate) fn address_of(&self, connection: usize) -> &Address {
        match connection % (1 + self.more_addresses.len()) {
            0 => &self.address,
            other => &self.more_addresses[other - 1],
        }
    }
}

/// The kind of a call: how its body is framed, and how a response indicates failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallStyle {
    /// The body is the message. A status other than [`Expect::status`] is a failure.
    Http {
        /// The method, for example `POST`.
        method: String,
    },
    /// A gRPC call. `content-type` and `te` are set, and each message is given its prefix here.
    Grpc {
        /// The content-subtype of the messages (`proto`, `json`, ...). `None` means plain `application/grpc`.
        subtype: Option<String>,
    },
    /// A WebSocket, which the call opens and closes. Each body is one of its messages: a text or, if it is not UTF-8,
    /// binary.
    WebSocket,
}

impl CallStyle {
    /// Whether a call can stream in this form.
    fn carries(&self, form: StreamForm) -> bool {
        match self {
            CallStyle::Http { .. } => matches!(form, StreamForm::Ndjson | StreamForm::Sse),
            CallStyle::Grpc { .. } => form.is_grpc(),
            CallStyle::WebSocket => form == StreamForm::Bidirectional,
        }
    }
}

/// The head of a trial's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The kind of call.
    pub style: CallStyle,
    /// The path with its query; for gRPC, `/pkg.Service/Method`.
    pub path: String,
    /// `HOST` or `HOST:PORT` as sent to the server; `localhost` for a Unix socket.
    pub authority: String,
    /// Additional fields, such as `content-type`, `accept-encoding`, `grpc-encoding` and `grpc-timeout`.
    /// Names are not case-sensitive.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// Checks and encodes the head with `fields` in addition. `close` indicates whether the connection is closed
    /// after the call. `tls` determines the URI's scheme.
    fn prepare(
        &self,
        fields: &[(String, String)],
        close: bool,
        tls: bool,
    ) -> Result<Head, PrepareError> {
        let headers = self.headers.iter().chain(fields);
        let builder = match &self.style {
            CallStyle::Http { method } => Head::builder(method, &self.path, &self.authority),
            CallStyle::Grpc { subtype } => {
                for (name, value) in headers.clone() {
                    grpc::check_metadata(name, value)?;
                }
                grpc::head(&self.path, &self.authority, subtype.as_deref())
            }
            CallStyle::WebSocket => websocket::head(&self.path, &self.authority),
        };
        let builder = builder
            .close(close)
            .scheme(if tls { "https" } else { "http" });
        headers
            .fold(builder, |builder, (name, value)| builder.field(name, value))
            .build()
    }
}

/// The requirements for a successful response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    /// The required HTTP status; `None` accepts 200 to 299. Ignored for gRPC calls and WebSockets.
    pub status: Option<u16>,
    /// The required media type (parameters are ignored); `None` accepts any. Ignored for gRPC calls, which
    /// check their own content type with [`CallStyle::Grpc`]'s subtype, and for WebSockets, which have none.
    pub content_type: Option<String>,
    /// The `content-encoding` (HTTP) or `grpc-encoding` (gRPC) that the response may use. A response may
    /// always be uncompressed. If an encoding is set here, [`rpcgauge_trial::TrialFigures::uncompressed_responses`]
    /// counts uncompressed ones.
    pub encoding: Option<String>,
    /// The required number of messages, if the server streams; `None` accepts any.
    pub messages: Option<u64>,
    /// Whether a streaming call fails if the server ends it before all of its messages are sent.
    pub all_sent: bool,
    /// Maximum size of a response's message as carried, bytes. A larger one fails its call.
    pub max_response_bytes: u32,
}

impl Default for Expect {
    /// Status 200 to 299, any content type, no encoding, and responses of up to 64 MiB, a bound far above
    /// what a call should carry.
    fn default() -> Self {
        Expect {
            status: None,
            content_type: None,
            encoding: None,
            messages: None,
            all_sent: false,
            max_response_bytes: 64 << 20,
        }
    }
}

/// One of the calls that a trial mixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixCall {
    /// Its name, for the figures.
    pub name: String,
    /// Its share of the calls is its weight divided by the sum of all weights. 1 to [`MixOrder::MAX_WEIGHT`].
    pub weight: u32,
    /// The head of its requests. The kind of call is that of the trial; only the HTTP method may differ.
    pub request: Request,
    /// The required HTTP status, instead of [`Expect::status`].
    pub status: Option<u16>,
}

/// How one variant is called and timed.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The server to call.
    pub endpoint: Endpoint,
    /// The head of every request without a mix.
    pub request: Request,
    /// The calls to mix, each with its own requests; empty for calls that are all the same. The order is that
    /// of a [`MixOrder`].
    pub mix: Vec<MixCall>,
    /// How the messages of each call are exchanged, if a side sends several; `None` for one in each direction.
    /// Then there is no mix, and stages are not timed.
    pub streaming: Option<Streaming>,
    /// How to find the message that a response of a bidirectional stream is to; `None` if it is the one with the same
    /// number.
    pub pair_by: Option<Arc<dyn PairBy>>,
    /// The requirements for its responses.
    pub expect: Expect,
    /// When calls are due.
    pub schedule: Schedule,
    /// By how many users [`Trial::schedule`] is multiplied; `None` for its own load. With users, it is not a ramp,
    /// connections are reused, stages are not timed, and the trial may go on until it is stopped.
    pub demand: Option<Arc<Demand>>,
    /// The seed of random arrivals and of the order of a mix, which makes them repeatable.
    pub seed: u64,
    /// Number of concurrent connections, 1 to [`MAX_IN_FLIGHT`]. Connections that an HTTP/2 server is about
    /// to close (GOAWAY) may continue in addition until their calls have ended. A closed loop with
    /// [`ConnectionUse::PerCall`] instead has one connection for each call in flight.
    pub connections: u32,
    /// Whether connections are reused or opened for each call.
    pub connection_use: ConnectionUse,
    /// How silent connections are probed and abandoned. `None` leaves this to the deadlines of their calls.
    pub keepalive: Option<Keepalive>,
    /// Whether stages are timed.
    pub timing: Timing,
    /// Whether slow calls are recorded, which adds a small cost to each call.
    pub keeps_slow: bool,
    /// Whether the timeline counts latencies by bucket, and service times are recorded, which adds a small cost
    /// to each call.
    pub keeps_detail: bool,
    /// The bounds of the warm-up. `None` measures from the first call on.
    pub warmup: Option<WarmupBounds>,
    /// Maximum number of requests sent, including retries and those of the warm-up; `None` for no limit. The
    /// trial is complete once they are used up.
    pub max_requests: Option<u64>,
    /// When the measured part ends.
    pub stop: Stop,
    /// How long a call may take before it fails.
    pub deadline: Duration,
    /// Whether that time runs from when the call was due, or from when it is sent.
    pub deadline_from: DeadlineFrom,
    /// How long calls in flight may take to end after the last one was started.
    pub drain: Duration,
    /// How long all calls may fail before the trial ends early, more than 0. The trial ends at the first
    /// failure that is this much later than the first failed call. Without this, a server that answers no
    /// calls would hold up the trial for one deadline per call. The warm-up and the measured part each have
    /// this much time. Between them, a closed loop's calls in flight have this much time to end.
    pub patience: Duration,
    /// How much a connection may be forced to store by the server. These limits do not affect the number of
    /// calls in flight on a connection, which depends on the schedule and on what the server allows.
    pub limits: Limits,
}

impl Trial {
    /// Returns a trial of one call on a persistent connection, without a warm-up and with a deadline of 10 s.
    /// It is the starting point for longer trials.
    pub fn new(endpoint: Endpoint, request: Request) -> Trial {
        let bound = Duration::from_secs(10);
        Trial {
            endpoint,
            request,
            mix: Vec::new(),
            streaming: None,
            expect: Expect::default(),
            schedule: Schedule::Closed { in_flight: 1 },
            pair_by: None,
            demand: None,
            seed: 0,
            connections: 1,
            connection_use: ConnectionUse::Reuse,
            keepalive: None,
            timing: Timing::Load,
            keeps_slow: false,
            keeps_detail: false,
            warmup: None,
            max_requests: None,
            stop: Stop {
                calls: Some(1),
                time_ms: None,
            },
            deadline: bound,
            deadline_from: DeadlineFrom::Due,
            drain: bound,
            patience: bound,
            limits: Limits::default(),
        }
    }

    /// The head of all requests, or of those of a call of the mix.
    pub(crate) fn request_of(&self, mix_call: usize) -> &Request {
        let call = self.mix.get(mix_call);
        call.map_or(&self.request, |call| &call.request)
    }

    /// The required HTTP status of all responses, or of those to a call of the mix.
    #[inline]
    pub(crate) fn status_of(&self, mix_call: usize) -> Option<u16> {
        if self.request.style == CallStyle::WebSocket {
            const SWITCHING_PROTOCOLS: u16 = 101;
            return Some(SWITCHING_PROTOCOLS);
        }
        let call = self.mix.get(mix_call);
        call.map_or(self.expect.status, |call| call.status)
    }

    /// The different heads of requests: those of the mix, or one.
    pub fn all_requests(&self) -> impl Iterator<Item = &Request> {
        (0..self.mix.len().max(1)).map(|mix_call| self.request_of(mix_call))
    }

    /// The order of the mix. A `salt` other than 0 gives another order with the same proportions.
    pub(crate) fn mix_order(&self, salt: u64) -> MixOrder {
        let weights = self.mix.iter().map(|call| call.weight);
        // Otherwise the order would use the same random numbers as the arrivals.
        const SALT: u64 = 0x6d69_7865_6420_6361;
        MixOrder::new(weights, self.seed ^ SALT.wrapping_add(salt))
    }

    /// The head of a request that has `fields` in addition.
    pub(crate) fn head(
        &self,
        mix_call: usize,
        fields: &[(String, String)],
    ) -> Result<Head, PrepareError> {
        // HTTP/1.1 has a header field for this.
        let close = self.connection_use == ConnectionUse::PerCall
            && self.endpoint.protocol == Protocol::Http1;
        self.request_of(mix_call)
            .prepare(fields, close, self.endpoint.tls.is_some())
    }

    fn more_addresses_than_connections(&self) -> bool {
        self.endpoint.more_addresses.len() >= self.connections as usize
    }

    /// Like [`Trial::check`], for a trial on several threads.
    pub(crate) fn check_on(&self, threads: u32) -> Result<(), LoadError> {
        self.check()?;
        let most = self
            .schedule
            .in_flight()
            .map_or(self.connections, |calls| calls.min(self.connections));
        if !(1..=most).contains(&threads) {
            let allowed = "at least 1, and at most that of connections and of calls in flight";
            return Err(LoadError::setting("the number of threads", allowed));
        }
        if self.demand.is_some() && threads > 1 {
            return Err(LoadError::setting("the number of threads of users", "1"));
        }
        Ok(())
    }

    /// Rejects settings that are invalid or not supported.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let refuse = |what, allowed| Err(LoadError::setting(what, allowed));
        if !(1..=MAX_IN_FLIGHT).contains(&self.connections) {
            return refuse("the number of connections", "1 to 65,536");
        }
        if self.more_addresses_than_connections() {
            return refuse("the number of connections", "at least that of addresses");
        }
        let endless = self.stop == Stop::default() && self.demand.is_none();
        if endless && self.schedule.lasts().is_none() {
            return refuse("the end of the trial", "a number of calls, a time, or both");
        }
        if self.stop.calls == Some(0) || self.stop.time_ms == Some(0) {
            return refuse("the number of calls and the time of a trial", "more than 0");
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
        let protocol = self.endpoint.protocol;
        match &self.request.style {
            CallStyle::Grpc { .. } if protocol != Protocol::Http2 => {
                return refuse("the protocol of a gRPC call", "HTTP/2");
            }
            CallStyle::WebSocket if protocol != Protocol::Http1 => {
                return refuse("the protocol of a WebSocket's handshake", "HTTP/1.1");
            }
            CallStyle::WebSocket if self.connection_use != ConnectionUse::PerCall => {
                return refuse("the connection of a WebSocket", "one for each call");
            }
            CallStyle::WebSocket if self.streaming.is_none() => {
                return refuse("the form of a WebSocket's messages", "bidirectional");
            }
            _ => {}
        }
        if self.timing == Timing::Stages && self.schedule != (Schedule::Closed { in_flight: 1 }) {
            return refuse("stage timing", "a closed loop with one call in flight");
        }
        let weights = 1..=MixOrder::MAX_WEIGHT;
        if self.mix.iter().any(|call| !weights.contains(&call.weight)) {
            return refuse("the weight of a call", "1 to 1,000");
        }
        if self.mix.len() > MixOrder::MAX_CALLS {
            return refuse("the number of calls in a mix", "at most 100");
        }
        if self.timing == Timing::Stages && !self.mix.is_empty() {
            return refuse("stage timing", "without a mix of calls");
        }
        if let Some(streaming) = &self.streaming {
            self.check_streaming(streaming)?;
        }
        if self.timing == Timing::Stages && self.connections != 1 {
            return refuse("the number of connections of a stage trial", "1");
        }
        let is_ramp = matches!(self.schedule, Schedule::Ramp { .. });
        let is_fixed = is_ramp
            || self.timing == Timing::Stages
            || self.connection_use == ConnectionUse::PerCall;
        if self.demand.is_some() && is_fixed {
            return refuse(
                "the trial of a number of users",
                "a closed loop or a rate on reused connections, without stages",
            );
        }
        if self.warmup.is_some() && is_ramp {
            return refuse(
                "the warm-up of a ramp",
                "absent: use its first part as the warm-up",
            );
        }
        Ok(self.schedule.check()?)
    }

    fn check_streaming(&self, streaming: &Streaming) -> Result<(), LoadError> {
        let refuse = |what, allowed| Err(LoadError::setting(what, allowed));
        if self.timing == Timing::Stages || !self.mix.is_empty() {
            return refuse(
                "streaming",
                "without stage timing and without a mix of calls",
            );
        }
        if !self.request.style.carries(streaming.form) {
            return refuse("the form of a stream", "one of the protocol of its call");
        }
        if let Pace::Rate(per_second) = streaming.pace
            && !is_rate(per_second)
        {
            return refuse(
                "the messages per second of a call",
                "more than 0 and finite",
            );
        }
        let sends_many = streaming.messages != Some(1);
        if sends_many && !streaming.form.client_streams() {
            return refuse(
                "the number of messages that a call sends",
                "1, unless the client streams",
            );
        }
        if streaming.messages == Some(0) || streaming.receive == Some(0) {
            return refuse("the number of messages of a call", "more than 0");
        }
        if streaming.messages.is_none() && streaming.time_ms.is_none() {
            return refuse("the end of a call", "a number of messages, a time, or both");
        }
        let times = [streaming.time_ms, streaming.message_timeout_ms];
        if times
            .into_iter()
            .flatten()
            .any(|ms| !(1..=MAX_MS).contains(&ms))
        {
            return refuse("the times of a streaming call", "1 ms to 24 h");
        }
        let in_turn = matches!(streaming.pace, Pace::InTurn(_));
        if in_turn && streaming.form != StreamForm::Bidirectional {
            return refuse("messages in turn", "of bidirectional streams");
        }
        let waits = streaming.receive.is_some() || streaming.message_timeout_ms.is_some();
        if waits && !streaming.form.server_streams() {
            return refuse("the messages to wait for", "of a server that streams");
        }
        Ok(())
    }
}
