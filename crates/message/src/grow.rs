//! Makes a message longer. Its outermost lists gain elements. In a message without lists, strings and bytes
//! grow.
//!
//! Added elements differ from the originals the way rows of real data differ; otherwise, a compressor would
//! find repetitions. Numbers count up, times advance, and strings, bytes, booleans and enum values are random.
//! The result is the same on every run.

mod vary;

use std::sync::Arc;

use buffa_descriptor::{
    DescriptorPool, DynamicMessage, FieldKind, MapValue, ReflectMessage as _, Value,
};

use self::vary::Vary;
use crate::error::EncodeError;
use crate::mapping::well_known::{self, WellKnown, any};
use crate::path::all_fields;
use crate::{Encoding, Message};

impl Message {
    /// Returns the message made `factor` times as long, as JSON; `None` if nothing in it can grow. The caller
    /// must ensure that the result does not become too large.
    ///
    /// # Errors
    /// If JSON cannot represent the message.
    pub fn grown(&self, factor: usize) -> Result<Option<serde_json::Value>, EncodeError> {
        let no_form = |what: String| EncodeError::NoForm {
            message_type: self.type_name().to_owned(),
            encoding: Encoding::Json,
            what,
        };
        let mut message = self.to_dynamic().map_err(no_form)?.into_owned();
        let mut growing = Growing {
            factor,
            part: Part::Lists,
            grown: false,
            vary: Vary::new(Arc::clone(message.pool())),
        };
        growing.message(&mut message);
        if !growing.grown {
            growing.part = Part::Texts;
            growing.message(&mut message);
        }
        if growing.grown {
            serde_json::to_value(&message)
                .map(Some)
                .map_err(|error| no_form(error.to_string()))
        } else {
            Ok(None)
        }
    }
}

/// How many variations of a string are tried to find out whether it can vary: a single one may happen to be the
/// same string.
const TRIES: usize = 8;

/// What grows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Lists,
    Texts,
}

struct Growing {
    factor: usize,
    part: Part,
    grown: bool,
    vary: Vary,
}

impl Growing {
    fn message(&mut self, message: &mut DynamicMessage) {
        if WellKnown::of(message.message_descriptor()) == Some(WellKnown::FieldMask) {
            return;
        }
        for_each_field(message, &mut |kind, value| self.value(kind, value));
    }

    fn value(&mut self, kind: FieldKind, value: &mut Value) {
        match (kind, value) {
            (FieldKind::List(kind), Value::List(items)) if self.part == Part::Lists => {
                let rows = items.clone();
                self.grown |= !rows.is_empty();
                for copy in 1..self.factor {
                    self.vary.rows = copy * rows.len();
                    let added = items.len();
                    items.extend_from_slice(&rows);
                    for item in &mut items[added..] {
                        self.vary.value(FieldKind::Singular(kind), item);
                    }
                }
            }
            (_, Value::Message(message)) => self.message(message),
            (FieldKind::Map { value: kind, .. }, Value::Map(entries)) => {
                for_each_entry(entries, |value| {
                    self.value(FieldKind::Singular(kind), value);
                });
            }
            (_, Value::String(text)) if self.part == Part::Texts => {
                self.grown |= (0..TRIES).any(|_| self.vary.text(text) != *text);
                let more: String = (1..self.factor).map(|_| self.vary.text(text)).collect();
                text.push_str(&more);
            }
            (_, Value::Bytes(bytes)) if self.part == Part::Texts => {
                self.grown |= !bytes.is_empty();
                let more = bytes.len() * (self.factor - 1);
                bytes.extend((0..more).map(|_| self.vary.random.next() as u8));
            }
            _ => {}
        }
    }
}

/// Calls `each` for every field that is set. For an `Any`, these are its payload's fields.
fn for_each_field(message: &mut DynamicMessage, each: &mut dyn FnMut(FieldKind, &mut Value)) {
    let pool = Arc::clone(message.pool());
    let index = message.message_index();
    if WellKnown::of(pool.message(index)) == Some(WellKnown::Any) {
        return in_payload(&pool, message, |payload| for_each_field(payload, each));
    }
    for (_, field) in all_fields(&pool, index) {
        if let Some(value) = message.field_by_number_mut(field.number()) {
            each(field.kind(), value);
        }
    }
}

/// Changes the payload of an `Any` if the schema defines its type.
fn in_payload(
    pool: &Arc<DescriptorPool>,
    message: &mut DynamicMessage,
    change: impl FnOnce(&mut DynamicMessage),
) {
    let index = match message.field_by_number(any::TYPE_URL) {
        Some(Value::String(type_url)) => well_known::payload_type(pool, type_url),
        _ => None,
    };
    if let (Some(index), Some(Value::Bytes(bytes))) =
        (index, message.field_by_number_mut(any::VALUE))
        && let Ok(mut payload) = DynamicMessage::decode(Arc::clone(pool), index, bytes)
    {
        change(&mut payload);
        if let Ok(changed) = payload.try_encode_to_vec() {
            *bytes = changed;
        }
    }
}

/// Changes a map's values; the keys stay the same.
fn for_each_entry(entries: &mut MapValue, mut each: impl FnMut(&mut Value)) {
    let changed = entries.iter().map(|(key, value)| {
        let mut value = value.clone();
        each(&mut value);
        (key.clone(), value)
    });
    *entries = changed.collect();
}
