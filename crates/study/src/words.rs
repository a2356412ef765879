//! The words for closed sets of values, as they are written in studies and shown in messages.

use rpcgauge_contract::{HttpVersion, Operation, Protocol, Style};
use rpcgauge_message::{Encoding, Sample};
use rpcgauge_trial::{ConnectionUse, MAX_MS, StreamForm};

/// A closed set of values, each with a word.
pub trait Named: Copy + PartialEq + Sized + 'static {
    /// What a value of the set is called in a sentence.
    const KIND: &'static str;
    /// Every value with its word, in display order.
    const NAMES: &'static [(&'static str, Self)];

    /// The value's word.
    fn as_str(self) -> &'static str;

    /// The value that a word names.
    fn from_name(word: &str) -> Option<Self> {
        let mut all = Self::NAMES.iter();
        let found = all.find(|(known, _)| *known == word);
        found.map(|(_, value)| *value)
    }
}

/// Implements [`Named`](crate::words::Named): the set's name in a sentence, and the word for each value, in display
/// order.
macro_rules! words {
    ($set:ident, $what:literal: $($word:literal => $value:ident),+ $(,)?) => {
        impl $crate::words::Named for $set {
            const KIND: &'static str = $what;
            const NAMES: &'static [(&'static str, Self)] = &[$(($word, Self::$value)),+];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word),+
                }
            }
        }
    };
}
pub(crate) use words;

words!(Protocol, "protocol": "grpc" => Grpc, "rest" => Rest, "connect" => Connect);
words!(HttpVersion, "HTTP version": "1.1" => Http1, "2" => Http2);
words! { Encoding, "encoding":
    "protobuf" => Protobuf, "json" => Json, "json-proto-names" => JsonProtoNames,
    "protojson" => ProtoJson, "msgpack" => Msgpack, "cbor" => Cbor, "hybrid" => Hybrid,
}
words!(ConnectionUse, "connection use": "reuse" => Reuse, "per-call" => PerCall);
words! { Style, "style":
    "blocking" => Blocking, "future" => Future, "coroutine" => Coroutine, "async" => Async,
}
words! { StreamForm, "stream":
    "client" => Client, "server" => Server, "bidirectional" => Bidirectional,
    "ndjson" => Ndjson, "sse" => Sse,
}
words!(Operation, "operation": "encode" => Encode, "decode" => Decode);
words!(Sample, "sample": "request" => Request, "response" => Response);

/// Parses a time such as `150ms`, `10s`, `2m`, `1m30s` or `1h` into milliseconds. The error message shows the expected
/// form.
pub fn parse_time_ms(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is not a time; write it as 150ms, 10s or 1m30s");
    let (mut total, mut rest) = (0_u64, text);
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(wrong()),
        };
        rest = &rest[letters..];
        total = number
            .checked_mul(unit)
            .and_then(|part| total.checked_add(part))
            .filter(|total| *total <= MAX_MS)
            .ok_or_else(|| format!("\"{text}\" is more than 24h"))?;
    }
    if total == 0 {
        return Err(format!("\"{text}\" is too short; write at least 1ms"));
    }
    Ok(total)
}

/// Formats a time so that [`parse_time_ms`] can read it.
pub fn format_time(ms: u64) -> String {
    match ms {
        _ if !ms.is_multiple_of(1_000) => format!("{ms}ms"),
        _ if !ms.is_multiple_of(60_000) => format!("{}s", ms / 1_000),
        _ => format!("{}m", ms / 60_000),
    }
}

/// Names as a list, such as `a, b and c`. A long list ends in the number of further names.
pub fn some_names(names: &[&str]) -> String {
    const MAX: usize = 6;
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] if names.len() <= MAX => format!("{} and {last}", first.join(", ")),
        _ => {
            let (first, more) = names.split_at(MAX - 1);
            format!("{} and {} more", first.join(", "), more.len())
        }
    }
}

/// The units of sizes, smallest first.
const SIZES: [(&str, u64); 4] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Parses a size such as `256MiB`, `4GiB` or `512KiB` into bytes. The error message shows the expected form.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is not a size; write it as 256MiB or 4GiB");
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let (_, each) = SIZES
        .iter()
        .find(|(word, _)| *word == unit)
        .ok_or_else(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    // The size must fit into a TOML integer.
    let bytes = number
        .checked_mul(*each)
        .filter(|all| i64::try_from(*all).is_ok());
    bytes.ok_or_else(|| format!("\"{text}\" is more than any machine has"))
}

/// Formats a size so that [`parse_size`] can read it.
pub fn format_size(bytes: u64) -> String {
    let mut units = SIZES.iter().rev();
    let fitting = units.find(|(_, each)| bytes.is_multiple_of(*each) && bytes > 0);
    let (word, each) = fitting.unwrap_or(&SIZES[0]);
    format!("{}{word}", bytes / each)
}

/// Whether a word can be used in a study, a path and a variant's name without escaping.
pub(crate) fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    word.chars().all(is_plain) && word.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Formats a number in its shortest form: `0.5`, `10`, `1e300`.
pub(crate) fn format_number(number: f64) -> String {
    let word = format!("{number:?}");
    word.strip_suffix(".0").unwrap_or(&word).to_owned()
}

/// Formats a count with its noun: `1 trial`, `2 trials`.
pub(crate) fn counted(count: impl Into<u64>, noun: &str) -> String {
    let count = count.into();
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Metric;
    use crate::settings::{Arrivals, DeadlineFrom, Idle, Placement, Transport};

    fn words_are_as_serde_writes_them<T>()
    where
        T: Named + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        for (word, value) in T::NAMES {
            assert_eq!(
                serde_json::to_value(value).unwrap(),
                serde_json::json!(word)
            );
            assert_eq!(T::from_name(word), Some(*value));
            assert_eq!(value.as_str(), *word);
        }
    }

    #[test]
    fn one_word_for_one_value_everywhere() {
        words_are_as_serde_writes_them::<Protocol>();
        words_are_as_serde_writes_them::<HttpVersion>();
        words_are_as_serde_writes_them::<Encoding>();
        words_are_as_serde_writes_them::<Transport>();
        words_are_as_serde_writes_them::<ConnectionUse>();
        words_are_as_serde_writes_them::<Style>();
        words_are_as_serde_writes_them::<Operation>();
        words_are_as_serde_writes_them::<Sample>();
        words_are_as_serde_writes_them::<Arrivals>();
        words_are_as_serde_writes_them::<DeadlineFrom>();
        words_are_as_serde_writes_them::<Placement>();
        words_are_as_serde_writes_them::<Idle>();
        words_are_as_serde_writes_them::<rpcgauge_trial::Congestion>();
        words_are_as_serde_writes_them::<Metric>();
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for (text, ms) in [
            ("150ms", 150),
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("24h", MAX_MS),
        ] {
            assert_eq!(parse_time_ms(text), Ok(ms), "{text}");
            assert_eq!(parse_time_ms(&format_time(ms)), Ok(ms), "{text}");
        }
        for (text, bytes) in [("1B", 1), ("1536KiB", 1536 << 10), ("256MiB", 256 << 20)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
            assert_eq!(parse_size(&format_size(bytes)), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "256",
            "MiB",
            "-1MiB",
            "1.5GiB",
            "256 MiB",
            "256MB",
            "9999999999GiB",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        for text in [
            "",
            "10",
            "ms",
            "0s",
            "1.5s",
            "-1s",
            "25h",
            "99999999999999999999s",
            "1 s",
        ] {
            assert!(parse_time_ms(text).is_err(), "{text}");
        }
    }
}
