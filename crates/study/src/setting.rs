//! The table of settings: a row is all that is said of one setting, wherever it is read, named,
//! filled in, asked of a subject, or put into words.

use std::collections::BTreeMap;
use std::fmt;

use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use toml::de::DeValue;

use crate::features::{Features, Role};
use crate::ramp::{self, RampPart, parts_word};
use crate::settings::{
    Arrivals, Callee, Client, ConnectionUse, DEFAULT_DEADLINE_MS, ENGINE, HttpVersion,
    MOST_IN_FLIGHT, MOST_THREADS, Operation, Protocol, REFERENCE, Sample, Schedule, Settings, Stop,
    Style, Transport, is_rate, usual,
};
use crate::words::{LONGEST_MS, Word, number_word, parse_time_ms, time_word};

/// Which setting. The order is that of the table, and of their parts in a variant's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Server,
    Client,
    Style,
    Codec,
    Operation,
    Sample,
    Protocol,
    Http,
    Encoding,
    Compression,
    RequestCompression,
    ResponseCompression,
    Threads,
    Transport,
    Connection,
    Connections,
    InFlight,
    Rate,
    Arrivals,
    N,
    Scale,
    Calls,
    Time,
    Deadline,
}

/// A row of the table.
pub struct Setting {
    pub(crate) key: Key,
    /// Its key in a study.
    pub word: &'static str,
    /// What it can be.
    pub values: Values,
    pub(crate) whose: Whose,
    /// Whether its value is told apart from those of all other settings by its word alone, so that
    /// a variant's name need not name the setting.
    pub(crate) speaks_for_itself: bool,
    /// Settings that may not stand in one table with it, and why.
    pub(crate) contradicts: &'static [(Key, &'static str)],
    /// Settings of a lower layer that it takes the place of.
    pub(crate) pushes_out: &'static [Key],
    /// Its value, in settings that have one.
    pub(crate) get: fn(&Settings) -> Option<Value>,
    /// Puts a value of it into settings, after those of the rows above.
    pub(crate) set: fn(&mut Settings, &Value),
    /// The rest of a sentence that begins with a stack which cannot do it in a role.
    pub(crate) lack: fn(&Settings, &Features, Role) -> Option<String>,
    /// The column of `rpcgauge plan` that it stands in.
    column: &'static str,
    /// What it says there, and in a sentence, of its value; empty for nothing.
    says: fn(&Settings, &Value) -> String,
}

/// What has a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Calls alone.
    Call,
    /// Codecs alone.
    Codec,
    Both,
}

/// What a setting can be.
pub enum Values {
    /// `SUBJECT/STACK`.
    Stack,
    /// One of these words.
    Words {
        /// What a word is called in a sentence.
        what: &'static str,
        /// All of them.
        all: fn() -> Vec<&'static str>,
    },
    /// A compression with its level.
    Compression,
    /// A whole number within bounds, both included.
    Whole {
        /// The least.
        low: u32,
        /// The most.
        high: u32,
    },
    /// A number above 0.
    Rate,
    /// A time.
    Time {
        /// The least, ms.
        least_ms: u64,
    },
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A stack.
    Stack(String),
    /// A word of a closed set.
    Word(&'static str),
    /// A compression.
    Compression(Compression),
    /// A whole number.
    Whole(u32),
    /// Calls a second.
    Rate(f64),
    /// Calls a second that change.
    Ramp(Vec<RampPart>),
    /// A time, ms.
    Time(u64),
}

/// What most rows have.
const ROW: Setting = Setting {
    key: Key::N,
    word: "",
    values: Values::Stack,
    whose: Whose::Call,
    speaks_for_itself: false,
    contradicts: &[],
    pushes_out: &[],
    get: |_| None,
    set: |_, _| {},
    lack: |_, _, _| None,
    column: "calls",
    says: |_, _| String::new(),
};

const BOTH_WAYS: &str = "\"compression\" sets both directions; write it alone, or each direction";

/// All settings.
pub static SETTINGS: [Setting; 24] = [
    Setting {
        key: Key::Server,
        word: "server",
        speaks_for_itself: true,
        get: |s| Some(Value::stack(s.callee.server()?)),
        set: |s, value| {
            if let Callee::Subject { server, .. } = &mut s.callee {
                *server = value.to_string();
            }
        },
        says: |s, value| match s.callee.server() {
            Some(REFERENCE) => String::new(),
            _ => format!("of {value}"),
        },
        ..ROW
    },
    Setting {
        key: Key::Client,
        word: "client",
        get: |s| {
            let engine = s.callee.server().map(|_| ENGINE);
            let client = s.callee.client().map(|client| client.stack.as_str());
            Some(Value::stack(client.or(engine)?))
        },
        set: |s, value| {
            if let Callee::Subject { client, .. } = &mut s.callee {
                let (stack, style) = (value.to_string(), Style::Blocking);
                *client = (stack != ENGINE).then_some(Client { stack, style });
            }
        },
        says: |s, value| {
            s.callee
                .client()
                .map_or(String::new(), |_| format!("by {value}"))
        },
        ..ROW
    },
    Setting {
        key: Key::Style,
        word: "style",
        values: words::<Style>(),
        speaks_for_itself: true,
        get: |s| Value::word(s.callee.client()?.style),
        set: |s, value| {
            if let Callee::Subject { client, .. } = &mut s.callee {
                client
                    .iter_mut()
                    .for_each(|client| value.put(&mut client.style));
            }
        },
        lack: |s, has, role| {
            missing(
                &has.styles,
                only(role, Role::Client, s.callee.client()?.style)?,
            )
        },
        says: |_, value| value.to_string(),
        ..ROW
    },
    Setting {
        key: Key::Codec,
        word: "codec",
        whose: Whose::Codec,
        speaks_for_itself: true,
        get: |s| Some(Value::stack(s.callee.codec()?.0)),
        set: |s, value| {
            if let Some(workload) = s.callee.workload() {
                s.callee = Callee::Codec {
                    codec: value.to_string(),
                    operation: Operation::Encode,
                    sample: Sample::Response,
                    workload: workload.clone(),
                };
            }
        },
        says: |_, value| format!("by {value}"),
        ..ROW
    },
    Setting {
        key: Key::Operation,
        word: "operation",
        values: words::<Operation>(),
        whose: Whose::Codec,
        speaks_for_itself: true,
        get: |s| Value::word(s.callee.codec()?.1),
        set: |s, value| {
            if let Callee::Codec { operation, .. } = &mut s.callee {
                value.put(operation);
            }
        },
        says: |_, value| format!("to {value}"),
        ..ROW
    },
    Setting {
        key: Key::Sample,
        word: "sample",
        values: words::<Sample>(),
        whose: Whose::Codec,
        speaks_for_itself: true,
        get: |s| Value::word(s.callee.codec()?.2),
        set: |s, value| {
            if let Callee::Codec { sample, .. } = &mut s.callee {
                value.put(sample);
            }
        },
        says: |_, value| format!("the {value}"),
        ..ROW
    },
    Setting {
        key: Key::Protocol,
        word: "protocol",
        values: words::<Protocol>(),
        speaks_for_itself: true,
        get: |s| Value::word(s.protocol),
        set: |s, value| {
            value.put(&mut s.protocol);
            (s.http, s.encoding) = usual(s.protocol);
        },
        lack: |s, has, _| {
            let protocols: Vec<Protocol> = has.protocols.keys().copied().collect();
            missing(&protocols, s.protocol)
        },
        column: "protocol",
        says: |s, _| match (s.protocol, s.encoding) {
            (Protocol::Grpc, _) => "gRPC on".into(),
            (Protocol::Rest, Some(_)) => "REST on".into(),
            // Bodies are sent as they are given.
            (Protocol::Rest, None) => String::new(),
        },
        ..ROW
    },
    Setting {
        key: Key::Http,
        word: "http",
        values: words::<HttpVersion>(),
        get: |s| Value::word(s.http),
        set: |s, value| value.put(&mut s.http),
        lack: |s, has, _| missing(has.protocols.get(&s.protocol)?, s.http),
        column: "protocol",
        says: |_, value| format!("HTTP/{value}"),
        ..ROW
    },
    Setting {
        key: Key::Encoding,
        word: "encoding",
        values: words::<Encoding>(),
        whose: Whose::Both,
        speaks_for_itself: true,
        get: |s| Value::word(s.encoding?),
        set: |s, value| {
            s.encoding
                .iter_mut()
                .for_each(|encoding| value.put(encoding))
        },
        lack: |s, has, _| missing(&has.encodings, s.encoding?),
        column: "encoding",
        says: |_, value| value.to_string(),
        ..ROW
    },
    Setting {
        key: Key::Compression,
        word: "compression",
        values: Values::Compression,
        whose: Whose::Both,
        contradicts: &[
            (Key::RequestCompression, BOTH_WAYS),
            (Key::ResponseCompression, BOTH_WAYS),
        ],
        pushes_out: &[Key::RequestCompression, Key::ResponseCompression],
        get: |s| is_one_compression(s).then_some(Value::Compression(s.request_compression)),
        set: |s, value| {
            (s.request_compression, s.response_compression) =
                (value.compression(), value.compression());
        },
        lack: |s, has, role| {
            let needed = only(role, Role::Codec, s.request_compression)?;
            missing(&has.compressions, needed.into())
        },
        column: "compression",
        says: |s, value| match s.request_compression {
            Compression::None => String::new(),
            _ => value.to_string(),
        },
        ..ROW
    },
    Setting {
        key: Key::RequestCompression,
        word: "request-compression",
        values: Values::Compression,
        get: |s| Some(Value::Compression(s.request_compression)),
        set: |s, value| s.request_compression = value.compression(),
        lack: |s, has, _| missing(&has.compressions, s.request_compression.into()),
        column: "compression",
        says: |s, value| match is_one_compression(s) {
            true => String::new(),
            false => format!("request {value},"),
        },
        ..ROW
    },
    Setting {
        key: Key::ResponseCompression,
        word: "response-compression",
        values: Values::Compression,
        get: |s| Some(Value::Compression(s.response_compression)),
        set: |s, value| s.response_compression = value.compression(),
        lack: |s, has, _| missing(&has.compressions, s.response_compression.into()),
        column: "compression",
        says: |s, value| match is_one_compression(s) {
            true => String::new(),
            false => format!("response {value}"),
        },
        ..ROW
    },
    Setting {
        key: Key::Threads,
        word: "threads",
        values: Values::Whole {
            low: 1,
            high: MOST_THREADS,
        },
        get: |s| s.callee.server().map(|_| Value::Whole(s.threads)),
        set: |s, value| s.threads = value.whole(),
        lack: |s, has, role| {
            let needed = only(role, Role::Server, s.threads)?;
            (needed > has.threads).then(|| format!("has at most {} threads", has.threads))
        },
        column: "served",
        says: |s, value| match s.threads {
            1 => String::new(),
            _ => format!("{value} threads"),
        },
        ..ROW
    },
    Setting {
        key: Key::Transport,
        word: "transport",
        values: words::<Transport>(),
        speaks_for_itself: true,
        get: |s| Value::word(s.transport),
        set: |s, value| value.put(&mut s.transport),
        lack: |s, has, _| missing(&has.transports, s.transport),
        column: "over",
        says: |s, _| match s.transport {
            Transport::Tcp => "TCP".into(),
            Transport::Unix => "Unix socket".into(),
        },
        ..ROW
    },
    Setting {
        key: Key::Connection,
        word: "connection",
        values: words::<ConnectionUse>(),
        speaks_for_itself: true,
        get: |s| Value::word(s.connection),
        set: |s, value| value.put(&mut s.connection),
        lack: |s, has, role| missing(&has.connections, only(role, Role::Client, s.connection)?),
        column: "over",
        says: |s, _| match s.connection {
            ConnectionUse::Reuse => "connection kept".into(),
            ConnectionUse::PerCall => "connection per call".into(),
        },
        ..ROW
    },
    Setting {
        key: Key::Connections,
        word: "connections",
        values: COUNT_IN_FLIGHT,
        get: |s| Some(Value::Whole(s.connections)),
        set: |s, value| s.connections = value.whole(),
        column: "over",
        says: |s, value| match s.connections {
            1 => String::new(),
            _ => format!("× {value}"),
        },
        ..ROW
    },
    Setting {
        key: Key::InFlight,
        word: "in-flight",
        values: COUNT_IN_FLIGHT,
        contradicts: &[
            (
                Key::Rate,
                "calls are sent either at a \"rate\" or with so many \"in-flight\"; keep one of the two",
            ),
            (
                Key::Arrivals,
                "\"arrivals\" spaces calls at a \"rate\"; \"in-flight\" sends each call when one ends",
            ),
        ],
        pushes_out: &[Key::Rate, Key::Arrivals],
        get: |s| match s.schedule {
            Schedule::Closed { in_flight } => Some(Value::Whole(in_flight)),
            Schedule::Rate { .. } | Schedule::Ramp { .. } => None,
        },
        set: |s, value| {
            let in_flight = value.whole();
            s.schedule = Schedule::Closed { in_flight };
        },
        lack: |s, has, role| match only(role, Role::Client, &s.schedule)? {
            Schedule::Closed { in_flight } if *in_flight > has.in_flight => {
                Some(format!("has at most {} in flight", has.in_flight))
            }
            _ => None,
        },
        column: "sent",
        says: |s, value| match s.schedule {
            Schedule::Closed { in_flight: 1 } => "one call after the other".into(),
            _ => format!("{value} calls in flight"),
        },
        ..ROW
    },
    Setting {
        key: Key::Rate,
        word: "rate",
        values: Values::Rate,
        pushes_out: &[Key::InFlight],
        get: |s| match &s.schedule {
            Schedule::Closed { .. } => None,
            Schedule::Rate { per_second, .. } => Some(Value::Rate(*per_second)),
            Schedule::Ramp { parts, .. } => Some(Value::Ramp(parts.clone())),
        },
        set: |s, value| {
            let arrivals = Arrivals::Poisson;
            match value.clone() {
                Value::Rate(per_second) => {
                    s.schedule = Schedule::Rate {
                        per_second,
                        arrivals,
                    };
                }
                Value::Ramp(parts) => s.schedule = Schedule::Ramp { parts, arrivals },
                _ => {}
            }
        },
        lack: |s, _, role| match only(role, Role::Client, &s.schedule)? {
            Schedule::Closed { .. } => None,
            _ => Some("sends each call when one ends, and has no rate".into()),
        },
        column: "sent",
        says: |_, value| match value {
            Value::Rate(rate) => format!("{} calls/s,", (rate * 1e3).round() / 1e3),
            ramp => format!("a ramp of calls/s, {ramp},"),
        },
        ..ROW
    },
    Setting {
        key: Key::Arrivals,
        word: "arrivals",
        values: words::<Arrivals>(),
        get: |s| match s.schedule {
            Schedule::Closed { .. } => None,
            Schedule::Rate { arrivals, .. } | Schedule::Ramp { arrivals, .. } => {
                Value::word(arrivals)
            }
        },
        set: |s, value| match &mut s.schedule {
            Schedule::Closed { .. } => {}
            Schedule::Rate { arrivals, .. } | Schedule::Ramp { arrivals, .. } => {
                value.put(arrivals);
            }
        },
        column: "sent",
        says: |_, value| match value {
            Value::Word("constant") => "evenly spaced".into(),
            _ => "at random (Poisson)".into(),
        },
        ..ROW
    },
    // The size of the workload, which is made before.
    Setting {
        key: Key::N,
        word: "n",
        values: COUNT,
        whose: Whose::Both,
        ..ROW
    },
    Setting {
        key: Key::Scale,
        word: "scale",
        values: COUNT,
        whose: Whose::Both,
        ..ROW
    },
    Setting {
        key: Key::Calls,
        word: "calls",
        values: COUNT,
        whose: Whose::Both,
        pushes_out: &[Key::Time],
        get: |s| Some(Value::Whole(u32::try_from(s.stop.calls?).ok()?)),
        set: |s, value| {
            let calls = Some(value.whole().into());
            s.stop = Stop {
                calls,
                time_ms: None,
            };
        },
        column: "until",
        says: |_, value| format!("{value} calls"),
        ..ROW
    },
    Setting {
        key: Key::Time,
        word: "time",
        values: Values::Time { least_ms: 1 },
        whose: Whose::Both,
        pushes_out: &[Key::Calls],
        get: |s| s.stop.time_ms.map(Value::Time),
        set: |s, value| s.stop.time_ms = Some(value.ms()),
        column: "until",
        says: |s, value| match s.stop.calls {
            None => value.to_string(),
            Some(_) => format!("or {value}"),
        },
        ..ROW
    },
    Setting {
        key: Key::Deadline,
        word: "deadline",
        // Shorter ones would fail calls for the timer's grain.
        values: Values::Time { least_ms: 10 },
        get: |s| Some(Value::Time(s.deadline_ms)),
        set: |s, value| s.deadline_ms = value.ms(),
        column: "deadline",
        says: |s, value| match s.deadline_ms {
            DEFAULT_DEADLINE_MS => String::new(),
            _ => format!("deadline {value}"),
        },
        ..ROW
    },
];

const COUNT: Values = Values::Whole {
    low: 1,
    high: u32::MAX,
};
const COUNT_IN_FLIGHT: Values = Values::Whole {
    low: 1,
    high: MOST_IN_FLIGHT,
};

const fn words<T: Word>() -> Values {
    Values::Words {
        what: T::WHAT,
        all: || T::WORDS.iter().map(|(word, _)| *word).collect(),
    }
}

fn is_one_compression(settings: &Settings) -> bool {
    settings.request_compression == settings.response_compression
}

/// What is asked of stacks in one role only.
fn only<T>(role: Role, asked: Role, needed: T) -> Option<T> {
    (role == asked).then_some(needed)
}

fn missing<T: Word>(has: &[T], needed: T) -> Option<String> {
    let words: Vec<&str> = has.iter().map(|value| value.word()).collect();
    (!has.contains(&needed)).then(|| {
        let (what, needed) = (T::WHAT, needed.word());
        format!("has no {what} \"{needed}\" (it has: {})", words.join(", "))
    })
}

impl Key {
    pub(crate) fn row(self) -> &'static Setting {
        // The table is in the keys' order, as a test sees to.
        &SETTINGS[self as usize]
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let row = SETTINGS.iter().find(|row| row.word == word);
        row.map(|row| row.key)
    }
}

impl Setting {
    /// Its value in settings to which it applies.
    pub fn value(&self, settings: &Settings) -> Option<Value> {
        let is_codec = matches!(settings.callee, Callee::Codec { .. });
        let applies = match self.whose {
            Whose::Both => true,
            Whose::Call => !is_codec,
            Whose::Codec => is_codec,
        };
        (self.get)(settings).filter(|_| applies)
    }

    /// What it says of settings.
    fn words(&self, settings: &Settings) -> String {
        let value = self.value(settings);
        value.map_or(String::new(), |value| (self.says)(settings, &value))
    }

    /// Its value from what a study writes.
    pub(crate) fn read(&self, written: &DeValue<'_>) -> Result<Value, String> {
        let word = self.word;
        let wrong = |wanted: &str| {
            let found = match written {
                DeValue::Integer(number) => number.to_string(),
                other => format!("of type {}", other.type_str()),
            };
            format!("\"{word}\" must be {wanted}, not {found}")
        };
        let text = written.as_str();
        let read = match &self.values {
            Values::Stack => match text {
                Some(text) if !text.trim().is_empty() => Ok(Value::Stack(text.to_owned())),
                _ => Err(wrong("a stack, SUBJECT/STACK")),
            },
            Values::Words { what, all } => {
                let all = all();
                let quoted: Vec<String> = all.iter().map(|word| format!("\"{word}\"")).collect();
                let text = text.ok_or_else(|| wrong(&format!("one of {}", quoted.join(", "))))?;
                let known = all.iter().find(|word| **word == text);
                known.map(|word| Value::Word(word)).ok_or_else(|| {
                    let hint = Nearest::or_known(text, all.iter().copied());
                    format!("unknown {what} \"{text}\"{hint}")
                })
            }
            Values::Compression => {
                let text = text.ok_or_else(|| wrong("a string, such as \"gzip:6\""))?;
                let compression = text.parse::<Compression>();
                compression
                    .map(Value::Compression)
                    .map_err(|error| error.to_string())
            }
            Values::Whole { low, high } => {
                let number = written.as_integer();
                let number = number
                    .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok());
                let wanted = || format!("a whole number from {low} to {high}");
                number.map(Value::Whole).ok_or_else(|| wrong(&wanted()))
            }
            Values::Rate => {
                let number = match written {
                    DeValue::Float(number) => number.as_str().parse().ok(),
                    DeValue::Integer(number) => number.as_str().parse().ok(),
                    _ => None,
                };
                number
                    .map(Value::Rate)
                    .ok_or_else(|| wrong("a number of calls a second"))
            }
            Values::Time { .. } => {
                let text = text.ok_or_else(|| wrong("a time with its unit, such as \"150ms\""))?;
                parse_time_ms(text).map(Value::Time)
            }
        };
        read.and_then(|value| self.check(&value).map(|()| value))
    }

    /// Holds a value, of a study or of a plan, to the bounds of this setting.
    fn check(&self, value: &Value) -> Result<(), String> {
        let must_be = |bounds: String| Err(format!("\"{}\" must be {bounds}", self.word));
        match (&self.values, value) {
            (Values::Whole { low, high }, Value::Whole(number))
                if !(low..=high).contains(&number) =>
            {
                must_be(format!("a whole number from {low} to {high}, not {number}"))
            }
            (Values::Rate, Value::Rate(rate)) if !is_rate(*rate) => must_be(format!(
                "more than 0 and at most 1e9 calls a second, not {}",
                number_word(*rate)
            )),
            (Values::Rate, Value::Ramp(parts)) => ramp::check(parts),
            (Values::Time { least_ms }, Value::Time(ms)) if ms < least_ms => {
                must_be(format!("at least {}", time_word(*least_ms)))
            }
            (Values::Time { .. }, Value::Time(ms)) if *ms > LONGEST_MS => {
                must_be("at most 24h".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Value {
    fn word<T: Word>(value: T) -> Option<Self> {
        Some(Self::Word(value.word()))
    }

    fn put<T: Word>(&self, place: &mut T) {
        if let Self::Word(word) = self
            && let Some(value) = T::from_word(word)
        {
            *place = value;
        }
    }

    fn stack(name: &str) -> Self {
        Self::Stack(name.to_owned())
    }

    // A row reads the kind of value that it puts, as a test sees to.
    fn whole(&self) -> u32 {
        match self {
            Self::Whole(number) => *number,
            _ => 0,
        }
    }

    fn ms(&self) -> u64 {
        match self {
            Self::Time(ms) => *ms,
            _ => 0,
        }
    }

    fn compression(&self) -> Compression {
        match self {
            Self::Compression(compression) => *compression,
            _ => Compression::None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(name) => f.write_str(name),
            Self::Word(word) => f.write_str(word),
            Self::Compression(value) => value.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Rate(number) => number.fmt(f),
            Self::Ramp(parts) => f.write_str(&parts_word(parts)),
            Self::Time(ms) => f.write_str(&time_word(*ms)),
        }
    }
}

impl Features {
    /// The first thing that `settings` need of a stack in a role and that it lacks, with its
    /// setting: the rest of a sentence that begins with the stack.
    pub(crate) fn lack(&self, role: Role, settings: &Settings) -> Option<(Option<Key>, String)> {
        let of_role = missing(&self.roles, role);
        let rows = SETTINGS
            .iter()
            .filter(|row| role != Role::Codec || row.whose != Whose::Call);
        let mut lacks =
            rows.filter_map(|row| Some((Some(row.key), (row.lack)(settings, self, role)?)));
        let of_workload = || missing(&self.workloads, settings.callee.workload()?.into());
        of_role
            .map(|lack| (None, lack))
            .or_else(|| lacks.next())
            .or_else(|| of_workload().map(|lack| (None, lack)))
    }
}

impl Settings {
    /// Holds every setting of a plan to its bounds, which are those of a study. The times of a live
    /// service have others: a deadline may be short, and a search or a ramp longer than a day.
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_live = self.callee.live().is_some();
        let values = SETTINGS.iter().map(|row| (row, row.value(self)));
        for (row, value) in values {
            match value {
                Some(Value::Time(ms)) if is_live && ms > 0 => {}
                Some(value) => row.check(&value)?,
                None => {}
            }
        }
        Ok(())
    }

    /// What is said of these settings, by column, in the table's order; nothing where nothing is.
    pub fn columns(&self) -> Vec<(&'static str, String)> {
        let mut columns = vec![("calls", self.callee.called())];
        for row in &SETTINGS {
            let words = row.words(self);
            match columns.iter_mut().find(|(name, _)| *name == row.column) {
                None => columns.push((row.column, words)),
                Some((_, cell)) if cell.is_empty() => *cell = words,
                Some((_, cell)) if !words.is_empty() => *cell += &format!(" {words}"),
                Some(_) => {}
            }
        }
        columns
    }

    /// What the rows of one column say.
    pub fn column(&self, name: &str) -> String {
        let mut columns = self.columns().into_iter();
        let found = columns.find(|(column, _)| *column == name);
        found.map_or(String::new(), |(_, words)| words)
    }

    /// What the row of a setting says.
    pub fn says(&self, word: &str) -> String {
        Key::from_word(word).map_or(String::new(), |key| key.row().words(self))
    }

    /// How is called, in one line: all but what is called, and when a trial ends.
    pub fn how(&self) -> String {
        let mut columns = self.columns();
        columns.retain(|(name, words)| !["calls", "until"].contains(name) && !words.is_empty());
        let how: Vec<String> = columns.into_iter().map(|(_, words)| words).collect();
        how.join(", ")
    }

    /// Every setting that applies, with its value as a study writes it.
    pub fn written(&self) -> BTreeMap<&'static str, String> {
        let written = |row: &Setting| Some((row.word, row.value(self)?.to_string()));
        SETTINGS.iter().filter_map(written).collect()
    }
}

impl Callee {
    /// What is called: a workload with its size as in `list n=10`, the method's name for a user's
    /// own, or a live service's target.
    pub fn called(&self) -> String {
        match self {
            Self::Subject { workload, .. } | Self::Codec { workload, .. } => match workload {
                WorkloadSpec::Echo { n } => format!("echo n={n}"),
                WorkloadSpec::Hello {} => "hello".to_owned(),
                WorkloadSpec::List { n } => format!("list n={n}"),
                WorkloadSpec::Records { n } => format!("records n={n}"),
                WorkloadSpec::Profile {} => "profile".to_owned(),
                WorkloadSpec::Followers { n } => format!("followers n={n}"),
                WorkloadSpec::Own(own) => own.method.clone(),
            },
            Self::Live { service } => service.target.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
