//! What can be set for a trial, every value spelled out.

use std::fmt;
use std::path::PathBuf;

pub use rpcgauge_contract::{HttpVersion, MAX_THREADS, Operation, Protocol, Style};
pub use rpcgauge_message::Sample;
use rpcgauge_message::{Compression, Encoding, WorkloadSpec, data::Order};
use rpcgauge_trial::is_default;
pub use rpcgauge_trial::{
    Arrivals, ConnectionUse, Keepalive, MAX_IN_FLIGHT, RampPart, Schedule, Stop, Timing,
};
use serde::{Deserialize, Serialize};

use crate::link::NamedLink;
use crate::url::Url;
use crate::words::words;

/// The name of the embedded subject's one stack.
pub const REFERENCE: &str = "reference";

/// The name of the client that calls unless a subject does it.
pub const ENGINE: &str = "engine";

/// Everything that decides how one variant calls its service. No defaults are left in it. What says
/// how a call is carried and when it is sent means nothing for a codec, which calls nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Who is called, and with which messages.
    #[serde(flatten)]
    pub target: Target,
    /// The protocol of the call.
    pub protocol: Protocol,
    /// The HTTP version that carries it. gRPC needs HTTP/2.
    pub http: HttpVersion,
    /// How the message becomes bytes; none where bodies are sent as they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// How the request's bytes are compressed.
    pub request_compression: Compression,
    /// How the response's bytes are compressed.
    pub response_compression: Compression,
    /// Threads, or processes, that serve; 1 where the server is not the lab's own.
    #[serde(default = "one_thread", skip_serializing_if = "is_one_thread")]
    pub threads: u32,
    /// What carries the connection.
    pub transport: Transport,
    /// Whether a server that the lab starts is called by TLS. A live service's target says it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tls: bool,
    /// Whether a connection serves many calls or one.
    pub connection: ConnectionUse,
    /// Connections open at the same time.
    pub connections: u32,
    /// The emulated link between client and server; none for loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Box<NamedLink>>,
    /// When calls are sent.
    pub schedule: Schedule,
    /// When a trial ends.
    pub stop: Stop,
    /// A call that has not ended after this many milliseconds has failed.
    pub deadline_ms: u64,
    /// The first calls after a start that are timed, one after the other, before any other call; 0 for none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cold_calls: u32,
    /// What is asked of the runtimes of its stacks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runtime: Runtime,
}

/// What is asked of the runtimes that a variant's stacks run on, and of what explains their spikes. A
/// setting holds for each of the stacks that has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Runtime {
    /// The garbage collector, by a subject's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gc: Option<String>,
    /// The heap that it begins with and stays at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heap_bytes: Option<u64>,
    /// Whether what may explain a slow call is recorded.
    #[serde(skip_serializing_if = "is_default")]
    pub events: bool,
}

fn one_thread() -> u32 {
    1
}

fn is_one_thread(threads: &u32) -> bool {
    *threads == 1
}

/// Who is called, and with which messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a variant calls no server, codec or service that is known"
)]
pub enum Target {
    /// A server that the lab starts, verifies, and looks into while it is measured.
    Subject {
        /// The server as SUBJECT/STACK, `reference` for the embedded one.
        server: String,
        /// The client subject that calls it; the engine where there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<Client>,
        /// What is called and with which message.
        workload: WorkloadSpec,
    },
    /// A codec that the lab starts and verifies: it encodes or decodes, and calls nothing.
    Codec {
        /// The codec as SUBJECT/STACK, `reference` for the embedded one.
        codec: String,
        /// Which direction is timed.
        operation: Operation,
        /// Whether it is the workload's request or its response.
        sample: Sample,
        /// Whose sample it is.
        workload: WorkloadSpec,
    },
    /// A service that is there already, and of which only its responses are known.
    Live {
        /// Where it is and what it is sent.
        service: Box<LiveService>,
    },
}

/// A client subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The client as SUBJECT/STACK.
    pub stack: String,
    /// How its library is called.
    pub style: Style,
}

/// A service that is there already.
///
/// What may be a secret is not part of it, since plans are kept on disk: the values of header fields,
/// the texts of messages and the contents of key files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LiveService {
    /// Where it is, and what of it is called.
    pub url: Url,
    /// How TLS is spoken, where the target's scheme asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsChoice>,
    /// The method of HTTP calls; none for gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// The names of the user's own header fields or metadata, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub header_names: Vec<String>,
    /// What it is sent.
    pub messages: Messages,
    /// What becomes of calls in flight when the time is up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_end: AtEnd,
    /// The most requests that a trial may send, with those of its warm-up and retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    /// How silent connections are kept alive, or found dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Keepalive>,
}

/// What becomes of calls in flight when a trial's time is up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// They may end, each by its deadline.
    #[default]
    Wait,
    /// They are given up at once and counted as abandoned.
    Cancel,
}

/// How TLS is spoken with a live service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsChoice {
    /// PEM file of the authorities that may vouch for the server; the machine's own where there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// PEM file of its private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// The name that is asked for and expected; the target's host where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Nothing is verified.
    pub insecure: bool,
    /// HTTP/2 is spoken with a server that selects no protocol by ALPN.
    pub allow_missing_alpn: bool,
}

/// What a live service is sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Messages {
    /// The text that every message is made of; without one, and without rows, there is no body, and
    /// a gRPC message is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateSource>,
    /// The rows that fill it, or are messages themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowsSource>,
    /// Files that the message's type was read from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<PathBuf>,
}

/// Where a template came from, and which it was. Not its text, which may be a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TemplateSource {
    /// The file, `-` for standard input; none where it stood on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of it, in hexadecimal.
    pub sha256: String,
}

/// Rows of a file, one per call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsSource {
    /// The file.
    pub path: PathBuf,
    /// In which order calls take its rows.
    pub order: Order,
}

/// How long a trial measures when a study bounds it neither by calls nor by time.
pub const DEFAULT_STOP: Stop = Stop::after_ms(1_000);
/// When a call that has not ended has failed, unless a study says otherwise.
pub const DEFAULT_DEADLINE_MS: u64 = 10_000;

/// What carries a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP; to a subject on the loopback interface.
    Tcp,
    /// A Unix domain socket.
    Unix,
}

impl Settings {
    /// The settings of a call, or of a codec, of which no more is said.
    pub fn new(target: Target, protocol: Protocol) -> Self {
        let (http, encoding) = protocol_defaults(protocol);
        Self {
            target,
            protocol,
            http,
            encoding,
            request_compression: Compression::None,
            response_compression: Compression::None,
            threads: 1,
            transport: Transport::Tcp,
            tls: false,
            connection: ConnectionUse::Reuse,
            connections: 1,
            link: None,
            schedule: Schedule::Closed { in_flight: 1 },
            stop: DEFAULT_STOP,
            deadline_ms: DEFAULT_DEADLINE_MS,
            cold_calls: 0,
            runtime: Runtime::default(),
        }
    }

    /// How many calls can be in flight at a time, where each takes its own connection; none where
    /// a connection carries many.
    pub fn at_a_time(&self) -> Option<u32> {
        let one_each = self.http == HttpVersion::Http1 || self.connection == ConnectionUse::PerCall;
        one_each.then_some(self.connections)
    }

    /// The channels of a client subject: one for each connection that carries many calls.
    pub fn channels(&self) -> u32 {
        match self.at_a_time() {
            Some(_) => 1,
            None => self.connections,
        }
    }

    /// Stage timing needs one call in flight in a closed loop, and a server that marks its handler;
    /// everything else is timed as load.
    pub fn timing(&self) -> Timing {
        match self.schedule {
            Schedule::Closed { in_flight: 1 } if self.target.live().is_none() => Timing::Stages,
            _ => Timing::Load,
        }
    }
}

/// The version of HTTP and the encoding of a protocol, where no other is asked for.
pub(crate) fn protocol_defaults(protocol: Protocol) -> (HttpVersion, Option<Encoding>) {
    match protocol {
        Protocol::Grpc => (HttpVersion::Http2, Some(Encoding::Protobuf)),
        Protocol::Rest => (HttpVersion::Http1, Some(Encoding::Json)),
        // As its clients do without TLS, and unless they are asked for JSON.
        Protocol::Connect => (HttpVersion::Http1, Some(Encoding::Protobuf)),
    }
}

impl Target {
    /// The embedded server, called by the engine.
    pub fn reference(workload: WorkloadSpec) -> Self {
        Self::Subject {
            server: REFERENCE.to_owned(),
            client: None,
            workload,
        }
    }

    /// The stack that is called, where the lab starts it.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Subject { server, .. } => Some(server),
            Self::Codec { .. } | Self::Live { .. } => None,
        }
    }

    /// The client subject that calls.
    pub fn client(&self) -> Option<&Client> {
        match self {
            Self::Subject { client, .. } => client.as_ref(),
            Self::Codec { .. } | Self::Live { .. } => None,
        }
    }

    /// The codec, and what it does with which message.
    pub fn codec(&self) -> Option<(&str, Operation, Sample)> {
        match self {
            Self::Subject { .. } | Self::Live { .. } => None,
            Self::Codec {
                codec,
                operation,
                sample,
                ..
            } => Some((codec, *operation, *sample)),
        }
    }

    /// The live service, if it is one.
    pub fn live(&self) -> Option<&LiveService> {
        match self {
            Self::Subject { .. } | Self::Codec { .. } => None,
            Self::Live { service } => Some(service),
        }
    }

    /// The stacks that the lab starts: the server, then the client; or the codec.
    pub fn stacks(&self) -> impl Iterator<Item = &str> {
        let first = self.server().or(self.codec().map(|(codec, ..)| codec));
        let client = self.client().map(|client| client.stack.as_str());
        first.into_iter().chain(client)
    }

    /// Whether a subject makes the calls, or encodes and decodes: it is asked for each slice by a line.
    pub fn is_slice_driven(&self) -> bool {
        self.client().is_some() || self.codec().is_some()
    }

    /// Takes the size out of the workload, so that two targets that differ in it alone are equal: the
    /// size of a built-in workload, nothing of a user's own. None where the workload has no size.
    pub fn take_size(&mut self) -> Option<Option<u32>> {
        let (Self::Subject { workload, .. } | Self::Codec { workload, .. }) = self else {
            return None;
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
            WorkloadSpec::Hello {} | WorkloadSpec::Profile {} => None,
        }
    }

    /// The workload of a subject.
    pub fn workload(&self) -> Option<&WorkloadSpec> {
        match self {
            Self::Subject { workload, .. } | Self::Codec { workload, .. } => Some(workload),
            Self::Live { .. } => None,
        }
    }
}

/// On which cores client and server run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Client and server share one core.
    OneCore,
    /// The client has a core, the server another.
    TwoCores,
    /// The scheduler decides.
    Free,
}

/// Whether an idle core may sleep while a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// Idle states are disabled by the PM QoS request on `/dev/cpu_dma_latency`.
    Held,
    /// The machine's own habit.
    AsIs,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneCore => "one core",
            Self::TwoCores => "two cores",
            Self::Free => "free",
        })
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "idle held",
            Self::AsIs => "idle as is",
        })
    }
}

words!(Transport, "transport": "tcp" => Tcp, "unix" => Unix);

words!(Arrivals, "spacing of arrivals": "constant" => Constant, "poisson" => Poisson);
words!(Placement, "placement": "one-core" => OneCore, "two-cores" => TwoCores, "free" => Free);

words!(Idle, "idle state": "held" => Held, "as-is" => AsIs);
