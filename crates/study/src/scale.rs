//! An answer made longer, for a size sweep.
//!
//! The elements of every outermost list are repeated as often as asked, so that the answer grows
//! as it would with more of the same. An answer without a list has its texts or bytes repeated.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Limits, MessageType, Schema};
use serde_json::Value;

/// Why an answer cannot be made longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// The answer has nothing that could be longer.
    #[error(
        "the answer of {0} has no repeated field, string or bytes with something in it, so it has \
         one size only; put some into the sample, or leave the sizes out"
    )]
    NothingToRepeat(String),
    /// The answer would be refused by its reader.
    #[error(
        "the answer of {method} at {factor} times its size would be over {limit} bytes as JSON; \
         take smaller sizes, or raise --max-message-bytes"
    )]
    TooLarge {
        /// The method.
        method: String,
        /// How many times its size.
        factor: u32,
        /// The largest message that is decoded.
        limit: usize,
    },
    /// The workload's description does not fit its samples.
    #[error("{0}")]
    Schema(String),
}

/// The same method with an answer `factor` times as long.
///
/// # Errors
///
/// When there is nothing to repeat, the answer would grow beyond the decoding limit, or the
/// workload does not fit together.
pub fn answer(
    workload: &OwnWorkload,
    factor: u32,
    limits: Limits,
) -> Result<OwnWorkload, ScaleError> {
    if factor == 1 {
        return Ok(workload.clone());
    }
    let message = answer_type(workload)?;
    let mut response = workload.response.clone();
    let limit = limits.max_message_bytes;
    let too_large = || ScaleError::TooLarge {
        method: workload.method.clone(),
        factor,
        limit,
    };
    // Checked before anything is repeated: the factor is the user's.
    let bytes = response.to_string().len();
    let counts = ListSize::of(&response);
    let texts = if counts.elements == 0 {
        Texts::find(&message, &response)
    } else {
        Texts::default()
    };
    let repeated = if counts.elements == 0 {
        texts.bytes
    } else {
        counts.bytes
    };
    if repeated == 0 {
        return Err(ScaleError::NothingToRepeat(workload.method.clone()));
    }
    let grown = repeated
        .saturating_mul(factor as usize)
        .saturating_add(bytes - repeated.min(bytes));
    if grown > limit {
        return Err(too_large());
    }
    if counts.elements > 0 {
        repeat_lists(&mut response, factor as usize);
    } else {
        texts.repeat(&mut response, factor as usize);
    }
    message
        .from_json(&response.to_string())
        .map_err(|e| ScaleError::Schema(e.to_string()))?;
    Ok(OwnWorkload {
        response,
        ..workload.clone()
    })
}

/// What [`answer`] repeats of this method's answer; all else of it stays as it is.
pub fn repeated(workload: &OwnWorkload) -> &'static str {
    match ListSize::of(&workload.response).elements {
        0 => "texts and bytes",
        _ => "outermost lists",
    }
}

fn answer_type(workload: &OwnWorkload) -> Result<MessageType, ScaleError> {
    let wrong = |problem: String| ScaleError::Schema(problem);
    let set = STANDARD
        .decode(&workload.descriptor_set)
        .map_err(|e| wrong(e.to_string()))?;
    let schema = Schema::from_descriptor_set(&set).map_err(|e| wrong(e.to_string()))?;
    let method = schema
        .method(&workload.method)
        .map_err(|e| wrong(e.to_string()))?;
    Ok(method.response)
}

/// The outermost lists of a value.
#[derive(Default)]
struct ListSize {
    elements: usize,
    bytes: usize,
}

impl ListSize {
    fn of(value: &Value) -> Self {
        match value {
            Value::Array(items) => Self {
                elements: items.len(),
                bytes: items.iter().map(|item| item.to_string().len() + 1).sum(),
            },
            Value::Object(fields) => {
                fields
                    .values()
                    .map(Self::of)
                    .fold(Self::default(), |a, b| Self {
                        elements: a.elements + b.elements,
                        bytes: a.bytes + b.bytes,
                    })
            }
            _ => Self::default(),
        }
    }
}

fn repeat_lists(value: &mut Value, factor: usize) {
    match value {
        Value::Array(items) => {
            let again = std::iter::repeat_n(&*items, factor);
            *items = again.flatten().cloned().collect();
        }
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| repeat_lists(field, factor)),
        _ => {}
    }
}

/// Where an answer without lists has texts and bytes, as paths of keys.
///
/// In JSON, numbers of 64 bits, enums and times are strings too. What a string stands for is found
/// by asking the message's own reader whether another one would do in its place: any text, or
/// any base64.
#[derive(Default)]
struct Texts {
    texts: Vec<Vec<String>>,
    byte_fields: Vec<Vec<String>>,
    bytes: usize,
}

/// Neither a number, a time, an enum's name nor base64.
const ANY_TEXT: &str = "~ any text ~";
/// Three bytes in base64, and no number.
const ANY_BYTES: &str = "aaaa";

impl Texts {
    fn find(message: &MessageType, answer: &Value) -> Self {
        let mut leaves = Vec::new();
        collect_strings(answer, &mut Vec::new(), &mut leaves);
        let mut found = Self::default();
        for (path, length) in leaves.into_iter().filter(|(_, length)| *length > 0) {
            let accepts = |probe: &str| {
                let mut probed = answer.clone();
                set(&mut probed, &path, &|_| Some(probe.to_owned()));
                message.from_json(&probed.to_string()).is_ok()
            };
            if accepts(ANY_TEXT) {
                found.texts.push(path);
                found.bytes += length;
            } else if accepts(ANY_BYTES) {
                found.byte_fields.push(path);
                found.bytes += length;
            }
        }
        found
    }

    fn repeat(&self, answer: &mut Value, factor: usize) {
        for path in &self.texts {
            set(answer, path, &|text| Some(text.repeat(factor)));
        }
        for path in &self.byte_fields {
            set(answer, path, &|text| {
                let plain = text.trim_end_matches('=');
                let padded = format!("{plain}{}", "=".repeat((4 - plain.len() % 4) % 4));
                let bytes = STANDARD
                    .decode(&padded)
                    .or_else(|_| URL_SAFE.decode(&padded))
                    .ok()?;
                Some(STANDARD.encode(bytes.repeat(factor)))
            });
        }
    }
}

/// The strings of a value without lists, with their lengths in bytes.
fn collect_strings(value: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, usize)>) {
    match value {
        Value::String(text) => found.push((path.clone(), text.len())),
        Value::Object(fields) => {
            for (key, field) in fields {
                path.push(key.clone());
                collect_strings(field, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Replaces the string at `path` by what `change` makes of it, if anything.
fn set(value: &mut Value, path: &[String], change: &dyn Fn(&str) -> Option<String>) {
    let place = path.iter().try_fold(value, |value, key| value.get_mut(key));
    if let Some(Value::String(text)) = place
        && let Some(changed) = change(text)
    {
        *text = changed;
    }
}
