//! What a subject can do. Declared by it, never guessed.

use std::collections::BTreeMap;

use rpcgauge_message::workload::WorkloadSpec;
use rpcgauge_message::{Compression, Encoding};
use serde::{Deserialize, Serialize};

use crate::settings::{HttpVersion, Protocol, Settings, Transport};
use crate::words::Word;

/// The name of the embedded server as a subject.
pub const REFERENCE: &str = "reference";

/// What one subject's server can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Features {
    /// The protocols it speaks, and over which versions of HTTP.
    pub protocols: BTreeMap<Protocol, Vec<HttpVersion>>,
    /// The encodings it reads and writes.
    pub encodings: Vec<Encoding>,
    /// The compressions it reads and writes.
    pub compressions: Vec<CompressionKind>,
    /// What it listens on.
    pub transports: Vec<Transport>,
    /// What it can serve.
    pub workloads: Vec<WorkloadKind>,
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
    /// Everything this schema can name: what the embedded server does.
    pub fn everything() -> Self {
        fn all<T: Word>() -> Vec<T> {
            T::WORDS.iter().map(|(_, value)| *value).collect()
        }
        Self {
            protocols: BTreeMap::from([
                (Protocol::Grpc, vec![HttpVersion::Http2]),
                (Protocol::Rest, vec![HttpVersion::Http1, HttpVersion::Http2]),
            ]),
            encodings: all(),
            compressions: all(),
            transports: all(),
            workloads: all(),
        }
    }

    /// The first thing that `settings` need and this subject lacks; nothing where they need none.
    pub fn lack(&self, settings: &Settings) -> Option<Lack> {
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
        let Some(versions) = self.protocols.get(&settings.protocol) else {
            let has: Vec<Protocol> = self.protocols.keys().copied().collect();
            return missing("protocol", &has, settings.protocol);
        };
        let [request, response] =
            [settings.request_compression, settings.response_compression].map(Into::into);
        missing("http", versions, settings.http)
            .or_else(|| missing("encoding", &self.encodings, settings.encoding?))
            .or_else(|| missing("request-compression", &self.compressions, request))
            .or_else(|| missing("response-compression", &self.compressions, response))
            .or_else(|| missing("transport", &self.transports, settings.transport))
            .or_else(|| {
                let workload = settings.callee.workload()?;
                missing("workload", &self.workloads, workload.into())
            })
    }
}

/// Something that settings need and a subject has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The key of the setting, as a study writes it.
    pub setting: &'static str,
    /// The rest of a sentence that begins with the subject.
    pub sentence: String,
}

/// The subjects of a run by name: the embedded server alone.
pub fn embedded_only() -> BTreeMap<String, Features> {
    BTreeMap::from([(REFERENCE.to_owned(), Features::everything())])
}
