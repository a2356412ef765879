//! What a stack can do: its subject declares it, nothing is guessed.

use std::collections::BTreeMap;

use rpcgauge_message::workload::WorkloadSpec;
use rpcgauge_message::{Compression, Encoding};
use rpcgauge_trial::is_default;
use serde::{Deserialize, Serialize};

use crate::read::{Time, filled, of};
use crate::settings::{
    ConnectionUse, HttpVersion, MAX_THREADS, Protocol, REFERENCE, Style, Transport,
};
use crate::words::{Named, words};

/// What one stack can do, in each of its roles.
///
/// The default has no features, unlike a manifest without keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Features {
    /// The roles that it can have.
    #[serde(deserialize_with = "filled")]
    pub roles: Vec<Role>,
    /// The protocols it speaks, and over which versions of HTTP.
    #[serde(default)]
    pub protocols: BTreeMap<Protocol, Vec<HttpVersion>>,
    /// The encodings it reads and writes.
    #[serde(deserialize_with = "filled")]
    pub encodings: Vec<Encoding>,
    /// The compressions it reads and writes.
    #[serde(default = "no_compression", deserialize_with = "filled")]
    pub compressions: Vec<CompressionKind>,
    /// The transports that it listens on, or connects over.
    #[serde(default, deserialize_with = "filled")]
    pub transports: Vec<Transport>,
    /// The roles in which it speaks TLS.
    #[serde(
        default,
        deserialize_with = "filled",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tls: Vec<Role>,
    /// The workloads that it can serve, call, or encode.
    #[serde(deserialize_with = "filled")]
    pub workloads: Vec<WorkloadKind>,
    /// For a server or client: the codec stack that encodes and decodes as it does, by encoding.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codecs: BTreeMap<Encoding, String>,
    /// For a server: the maximum number of threads or processes that serve.
    #[serde(default)]
    pub threads: u32,
    /// For a client: the styles in which its library can be called, the most common first.
    #[serde(default, deserialize_with = "filled")]
    pub styles: Vec<Style>,
    /// For a client: how it can use connections.
    #[serde(default, deserialize_with = "filled")]
    pub connections: Vec<ConnectionUse>,
    /// For a client: the maximum number of channels that calls rotate over.
    #[serde(default)]
    pub channels: u32,
    /// For a client: the maximum number of calls in flight.
    #[serde(default)]
    pub in_flight: u32,
    /// About how long its process takes to start, ms; 0 if unknown.
    #[serde(default, rename = "start-up", deserialize_with = "of::<_, Time, _>")]
    pub start_up_ms: u64,
    /// The longest warm-up that it needs, ms, for example for a just-in-time compiler; 0 if the study's is enough.
    #[serde(default, rename = "warm-up", deserialize_with = "of::<_, Time, _>")]
    pub warm_up_ms: u64,
    /// The minimum number of calls of its warm-up, unless half of that time is over first.
    #[serde(default)]
    pub warm_up_calls: u64,
    /// The programs that can run it together with other parts, as `SUBJECT/PROGRAM`: its own first.
    #[serde(skip)]
    pub programs: Vec<String>,
    /// The settings that its runtime supports; its subject declares them for all its stacks.
    #[serde(skip_deserializing, skip_serializing_if = "is_default")]
    pub runtime: Adjustable,
}

/// The settings that a runtime supports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Adjustable {
    /// Its garbage collectors, by the names that the subject defines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gc: Vec<String>,
    /// Whether the size of its heap can be set.
    pub heap: bool,
    /// Whether it reports its events.
    pub events: bool,
}

fn no_compression() -> Vec<CompressionKind> {
    vec![CompressionKind::None]
}

/// The role of a stack in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It answers calls.
    Server,
    /// It makes calls.
    Client,
    /// It encodes and decodes, without calls.
    Codec,
}

words!(Role, "role": "server" => Server, "client" => Client, "codec" => Codec);

/// A compression without its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompressionKind {
    /// No compression.
    None,
    /// gzip at any level.
    Gzip,
    /// Zstandard at any level.
    Zstd,
}

/// A workload without its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadKind {
    /// [`WorkloadSpec::Echo`].
    Echo,
    /// [`WorkloadSpec::Hello`].
    Hello,
    /// [`WorkloadSpec::List`].
    List,
    /// [`WorkloadSpec::Records`].
    Records,
    /// [`WorkloadSpec::Profile`].
    Profile,
    /// [`WorkloadSpec::Followers`].
    Followers,
    /// [`WorkloadSpec::Own`].
    Own,
}

words!(CompressionKind, "compression": "none" => None, "gzip" => Gzip, "zstd" => Zstd);

words! { WorkloadKind, "workload":
    "echo" => Echo, "hello" => Hello, "list" => List, "records" => Records,
    "profile" => Profile, "followers" => Followers, "own" => Own,
}

impl From<Compression> for CompressionKind {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::None => Self::None,
            Compression::Gzip { .. } => Self::Gzip,
            Compression::Zstd { .. } => Self::Zstd,
        }
    }
}

impl From<&WorkloadSpec> for WorkloadKind {
    fn from(workload: &WorkloadSpec) -> Self {
        match workload {
            WorkloadSpec::Echo { .. } => Self::Echo,
            WorkloadSpec::Hello {} => Self::Hello,
            WorkloadSpec::List { .. } => Self::List,
            WorkloadSpec::Records { .. } => Self::Records,
            WorkloadSpec::Profile {} => Self::Profile,
            WorkloadSpec::Followers { .. } => Self::Followers,
            WorkloadSpec::Own(_) => Self::Own,
        }
    }
}

impl Features {
    /// The features of the embedded subject, which has all of them as a server and as a codec.
    pub fn embedded() -> Self {
        fn all<T: Named>() -> Vec<T> {
            T::NAMES.iter().map(|(_, value)| *value).collect()
        }
        Self {
            roles: vec![Role::Server, Role::Codec],
            protocols: BTreeMap::from([
                (Protocol::Grpc, vec![HttpVersion::Http2]),
                (Protocol::Rest, all()),
                (Protocol::Connect, all()),
            ]),
            encodings: all(),
            compressions: all(),
            transports: all(),
            tls: vec![Role::Server],
            workloads: all(),
            codecs: BTreeMap::from_iter(all().into_iter().map(|one| (one, REFERENCE.to_owned()))),
            threads: MAX_THREADS,
            programs: vec![REFERENCE.to_owned()],
            // The rest is for clients, or is a time that it does not need.
            ..Self::default()
        }
    }
}

/// The stacks of a run by name, if it has only the embedded one.
pub fn embedded_only() -> BTreeMap<String, Features> {
    BTreeMap::from([(REFERENCE.to_owned(), Features::embedded())])
}
