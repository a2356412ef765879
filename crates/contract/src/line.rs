//! Converts between lines and messages.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{
    Answer, Ask, Asked, ContractError, FIRST_VERSION, JsonText, MAX_DETAIL_CHARS, MAX_LINE_BYTES,
    MAX_PARTS, Ready, Reply, RuntimeEvent, SettingsLine, Several, VERSION, Verified,
    check_versions,
};

const SETTINGS: &str = "settings";
const REPLY: &str = "ready";
const ASK: &str = "slice";
const ANSWER: &str = "slice's answer";
const EVENT: &str = "event";

const KEY_ERROR: &str = "error";
const KEY_VERIFY: &str = "verify";
const KEY_VERIFIED: &str = "verified";
const KEY_SLICE: &str = "slice";
const KEY_PART: &str = "part";

impl SettingsLine {
    /// Parses the fields of a settings line. The version is checked first and the role second, so
    /// that a line of another version is reported as such, not as a misspelled line of this
    /// version.
    pub fn parse(line: &str) -> Result<Self, ContractError> {
        let (mut object, version) = versioned(line, SETTINGS)?;
        let role = object.remove("role");
        let rest = Value::Object(object);
        // Serde's tag would build a tree of the values that must stay text.
        let settings = match role.as_ref().and_then(Value::as_str) {
            Some("server") => shaped(rest, SETTINGS).map(Self::Server),
            Some("client") => shaped(rest, SETTINGS).map(Self::Client),
            Some("codec") => shaped(rest, SETTINGS).map(Self::Codec),
            Some("floor") => shaped(rest, SETTINGS).map(Self::Floor),
            Some("servers") => several(rest).map(Self::Servers),
            Some("clients") => several(rest).map(Self::Clients),
            _ => Err(ContractError::Role(named(role.as_ref()))),
        }?;
        if settings.version() > version {
            let what = format!("\"stream\" needs contract version {VERSION}");
            return Err(wrong_shape(SETTINGS, &what));
        }
        Ok(settings)
    }

    /// The settings line, without its line feed.
    pub fn to_line(&self) -> String {
        line_of(self.version(), None, self)
    }

    /// Reads a single settings line.
    pub fn read(stream: impl BufRead) -> Result<Self, ContractError> {
        Self::parse(&read_line(stream, SETTINGS)?)
    }
}

impl Reply {
    /// Parses a ready or error line.
    pub fn parse(line: &str) -> Result<Self, ContractError> {
        let (object, _) = versioned(line, REPLY)?;
        let is_failed = object.contains_key(KEY_ERROR);
        let is_ready = object.get("ready") == Some(&Value::Bool(true));
        let object = Value::Object(object);
        match (is_failed, is_ready) {
            (true, _) => shaped(object, REPLY).map(Self::Failed),
            (false, true) => {
                let ready: Ready = shaped(object, REPLY)?;
                check_versions(&ready.versions).map_err(|what| wrong_shape(REPLY, &what))?;
                Ok(Self::Ready(ready))
            }
            (false, false) => {
                let what = "it has neither \"ready\":true nor \"error\"";
                Err(wrong_shape(REPLY, what))
            }
        }
    }

    /// The reply as a line, without its line feed.
    pub fn to_line(&self) -> String {
        match self {
            Self::Ready(ready) => line_of(FIRST_VERSION, Some(true), ready),
            Self::Failed(failed) => line_of(FIRST_VERSION, None, failed),
        }
    }

    /// Reads a single ready or error line.
    pub fn read(stream: impl BufRead) -> Result<Self, ContractError> {
        Self::parse(&read_line(stream, REPLY)?)
    }
}

impl RuntimeEvent {
    /// Parses one line of the output of a subject's events command.
    pub fn parse(line: &str) -> Result<Self, ContractError> {
        let mut event: Self = shaped(Value::Object(object(line, EVENT)?), EVENT)?;
        if event.end_ns < event.begin_ns {
            return Err(wrong_shape(EVENT, "it ends before it begins"));
        }
        event.detail = shortened(
            event.detail.replace(char::is_control, " "),
            MAX_DETAIL_CHARS,
        );
        Ok(event)
    }
}

impl Ask {
    /// Parses a line sent to a client or codec.
    pub fn parse(line: &str) -> Result<Self, ContractError> {
        let mut object = object(line, ASK)?;
        let part = match object.remove(KEY_PART) {
            Some(part) => shaped(part, ASK)?,
            None => 0,
        };
        let asked = match (object.remove(KEY_VERIFY), object.remove(KEY_SLICE)) {
            (Some(Value::Bool(true)), None) => Ok(Asked::Verify),
            (None, Some(slice)) => shaped(slice, ASK).map(Asked::Slice),
            _ => {
                let what = "it has neither \"verify\":true nor \"slice\"";
                Err(wrong_shape(ASK, what))
            }
        }?;
        match object.keys().next() {
            Some(key) => Err(wrong_shape(ASK, &format!("unknown field `{key}`"))),
            None => Ok(Self { part, asked }),
        }
    }

    /// The ask as a line, without its line feed.
    pub fn to_line(&self) -> String {
        let mut line = match self.asked {
            Asked::Verify => json!({ KEY_VERIFY: true }),
            Asked::Slice(slice) => json!({ KEY_SLICE: slice }),
        };
        if self.part > 0 {
            line[KEY_PART] = self.part.into();
        }
        line.to_string()
    }

    /// Reads the next line; `None` at the end of the stream.
    pub fn read(stream: impl BufRead) -> Result<Option<Self>, ContractError> {
        match read_line(stream, ASK) {
            Ok(line) => Self::parse(&line).map(Some),
            Err(ContractError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Answer {
    /// Parses an answer line from a client or codec.
    pub fn parse(line: &str) -> Result<Self, ContractError> {
        let mut said = raw_object(line)?;
        if let Some(done) = said.remove(KEY_SLICE) {
            return from_raw(done).map(Self::Slice);
        }
        if let Some(verified) = said.remove(KEY_VERIFIED) {
            return Verified::parse(verified).map(Self::Verified);
        }
        if said.contains_key(KEY_ERROR) {
            let said = Value::Object(versioned(line, ANSWER)?.0);
            return shaped(said, ANSWER).map(Self::Failed);
        }
        let what = "it has none of \"verified\", \"slice\" and \"error\"";
        Err(wrong_shape(ANSWER, what))
    }

    /// The answer as a line, without its line feed.
    pub fn to_line(&self) -> String {
        match self {
            Self::Verified(verified) => text_of(&BTreeMap::from([(KEY_VERIFIED, verified)])),
            Self::Slice(done) => text_of(&BTreeMap::from([(KEY_SLICE, done)])),
            Self::Failed(failed) => line_of(FIRST_VERSION, None, failed),
        }
    }
}

impl Verified {
    fn parse(verified: &RawValue) -> Result<Self, ContractError> {
        let mut verified = raw_object(verified.get())?;
        let forms = ["message", "protobuf", "bytes", "stream"].map(|key| verified.remove(key));
        match forms {
            [Some(message), None, None, None] => Ok(Self::Message(JsonText(message.to_owned()))),
            [None, Some(message), None, None] => from_raw(message).map(Self::Protobuf),
            [None, None, Some(bytes), None] => from_raw(bytes).map(Self::Bytes),
            [None, None, None, Some(stream)] => {
                let messages: Vec<&RawValue> = from_raw(stream)?;
                let messages = messages
                    .into_iter()
                    .map(|message| match Self::parse(message)? {
                        Self::Bytes(_) | Self::Stream(_) => {
                            let what =
                                "\"stream\" must contain messages, as \"message\" or \"protobuf\"";
                            Err(wrong_shape(ANSWER, what))
                        }
                        message => Ok(message),
                    });
                messages.collect::<Result<_, _>>().map(Self::Stream)
            }
            _ => {
                let what = "\"verified\" must contain exactly one of \"message\", \"protobuf\", \"bytes\" and \"stream\"";
                Err(wrong_shape(ANSWER, what))
            }
        }
    }
}

/// Reads one line of at most [`MAX_LINE_BYTES`] and removes its line end.
fn read_line(stream: impl BufRead, what: &'static str) -> Result<String, ContractError> {
    let stream_error = |said: String| ContractError::Stream(what, said);
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

fn object(line: &str, what: &'static str) -> Result<Map<String, Value>, ContractError> {
    serde_json::from_str(line).map_err(|error| not_json(what, &error))
}

/// The keys of an answer, with their values as text because a verified message can be large.
fn raw_object(text: &str) -> Result<BTreeMap<String, &RawValue>, ContractError> {
    serde_json::from_str(text).map_err(|error| not_json(ANSWER, &error))
}

fn from_raw<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Result<T, ContractError> {
    serde_json::from_str(value.get()).map_err(|error| wrong_shape(ANSWER, &one_line(&error)))
}

fn not_json(what: &'static str, error: &serde_json::Error) -> ContractError {
    ContractError::NotJson(what, one_line(error))
}

/// The keys of a line without the version, and the version. Fails if that is not one of the contract.
fn versioned(line: &str, what: &'static str) -> Result<(Map<String, Value>, u32), ContractError> {
    let mut object = object(line, what)?;
    let version = object.remove("contract");
    let number = version.as_ref().and_then(Value::as_u64);
    match number.and_then(|number| u32::try_from(number).ok()) {
        Some(number @ FIRST_VERSION..=VERSION) => Ok((object, number)),
        _ => Err(ContractError::Version(what, named(version.as_ref()))),
    }
}

/// The library's message on one line: it repeats unknown names with every character in them.
fn one_line(error: &serde_json::Error) -> String {
    error.to_string().replace(char::is_control, " ")
}

fn shaped<T: DeserializeOwned>(value: Value, what: &'static str) -> Result<T, ContractError> {
    serde_json::from_value(value).map_err(|error| wrong_shape(what, &one_line(&error)))
}

/// The settings of a process with several parts.
fn several<T: DeserializeOwned>(value: Value) -> Result<Several<T>, ContractError> {
    let several: Several<T> = shaped(value, SETTINGS)?;
    match several.parts.len() {
        2..=MAX_PARTS => Ok(several),
        parts => {
            let what = format!("it has {parts} parts; it must have 2 to {MAX_PARTS}");
            Err(wrong_shape(SETTINGS, &what))
        }
    }
}

/// An answer with impossible content.
pub(super) fn wrong_answer(detail: &str) -> ContractError {
    wrong_shape(ANSWER, detail)
}

fn wrong_shape(what: &'static str, detail: &str) -> ContractError {
    ContractError::Shape(what, detail.replace(char::is_control, " "))
}

/// A wrong value for display, shortened because it goes into a one-line error.
fn named(value: Option<&Value>) -> String {
    const MAX_SHOWN: usize = 40;
    let Some(value) = value else {
        return "(none)".to_owned();
    };
    shortened(value.to_string(), MAX_SHOWN)
}

/// The first `most` characters of a text, then "…" if any were cut off.
fn shortened(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The body's keys and the version as one JSON object.
fn line_of(version: u32, ready: Option<bool>, body: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Line<'a, B> {
        contract: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        ready: Option<bool>,
        #[serde(flatten)]
        body: &'a B,
    }
    text_of(&Line {
        contract: version,
        ready,
        body,
    })
}

/// Serialization cannot fail: structs and maps with string keys always have a JSON form.
fn text_of(line: &impl Serialize) -> String {
    serde_json::to_string(line).unwrap_or_default()
}
