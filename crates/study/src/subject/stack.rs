//! `[[stacks]]`: the ways in which a subject serves calls, makes calls or encodes.

use std::path::{Component, Path};

use rpcgauge_message::nearest::Nearest;
use serde::{Deserialize, Serialize};

use super::{Command, Name, VERSION};
use crate::error::StudyError;
use crate::features::{Features, Role};
use crate::read::{Line, OneOrMore, Table};
use crate::settings::{ConnectionUse, HttpVersion, MAX_IN_FLIGHT, MAX_THREADS, Protocol};
use crate::words::Named as _;

/// The maximum number of paths of a stack's `disk`.
const MAX_DISK_PATHS: usize = 64;

/// One way in which a subject serves calls, makes calls or encodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Its name within the subject.
    pub name: String,
    /// The program that contains it, which other stacks may share, followed by the programs that this one starts. By
    /// default, one program with the stack's name.
    pub programs: Vec<String>,
    /// Commands that select another version of its library, with [`VERSION`] where the version goes. They run before the
    /// build; empty if only the subject's own version can be used.
    pub version: Vec<Vec<String>>,
    /// What it can do.
    pub features: Features,
    /// The recommendations of its library's own guide that the stack follows.
    pub recommended: Vec<Recommended>,
    /// The files and folders that it needs to run, not including the language's runtime.
    pub disk: Vec<String>,
}

/// A setting that a library's own guide recommends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recommended {
    /// The setting, in words.
    pub setting: String,
    /// The guide.
    pub guide: String,
}

impl Stack {
    pub(super) fn read(mut table: Table<'_>) -> Result<Self, StudyError> {
        let name: Name = table.need("name")?;
        let programs: Option<OneOrMore<Name>> = table.take("program")?;
        let recommended = table.take("recommended")?.unwrap_or_default();
        let version_place = table.place("version");
        let version: Option<Vec<Command>> = table.take("version")?;
        let version: Vec<Vec<String>> = version.into_iter().flatten().map(Into::into).collect();
        let has_place = version.iter().flatten().any(|word| word.contains(VERSION));
        if let (Some(place), false) = (version_place, has_place) {
            let message = format!("\"version\" needs {VERSION} in a word, for the version");
            return Err(table.source.error(place, message));
        }
        let disk_place = table.place("disk");
        let disk: Option<Vec<Line>> = table.take("disk")?;
        let disk: Vec<String> = disk.into_iter().flatten().map(String::from).collect();
        let is_within = |path: &String| {
            let mut parts = Path::new(path).components();
            parts.all(|part| matches!(part, Component::Normal(_)))
        };
        if disk.len() > MAX_DISK_PATHS || !disk.iter().all(is_within) {
            let message = format!(
                "\"disk\" must be at most {MAX_DISK_PATHS} paths within the subject's folder: neither \
                 absolute nor with \"..\""
            );
            let place = disk_place.unwrap_or_else(|| table.span.clone());
            return Err(table.source.error(place, message));
        }
        const CLIENT: (&str, &[Role]) = ("clients", &[Role::Client]);
        const SERVER: (&str, &[Role]) = ("servers", &[Role::Server]);
        const EITHER: (&str, &[Role]) = ("servers and clients", &[Role::Server, Role::Client]);
        // For each key, the roles that it applies to, and whether they require it.
        let keys = [
            ("protocols", EITHER, true),
            ("transports", EITHER, true),
            ("tls", EITHER, false),
            ("streams", EITHER, false),
            ("styles", CLIENT, true),
            ("connections", CLIENT, false),
            ("channels", CLIENT, false),
            ("in-flight", CLIENT, false),
            ("threads", SERVER, false),
            ("codecs", EITHER, false),
        ];
        let keys = keys.map(|(key, roles, is_needed)| (key, roles, is_needed, table.place(key)));
        let (source, span) = (table.source, table.span.clone());
        let mut features: Features = table.rest()?;
        let is = |role| features.roles.contains(&role);
        let (is_server, is_client) = (is(Role::Server), is(Role::Client));
        for (key, (whose, roles), is_needed, place) in keys {
            let is_used = roles.iter().any(|role| features.roles.contains(role));
            match place {
                Some(place) if !is_used => {
                    let message = format!("\"{key}\" applies to {whose}; leave it out");
                    return Err(source.error(place, message));
                }
                None if is_used && is_needed => {
                    let message =
                        format!("[stacks] needs the key \"{key}\", which applies to {whose}");
                    return Err(source.error(span, message));
                }
                Some(place) => {
                    let grpc = features.protocols.get(&Protocol::Grpc);
                    let (number, most) = match key {
                        "protocols"
                            if grpc.is_some_and(|has| has.contains(&HttpVersion::Http1)) =>
                        {
                            let message = "gRPC needs HTTP/2; write grpc = [\"2\"]";
                            return Err(source.error(place, message));
                        }
                        "channels" => (features.channels, MAX_IN_FLIGHT),
                        "in-flight" => (features.in_flight, MAX_IN_FLIGHT),
                        "threads" => (features.threads, MAX_THREADS),
                        _ => continue,
                    };
                    if !(1..=most).contains(&number) {
                        let message = format!("\"{key}\" must be from 1 to {most}");
                        return Err(source.error(place, message));
                    }
                }
                None => {}
            }
        }
        if is_server {
            features.threads = features.threads.max(1);
        }
        if is_client {
            features.channels = features.channels.max(1);
            features.in_flight = features.in_flight.max(1);
            if features.connections.is_empty() {
                features.connections.push(ConnectionUse::Reuse);
            }
        }
        Ok(Self {
            programs: match programs {
                Some(OneOrMore(names)) => names.into_iter().map(String::from).collect(),
                None => vec![name.0.clone()],
            },
            name: name.0,
            version,
            features,
            recommended,
            disk,
        })
    }
}

/// Checks that the codecs that a stack names exist and support the encodings it names them for.
pub(super) fn check_codecs(all: &[Stack], stack: &Stack) -> Result<(), String> {
    for (encoding, codec) in &stack.features.codecs {
        let has = |stack: &Stack| stack.features.encodings.contains(encoding);
        let (word, name) = (encoding.as_str(), &stack.name);
        if !has(stack) {
            return Err(format!(
                "\"codecs\" has {word}, which is not an encoding of \"{name}\""
            ));
        }
        let is_codec = |stack: &Stack| stack.features.roles.contains(&Role::Codec);
        let fitting = all.iter().filter(|stack| is_codec(stack) && has(stack));
        let fitting: Vec<&str> = fitting.map(|stack| &*stack.name).collect();
        if !fitting.contains(&&**codec) {
            let hint = Nearest::or_known(codec, fitting);
            return Err(format!(
                "\"codecs\": \"{codec}\" is not a codec of this subject with the encoding {word}{hint}"
            ));
        }
    }
    Ok(())
}
