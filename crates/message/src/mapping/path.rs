//! Places in messages, and parsers' words about them.

use std::borrow::Cow;
use std::fmt;

use buffa_descriptor::MapKey;

/// One step down into a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// A field, or an object's or a map's key.
    Name(Cow<'a, str>),
    /// An element of a list, from 0.
    Index(usize),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Name(name) if is_plain(name) => write!(f, ".{name}"),
            Self::Name(name) => write!(f, "[{:?}]", clip(name)),
        }
    }
}

/// The path that steps from the outermost on make.
pub(crate) fn shown(steps: &[Step<'_>]) -> String {
    let mut path = String::from("$");
    path.extend(steps.iter().map(Step::to_string));
    path
}

/// Whether a name can stand behind a dot in a path.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'@')
}

/// A map's key as JSON shows it.
pub(crate) fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

/// Longest part of a parser's words that is shown, in characters: they repeat what they read.
const SHOWN: usize = 240;

/// One line of limited length without the parser's own position, for which the path stands.
pub(crate) fn tidy(what: &str) -> String {
    let what = match what.rsplit_once(" at line ") {
        Some((head, position)) if position.starts_with(|c: char| c.is_ascii_digit()) => head,
        _ => what,
    };
    clip(what)
}

/// One line of limited length.
pub(crate) fn clip(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == SHOWN {
            out.push('…');
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
