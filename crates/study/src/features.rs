//! What a stack can do. Declared by its subject, never guessed.

use std::collections::BTreeMap;

use rpcgauge_message::workload::WorkloadSpec;
use rpcgauge_message::{Compression, Encoding};
use serde::{Deserialize, Serialize};

use crate::settings::{
    Callee, ConnectionUse, HttpVersion, Protocol, Schedule, Settings, Style, Transport,
};
use crate::words::Word;

/// The name of the embedded subject's one stack.
pub const REFERENCE: &str = "reference";

/// The name of the client that calls unless a subject does it.
pub const ENGINE: &str = "engine";

/// What one stack can do, in each of its roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Features {
    /// What it can be.
    pub roles: Vec<Role>,
    /// The protocols it speaks, and over which versions of HTTP.
    pub protocols: BTreeMap<Protocol, Vec<HttpVersion>>,
    /// The encodings it reads and writes.
    pub encodings: Vec<Encoding>,
    /// The compressions it reads and writes.
    pub compressions: Vec<CompressionKind>,
    /// What it listens on, or connects by.
    pub transports: Vec<Transport>,
    /// What it can serve, call, or encode.
    pub workloads: Vec<WorkloadKind>,
    /// A client's: how its library can be called, the usual way first.
    pub styles: Vec<Style>,
    /// A client's: how it can use connections.
    pub connections: Vec<ConnectionUse>,
    /// A client's: the most calls in flight.
    pub in_flight: u32,
}

/// What a stack is in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It answers calls.
    Server,
    /// It makes calls.
    Client,
    /// It encodes and decodes, without calls.
    Codec,
}

impl Word for Role {
    const WHAT: &'static str = "role";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("server", Self::Server),
        ("client", Self::Client),
        ("codec", Self::Codec),
    ];
}

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

impl Word for CompressionKind {
    const WHAT: &'static str = "compression";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("gzip", Self::Gzip),
        ("zstd", Self::Zstd),
    ];
}

impl Word for WorkloadKind {
    const WHAT: &'static str = "workload";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("echo", Self::Echo),
        ("hello", Self::Hello),
        ("list", Self::List),
        ("records", Self::Records),
        ("profile", Self::Profile),
        ("followers", Self::Followers),
        ("own", Self::Own),
    ];
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
    /// What the embedded subject does: as a server and codec, everything there is.
    pub fn embedded() -> Self {
        fn all<T: Word>() -> Vec<T> {
            T::WORDS.iter().map(|(_, value)| *value).collect()
        }
        Self {
            roles: vec![Role::Server, Role::Codec],
            protocols: BTreeMap::from([
                (Protocol::Grpc, vec![HttpVersion::Http2]),
                (Protocol::Rest, vec![HttpVersion::Http1, HttpVersion::Http2]),
            ]),
            encodings: all(),
            compressions: all(),
            transports: all(),
            workloads: all(),
            styles: Vec::new(),
            connections: Vec::new(),
            in_flight: 0,
        }
    }

    /// The first thing that `settings` need of it in a role and that it lacks; nothing where they
    /// need none.
    pub fn lack(&self, role: Role, settings: &Settings) -> Option<Lack> {
        missing(role.word(), &self.roles, role)
            .or_else(|| match role {
                Role::Codec => None,
                Role::Server | Role::Client => self.lack_of_call(settings),
            })
            .or_else(|| missing("encoding", &self.encodings, settings.encoding?))
            .or_else(|| {
                let compression = settings.request_compression.into();
                missing("request-compression", &self.compressions, compression)
            })
            .or_else(|| {
                let compression = settings.response_compression.into();
                missing("response-compression", &self.compressions, compression)
            })
            .or_else(|| {
                let workload = settings.callee.workload()?;
                missing("workload", &self.workloads, workload.into())
            })
            .or_else(|| match role {
                Role::Client => self.lack_of_client(settings),
                Role::Server | Role::Codec => None,
            })
    }

    fn lack_of_call(&self, settings: &Settings) -> Option<Lack> {
        let Some(versions) = self.protocols.get(&settings.protocol) else {
            let has: Vec<Protocol> = self.protocols.keys().copied().collect();
            return missing("protocol", &has, settings.protocol);
        };
        missing("http", versions, settings.http)
            .or_else(|| missing("transport", &self.transports, settings.transport))
    }

    fn lack_of_client(&self, settings: &Settings) -> Option<Lack> {
        let style = match &settings.callee {
            Callee::Subject { client, .. } => client.as_ref().map(|client| client.style),
            Callee::Codec { .. } | Callee::Live { .. } => None,
        };
        style
            .and_then(|style| missing("style", &self.styles, style))
            .or_else(|| missing("connection", &self.connections, settings.connection))
            .or_else(|| match settings.schedule {
                Schedule::Closed { in_flight } if in_flight <= self.in_flight => None,
                Schedule::Closed { .. } => Some(Lack {
                    setting: "in-flight",
                    sentence: format!("has at most {} in flight", self.in_flight),
                }),
                Schedule::Rate { .. } | Schedule::Ramp { .. } => Some(Lack {
                    setting: "rate",
                    sentence: "sends each call when one ends, and has no rate".to_owned(),
                }),
            })
    }
}

fn missing<T: Word>(setting: &'static str, has: &[T], needed: T) -> Option<Lack> {
    let words: Vec<&str> = has.iter().map(|value| value.word()).collect();
    (!has.contains(&needed)).then(|| Lack {
        setting,
        sentence: format!(
            "has no {} \"{}\" (it has: {})",
            T::WHAT,
            needed.word(),
            words.join(", ")
        ),
    })
}

/// Something that settings need and a subject has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The key of the setting, as a study writes it.
    pub setting: &'static str,
    /// The rest of a sentence that begins with the stack.
    pub sentence: String,
}

/// The stacks of a run as a study writes them: the embedded one alone.
pub fn embedded_only() -> BTreeMap<String, Features> {
    BTreeMap::from([(REFERENCE.to_owned(), Features::embedded())])
}
