//! The subject contract: the messages between the lab and a subject.
//!
//! A subject reads one [`SettingsLine`] from standard input and writes one [`Reply`] to standard
//! output. A client or codec then answers each [`Ask`] with one [`Answer`], and appends a
//! [`Record`] of each call to a file. The prose and the JSON schemas are in `contract/`.
//!
//! Settings are parsed strictly, because a subject that ignored an unknown setting would measure
//! something else. Replies are parsed leniently: unknown keys are ignored.

use std::path::PathBuf;
use std::time::Duration;

use rpcgauge_message::limits::BadLimit;
use rpcgauge_message::{Compression, Encoding, Sample, WorkloadSpec};
use rpcgauge_trial::is_default;
pub use rpcgauge_trial::{
    Address, ConnectionUse, Fault, HANDLER_END, HANDLER_START, MAX_SOCKET_PATH_BYTES, StreamForm,
};
use serde::{Deserialize, Serialize};

mod error;
mod event;
mod line;
mod record;
mod reply;
mod slice;
mod stream;

#[cfg(test)]
mod tests;

pub use error::ContractError;
pub use event::{EventKind, MAX_DETAIL_CHARS, RuntimeEvent};
pub use record::{RECORD_BYTES, Record, RecordError};
pub use reply::{Failed, MAX_VERSION_CHARS, MAX_VERSIONS, Ready, ReadyPart, Reply, check_versions};
pub use slice::{Answer, Ask, Asked, JsonText, SliceAsk, SliceBounds, SliceDone, Until, Verified};
pub use stream::{
    MAX_STREAM_MESSAGES, MAX_VERIFIED_MESSAGES, MESSAGE_RECORD_BYTES, MessageRecord, Stream,
};

/// The contract's newest version, which added streams. Settings without a stream, and all replies, have version 1, so
/// that subjects of that version still work for them.
pub const VERSION: u32 = 2;

/// The first version.
const FIRST_VERSION: u32 = 1;

/// How long a started subject has to write its ready line, unless its `subject.toml` allows more. A
/// JVM on a busy machine needs most of it.
pub const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a subject has to exit after its standard input is closed, before it is killed.
pub const END_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a client or codec has to answer, beyond the time that it was asked to measure.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of threads that a server can be asked to use.
pub const MAX_THREADS: u32 = 1024;

/// Longest line that either side accepts, in bytes. Large enough for a user's descriptor set and
/// samples.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// What a subject process must do: its role and the settings of that role.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum SettingsLine {
    /// Answer calls.
    Server(Box<ServerSettings>),
    /// Answer the floor's calibration calls.
    Floor(FloorSettings),
    /// Call a server, slice by slice.
    Client(Box<ClientSettings>),
    /// Encode or decode a sample, slice by slice.
    Codec(Box<CodecSettings>),
    /// Answer calls in several ways, each at its own endpoint.
    Servers(Several<ServerSettings>),
    /// Call servers in several ways, slice by slice.
    Clients(Several<ClientSettings>),
}

/// Roles `servers` and `clients`: one process that plays its role in 2 to 64 ways, called parts.
/// Parts are numbered from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Several<T> {
    /// The settings of each part.
    pub parts: Vec<T>,
}

/// Maximum number of parts in a process.
pub const MAX_PARTS: usize = 64;

impl SettingsLine {
    /// Where each part of a server listens; empty for clients and codecs.
    pub fn listens(&self) -> Vec<&Listen> {
        match self {
            Self::Server(server) => vec![&server.listen],
            Self::Servers(servers) => servers.parts.iter().map(|part| &part.listen).collect(),
            Self::Floor(floor) => vec![&floor.listen],
            Self::Client(_) | Self::Clients(_) | Self::Codec(_) => Vec::new(),
        }
    }

    /// The workload of the first part; `None` for a floor.
    pub fn workload(&self) -> Option<&WorkloadSpec> {
        match self {
            Self::Server(server) => Some(&server.workload),
            Self::Client(client) => Some(&client.workload),
            Self::Codec(codec) => Some(&codec.workload),
            Self::Servers(servers) => servers.parts.first().map(|part| &part.workload),
            Self::Clients(clients) => clients.parts.first().map(|part| &part.workload),
            Self::Floor(_) => None,
        }
    }

    /// The version that has everything in the settings.
    fn version(&self) -> u32 {
        let streams = match self {
            Self::Server(server) => server.stream.is_some(),
            Self::Client(client) => client.stream.is_some(),
            Self::Servers(servers) => servers.parts.iter().any(|part| part.stream.is_some()),
            Self::Clients(clients) => clients.parts.iter().any(|part| part.stream.is_some()),
            Self::Floor(_) | Self::Codec(_) => false,
        };
        if streams { VERSION } else { FIRST_VERSION }
    }

    /// The number of parts; 1 for a role without parts.
    pub fn parts(&self) -> usize {
        match self {
            Self::Servers(servers) => servers.parts.len(),
            Self::Clients(clients) => clients.parts.len(),
            Self::Server(_) | Self::Floor(_) | Self::Client(_) | Self::Codec(_) => 1,
        }
    }
}

/// Role `server`: respond to calls of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// Name of the subject's stack in `subject.toml`; absent for its first stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The workload to serve.
    pub workload: WorkloadSpec,
    /// The protocol of the calls.
    pub protocol: Protocol,
    /// The HTTP version of the calls.
    pub http: HttpVersion,
    /// The encoding of request and response.
    pub encoding: Encoding,
    /// Where to listen.
    pub listen: Listen,
    /// How responses are compressed for a client that accepts it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub response_compression: Compression,
    /// Number of serving threads.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: u32,
    /// Whether successful responses include the handler marks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub marks: bool,
    /// Whether to serve TLS. The server creates its own certificate and reports it in the ready
    /// line.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tls: bool,
    /// This role's samples again, as base64-encoded protobuf bytes, for a stack whose library
    /// prefers them to JSON. Only sent if the stack's `subject.toml` asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protobuf_samples: Vec<String>,
    /// How the messages of a call are exchanged; absent for unary calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// Limits that differ from the subject's defaults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
}

/// Role `floor`: read requests of one size and answer with responses of another, without framing or
/// parsing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FloorSettings {
    /// Where to listen.
    pub listen: Listen,
}

/// Role `client`: call a server, slice by slice, and record each call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClientSettings {
    /// Name of the subject's stack in `subject.toml`; absent for its first stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The workload to call.
    pub workload: WorkloadSpec,
    /// The protocol of the calls.
    pub protocol: Protocol,
    /// The HTTP version of the calls.
    pub http: HttpVersion,
    /// The encoding of request and response.
    pub encoding: Encoding,
    /// Where the server listens.
    pub address: Address,
    /// The server's certificate in PEM, the only one to trust; absent without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The requests as JSON in the form of the encoding, used in turn over the client's whole life. Each is
    /// converted to the library's message once, and encoded again for every call.
    pub requests: Vec<JsonText>,
    /// How requests are compressed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub request_compression: Compression,
    /// The compression to request for responses.
    #[serde(default, skip_serializing_if = "is_default")]
    pub response_compression: Compression,
    /// Whether each connection serves many calls or only one.
    #[serde(default, skip_serializing_if = "ConnectionUse::is_reuse")]
    pub connection: ConnectionUse,
    /// Channels that calls rotate over, each with its own connection.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub channels: u32,
    /// How the library is called; absent for the stack's first style.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Calls in flight at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub in_flight: u32,
    /// Deadline of a call in milliseconds. A call that takes longer has failed.
    pub deadline_ms: u64,
    /// Whether responses include the handler marks, which the client then records.
    #[serde(default, skip_serializing_if = "is_default")]
    pub marks: bool,
    /// The file to append records to, as an absolute path.
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^/")))]
    pub records: PathBuf,
    /// How the messages of a call are exchanged; absent for unary calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// The file to append the records of messages to, as an absolute path; absent for unary calls.
    #[cfg_attr(test, schemars(with = "Option<String>", regex(pattern = "^/")))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_records: Option<PathBuf>,
    /// This role's samples again, as base64-encoded protobuf bytes, for a stack whose library
    /// prefers them to JSON. Only sent if the stack's `subject.toml` asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protobuf_samples: Vec<String>,
    /// Limits that differ from the subject's defaults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
}

/// Role `codec`: encode or decode one sample, slice by slice, and record each batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CodecSettings {
    /// Name of the subject's stack in `subject.toml`; absent for its first stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The workload that the sample belongs to. It determines the sample's type.
    pub workload: WorkloadSpec,
    /// Which sample to use, the request or the response.
    pub sample: Sample,
    /// The sample as JSON in the form of the encoding. To time decoding, the subject first encodes it once.
    pub message: JsonText,
    /// The format of the bytes.
    pub encoding: Encoding,
    /// Which direction to time.
    pub operation: Operation,
    /// The compression applied after encoding and removed before decoding.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compression: Compression,
    /// The file to append records to, as an absolute path.
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^/")))]
    pub records: PathBuf,
    /// This role's samples again, as base64-encoded protobuf bytes, for a stack whose library
    /// prefers them to JSON. Only sent if the stack's `subject.toml` asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protobuf_samples: Vec<String>,
    /// Limits that differ from the subject's defaults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
}

/// The protocol of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// gRPC over HTTP/2 with prior knowledge.
    Grpc,
    /// A resource called with `POST`, its body in the encoding's media type.
    Rest,
    /// Connect's unary calls: a method called with `POST`, the message as the body.
    Connect,
}

/// The HTTP version of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112).
    #[serde(rename = "1.1")]
    Http1,
    /// HTTP/2 (RFC 9113), cleartext, with prior knowledge.
    #[serde(rename = "2")]
    Http2,
}

/// Where a subject listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "transport", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Listen {
    /// TCP, always with port 0: the ready line reports the port that the system chose.
    Tcp {
        /// A host name or address; the loopback interface if absent.
        #[serde(default = "loopback", skip_serializing_if = "is_loopback")]
        host: String,
    },
    /// A Unix domain socket.
    Unix {
        /// The socket's absolute path.
        #[cfg_attr(test, schemars(with = "String"))]
        path: PathBuf,
    },
}

/// How the client calls its library: the shape of an application's code around a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// A call returns when it is complete.
    Blocking,
    /// A call returns a future, which the caller waits for.
    Future,
    /// A call suspends its coroutine.
    Coroutine,
    /// A call takes a callback that runs when the call is complete.
    Async,
}

/// The direction in which a codec is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Message to bytes, compression included.
    Encode,
    /// Bytes to message, decompression included.
    Decode,
}

/// Limits on what a subject accepts. An absent limit is the subject's own default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Largest encoded message, in bytes, after decompression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_message_bytes: Option<usize>,
    /// Deepest nesting of a message, in levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<usize>,
    /// Maximum ratio of a message's decompressed size to its compressed size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_inflation: Option<usize>,
}

impl TryFrom<Limits> for rpcgauge_message::Limits {
    type Error = BadLimit;

    fn try_from(asked: Limits) -> Result<Self, BadLimit> {
        let default = Self::DEFAULT;
        let limits = Self {
            max_message_bytes: asked.max_message_bytes.unwrap_or(default.max_message_bytes),
            max_depth: asked.max_depth.unwrap_or(default.max_depth),
            max_inflation: asked.max_inflation.unwrap_or(default.max_inflation),
        };
        limits.checked()
    }
}

/// The address to listen on by default.
pub const LOOPBACK: &str = "127.0.0.1";

fn loopback() -> String {
    LOOPBACK.to_owned()
}

fn is_loopback(host: &str) -> bool {
    host == LOOPBACK
}

const fn one() -> u32 {
    1
}

const fn is_one(count: &u32) -> bool {
    *count == 1
}
