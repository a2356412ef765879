//! What a stack can do, as declared by its subject; nothing is guessed.

use std::collections::BTreeMap;

use rpcgauge_message::workload::WorkloadSpec;
use rpcgauge_message::{Compression, Encoding};
use rpcgauge_trial::{StreamForm, is_default};
use serde::{Deserialize, Serialize};

use crate::read::{Time, filled, of};
use crate::settings::{
    ConnectionUse, HttpVersion, MAX_THREADS, Protocol, REFERENCE, Style, Transport,
};
use crate::words::{Named, words};

/// What one stack can do, in each of its roles.
///
/// The default has no features at all, whereas some keys that a manifest omits have defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Features {
    /// The roles that it supports.
    #[serde(deserialize_with = "filled")]
    pub roles: Vec<Role>,
    /// The protocols that it supports, each with its HTTP versions.
    #[serde(default)]
    pub protocols: BTreeMap<Protocol, Vec<HttpVersion>>,
    /// The encodings that it reads and writes.
    #[serde(deserialize_with = "filled")]
    pub encodings: Vec<Encoding>,
    /// The compressions that it reads and writes.
    #[serde(default = "no_compression", deserialize_with = "filled")]
    pub compressions: Vec<CompressionKind>,
    /// The transports that it listens on, or connects over.
    #[serde(default, deserialize_with = "filled")]
    pub transports: Vec<Transport>,
    /// The roles in which it supports TLS.
    #[serde(
        default,
        deserialize_with = "filled",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub tls: Vec<Role>,
    /// The streams that it can serve or call.
    #[serde(
        default,
        deserialize_with = "filled",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub streams: Vec<StreamForm>,
    /// The workloads that it can serve, call, or encode.
    #[serde(deserialize_with = "filled")]
    pub workloads: Vec<WorkloadKind>,
    /// For a server or client, by encoding: the codec stack that encodes and decodes the way it does.
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
    /// The approximate start-up time of its process, ms; 0 if unknown.
    #[serde(default, rename = "start-up", deserialize_with = "of::<_, Time, _>")]
    pub start_up_ms: u64,
    /// The longest warm-up that it needs, ms, for example for a just-in-time compiler; 0 if the study's default is
    /// enough.
    #[serde(default, rename = "warm-up", deserialize_with = "of::<_, Time, _>")]
    pub warm_up_ms: u64,
    /// The minimum number of warm-up calls, unless half of the warm-up time passes first.
    #[serde(default)]
    pub warm_up_calls: u64,
    /// The programs that can run it together with other stacks, as `SUBJECT/PROGRAM`, its own first.
    #[serde(skip)]
    pub programs: Vec<String>,
    /// The settings that its runtime supports. Its subject declares them once for all its stacks.
    #[serde(skip_deserializing, skip_serializing_if = "is_default")]
    pub runtime: Adjustable,
}

/// The settings that a runtime supports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Adjustable {
    /// Its garbage collectors, under names that the subject defines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gc: Vec<String>,
    /// Whether its heap size can be set.
    pub heap: bool,
    /// Whether it can start from an ahead-of-time cache.
    pub aot_cache: bool,
    /// Whether it reports runtime events, such as garbage collections.
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
    /// [`WorkloadSpec::Items`].
    Items,
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
    "echo" => Echo, "hello" => Hello, "list" => List, "items" => Items,
    "records" => Records, "profile" => Profile, "followers" => Followers, "own" => Own,
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
            WorkloadSpec::Items {} => Self::Items,
            WorkloadSpec::Records { .. } => Self::Records,
            WorkloadSpec::Profile {} => Self::Profile,
            WorkloadSpec::Followers { .. } => Self::Followers,
            WorkloadSpec::Own(_) => Self::Own,
        }
    }
}

impl Features {
    /// The features of the embedded subject, which supports everything as a server and as a codec.
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
            streams: all(),
            workloads: all(),
            codecs: BTreeMap::from_iter(all().into_iter().map(|one| (one, REFERENCE.to_owned()))),
            threads: MAX_THREADS,
            programs: vec![REFERENCE.to_owned()],
            // The other fields are for clients, or are times that it does not need.
            ..Self::default()
        }
    }
}

/// The stacks of a run by name when only the embedded one is available.
pub fn embedded_only() -> BTreeMap<String, Features> {
    BTreeMap::from([(REFERENCE.to_owned(), Features::embedded())])
}
