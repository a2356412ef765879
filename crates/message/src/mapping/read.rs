//! Reads a dynamic message with the protobuf library's JSON reader, through the guard.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use buffa_descriptor::reflect::DynamicMessageSeed;
use buffa_descriptor::{
    DescriptorPool, DynamicMessage, FieldDescriptor, FieldKind, MapKey, MapValue, MessageIndex,
    ScalarType, SingularKind, Value,
};

use super::guard::Watched;
use super::watch::{Aside, Content, Fault, Watch};
use super::well_known::{ONLY_FIELD, WellKnown, value};
use crate::limits::{BrokenLimit, Limits};
use crate::nearest::Nearest;
use crate::path::{self, Step, key_text};
use crate::schema::names::{MESSAGE_SET, is_message_set};
use crate::schema::types::Types;

/// Why a message could not be read.
pub(crate) enum ReadError {
    Limit(BrokenLimit),
    /// A value does not fit.
    At {
        path: String,
        what: String,
    },
    /// The text is not JSON.
    NotJson(serde_json::Error),
}

/// The state of reading one message.
pub(crate) struct Reading<'a> {
    types: &'a Types,
    index: MessageIndex,
    watch: Watch,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(types: &'a Types, index: MessageIndex, limits: &Limits) -> Self {
        Self {
            types,
            index,
            // The library reads an `Any`'s payload separately, so values in it cannot be set aside.
            watch: Watch::new(limits, types.has_any),
        }
    }

    /// Returns the seed that reads the message from its format.
    pub(crate) fn seed(&self) -> Watched<'_, DynamicMessageSeed> {
        let pool = Arc::clone(&self.types.pool);
        self.watch.over(DynamicMessageSeed::new(pool, self.index))
    }

    /// Returns the message, with the values that were set aside put back.
    pub(crate) fn finish(self, mut message: DynamicMessage) -> Result<DynamicMessage, ReadError> {
        match put(&mut message, &mut self.watch.into_aside(), 0) {
            Ok(()) => Ok(message),
            Err(fault) => Err(read_error(
                self.types,
                self.index,
                fault,
                "it does not fit the message",
            )),
        }
    }

    /// Returns the error. `said` is the parser's message.
    pub(crate) fn refused(self, said: String) -> ReadError {
        if let Some(broken) = self.watch.broken() {
            return ReadError::Limit(broken);
        }
        read_error(self.types, self.index, self.watch.into_fault(), &said)
    }
}

/// Returns the error for a value that does not fit: the library's message, plus what the descriptors expect
/// there. `said` is used if the fault has no message of its own.
fn read_error(types: &Types, index: MessageIndex, fault: Fault, said: &str) -> ReadError {
    let pool = &*types.pool;
    let mut steps = fault.path;
    let said = path::tidy(fault.said.as_deref().unwrap_or(said));
    let wanted = |wanted: &str| match &fault.value {
        Some(value) => format!("invalid value: {}, expected {wanted}", path::clip(value)),
        None => {
            let (said, _) = said.split_once(", expected ").unwrap_or((&said, ""));
            format!("{said}, expected {wanted}")
        }
    };
    // The library's message quotes the unknown name.
    let name = said.split('"').nth(1).unwrap_or_default();
    let what = match kind_at(pool, index, &steps) {
        Some(FieldKind::Singular(SingularKind::Scalar(scalar))) => wanted(wanted_of(scalar)),
        Some(FieldKind::Singular(SingularKind::Enum(index))) => {
            let names = pool.enumeration(index).values().iter().map(|v| v.name());
            format!("{said}{}", Nearest::or_known(name, names))
        }
        Some(FieldKind::Singular(SingularKind::Message(index))) => {
            let descriptor = pool.message(index);
            match WellKnown::of(descriptor) {
                Some(WellKnown::Wrapper(scalar)) => wanted(wanted_of(scalar)),
                Some(WellKnown::Timestamp) => {
                    wanted("a time such as \"2026-11-20T12:00:00.5Z\" (RFC 3339)")
                }
                Some(WellKnown::Duration) => wanted("a duration in seconds such as \"1.5s\""),
                Some(WellKnown::FieldMask) => {
                    wanted("field paths such as \"user.displayName,photo\"")
                }
                Some(_) => said.clone(),
                None if is_message_set(descriptor.options()) => MESSAGE_SET.to_owned(),
                None if said.starts_with("unknown field") => {
                    steps.push(Step::Name(name.to_owned().into()));
                    let names = descriptor.fields().iter().map(FieldDescriptor::json_name);
                    let nearest = Nearest::or_known(name, names);
                    format!(
                        "{} has no field \"{name}\"{nearest}",
                        descriptor.full_name()
                    )
                }
                None => {
                    let oneof = descriptor
                        .field_by_name(name)
                        .filter(|_| said.starts_with("more than one member of oneof"))
                        .and_then(|field| {
                            descriptor.oneofs().get(usize::from(field.oneof_index()?))
                        });
                    oneof.map_or(said.clone(), |oneof| {
                        format!("{said}: only one field of \"{}\" can be set", oneof.name())
                    })
                }
            }
        }
        _ => said.clone(),
    };
    ReadError::At {
        path: path::shown(&steps),
        what,
    }
}

/// Puts the values that were set aside into the fields of a message that is `depth` levels deep. Fails on the
/// first value that does not fit.
fn put(message: &mut DynamicMessage, aside: &mut [Aside], depth: usize) -> Result<(), Fault> {
    let pool = Arc::clone(message.pool());
    let index = message.message_index();
    let well_known = WellKnown::of(pool.message(index));
    for group in aside.chunk_by_mut(|a, b| a.path.get(depth) == b.path.get(depth)) {
        let step = group[0].path.get(depth);
        // JSON paths have no step between these types and the field that holds their value.
        let held = match (well_known, step) {
            (Some(WellKnown::Wrapper(_) | WellKnown::Struct | WellKnown::ListValue), _) => {
                Some(ONLY_FIELD)
            }
            (Some(WellKnown::Value), None) => Some(value::NUMBER),
            (Some(WellKnown::Value), Some(Step::Name(_))) => Some(value::STRUCT),
            (Some(WellKnown::Value), Some(Step::Index(_))) => Some(value::LIST),
            _ => None,
        };
        let number = held.or_else(|| match step {
            Some(Step::Name(name)) => find_field(&pool, index, name).map(FieldDescriptor::number),
            _ => None,
        });
        match number.and_then(|number| message.field_by_number_mut(number)) {
            Some(value) => put_value(value, group, depth + usize::from(held.is_none()))?,
            None => no_place(group)?,
        }
    }
    Ok(())
}

fn put_value(value: &mut Value, aside: &mut [Aside], depth: usize) -> Result<(), Fault> {
    let by_step = |a: &Aside, b: &Aside| a.path.get(depth) == b.path.get(depth);
    match value {
        Value::Message(message) => put(message, aside, depth)?,
        Value::List(items) => {
            for group in aside.chunk_by_mut(by_step) {
                let item = match group[0].path.get(depth) {
                    Some(Step::Index(index)) => items.get_mut(*index),
                    _ => None,
                };
                match item {
                    Some(item) => put_value(item, group, depth + 1)?,
                    None => no_place(group)?,
                }
            }
        }
        Value::Map(entries) => {
            let keys: HashMap<String, MapKey> = entries
                .iter()
                .map(|(key, _)| (key_text(key), key.clone()))
                .collect();
            for group in aside.chunk_by_mut(by_step) {
                let key = match group[0].path.get(depth) {
                    Some(Step::Name(name)) => keys.get(&**name),
                    _ => None,
                };
                let found = key.and_then(|key| Some((key, entries.get(key)?.clone())));
                match found {
                    Some((key, mut item)) => {
                        put_value(&mut item, group, depth + 1)?;
                        MapValue::insert(entries, key.clone(), item);
                    }
                    None => no_place(group)?,
                }
            }
        }
        // For a duplicate key, the last value wins.
        scalar => match aside {
            [.., last] if last.path.len() == depth => put_scalar(scalar, last)?,
            _ => no_place(aside)?,
        },
    }
    Ok(())
}

fn put_scalar(value: &mut Value, aside: &mut Aside) -> Result<(), Fault> {
    match (value, &mut aside.content) {
        (Value::Bytes(bytes), Content::Bytes(carried)) => *bytes = mem::take(carried),
        (Value::F64(value), Content::Number(number)) => *value = *number,
        (Value::F32(_), Content::Number(_)) => {}
        (Value::F32(number), Content::Text(_)) if number.is_finite() => {}
        (Value::F64(number), Content::Text(_)) if number.is_finite() => {}
        (Value::F32(_) | Value::F64(_), Content::Text(_)) => return Err(aside.fault()),
        (_, Content::Text(_)) => {}
        _ => return Err(aside.fault()),
    }
    Ok(())
}

/// Handles values that were set aside but match no field in the message. All except text are errors. Text stays
/// where the library put it, for example in the payload of an `Any`, which the library reads separately.
fn no_place(aside: &mut [Aside]) -> Result<(), Fault> {
    match aside
        .iter_mut()
        .find(|aside| !matches!(aside.content, Content::Text(_)))
    {
        Some(aside) => Err(aside.fault()),
        None => Ok(()),
    }
}

/// Finds a field by its name in JSON or in the .proto file, or an extension by its full name in brackets.
fn find_field<'a>(
    pool: &'a DescriptorPool,
    index: MessageIndex,
    key: &str,
) -> Option<&'a FieldDescriptor> {
    let extension = key.strip_prefix('[').and_then(|key| key.strip_suffix(']'));
    match extension {
        None => pool.message(index).field_by_name(key),
        Some(name) => pool
            .extension_by_name(name)
            .filter(|extension| extension.extendee() == index)
            .map(|extension| extension.field()),
    }
}

/// The kind of the value at the end of a path, if the descriptors define it.
fn kind_at(pool: &DescriptorPool, index: MessageIndex, steps: &[Step<'_>]) -> Option<FieldKind> {
    let mut at = FieldKind::Singular(SingularKind::Message(index));
    for step in steps {
        at = match (at, step) {
            (FieldKind::Singular(SingularKind::Message(index)), Step::Name(name)) => {
                find_field(pool, index, name)?.kind()
            }
            (FieldKind::List(kind), Step::Index(_)) => FieldKind::Singular(kind),
            (FieldKind::Map { value, .. }, Step::Name(_)) => FieldKind::Singular(value),
            _ => return None,
        };
    }
    Some(at)
}

/// A description of the values that a scalar accepts.
const fn wanted_of(scalar: ScalarType) -> &'static str {
    use ScalarType as T;
    match scalar {
        T::Int32 | T::Sint32 | T::Sfixed32 => "an integer from -2147483648 to 2147483647",
        T::Uint32 | T::Fixed32 => "an integer from 0 to 4294967295",
        T::Int64 | T::Sint64 | T::Sfixed64 => {
            "an integer from -9223372036854775808 to 9223372036854775807"
        }
        T::Uint64 | T::Fixed64 => "an integer from 0 to 18446744073709551615",
        T::Float => {
            "a number from -3.4028235e38 to 3.4028235e38, \"NaN\", \"Infinity\" or \"-Infinity\""
        }
        T::Double => "a number, \"NaN\", \"Infinity\" or \"-Infinity\"",
        T::Bool => "true or false",
        T::String => "a string",
        T::Bytes => "bytes (base64 in JSON)",
    }
}
