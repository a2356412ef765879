//! The subject contract: what the lab and a subject say to each other.
//!
//! A subject reads one line of [`SettingsLine`] from its standard input and writes one [`Reply`] line
//! to its standard output. A client or codec then answers each [`Ask`] by one [`Answer`], and
//! appends a [`Record`] of each call to a file. The prose and the JSON schemas are in `contract/`.
//!
//! Settings are read strictly: a subject that ignored one it does not know would measure something
//! else. Replies are read leniently: unknown keys are skipped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rpcgauge_message::limits::BadLimit;
use rpcgauge_message::{CodeKind, Compression, Encoding, Sample, WorkloadSpec};
use rpcgauge_trial::is_default;
pub use rpcgauge_trial::{
    Address, ConnectionUse, Fault, HANDLER_END, HANDLER_START, MAX_SOCKET_PATH_BYTES,
};
use serde::{Deserialize, Serialize};

mod error;
mod line;
mod record;
mod slice;

#[cfg(test)]
mod tests;

pub use error::ContractError;
pub use record::{RECORD_BYTES, Record, RecordError};
pub use slice::{Answer, Ask, Asked, JsonText, SliceAsk, SliceBounds, SliceDone, Until, Verified};

/// The contract's version. A subject refuses every other one.
pub const VERSION: u32 = 1;

/// A started subject has this long to write its ready line, unless its `subject.toml` says more.
/// A JVM on a busy machine needs most of it.
pub const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// A subject whose standard input was closed has this long to end before it is killed.
pub const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A client or codec has this long to answer, beside the time that it was asked to measure.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The most threads of a server that can be asked for.
pub const MAX_THREADS: u32 = 1024;

/// Longest line either side accepts, in bytes: a user's descriptor set and samples fit in it.
pub const MAX_LINE_BYTES: usize = 64 << 20;

/// What one subject process is asked to do: its role and that role's settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum SettingsLine {
    /// Answer calls.
    Server(Box<ServerSettings>),
    /// Be the answering half of the floor's calibration.
    Floor(FloorSettings),
    /// Call a server, slice by slice.
    Client(Box<ClientSettings>),
    /// Encode or decode a sample, slice by slice.
    Codec(Box<CodecSettings>),
    /// Answer calls in several ways, each at an endpoint of its own.
    Servers(Several<ServerSettings>),
    /// Call servers in several ways, slice by slice.
    Clients(Several<ClientSettings>),
}

/// Roles `servers` and `clients`: one process that plays a role in several ways, its parts: at least 2, at most 64.
/// They are counted from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Several<T> {
    /// The settings of each part.
    pub parts: Vec<T>,
}

/// The most parts of a process.
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

    /// What its first part is called with; `None` for a floor.
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

    /// How many parts it asks for.
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
    /// Which of the subject's stacks, by its name in `subject.toml`; absent for its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// What is called.
    pub workload: WorkloadSpec,
    /// The protocol that will be called.
    pub protocol: Protocol,
    /// The HTTP version that will carry it.
    pub http: HttpVersion,
    /// The encoding of request and response.
    pub encoding: Encoding,
    /// Where to listen.
    pub listen: Listen,
    /// How responses are compressed for a client that accepts it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub response_compression: Compression,
    /// Threads that serve.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: u32,
    /// Whether successful responses carry the handler marks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub marks: bool,
    /// Whether it speaks TLS, with a certificate of its own that it gives in its ready line.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tls: bool,
    /// The samples of this role once more, as protobuf bytes in base64, for a stack whose library reads
    /// these better than JSON; none unless its `subject.toml` asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protobuf_samples: Vec<String>,
    /// Bounds of what is accepted, where they differ from the subject's defaults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
}

/// Role `floor`: read requests of one size and answer with another, without framing or parsing.
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
    /// Which of the subject's stacks, by its name in `subject.toml`; absent for its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// What is called.
    pub workload: WorkloadSpec,
    /// The protocol to call by.
    pub protocol: Protocol,
    /// The HTTP version that carries it.
    pub http: HttpVersion,
    /// The encoding of request and response.
    pub encoding: Encoding,
    /// Where the server listens.
    pub address: Address,
    /// The server's certificate in PEM, the only one to trust; absent where TLS is not spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The requests in the proto3 JSON mapping, used in turn over the client's whole life. They
    /// are made into the library's messages once, and encoded again for each call.
    pub requests: Vec<JsonText>,
    /// How requests are compressed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub request_compression: Compression,
    /// How responses are asked to be compressed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub response_compression: Compression,
    /// Whether a connection serves many calls or one.
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
    /// A call that has not ended after this many milliseconds has failed.
    pub deadline_ms: u64,
    /// Whether responses carry the handler marks, to be recorded.
    #[serde(default, skip_serializing_if = "is_default")]
    pub marks: bool,
    /// The file that records are appended to, absolute.
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^/")))]
    pub records: PathBuf,
    /// The samples of this role once more, as protobuf bytes in base64, for a stack whose library reads
    /// these better than JSON; none unless its `subject.toml` asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protobuf_samples: Vec<String>,
    /// Bounds of what is accepted, where they differ from the subject's defaults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
}

/// Role `codec`: encode or decode one sample, slice by slice, and record each batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CodecSettings {
    /// Which of the subject's stacks, by its name in `subject.toml`; absent for its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// Whose sample is used, which gives the sample's type.
    pub workload: WorkloadSpec,
    /// The request's sample or the response's.
    pub sample: Sample,
    /// The sample itself, in the proto3 JSON mapping. To decode, the subject encodes it once,
    /// beforehand.
    pub message: JsonText,
    /// The bytes' format.
    pub encoding: Encoding,
    /// Which direction is timed.
    pub operation: Operation,
    /// The compression after encoding and before decoding.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compression: Compression,
    /// The file that records are appended to, absolute.
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^/")))]
    pub records: PathBuf,
    /// The samples of this role once more, as protobuf bytes in base64, for a stack whose library reads
    /// these better than JSON; none unless its `subject.toml` asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protobuf_samples: Vec<String>,
    /// Bounds of what is accepted, where they differ from the subject's defaults.
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

/// The version of HTTP that carries a call.
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
    /// TCP, always at port 0: the ready line says which port it became.
    Tcp {
        /// A host name or address, the loopback interface when absent.
        #[serde(default = "loopback", skip_serializing_if = "is_loopback")]
        host: String,
    },
    /// A Unix domain socket.
    Unix {
        /// The socket's path, absolute.
        #[cfg_attr(test, schemars(with = "String"))]
        path: PathBuf,
    },
}

/// How a client's library is called: what an application's code around a call looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// A call returns when it has ended.
    Blocking,
    /// A call returns a future, which is waited for.
    Future,
    /// A call suspends its coroutine.
    Coroutine,
    /// A call is given what to do when it has ended.
    Async,
}

/// Which direction a codec is timed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Message to bytes, compression included.
    Encode,
    /// Bytes to message, decompression included.
    Decode,
}

/// Bounds of what a subject accepts; an absent one is the subject's own default.
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
    /// How many times its compressed size a message may grow to.
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

/// What a subject answers to its settings, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It is up.
    Ready(Ready),
    /// It cannot do what was asked; it ends after this line.
    Failed(Failed),
}

/// The subject is up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ready {
    /// What a process with one part says.
    #[serde(flatten)]
    pub only: ReadyPart,
    /// What it says of each part, in the order of the settings; empty if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ReadyPart>,
    /// The process whose processor time and memory count as the subject's, where that is not the
    /// process that was started (a wrapper script's child, for one).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The language's, the libraries' and the subject's own versions, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
}

/// What a subject that is up says of one part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReadyPart {
    /// Where it listens; absent for a client or codec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The certificate in PEM of a server that was asked for TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Whether generated or dynamic code makes and reads the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeKind>,
}

impl Ready {
    /// What it says of each of the settings that it was given.
    ///
    /// # Errors
    /// It says nothing of some, or of more than there are.
    pub fn parts(self, count: usize) -> Result<Vec<ReadyPart>, ContractError> {
        let parts = if self.parts.is_empty() {
            vec![self.only]
        } else {
            self.parts
        };
        if parts.len() == count {
            Ok(parts)
        } else {
            Err(ContractError::Parts {
                asked: count,
                said: parts.len(),
            })
        }
    }
}

/// The subject cannot do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failed {
    /// One line: what, where, and what to do.
    pub error: String,
    /// Who can do something about it.
    pub fault: Fault,
}

/// The most versions that a subject, or the environment of a run, names.
pub const MAX_VERSIONS: usize = 64;

/// The most characters of the name or the text of a version.
pub const MAX_VERSION_CHARS: usize = 100;

/// Checks what a subject says of its versions, which reports show.
///
/// # Errors
/// There are too many, or one is too long or not printable.
pub fn check_versions(versions: &BTreeMap<String, String>) -> Result<(), String> {
    if versions.len() > MAX_VERSIONS {
        let count = versions.len();
        return Err(format!(
            "\"versions\" has {count} entries; at most {MAX_VERSIONS} are allowed"
        ));
    }
    let mut texts = versions.iter().flat_map(|(name, version)| [name, version]);
    let is_plain = |c: u8| c == b' ' || c.is_ascii_graphic();
    match texts.find(|text| text.len() > MAX_VERSION_CHARS || !text.bytes().all(is_plain)) {
        Some(_) => Err(format!(
            "\"versions\" must be of printable ASCII, at most {MAX_VERSION_CHARS} characters each"
        )),
        None => Ok(()),
    }
}

/// The most characters of an event's detail that are kept.
pub const MAX_DETAIL_CHARS: usize = 120;

/// Something that a runtime did by itself, and that no call asked for, at times of CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeEvent {
    /// What it was.
    pub kind: EventKind,
    /// When it began, ns.
    pub begin_ns: u64,
    /// When it was over, ns; its begin, where it has no length.
    pub end_ns: u64,
    /// More of it, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What runtimes do by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// All threads were stopped for a garbage collection.
    GcPause,
    /// All threads were stopped for something else.
    Safepoint,
    /// A method was thrown back from compiled code to slower code.
    Deoptimization,
    /// A method was compiled while the program ran.
    Compilation,
}

/// The address that is listened on unless another was asked for.
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
