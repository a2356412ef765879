//! A minimal template language: text with placeholders in double braces.
//!
//! | placeholder | becomes |
//! | --- | --- |
//! | `{{n}}` | the call's number, from 0 |
//! | `{{uuid}}` | a random UUID (RFC 9562, version 4) |
//! | `{{sequence 1000}}` | the call's number, from 1000 |
//! | `{{random_int 1 100}}` | a random integer, both ends inclusive |
//! | `{{choice red "dark blue"}}` | one of these texts, at random |
//! | `{{name}}` | the value of the column or field `name` in the call's row |
//! | `{{base64 name}}` | any of these in base64, for a bytes field |
//! | `{{"text"}}` | `text` itself, even if it looks like a placeholder |

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Form;
use super::error::DataError;
use super::row::Row;
use crate::nearest::Nearest;
use crate::position;

const NUMBER: &str = "n";
const UUID: &str = "uuid";
const SEQUENCE: &str = "sequence";
const RANDOM_INT: &str = "random_int";
const CHOICE: &str = "choice";
const BASE64: &str = "base64";
const BUILT_IN: [&str; 6] = [NUMBER, UUID, SEQUENCE, RANDOM_INT, CHOICE, BASE64];

const UNCLOSED: &str = "the placeholder is not closed; end it with }}, or write {{\"{{\"}} for the \
                        two braces themselves";

const RANDOM_INT_USAGE: &str =
    "{{random_int A B}} takes two 64-bit integers, the smaller one first";

const SEQUENCE_USAGE: &str = "{{sequence A}} takes the first number, from 0";

const CHOICE_USAGE: &str =
    "{{choice A B}} takes two or more texts, in double quotes if they contain spaces";

/// The values for one call.
pub(super) struct Place<'a> {
    pub(super) call: u64,
    /// The call's row.
    pub(super) row: Option<&'a Row>,
    pub(super) random: fastrand::Rng,
}

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
    /// The placeholders outside JSON strings, as written.
    pub(super) unquoted: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The call's number, counted from this one.
    Number(u64),
    Uuid,
    Choice(Vec<String>),
    RandomInt {
        from: i64,
        to: i64,
    },
    Column {
        name: String,
        /// Whether it is inside a JSON string.
        quoted: bool,
    },
    Base64(Box<Part>),
}

impl Template {
    /// Parses a template. `columns` are the placeholder names that are allowed besides the built-in ones.
    pub(super) fn parse(text: &str, form: Form, columns: &[&str]) -> Result<Self, DataError> {
        let (mut parts, mut unquoted) = (Vec::new(), Vec::new());
        let mut json = Quotes::default();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            let (before, from) = rest.split_at(start);
            json.follow(before);
            parts.push(Part::Text(before.to_owned()));
            let wrong = |what: String| {
                let (line, column) = position(text, text.len() - from.len());
                DataError::Placeholder { line, column, what }
            };
            let (inner, after) = inside(&from[2..]).ok_or_else(|| wrong(UNCLOSED.to_owned()))?;
            let quoted = form == Form::Json && json.inside;
            parts.push(Part::parse(inner.trim(), quoted, columns).map_err(wrong)?);
            if form == Form::Json && !quoted {
                unquoted.push(format!("{{{{{inner}}}}}"));
            }
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Ok(Self { parts, unquoted })
    }

    /// The columns that the template uses.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part.plain() {
            Part::Column { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether two calls with the same row can have different texts.
    pub(super) fn differs(&self) -> bool {
        self.parts
            .iter()
            .any(|part| !matches!(part.plain(), Part::Text(_) | Part::Column { .. }))
    }

    /// Appends the text for one call.
    pub(super) fn fill(&self, place: &mut Place<'_>, out: &mut String) {
        for part in &self.parts {
            part.fill(place, out);
        }
    }
}

impl Part {
    /// The part without its base64 wrapper.
    fn plain(&self) -> &Self {
        match self {
            Self::Base64(part) => part,
            part => part,
        }
    }

    fn fill(&self, place: &mut Place<'_>, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Number(first) => append(out, first.saturating_add(place.call)),
            Self::Choice(texts) => out.push_str(&texts[place.random.usize(..texts.len())]),
            Self::Uuid => append_uuid(out, place.random.u128(..)),
            Self::RandomInt { from, to } => append(out, place.random.i64(*from..=*to)),
            Self::Column { name, quoted } => {
                if let Some(row) = place.row {
                    row.append(name, *quoted, out);
                }
            }
            Self::Base64(part) => {
                let mut plain = String::new();
                part.fill(place, &mut plain);
                STANDARD.encode_string(plain, out);
            }
        }
    }

    /// Parses the text between the braces, or returns what is wrong with it.
    fn parse(inner: &str, quoted: bool, columns: &[&str]) -> Result<Self, String> {
        if let Some(literal) = inner.strip_prefix('"').and_then(|s| s.strip_suffix('"')) {
            return Ok(Self::Text(literal.to_owned()));
        }
        if columns.contains(&inner) {
            if BUILT_IN.contains(&inner) {
                return Err(format!(
                    "the rows have a column \"{inner}\", and {{{{{inner}}}}} is built in; rename \
                     the column"
                ));
            }
            return Ok(Self::Column {
                name: inner.to_owned(),
                quoted,
            });
        }
        if let Some(of) = inner.strip_prefix(BASE64)
            && of.starts_with([' ', '"'])
            && !of.trim_start().starts_with(BASE64)
        {
            // Base64 output needs no escapes, and its input must not be escaped.
            return Self::parse(of.trim_start(), false, columns)
                .map(|part| Self::Base64(part.into()));
        }
        if let Some(texts) = inner.strip_prefix(CHOICE)
            && texts.starts_with(' ')
        {
            let texts = words(texts).filter(|texts| texts.len() >= 2);
            return texts
                .map(Self::Choice)
                .ok_or_else(|| CHOICE_USAGE.to_owned());
        }
        let mut words = inner.split_whitespace();
        let name = words.next().unwrap_or_default();
        let arguments: Vec<&str> = words.collect();
        match (name, arguments.as_slice()) {
            (NUMBER, []) => Ok(Self::Number(0)),
            (SEQUENCE, [first]) => match first.parse() {
                Ok(first) => Ok(Self::Number(first)),
                Err(_) => Err(SEQUENCE_USAGE.to_owned()),
            },
            (SEQUENCE, _) => Err(SEQUENCE_USAGE.to_owned()),
            (CHOICE, _) => Err(CHOICE_USAGE.to_owned()),
            (UUID, []) => Ok(Self::Uuid),
            (NUMBER | UUID, _) => Err(format!("{{{{{name}}}}} takes no arguments")),
            (RANDOM_INT, [from, to]) => match (from.parse(), to.parse()) {
                (Ok(from), Ok(to)) if from <= to => Ok(Self::RandomInt { from, to }),
                _ => Err(RANDOM_INT_USAGE.to_owned()),
            },
            (RANDOM_INT, _) => Err(RANDOM_INT_USAGE.to_owned()),
            (BASE64, _) => Err("{{base64 X}} takes a column or another placeholder".to_owned()),
            _ => {
                let nearest = Nearest::or_known(inner, BUILT_IN.iter().chain(columns).copied());
                Err(format!("unknown placeholder \"{inner}\"{nearest}"))
            }
        }
    }
}

/// The words of a text, where double quotes enclose a word with spaces. `None` if a quote is not closed.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Some(words)
}

/// Splits at the `}}` that closes a placeholder. A `}}` inside a literal does not close it.
fn inside(from: &str) -> Option<(&str, &str)> {
    let literal = from.trim_start();
    let literal = literal.strip_prefix(BASE64).unwrap_or(literal);
    let literal = literal.trim_start().starts_with('"');
    let from_end = if literal {
        let open = from.find('"')? + 1;
        open + from[open..].find('"')? + 1
    } else {
        0
    };
    let end = from_end + from[from_end..].find("}}")?;
    Some((&from[..end], &from[end + 2..]))
}

/// Tracks whether the text so far ends inside a JSON string.
#[derive(Debug, Default)]
struct Quotes {
    inside: bool,
    escaped: bool,
}

impl Quotes {
    fn follow(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.inside => self.escaped = true,
                b'"' => self.inside = !self.inside,
                _ => {}
            }
        }
    }
}

fn append(out: &mut String, value: impl std::fmt::Display) {
    write!(out, "{value}").expect("writing into a string never fails");
}

/// Sets the version and variant in 128 random bits (RFC 9562, section 5.4).
fn append_uuid(out: &mut String, random: u128) {
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let field = |shift: u32, mask: u128| bits >> shift & mask;
    append(
        out,
        format_args!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            field(96, 0xffff_ffff),
            field(80, 0xffff),
            field(64, 0xffff),
            field(48, 0xffff),
            field(0, 0xffff_ffff_ffff)
        ),
    );
}
