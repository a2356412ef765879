//! What a variant measures. Each kind of target has only the settings that apply to it.

use rpcgauge_contract::Stream;
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};

use super::{
    Client, ConnectionUse, DEFAULT_DEADLINE_MS, DeadlineFrom, HttpVersion, LiveService, LiveWire,
    Operation, Protocol, REFERENCE, Runtime, Sample, Schedule, Timing, Transport, Wire,
};
use crate::link::NamedLink;
use crate::url::Address;

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// Calls to a server that the lab starts, verifies and observes.
    Call(Box<SubjectCall>),
    /// A codec that the lab starts and verifies: it encodes or decodes, and makes no calls.
    Codec(Box<CodecWork>),
    /// Calls to a user's service. The lab knows only its responses and, if it starts the service, its process.
    Live(Box<LiveCall>),
}

/// Calls to a subject's server.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectCall {
    /// The server as SUBJECT/STACK, or `reference` for the embedded one.
    pub server: String,
    /// The client subject; if `None`, the engine makes the calls.
    pub client: Option<Client>,
    /// What is called, and with what message.
    pub workload: WorkloadSpec,
    /// What is on the wire.
    pub wire: Wire,
    /// How messages are exchanged; `None` for unary calls. [`Wire::check_stream`] says what fits.
    pub stream: Option<Stream>,
    /// Whether a plan compares it with streams, whose stages are not timed. Its own are then not timed either: the
    /// server's marks and the client's time stamps would be in the figures of one side only.
    pub beside_streams: bool,
    /// How calls are sent.
    pub options: CallOptions,
    /// The number of threads, or processes, that serve.
    pub threads: u32,
    /// The transport of the connection.
    pub transport: Transport,
    /// Whether calls use TLS.
    pub tls: bool,
    /// The emulated link between client and server; `None` for loopback.
    pub link: Option<Box<NamedLink>>,
    /// The number of calls to time one by one after a start; 0 for none.
    pub cold_calls: u32,
    /// The settings of the runtimes of its stacks.
    pub runtime: Runtime,
}

/// What a codec does.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecWork {
    /// The codec as SUBJECT/STACK, or `reference` for the embedded one.
    pub codec: String,
    /// Whether encoding or decoding is timed.
    pub operation: Operation,
    /// The message: the workload's request or its response.
    pub sample: Sample,
    /// The workload that the sample is from.
    pub workload: WorkloadSpec,
    /// How the message becomes bytes.
    pub encoding: Encoding,
    /// How the bytes are compressed.
    pub compression: Compression,
    /// The settings of its runtime.
    pub runtime: Runtime,
}

/// Calls to a user's service.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveCall {
    /// The service, and the messages to send to it.
    pub service: LiveService,
    /// What is on the wire.
    pub wire: LiveWire,
    /// How calls are sent.
    pub options: CallOptions,
    /// The number of threads that make the calls.
    pub threads: u32,
}

/// How calls are sent, to a subject or a live service.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOptions {
    /// How the request's bytes are compressed.
    pub request_compression: Compression,
    /// How the response's bytes are compressed.
    pub response_compression: Compression,
    /// Whether a connection serves many calls or one.
    pub connection: ConnectionUse,
    /// The number of connections that are open at the same time.
    pub connections: u32,
    /// When calls are sent.
    pub schedule: Schedule,
    /// The time after which a call that has not completed fails, ms.
    pub deadline_ms: u64,
    /// Whether that time runs from when the call was due, or from when it is sent.
    pub deadline_from: DeadlineFrom,
}

impl SubjectCall {
    /// A call to the embedded server by the engine, with defaults for the rest.
    pub fn new(workload: WorkloadSpec, protocol: Protocol) -> Self {
        Self {
            server: REFERENCE.to_owned(),
            client: None,
            workload,
            wire: Wire::default_for(protocol),
            stream: None,
            beside_streams: false,
            options: CallOptions::default(),
            threads: 1,
            transport: Transport::Tcp,
            tls: false,
            link: None,
            cold_calls: 0,
            runtime: Runtime::default(),
        }
    }

    /// The number of ways in which it departs from the simplest call: REST with JSON over HTTP/1.1, uncompressed, over a
    /// TCP connection that is reused. Another protocol counts once with its default encoding and version of HTTP.
    pub fn departures(&self) -> usize {
        let (protocol, options) = (self.wire.protocol(), &self.options);
        let compressions = [options.request_compression, options.response_compression];
        [
            protocol != Protocol::Rest,
            self.wire != Wire::default_for(protocol),
            self.stream.is_some(),
            compressions != [Compression::None; 2],
            self.transport != Transport::Tcp,
            options.connection != ConnectionUse::Reuse,
        ]
        .into_iter()
        .filter(|departs| *departs)
        .count()
    }

    /// Stages need a closed loop with one unary call in flight, and no comparison with streams; everything else is timed
    /// as load.
    pub fn timing(&self) -> Timing {
        match self.options.schedule {
            Schedule::Closed { in_flight: 1 } if !self.is_beside_or_stream() => Timing::Stages,
            _ => Timing::Load,
        }
    }

    /// Whether it streams or is compared with streams: rpcgauge's own client then encodes and decodes within the call
    /// without timing either.
    pub fn is_beside_or_stream(&self) -> bool {
        self.beside_streams || self.stream.is_some()
    }

    /// The number of channels of a client subject: one per connection if a connection carries many calls, otherwise 1.
    pub fn channels(&self) -> u32 {
        match self.options.at_a_time(self.wire.http()) {
            Some(_) => 1,
            None => self.options.connections,
        }
    }
}

impl CodecWork {
    /// Encodes a response, with defaults for the rest.
    pub fn new(codec: impl Into<String>, workload: WorkloadSpec, encoding: Encoding) -> Self {
        Self {
            codec: codec.into(),
            operation: Operation::Encode,
            sample: Sample::Response,
            workload,
            encoding,
            compression: Compression::None,
            runtime: Runtime::default(),
        }
    }
}

impl LiveCall {
    /// Changes the rate of a schedule that has one.
    pub fn set_rate(&mut self, rate: f64) {
        if let Schedule::Rate { per_second, .. } = &mut self.options.schedule {
            *per_second = rate;
        }
    }

    /// The calls by what they send: one, or those of the mix.
    pub fn each_call(&self) -> Vec<Self> {
        let services = self.service.each_call().into_iter();
        let of = |service| Self {
            service,
            ..self.clone()
        };
        services.map(of).collect()
    }

    /// The same calls to the port that was chosen for the service.
    #[must_use]
    pub fn at_port(&self, port: u16) -> Self {
        let mut call = self.clone();
        call.service.url = call.service.url.at_port(port);
        call
    }

    /// The transport of the connection.
    pub fn transport(&self) -> Transport {
        match self.service.url.address {
            Address::Tcp { .. } | Address::ChosenPort { .. } => Transport::Tcp,
            Address::Unix { .. } => Transport::Unix,
        }
    }
}

impl Default for CallOptions {
    /// One call at a time on one connection.
    fn default() -> Self {
        Self {
            request_compression: Compression::None,
            response_compression: Compression::None,
            connection: ConnectionUse::Reuse,
            connections: 1,
            schedule: Schedule::Closed { in_flight: 1 },
            deadline_ms: DEFAULT_DEADLINE_MS,
            deadline_from: DeadlineFrom::Due,
        }
    }
}

impl CallOptions {
    /// The default number of connections at a rate if each call in flight needs its own. With few connections, calls
    /// would wait for a free one, which measures the client and not the server.
    pub const CONNECTIONS_AT_A_RATE: u32 = 64;

    /// The maximum number of calls in flight if each needs its own connection; `None` if a connection carries many.
    pub fn at_a_time(&self, http: HttpVersion) -> Option<u32> {
        let one_each = http == HttpVersion::Http1 || self.connection == ConnectionUse::PerCall;
        one_each.then_some(self.connections)
    }
}

impl From<SubjectCall> for Target {
    fn from(call: SubjectCall) -> Self {
        Self::Call(Box::new(call))
    }
}

impl From<CodecWork> for Target {
    fn from(work: CodecWork) -> Self {
        Self::Codec(Box::new(work))
    }
}

impl From<LiveCall> for Target {
    fn from(call: LiveCall) -> Self {
        Self::Live(Box::new(call))
    }
}

impl Target {
    /// The stacks that the lab starts: the server, then the client; or the codec.
    pub fn stacks(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Call(call) => (Some(&call.server), call.client.as_ref()),
            Self::Codec(work) => (Some(&work.codec), None),
            Self::Live(_) => (None, None),
        };
        let stacks = first.into_iter().chain(second.map(|client| &client.stack));
        stacks.map(String::as_str)
    }

    /// The workload; `None` for a live service.
    pub fn workload(&self) -> Option<&WorkloadSpec> {
        match self {
            Self::Call(call) => Some(&call.workload),
            Self::Codec(work) => Some(&work.workload),
            Self::Live(_) => None,
        }
    }

    /// How calls are sent; `None` for a codec.
    pub fn options(&self) -> Option<&CallOptions> {
        match self {
            Self::Call(call) => Some(&call.options),
            Self::Codec(_) => None,
            Self::Live(live) => Some(&live.options),
        }
    }

    /// How messages become bytes; `None` for HTTP calls to a live service, whose bodies are sent as given.
    pub fn encoding(&self) -> Option<Encoding> {
        match self {
            Self::Call(call) => Some(call.wire.encoding()),
            Self::Codec(work) => Some(work.encoding),
            Self::Live(live) => live.wire.encoding(),
        }
    }

    /// How requests and responses are compressed; a codec has one compression for both.
    pub fn compressions(&self) -> [Compression; 2] {
        let options = match self {
            Self::Call(call) => &call.options,
            Self::Codec(work) => return [work.compression; 2],
            Self::Live(live) => &live.options,
        };
        [options.request_compression, options.response_compression]
    }

    /// The emulated link of a call.
    pub fn link(&self) -> Option<&NamedLink> {
        match self {
            Self::Call(call) => call.link.as_deref(),
            Self::Codec(_) | Self::Live(_) => None,
        }
    }

    /// Whether the client of a stack makes the calls.
    pub(crate) fn has_client(&self) -> bool {
        matches!(self, Self::Call(call) if call.client.is_some())
    }

    /// The settings of the stacks' runtimes; `None` for a live service.
    pub fn runtime(&self) -> Option<&Runtime> {
        match self {
            Self::Call(call) => Some(&call.runtime),
            Self::Codec(work) => Some(&work.runtime),
            Self::Live(_) => None,
        }
    }

    /// Whether the schedule is that of each user of a load in which the number of users changes.
    pub fn is_per_user(&self) -> bool {
        matches!(self, Self::Live(live) if live.service.per_user)
    }

    /// The number of calls in flight in a closed loop; 1 for a codec, `None` at a rate.
    pub fn in_flight(&self) -> Option<u32> {
        self.options()
            .map_or(Some(1), |options| options.schedule.in_flight())
    }

    /// The maximum number of calls in flight if each needs its own connection; `None` if a connection carries many.
    pub fn at_a_time(&self) -> Option<u32> {
        match self {
            Self::Call(call) => call.options.at_a_time(call.wire.http()),
            Self::Codec(_) => Some(1),
            Self::Live(live) => live.options.at_a_time(live.wire.http()),
        }
    }

    /// Whether a subject makes the calls, or encodes and decodes, so that the lab has to request each slice from it.
    pub fn is_slice_driven(&self) -> bool {
        match self {
            Self::Call(call) => call.client.is_some(),
            Self::Codec(_) => true,
            Self::Live(_) => false,
        }
    }

    /// Removes the size from the workload, so that targets that differ only in size compare equal. Returns the size
    /// of a built-in workload, or `Some(None)` for a user's own method; `None` if the workload has no size.
    pub fn take_size(&mut self) -> Option<Option<u32>> {
        let workload = match self {
            Self::Call(call) => &mut call.workload,
            Self::Codec(work) => &mut work.workload,
            Self::Live(_) => return None,
        };
        match workload {
            WorkloadSpec::Echo { n }
            | WorkloadSpec::List { n }
            | WorkloadSpec::Records { n }
            | WorkloadSpec::Followers { n } => Some(Some(std::mem::take(n))),
            WorkloadSpec::Own(own) => {
                own.response.take();
                Some(None)
            }
            WorkloadSpec::Hello {} | WorkloadSpec::Items {} | WorkloadSpec::Profile {} => None,
        }
    }
}
