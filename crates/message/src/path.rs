//! Paths in messages, positions in text, and parsers' error messages.

use std::borrow::Cow;
use std::fmt;

use buffa_descriptor::{
    DescriptorPool, DynamicMessage, FieldDescriptor, MapKey, MessageIndex, Value,
};

/// One step down into a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// A field, or a key of an object or a map.
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

/// Formats the path of `steps`, outermost first.
pub(crate) fn shown(steps: &[Step<'_>]) -> String {
    let mut path = String::from("$");
    path.extend(steps.iter().map(Step::to_string));
    path
}

/// Whether a name can follow a dot in a path.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'@')
}

/// A message type's fields with their JSON keys, in the order of the .proto file, followed by its extensions.
pub(crate) fn all_fields(
    pool: &DescriptorPool,
    index: MessageIndex,
) -> impl Iterator<Item = (&str, &FieldDescriptor)> {
    let declared = pool.message(index).fields().iter();
    let extensions = pool.extensions_of(index);
    declared
        .map(|field| (field.json_name(), field))
        .chain(extensions.map(|extension| (extension.json_key(), extension.field())))
}

/// Returns the first result of `check` on a message or the messages nested in it, with its path. `check` also
/// returns the key of the field at fault, or `None` for the whole message. Outer messages are checked first.
pub(crate) fn find_in<T>(message: &DynamicMessage, check: &Check<'_, T>) -> Option<(String, T)> {
    let mut steps = Vec::new();
    let found = find_under(message, check, &mut steps)?;
    steps.reverse();
    Some((shown(&steps), found))
}

type Check<'c, T> = dyn Fn(&DynamicMessage) -> Option<(Option<&str>, T)> + 'c;

/// Collects the steps from the inside out.
fn find_under<T>(
    message: &DynamicMessage,
    check: &Check<'_, T>,
    steps: &mut Vec<Step<'static>>,
) -> Option<T> {
    let name = |key: &str| Step::Name(key.to_owned().into());
    if let Some((key, found)) = check(message) {
        steps.extend(key.map(name));
        return Some(found);
    }
    for (key, field) in all_fields(message.pool(), message.message_index()) {
        let mut within = |value: &Value, step: &dyn Fn() -> Step<'static>| match value {
            Value::Message(child) => {
                find_under(child, check, steps).inspect(|_| steps.push(step()))
            }
            _ => None,
        };
        let found = match message.field_by_number(field.number()) {
            None => None,
            Some(Value::List(items)) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(index, item)| within(item, &|| Step::Index(index)))
            }
            Some(Value::Map(entries)) => entries
                .iter()
                .find_map(|(key, value)| within(value, &|| Step::Name(key_text(key).into()))),
            Some(Value::Message(child)) => find_under(child, check, steps),
            Some(_) => None,
        };
        if found.is_some() {
            steps.push(name(key));
            return found;
        }
    }
    None
}

/// A map key in its JSON form.
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

/// The line and column of a byte, both from 1. Columns count characters.
pub fn position(text: &str, byte: usize) -> (usize, usize) {
    let end = (0..=byte.min(text.len())).rfind(|at| text.is_char_boundary(*at));
    let before = &text[..end.unwrap_or(0)];
    let line = before.rsplit('\n').next().unwrap_or(before);
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// A JSON reader's message without the position, which the error also provides as numbers.
pub fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// The maximum length of a parser's message, in characters. Such messages quote their input.
const SHOWN: usize = 240;

/// Formats a message on one line of limited length, without the parser's position, which the path replaces.
pub(crate) fn tidy(what: &str) -> String {
    let what = match what.rsplit_once(" at line ") {
        Some((head, position)) if position.starts_with(|c: char| c.is_ascii_digit()) => head,
        _ => what,
    };
    clip(what)
}

/// Formats text on one line of limited length.
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
