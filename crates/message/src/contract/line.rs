//! Lines to messages and back.

use std::io::BufRead;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Batch, ContractError, MAX_LINE_BYTES, Reply, Settings, VERSION};

const SETTINGS: &str = "settings";
const REPLY: &str = "ready";
const BATCH: &str = "batch";

const KEY_CONTRACT: &str = "contract";
const KEY_ROLE: &str = "role";
const KEY_READY: &str = "ready";
const KEY_ERROR: &str = "error";

impl Settings {
    /// The role's name.
    pub const fn role(&self) -> &'static str {
        match self {
            Self::Server(_) => "server",
            Self::Floor(_) => "floor",
            Self::Codec(_) => "codec",
        }
    }

    /// Takes a settings line apart. The version is looked at first, the role next, so that a line
    /// of another version is called that and not a misspelt one of this version.
    pub fn parse(line: &str) -> Result<Self, ContractError> {
        let mut object = versioned_object(line, SETTINGS)?;
        let role = object.remove(KEY_ROLE);
        match role.as_ref().and_then(Value::as_str) {
            Some("server") => Ok(Self::Server(Box::new(shaped(object, SETTINGS)?))),
            Some("floor") => Ok(Self::Floor(shaped(object, SETTINGS)?)),
            Some("codec") => Ok(Self::Codec(Box::new(shaped(object, SETTINGS)?))),
            _ => Err(ContractError::Role(named(role.as_ref()))),
        }
    }

    /// The settings line, without its line feed.
    pub fn to_line(&self) -> String {
        let role = (KEY_ROLE, Value::from(self.role()));
        match self {
            Self::Server(settings) => line_of(settings, [role]),
            Self::Floor(settings) => line_of(settings, [role]),
            Self::Codec(settings) => line_of(settings, [role]),
        }
    }

    /// Reads the one settings line.
    pub fn read(stream: impl BufRead) -> Result<Self, ContractError> {
        Self::parse(&read_line(stream, SETTINGS)?)
    }
}

impl Reply {
    /// Takes a ready or error line apart.
    pub fn parse(line: &str) -> Result<Self, ContractError> {
        let object = versioned_object(line, REPLY)?;
        if object.contains_key(KEY_ERROR) {
            return Ok(Self::Failed(shaped(object, REPLY)?));
        }
        if object.get(KEY_READY) != Some(&Value::Bool(true)) {
            let detail = "it says neither \"ready\":true nor \"error\"".to_owned();
            return Err(ContractError::Shape {
                what: REPLY,
                detail,
            });
        }
        Ok(Self::Ready(shaped(object, REPLY)?))
    }

    /// The line, without its line feed.
    pub fn to_line(&self) -> String {
        match self {
            Self::Ready(ready) => line_of(ready, [(KEY_READY, Value::Bool(true))]),
            Self::Failed(failed) => line_of(failed, []),
        }
    }

    /// Reads the one ready or error line.
    pub fn read(stream: impl BufRead) -> Result<Self, ContractError> {
        Self::parse(&read_line(stream, REPLY)?)
    }
}

impl Batch {
    /// Takes a codec's batch line apart.
    pub fn parse(line: &str) -> Result<Self, ContractError> {
        let object = serde_json::from_str(line).map_err(|error| not_json(BATCH, &error))?;
        shaped(object, BATCH)
    }

    /// The line, without its line feed.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the next batch line.
    pub fn read(stream: impl BufRead) -> Result<Self, ContractError> {
        Self::parse(&read_line(stream, BATCH)?)
    }
}

/// One line without its end, bounded by [`MAX_LINE_BYTES`].
fn read_line(stream: impl BufRead, what: &'static str) -> Result<String, ContractError> {
    let stream_error = |detail: String| ContractError::Stream { what, detail };
    let mut line = Vec::new();
    let most = MAX_LINE_BYTES as u64 + 1;
    stream
        .take(most)
        .read_until(b'\n', &mut line)
        .map_err(|error| stream_error(error.to_string()))?;
    if line.len() as u64 == most && line.last() != Some(&b'\n') {
        return Err(ContractError::TooLong(what));
    }
    if line.is_empty() {
        return Err(ContractError::Missing(what));
    }
    String::from_utf8(line)
        .map(|line| line.trim_end_matches(['\r', '\n']).to_owned())
        .map_err(|_| stream_error("it is not UTF-8".to_owned()))
}

fn versioned_object(line: &str, what: &'static str) -> Result<Map<String, Value>, ContractError> {
    let mut object: Map<String, Value> =
        serde_json::from_str(line).map_err(|error| not_json(what, &error))?;
    match object.remove(KEY_CONTRACT) {
        Some(version) if version.as_u64() == Some(u64::from(VERSION)) => Ok(object),
        version => Err(ContractError::Version {
            what,
            found: named(version.as_ref()),
        }),
    }
}

fn not_json(what: &'static str, error: &serde_json::Error) -> ContractError {
    ContractError::NotJson {
        what,
        detail: one_line(error),
    }
}

/// What the library says. It repeats names that it does not know, with whatever is in them.
fn one_line(error: &serde_json::Error) -> String {
    error.to_string().replace(char::is_control, " ")
}

fn shaped<T: DeserializeOwned>(
    object: Map<String, Value>,
    what: &'static str,
) -> Result<T, ContractError> {
    serde_json::from_value(Value::Object(object)).map_err(|error| ContractError::Shape {
        what,
        detail: one_line(&error),
    })
}

/// How a wrong value is shown: cut, since it goes into a one-line error.
fn named(value: Option<&Value>) -> String {
    const MOST_SHOWN: usize = 40;
    let Some(value) = value else {
        return "(none)".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The body's keys with the version and the given keys, as one JSON object.
fn line_of<const N: usize>(body: &impl Serialize, more: [(&str, Value); N]) -> String {
    let mut object = Map::new();
    object.insert(KEY_CONTRACT.to_owned(), Value::from(VERSION));
    for (key, value) in more {
        object.insert(key.to_owned(), value);
    }
    // Struct fields with string keys always make an object.
    if let Ok(Value::Object(fields)) = serde_json::to_value(body) {
        object.extend(fields);
    }
    Value::Object(object).to_string()
}
