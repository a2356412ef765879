//! Where two messages differ.

use std::fmt;

use buffa_descriptor::{DynamicMessage, FieldDescriptor, MapKey, MapValue, ReflectMessage, Value};

use crate::Message;
use crate::mapping::well_known::{self, WellKnown, any};
use crate::path::{Step, all_fields, clip, key_text};

/// The first difference between two messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The place as a JSON path: `$.items[2].price`.
    pub path: String,
    /// A short form of the expected value.
    pub expected: String,
    /// A short form of the actual value.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, expected, got) = (&self.path, &self.expected, &self.got);
        write!(f, "{path}: expected {expected}, got {got}")
    }
}

/// Returns the first difference in the order of the .proto file, or `None` if the messages are equal. Generated
/// and dynamic messages of the same type can be compared. NaN equals NaN, but zero does not equal negative zero
/// because they are encoded differently.
pub fn first_difference(expected: &Message, got: &Message) -> Option<Difference> {
    if expected.type_name() != got.type_name() {
        return Some(Difference {
            path: "$".to_owned(),
            expected: format!("a {}", expected.type_name()),
            got: format!("a {}", got.type_name()),
        });
    }
    // Messages can be large, and most are equal. Build the trees only to find where two messages differ.
    if expected.has_bytes_of(got) {
        return None;
    }
    let mut difference = match (expected.to_dynamic(), got.to_dynamic()) {
        (Ok(expected), Ok(got)) => in_message(&expected, &got)?,
        (expected, got) => unequal(
            &expected.err().unwrap_or_else(|| "a message".to_owned()),
            &got.err().unwrap_or_else(|| "a message".to_owned()),
        ),
    };
    difference.path.insert(0, '$');
    Some(difference)
}

/// A difference with an empty path; callers prepend their steps.
fn unequal(expected: &str, got: &str) -> Difference {
    Difference {
        path: String::new(),
        expected: clip(expected),
        got: clip(got),
    }
}

impl Difference {
    fn under(mut self, step: Step<'_>) -> Self {
        self.path.insert_str(0, &step.to_string());
        self
    }
}

/// Returns the payload of an `Any` if the schema defines its type.
fn payload(message: &DynamicMessage) -> Option<DynamicMessage> {
    let Some(Value::String(type_url)) = message.field_by_number(any::TYPE_URL) else {
        return None;
    };
    let Some(Value::Bytes(bytes)) = message.field_by_number(any::VALUE) else {
        return None;
    };
    let index = well_known::payload_type(message.pool(), type_url)?;
    DynamicMessage::decode(message.pool().clone(), index, bytes).ok()
}

fn in_message(expected: &DynamicMessage, got: &DynamicMessage) -> Option<Difference> {
    // Libraries write a payload's fields and map entries in different orders, so compare payloads as messages.
    if WellKnown::of(expected.message_descriptor()) == Some(WellKnown::Any)
        && let (Some(held), Some(other)) = (payload(expected), payload(got))
        && held.message_descriptor().full_name() == other.message_descriptor().full_name()
    {
        return in_message(&held, &other);
    }
    for (name, field) in all_fields(expected.pool(), expected.message_index()) {
        let difference = match (set(expected, field), set(got, field)) {
            (None, None) => None,
            (Some(expected), Some(got)) => in_value(expected, got),
            (expected, got) => Some(unequal(&shown(expected), &shown(got))),
        };
        if let Some(difference) = difference {
            return Some(difference.under(Step::Name(name.into())));
        }
    }
    if expected.unknown_fields() == got.unknown_fields() {
        return None;
    }
    let numbers = |message: &DynamicMessage| {
        let fields = message.unknown_fields().iter();
        let numbers: Vec<String> = fields.map(|field| field.number.to_string()).collect();
        if numbers.is_empty() {
            "no unknown fields".to_owned()
        } else {
            format!("unknown fields ({})", numbers.join(", "))
        }
    };
    Some(unequal(&numbers(expected), &numbers(got)))
}

/// Returns a field's value if it is set. The field is looked up by number because the two messages may come
/// from different pools.
fn set<'a>(message: &'a DynamicMessage, field: &FieldDescriptor) -> Option<&'a Value> {
    let own = message.message_descriptor().field(field.number());
    match own {
        Some(own) if !message.has(own) => None,
        _ => message.field_by_number(field.number()),
    }
}

fn in_value(expected: &Value, got: &Value) -> Option<Difference> {
    match (expected, got) {
        (Value::Message(expected), Value::Message(got)) => in_message(expected, got),
        (Value::List(expected), Value::List(got)) => in_list(expected, got),
        (Value::Map(expected), Value::Map(got)) => in_map(expected, got),
        _ if is_same(expected, got) => None,
        _ => Some(unequal(&shown(Some(expected)), &shown(Some(got)))),
    }
}

fn is_same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        _ => expected == got,
    }
}

fn in_list(expected: &[Value], got: &[Value]) -> Option<Difference> {
    let pairs = expected.iter().zip(got).enumerate();
    let differing = pairs.into_iter().find_map(|(i, (expected, got))| {
        in_value(expected, got).map(|difference| difference.under(Step::Index(i)))
    });
    differing.or_else(|| {
        let items = |list: &[Value]| format!("{} items", list.len());
        (expected.len() != got.len()).then(|| unequal(&items(expected), &items(got)))
    })
}

fn in_map(expected: &MapValue, got: &MapValue) -> Option<Difference> {
    let at =
        |key: &MapKey, difference: Difference| difference.under(Step::Name(key_text(key).into()));
    for (key, value) in expected.iter() {
        let difference = match got.get(key) {
            Some(other) => in_value(value, other),
            None => Some(unequal(&shown(Some(value)), &shown(None))),
        };
        if let Some(difference) = difference {
            return Some(at(key, difference));
        }
    }
    let (key, value) = got.iter().find(|(key, _)| expected.get(key).is_none())?;
    Some(at(key, unequal(&shown(None), &shown(Some(value)))))
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Bool(v)) => v.to_string(),
        Some(Value::I32(v)) => v.to_string(),
        Some(Value::I64(v)) => v.to_string(),
        Some(Value::U32(v)) => v.to_string(),
        Some(Value::U64(v)) => v.to_string(),
        Some(Value::F32(v)) => format!("{v:?}"),
        Some(Value::F64(v)) => format!("{v:?}"),
        Some(Value::String(v)) => format!("{v:?}"),
        Some(Value::Bytes(v)) => format!("{} bytes: {v:02x?}", v.len()),
        Some(Value::EnumNumber(v)) => format!("enum value {v}"),
        Some(Value::Message(v)) => format!("a {}", v.message_descriptor().full_name()),
        Some(Value::List(v)) => format!("{} items", v.len()),
        Some(Value::Map(v)) => format!("{} entries", v.len()),
    }
}
