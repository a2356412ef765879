//! `subject.toml`: what a subject is, needs, and can do.

use std::collections::BTreeMap;

use rpcgauge_message::contract::READY_TIMEOUT;
use rpcgauge_message::nearest::Nearest;
use serde::Serialize;
use toml::Spanned;

use crate::error::{Source, StudyError};
use crate::features::{CompressionKind, Features, Role};
use crate::file::read::{Entry, Table, document};
use crate::settings::{ConnectionUse, HttpVersion, MOST_IN_FLIGHT, Protocol};
use crate::words::Word;

/// The file's name in a subject's folder.
pub const MANIFEST: &str = "subject.toml";

/// A subject as its `subject.toml` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its name, which is its folder's.
    pub name: String,
    /// The language, as it stands in a list.
    pub language: String,
    /// What must be there to build and run it.
    pub toolchain: Vec<Tool>,
    /// Commands that build it, one after the other; empty where nothing is built.
    pub build: Vec<Vec<String>>,
    /// The command that runs it.
    pub run: Vec<String>,
    /// How long it may take until it is ready, ms.
    pub ready_timeout_ms: u64,
    /// Its libraries with their versions.
    pub versions: BTreeMap<String, String>,
    /// Its stacks.
    pub stacks: Vec<Stack>,
}

/// A program that a subject needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// What it is called in commands and in messages.
    pub name: String,
    /// Names to look for in `PATH`, the best first.
    pub programs: Vec<String>,
    /// Arguments that make it tell its version.
    pub version: Vec<String>,
    /// The least version that will do.
    pub least: Option<Version>,
    /// What to do where it is missing.
    pub install: String,
}

/// A version of numbers with dots between them: `3.10` is after `3.9`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u64>);

/// One way of a subject to answer, call or encode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Its name within the subject.
    pub name: String,
    /// What it can do.
    pub features: Features,
    /// What its library's own guide recommends, and the stack does.
    pub recommended: Vec<Recommended>,
}

/// A setting that a library's own guide recommends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recommended {
    /// The setting, in words.
    pub setting: String,
    /// The guide.
    pub guide: String,
}

const TOP_KEYS: [&str; 8] = [
    "name",
    "language",
    "toolchain",
    "build",
    "run",
    "ready-timeout",
    "versions",
    "stacks",
];
const TOOL_KEYS: [&str; 5] = ["name", "programs", "version", "least", "install"];
const STACK_KEYS: [&str; 11] = [
    "name",
    "roles",
    "protocols",
    "encodings",
    "compressions",
    "transports",
    "workloads",
    "styles",
    "connections",
    "in-flight",
    "recommended",
];
const RECOMMENDED_KEYS: [&str; 2] = ["setting", "guide"];

/// Every key that a `subject.toml` can have, anywhere in it, for the guide's test.
pub fn known_keys() -> Vec<&'static str> {
    let lists: [&[&str]; 4] = [&TOP_KEYS, &TOOL_KEYS, &STACK_KEYS, &RECOMMENDED_KEYS];
    lists.concat()
}

impl Manifest {
    /// Reads a `subject.toml`. `file` is what messages call it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, StudyError> {
        let source = Source {
            file: file.into(),
            text: text.into(),
        };
        let document = document(&source)?;
        let table = Table::root(&source, "a subject", &document);
        table.known(&TOP_KEYS, |key| {
            let is_stacks = STACK_KEYS.contains(&key);
            is_stacks.then(|| "it is a stack's: write it under [[stacks]]".to_owned())
        })?;
        let manifest = Self {
            name: name(table.need("name", "name = \"python\"")?, "-")?.into_inner(),
            language: line(&table, "language", "language = \"Python\"")?,
            toolchain: table.all("toolchain", "[[toolchain]]", Tool::read)?,
            build: match table.get("build") {
                None => Vec::new(),
                Some(entry) => entry
                    .list()?
                    .into_iter()
                    .map(words)
                    .collect::<Result<_, _>>()?,
            },
            run: words(table.need("run", "run = [\"python3\", \"main.py\"]")?)?,
            ready_timeout_ms: table
                .read("ready-timeout", Entry::time_ms)?
                .map_or(READY_TIMEOUT.as_millis() as u64, Spanned::into_inner),
            versions: match table.get("versions") {
                None => BTreeMap::new(),
                Some(entry) => entry
                    .table("[versions]")?
                    .entries()
                    .into_iter()
                    .map(|(name, entry)| Ok((name.into_inner().to_owned(), owned(entry)?)))
                    .collect::<Result<_, StudyError>>()?,
            },
            stacks: table.all("stacks", "[[stacks]]", Stack::read)?,
        };
        if manifest.stacks.is_empty() {
            return Err(table.error(
                "a subject has a stack; write [[stacks]] with name = \"http\" and roles = [\"server\"]",
            ));
        }
        for (place, stack) in manifest.stacks.iter().enumerate() {
            if manifest.stacks[..place]
                .iter()
                .any(|other| other.name == stack.name)
            {
                let message = format!("the stack \"{}\" is there twice", stack.name);
                return Err(source.whole(message));
            }
        }
        Ok(manifest)
    }

    /// The stack of that name.
    pub fn stack(&self, name: &str) -> Option<&Stack> {
        self.stacks.iter().find(|stack| stack.name == name)
    }

    /// The stacks that may have been meant by a name.
    pub fn nearest_stack(&self, name: &str) -> Nearest {
        let known: Vec<&str> = self
            .stacks
            .iter()
            .map(|stack| stack.name.as_str())
            .collect();
        Nearest::or_known(name, known)
    }

    /// What each of its stacks can do, as a study writes them: SUBJECT/STACK.
    pub fn features(&self) -> impl Iterator<Item = (String, Features)> {
        self.stacks.iter().map(|stack| {
            (
                format!("{}/{}", self.name, stack.name),
                stack.features.clone(),
            )
        })
    }
}

impl Tool {
    fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        table.known(&TOOL_KEYS, |_| None)?;
        let name = line(table, "name", "name = \"python3\"")?;
        Ok(Self {
            programs: match table.get("programs") {
                None => vec![name.clone()],
                Some(entry) => words(entry)?,
            },
            version: match table.get("version") {
                None => vec!["--version".to_owned()],
                Some(entry) => words(entry)?,
            },
            least: match table.get("least") {
                None => None,
                Some(entry) => {
                    let text = owned(entry)?;
                    let version = Version::parse(&text).ok_or_else(|| {
                        entry.error(format!("\"{text}\" is no version; write it as 3.10"))
                    })?;
                    Some(version)
                }
            },
            install: line(table, "install", "install = \"apt install python3\"")?,
            name,
        })
    }
}

impl Stack {
    fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        table.known(&STACK_KEYS, |_| None)?;
        let roles: Vec<Role> = set(table.need("roles", "roles = [\"server\"]")?)?;
        let calls = roles.contains(&Role::Server) || roles.contains(&Role::Client);
        let is_client = roles.contains(&Role::Client);
        for (keys, is_used, whose) in [
            (
                &["protocols", "transports"][..],
                calls,
                "server's or client's",
            ),
            (
                &["styles", "connections", "in-flight"],
                is_client,
                "client's",
            ),
        ] {
            if let Some(entry) = keys
                .iter()
                .find_map(|key| table.get(key))
                .filter(|_| !is_used)
            {
                return Err(entry.error(format!("\"{}\" is a {whose}; leave it out", entry.key)));
            }
        }
        let features = Features {
            protocols: if calls {
                protocols(table.need("protocols", "protocols = { rest = [\"1.1\"] }")?)?
            } else {
                BTreeMap::new()
            },
            encodings: set(table.need("encodings", "encodings = [\"json\"]")?)?,
            compressions: set_or(table, "compressions", CompressionKind::None)?,
            transports: if calls {
                set(table.need("transports", "transports = [\"tcp\"]")?)?
            } else {
                Vec::new()
            },
            workloads: set(table.need("workloads", "workloads = [\"hello\"]")?)?,
            styles: if is_client {
                set(table.need("styles", "styles = [\"blocking\"]")?)?
            } else {
                Vec::new()
            },
            connections: if is_client {
                set_or(table, "connections", ConnectionUse::Reuse)?
            } else {
                Vec::new()
            },
            in_flight: table
                .read("in-flight", |entry| {
                    entry.integer(1, u64::from(MOST_IN_FLIGHT))
                })?
                .map_or(u32::from(is_client), |count| count.into_inner() as u32),
            roles,
        };
        Ok(Self {
            name: name(table.need("name", "name = \"http\"")?, "-.")?.into_inner(),
            features,
            recommended: table.all("recommended", "[[stacks.recommended]]", Recommended::read)?,
        })
    }
}

impl Recommended {
    fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        table.known(&RECOMMENDED_KEYS, |_| None)?;
        Ok(Self {
            setting: line(table, "setting", "setting = \"one channel for all calls\"")?,
            guide: line(table, "guide", "guide = \"https://…\"")?,
        })
    }
}

impl Version {
    /// The numbers of `1.2.3`.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split('.').map(|number| number.parse().ok());
        numbers.collect::<Option<Vec<u64>>>().map(Self)
    }

    /// The version in what a program says of itself: the first number with a dot in it, else the
    /// first number.
    pub fn find(text: &str) -> Option<Self> {
        let numbers = || {
            text.split(|c: char| !c.is_ascii_digit() && c != '.')
                .map(|part| part.trim_matches('.'))
                .filter(|part| !part.is_empty())
        };
        let dotted = numbers().find(|part| part.contains('.'));
        dotted.or_else(|| numbers().next()).and_then(Self::parse)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

fn owned(entry: Entry<'_>) -> Result<String, StudyError> {
    entry.line().map(Spanned::into_inner)
}

fn line(table: &Table<'_>, key: &str, example: &str) -> Result<String, StudyError> {
    owned(table.need(key, example)?)
}

/// A name that can stand in a study, a path and a variant's name.
fn name(entry: Entry<'_>, marks: &str) -> Result<Spanned<String>, StudyError> {
    let name = entry.line()?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || marks.contains(c);
    let text = name.get_ref();
    if text.chars().all(is_plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Ok(name);
    }
    Err(entry.error(format!(
        "the name \"{text}\" must be of lower-case letters, digits and {marks}, and begin with a \
         letter or digit"
    )))
}

/// A command, or a list of names: words.
fn words(entry: Entry<'_>) -> Result<Vec<String>, StudyError> {
    entry.list()?.into_iter().map(owned).collect()
}

fn set<T: Word>(entry: Entry<'_>) -> Result<Vec<T>, StudyError> {
    let words = entry.list()?.into_iter().map(Entry::word);
    words.map(|word| word.map(Spanned::into_inner)).collect()
}

fn set_or<T: Word>(table: &Table<'_>, key: &str, default: T) -> Result<Vec<T>, StudyError> {
    Ok(table.read(key, set)?.unwrap_or_else(|| vec![default]))
}

fn protocols(entry: Entry<'_>) -> Result<BTreeMap<Protocol, Vec<HttpVersion>>, StudyError> {
    let table = entry.table("\"protocols\"")?;
    let known: Vec<&str> = Protocol::WORDS.iter().map(|(word, _)| *word).collect();
    table.known(&known, |_| None)?;
    let mut protocols = BTreeMap::new();
    for (name, entry) in table.entries() {
        if let Some(protocol) = Protocol::from_word(name.get_ref()) {
            protocols.insert(protocol, set(entry)?);
        }
    }
    Ok(protocols)
}

#[cfg(test)]
mod tests;
