//! What a stack can do. Declared by its subject, never guessed.

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
    /// What it can be.
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
    /// What it listens on, or connects by.
    #[serde(default, deserialize_with = "filled")]
    pub transports: Vec<Transport>,
    /// The roles in which it speaks TLS.
    #[serde(
        default,
        deserialize_with = "filled",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tls: Vec<Role>,
    /// What it can serve, call, or encode.
    #[serde(deserialize_with = "filled")]
    pub workloads: Vec<WorkloadKind>,
    /// A server's or client's: the codec stack that handles its messages in the same way, by encoding.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codecs: BTreeMap<Encoding, String>,
    /// A server's: the most threads, or processes, that serve.
    #[serde(default)]
    pub threads: u32,
    /// A client's: the styles in which its library can be called, the most common first.
    #[serde(default, deserialize_with = "filled")]
    pub styles: Vec<Style>,
    /// A client's: how it can use connections.
    #[serde(default, deserialize_with = "filled")]
    pub connections: Vec<ConnectionUse>,
    /// A client's: the most channels that calls rotate over.
    #[serde(default)]
    pub channels: u32,
    /// A client's: the most calls in flight.
    #[serde(default)]
    pub in_flight: u32,
    /// About how long a process of it takes to start, ms; 0 if that is not known.
    #[serde(default, rename = "start-up", deserialize_with = "of::<_, Time, _>")]
    pub start_up_ms: u64,
    /// The longest warm-up that it needs, ms, as a just-in-time compiler may; 0 where the study's will do.
    #[serde(default, rename = "warm-up", deserialize_with = "of::<_, Time, _>")]
    pub warm_up_ms: u64,
    /// The calls that its warm-up has at least, unless that time is over first.
    #[serde(default)]
    pub warm_up_calls: u64,
    /// What can be set of its runtime, which its subject declares for all its stacks.
    #[serde(skip_deserializing, skip_serializing_if = "is_default")]
    pub runtime: Adjustable,
}

/// What can be set of a runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Adjustable {
    /// Its garbage collectors, by the subject's own words.
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

/// What a stack is in a trial.
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
    /// None at all.
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
    /// The features of the embedded subject: as a server and codec, all of them.
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
            // What only a client has, and what needs no time.
            ..Self::default()
        }
    }
}

/// The stacks of a run as a study writes them: the embedded one alone.
pub fn embedded_only() -> BTreeMap<String, Features> {
    BTreeMap::from([(REFERENCE.to_owned(), Features::embedded())])
}
