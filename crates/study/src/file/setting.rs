//! The settings a study can write, and layers of them.
//!
//! One list of keys serves `[base]`, `[factors]`, `[[variants]]` and `[[exclude]]`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use rpcgauge_message::compression::UnknownCompression;
use rpcgauge_message::{Compression, Encoding};
use toml::Spanned;

use super::read::{Entry, Table};
use crate::error::StudyError;
use crate::settings::{
    Arrivals, ConnectionUse, HttpVersion, MOST_IN_FLIGHT, Operation, Protocol, Sample, Style,
    Transport,
};
use crate::words::{Word, time_word};

/// The key of a setting. The order is the order of their parts in a variant's name.
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

/// The value of a setting, as written. Times are milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Stack(String),
    Style(Style),
    Operation(Operation),
    Sample(Sample),
    Protocol(Protocol),
    Http(HttpVersion),
    Encoding(Encoding),
    Compression(Compression),
    Transport(Transport),
    Connection(ConnectionUse),
    Arrivals(Arrivals),
    Count(u32),
    Rate(f64),
    Calls(u64),
    Time(u64),
}

/// Settings as one table writes them, each with its place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Layer(pub(crate) BTreeMap<Key, Spanned<Value>>);

impl Word for Key {
    const WHAT: &'static str = "setting";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("server", Self::Server),
        ("client", Self::Client),
        ("style", Self::Style),
        ("codec", Self::Codec),
        ("operation", Self::Operation),
        ("sample", Self::Sample),
        ("protocol", Self::Protocol),
        ("http", Self::Http),
        ("encoding", Self::Encoding),
        ("compression", Self::Compression),
        ("request-compression", Self::RequestCompression),
        ("response-compression", Self::ResponseCompression),
        ("transport", Self::Transport),
        ("connection", Self::Connection),
        ("connections", Self::Connections),
        ("in-flight", Self::InFlight),
        ("rate", Self::Rate),
        ("arrivals", Self::Arrivals),
        ("n", Self::N),
        ("scale", Self::Scale),
        ("calls", Self::Calls),
        ("time", Self::Time),
        ("deadline", Self::Deadline),
    ];
}

/// Every key of a setting, for messages and checks.
pub(super) fn setting_keys() -> Vec<&'static str> {
    Key::WORDS.iter().map(|(word, _)| *word).collect()
}

/// Fewest milliseconds of a deadline: shorter ones would fail calls for the timer's grain.
const SHORTEST_DEADLINE_MS: u64 = 10;

impl Key {
    /// Reads the value of this key.
    pub(super) fn read(self, entry: Entry<'_>) -> Result<Spanned<Value>, StudyError> {
        fn spanned<T>(read: Spanned<T>, wrap: impl FnOnce(T) -> Value) -> Spanned<Value> {
            Spanned::new(read.span(), wrap(read.into_inner()))
        }
        Ok(match self {
            Self::Server | Self::Client | Self::Codec => spanned(entry.line()?, Value::Stack),
            Self::Style => spanned(entry.word()?, Value::Style),
            Self::Operation => spanned(entry.word()?, Value::Operation),
            Self::Sample => spanned(entry.word()?, Value::Sample),
            Self::Protocol => spanned(entry.word()?, Value::Protocol),
            Self::Http => spanned(entry.word()?, Value::Http),
            Self::Encoding => spanned(entry.word()?, Value::Encoding),
            Self::Compression | Self::RequestCompression | Self::ResponseCompression => {
                let text = entry.string()?;
                let compression: Compression = text
                    .get_ref()
                    .parse()
                    .map_err(|error: UnknownCompression| entry.error(error.to_string()))?;
                Spanned::new(text.span(), Value::Compression(compression))
            }
            Self::Transport => spanned(entry.word()?, Value::Transport),
            Self::Connection => spanned(entry.word()?, Value::Connection),
            Self::Arrivals => spanned(entry.word()?, Value::Arrivals),
            Self::Connections | Self::InFlight => {
                let count = entry.integer(1, u64::from(MOST_IN_FLIGHT))?;
                spanned(count, |count| Value::Count(count as u32))
            }
            Self::N | Self::Scale => spanned(entry.count()?, Value::Count),
            Self::Rate => spanned(entry.positive()?, Value::Rate),
            Self::Calls => spanned(entry.integer(1, u64::from(u32::MAX))?, Value::Calls),
            Self::Time => spanned(entry.time_ms()?, Value::Time),
            Self::Deadline => {
                let time = entry.time_ms()?;
                if *time.get_ref() < SHORTEST_DEADLINE_MS {
                    return Err(entry.error(format!(
                        "a deadline must be at least {SHORTEST_DEADLINE_MS}ms"
                    )));
                }
                spanned(time, Value::Time)
            }
        })
    }

    /// Whether a value of this key is told apart from those of all other keys by its word alone,
    /// so that a variant's name need not name the key.
    pub(crate) fn speaks_for_itself(self) -> bool {
        matches!(
            self,
            Self::Server
                | Self::Style
                | Self::Codec
                | Self::Operation
                | Self::Sample
                | Self::Protocol
                | Self::Encoding
                | Self::Transport
                | Self::Connection
        )
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(name) => f.write_str(name),
            Self::Style(value) => f.write_str(value.word()),
            Self::Operation(value) => f.write_str(value.word()),
            Self::Sample(value) => f.write_str(value.word()),
            Self::Protocol(value) => f.write_str(value.word()),
            Self::Http(value) => f.write_str(value.word()),
            Self::Encoding(value) => f.write_str(value.word()),
            Self::Compression(value) => value.fmt(f),
            Self::Transport(value) => f.write_str(value.word()),
            Self::Connection(value) => f.write_str(value.word()),
            Self::Arrivals(value) => f.write_str(value.word()),
            Self::Count(value) => value.fmt(f),
            Self::Rate(value) => value.fmt(f),
            Self::Calls(value) => value.fmt(f),
            Self::Time(ms) => f.write_str(&time_word(*ms)),
        }
    }
}

/// What says how a call is made: a codec has none of it.
pub(crate) const CALL_KEYS: [Key; 14] = [
    Key::Server,
    Key::Client,
    Key::Style,
    Key::Protocol,
    Key::Http,
    Key::RequestCompression,
    Key::ResponseCompression,
    Key::Transport,
    Key::Connection,
    Key::Connections,
    Key::InFlight,
    Key::Rate,
    Key::Arrivals,
    Key::Deadline,
];

/// What only a codec has.
pub(crate) const CODEC_KEYS: [Key; 3] = [Key::Codec, Key::Operation, Key::Sample];

/// Keys that may not stand in one table together, and why.
const CONTRADICTIONS: [(Key, Key, &str); 4] = [
    (
        Key::Rate,
        Key::InFlight,
        "calls are sent either at a \"rate\" or with so many \"in-flight\"; keep one of the two",
    ),
    (
        Key::Arrivals,
        Key::InFlight,
        "\"arrivals\" spaces calls at a \"rate\"; \"in-flight\" sends each call when one ends",
    ),
    (
        Key::RequestCompression,
        Key::Compression,
        "\"compression\" sets both directions; write it alone, or each direction",
    ),
    (
        Key::ResponseCompression,
        Key::Compression,
        "\"compression\" sets both directions; write it alone, or each direction",
    ),
];

/// Refuses keys that contradict each other, at the later one.
pub(super) fn refuse_contradictions(
    source: &crate::error::Source,
    place: impl Fn(Key) -> Option<Range<usize>>,
) -> Result<(), StudyError> {
    for (one, other, why) in CONTRADICTIONS {
        if let (Some(one), Some(other)) = (place(one), place(other)) {
            let later = if one.start > other.start { one } else { other };
            return Err(source.error(later, why));
        }
    }
    Ok(())
}

impl Layer {
    /// Reads the settings among a table's entries; the caller has checked its keys.
    pub(super) fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        let mut settings = BTreeMap::new();
        for (name, entry) in table.entries() {
            if let Some(key) = Key::from_word(name.get_ref()) {
                settings.insert(key, key.read(entry)?);
            }
        }
        refuse_contradictions(table.source, |key| settings.get(&key).map(Spanned::span))?;
        Ok(Self(settings))
    }

    /// Lays `over` on top of this layer. A setting also pushes out those below that it stands
    /// against: a rate the calls in flight, both directions' compression each direction's, either
    /// bound of a trial the two below, and a codec what says how a call is made.
    pub(crate) fn overlay(&mut self, over: &Self) {
        const PUSHED_OUT: [(Key, &[Key]); 8] = [
            (Key::Codec, &CALL_KEYS),
            (Key::Server, &CODEC_KEYS),
            (Key::Client, &CODEC_KEYS),
            (Key::Rate, &[Key::InFlight]),
            (Key::InFlight, &[Key::Rate, Key::Arrivals]),
            (
                Key::Compression,
                &[Key::RequestCompression, Key::ResponseCompression],
            ),
            (Key::Calls, &[Key::Time]),
            (Key::Time, &[Key::Calls]),
        ];
        for (key, out) in PUSHED_OUT {
            if over.0.contains_key(&key) {
                for out in out {
                    self.0.remove(out);
                }
            }
        }
        self.0
            .extend(over.0.iter().map(|(key, value)| (*key, value.clone())));
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Value> {
        self.0.get(&key).map(Spanned::get_ref)
    }

    pub(crate) fn span(&self, key: Key) -> Option<Range<usize>> {
        self.0.get(&key).map(Spanned::span)
    }
}
