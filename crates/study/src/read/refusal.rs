//! Serde's errors as values, so that each format can word them in its own terms.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use rpcgauge_message::nearest::Nearest;
use serde::de::{Error, Expected, Unexpected};

/// Why a value is refused, and where it is.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(super) why: Why,
    /// The keys that lead from the value being read to the refused one.
    pub(super) path: Vec<String>,
    /// Its position in the file, once that is known.
    pub(super) span: Option<Range<usize>>,
}

#[derive(Debug)]
pub(super) enum Why {
    UnknownKey {
        name: String,
        known: &'static [&'static str],
    },
    UnknownWord {
        name: String,
        known: &'static [&'static str],
    },
    MissingKey(&'static str),
    /// The value has the wrong type or is out of bounds.
    Kind {
        wanted: Kind,
        found: Kind,
    },
    /// A message from the type that refuses the value.
    Other(String),
}

/// What a value is, or must be.
#[derive(Debug)]
pub(super) enum Kind {
    /// A map; each format has its own name for one.
    Object,
    /// Any other kind, in words.
    Is(Cow<'static, str>),
}

impl Kind {
    /// The kind in words; `object` is the format's name for a map.
    pub(super) fn in_words(&self, object: &'static str) -> &str {
        match self {
            Self::Object => object,
            Self::Is(words) => words,
        }
    }

    fn found(value: Unexpected<'_>) -> Self {
        Self::Is(match value {
            Unexpected::Map => return Self::Object,
            Unexpected::Seq => "a list".into(),
            // The text may be a secret.
            Unexpected::Str(_) => "a string".into(),
            Unexpected::Bool(value) => format!("boolean {value}").into(),
            Unexpected::Signed(number) => number.to_string().into(),
            Unexpected::Unsigned(number) => number.to_string().into(),
            Unexpected::Float(number) => format!("{number:?}").into(),
            Unexpected::Unit => "null".into(),
            other => other.to_string().into(),
        })
    }

    /// Serde's types describe what they expect only as text, so this matches their wording.
    fn wanted(expected: &dyn Expected) -> Self {
        let words = expected.to_string();
        Self::Is(match words.as_str() {
            "a nonzero u32" => "a whole number from 1 to 4294967295".into(),
            "a nonzero u64" => "a positive whole number".into(),
            "i8" | "i16" | "i32" | "i64" => "a whole number".into(),
            "u8" | "u16" | "u32" | "u64" | "usize" => "a non-negative whole number".into(),
            "f32" | "f64" => "a number".into(),
            "a boolean" => "true or false".into(),
            "a sequence" => "a list".into(),
            "a borrowed string" => "a string".into(),
            "a map" => return Self::Object,
            name if name.starts_with("struct ") || name.contains(" enum ") => {
                return Self::Object;
            }
            name if name.starts_with("enum ") => "a string".into(),
            name if name.contains("variant") || name.contains("map") => "a known word".into(),
            _ => words.into(),
        })
    }
}

impl Refusal {
    fn new(why: Why) -> Self {
        Self {
            why,
            path: Vec::new(),
            span: None,
        }
    }

    /// Sets the position, unless a more precise one is known.
    pub(super) fn at(mut self, span: Range<usize>) -> Self {
        self.span.get_or_insert(span);
        self
    }

    /// Prepends the key that contains the value.
    pub(super) fn below(mut self, key: String) -> Self {
        self.path.insert(0, key);
        self
    }
}

impl Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Why::Other(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new(Why::Kind {
            wanted: Kind::wanted(wanted),
            found: Kind::found(found),
        })
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::invalid_type(found, wanted)
    }

    fn invalid_length(length: usize, wanted: &dyn Expected) -> Self {
        let found = format!("a list of {length}");
        Self::invalid_type(Unexpected::Other(&found), wanted)
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        let name = name.to_owned();
        Self::new(Why::UnknownWord { name, known })
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        let name = name.to_owned();
        Self::new(Why::UnknownKey { name, known })
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new(Why::MissingKey(name))
    }
}

impl std::error::Error for Refusal {}

/// Uses the terms of JSON, after the path of keys. Errors in studies have their own wording and a position.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path.join("."))?;
        }
        match &self.why {
            Why::UnknownKey { name, known } => {
                let hint = Nearest::or_known(name, known.iter().copied());
                write!(f, "unknown key \"{name}\"{hint}")
            }
            Why::UnknownWord { name, known } => {
                let hint = Nearest::or_known(name, known.iter().copied());
                write!(f, "unknown value \"{name}\"{hint}")
            }
            Why::MissingKey(name) => write!(f, "the key \"{name}\" is missing"),
            Why::Kind { wanted, found } => {
                let [wanted, found] = [wanted, found].map(|kind| kind.in_words("an object"));
                write!(f, "expected {wanted}, not {found}")
            }
            Why::Other(message) => f.write_str(message),
        }
    }
}
