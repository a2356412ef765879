//! Encodes and decodes messages, with one function per direction for generated and for dynamic messages.
//!
//! Generated messages are plain structs with serde's derives, as in an application. If their readers refuse a
//! message, dynamic code reads it again to locate the error.

mod wire_type;

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::{fmt, io};

use buffa::{DecodeOptions, Message as _, SizeCache};
use buffa_descriptor::{DynamicMessage, MessageIndex};
use rmp_serde::decode::Error as MsgpackError;
use serde::Serialize;
use serde::de::DeserializeSeed;

use crate::Encoding;
use crate::error::{DecodeError, EncodeError, Refusal};
use crate::generated::GeneratedMessage;
use crate::generated::workloads::rpcgauge::Hybrid;
use crate::limits::{BrokenLimit, Limits};
use crate::mapping::integers;
use crate::mapping::read::{ReadError, Reading};
use crate::mapping::write::WriteMessage;
use crate::path::clip;
use crate::schema::types::Types;

/// A generated message of any type, as a trait object.
pub(crate) trait Generated: fmt::Debug + Send + Sync {
    fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError>;
    fn as_any(&self) -> &dyn Any;
}

/// Reads a generated message of one type.
pub(crate) type DecodeFn = fn(&[u8], Encoding, &Limits) -> Result<Arc<dyn Generated>, DecodeError>;

/// Returns the function that reads messages of a type.
pub(crate) const fn decode_fn<M: GeneratedMessage>() -> DecodeFn {
    |bytes, encoding, limits| Ok(Arc::new(decode_generated::<M>(bytes, encoding, limits)?))
}

impl<M: GeneratedMessage> Generated for M {
    fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_generated(self, encoding, out)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

thread_local! {
    /// The sizes of nested messages, reused so that encoding a long list does not allocate.
    static SIZES: RefCell<SizeCache> = const { RefCell::new(SizeCache::new()) };
}

/// Appends a generated message's bytes.
pub(crate) fn encode_generated<M: GeneratedMessage>(
    message: &M,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let result = match encoding {
        Encoding::Protobuf => SIZES.with_borrow_mut(|sizes| {
            message
                .try_encode_with_cache(sizes, out)
                .map_err(|e| e.to_string())
        }),
        Encoding::JsonProtoNames => encode_serde(&message.by_proto_names(), encoding, out),
        _ => encode_serde(message, encoding, out),
    };
    result.map_err(|what| EncodeError::no_form(M::FULL_NAME, encoding, &what))
}

/// Appends a dynamic message's bytes. Its descriptors determine the JSON names.
pub(crate) fn encode_dynamic(
    message: &DynamicMessage,
    full_name: &str,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let result = match encoding {
        Encoding::Protobuf => message.try_encode(out).map_err(|e| e.to_string()),
        // The library's JSON is protobuf's own mapping.
        Encoding::ProtoJson => encode_serde(message, Encoding::Json, out),
        _ => encode_serde(&WriteMessage::new(message), encoding, out),
    };
    result.map_err(|what| EncodeError::no_form(full_name, encoding, &what))
}

fn encode_serde(
    value: &impl Serialize,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    match encoding {
        Encoding::Json | Encoding::JsonProtoNames => {
            serde_json::to_writer(out, value).map_err(|e| e.to_string())
        }
        Encoding::ProtoJson => {
            let mut serializer = serde_json::Serializer::with_formatter(out, Int64AsText);
            value.serialize(&mut serializer).map_err(|e| e.to_string())
        }
        Encoding::Msgpack => {
            let mut serializer = rmp_serde::Serializer::new(out).with_struct_map();
            value.serialize(&mut serializer).map_err(|e| e.to_string())
        }
        Encoding::Cbor => {
            let mut serializer = minicbor_serde::Serializer::new(out);
            value.serialize(&mut serializer).map_err(|e| e.to_string())
        }
        Encoding::Hybrid => {
            let envelope = Hybrid {
                json: serde_json::to_string(value).map_err(|e| e.to_string())?,
                ..Hybrid::default()
            };
            envelope.try_encode(out).map_err(|e| e.to_string())
        }
        Encoding::Protobuf => Err("protobuf is not written by serde".to_owned()),
    }
}

/// Writes 64-bit integers in quotes. Map keys would be quoted twice, but no workload has maps with such keys.
struct Int64AsText;

impl serde_json::ser::Formatter for Int64AsText {
    fn write_i64<W: io::Write + ?Sized>(&mut self, out: &mut W, value: i64) -> io::Result<()> {
        write!(out, "\"{value}\"")
    }

    fn write_u64<W: io::Write + ?Sized>(&mut self, out: &mut W, value: u64) -> io::Result<()> {
        write!(out, "\"{value}\"")
    }
}

/// Reads a generated message.
pub(crate) fn decode_generated<M: GeneratedMessage>(
    bytes: &[u8],
    encoding: Encoding,
    limits: &Limits,
) -> Result<M, DecodeError> {
    let refused = |refusal: Refusal| refusal.of(M::FULL_NAME, encoding);
    limits.check_size(bytes)?;
    let seed = PhantomData::<M>;
    let read = match encoding {
        Encoding::Protobuf => {
            return options(limits)
                .decode_from_slice(bytes)
                .map_err(|e| refused(from_protobuf(&e, limits)));
        }
        Encoding::Json | Encoding::JsonProtoNames | Encoding::ProtoJson => {
            serde_json::from_slice(bytes).map_err(|e| e.to_string())
        }
        Encoding::Hybrid => {
            let json = open_hybrid(bytes, limits).map_err(refused)?;
            serde_json::from_str(&json).map_err(|e| e.to_string())
        }
        Encoding::Msgpack => read_msgpack(bytes, seed),
        Encoding::Cbor => read_cbor(bytes, seed),
    };
    read.map_err(|what| refused(Refusal::Damage(clip(&what))))
}

/// Reads a dynamic message.
pub(crate) fn decode_dynamic(
    types: &Types,
    index: MessageIndex,
    bytes: &[u8],
    encoding: Encoding,
    limits: &Limits,
) -> Result<DynamicMessage, DecodeError> {
    let full_name = types.pool.message(index).full_name();
    let refused = |refusal: Refusal| refusal.of(full_name, encoding);
    limits.check_size(bytes)?;
    let message = match encoding {
        Encoding::Protobuf => protobuf_dynamic(types, index, bytes, limits).map_err(refused)?,
        _ => {
            let opened;
            let (bytes, inner) = if encoding == Encoding::Hybrid {
                opened = open_hybrid(bytes, limits).map_err(refused)?;
                (opened.as_bytes(), Encoding::Json)
            } else {
                (bytes, encoding)
            };
            read_dynamic(types, index, bytes, inner, limits).map_err(|error| {
                refused(match error {
                    ReadError::Limit(limit) => Refusal::Limit(limit),
                    ReadError::At { path, what } if path == "$" => Refusal::Damage(what),
                    ReadError::At { path, what } => Refusal::Damage(format!("{path}: {what}")),
                    ReadError::NotJson(error) => Refusal::Damage(clip(&error.to_string())),
                })
            })?
        }
    };
    match types.missing_required(&message) {
        Some(path) => Err(refused(Refusal::Damage(format!(
            "{path}: a required field is missing"
        )))),
        None => Ok(message),
    }
}

/// Reads a dynamic message from protobuf. The library keeps a field with the wrong wire type as an unknown
/// field, as the specification requires. Here it is an error, as in generated code.
fn protobuf_dynamic(
    types: &Types,
    index: MessageIndex,
    bytes: &[u8],
    limits: &Limits,
) -> Result<DynamicMessage, Refusal> {
    let decode = |options: DecodeOptions| {
        DynamicMessage::decode_with_options(types.pool.clone(), index, bytes, &options)
    };
    // Most messages have no unknown fields and need no search. A sender that uses unknown fields sends them in
    // every message, so only its first message is decoded twice.
    if !types.unknown_fields.load(Relaxed) {
        match decode(options(limits).with_unknown_field_limit(0)) {
            Ok(message) => return Ok(message),
            Err(buffa::DecodeError::UnknownFieldLimitExceeded) => {
                types.unknown_fields.store(true, Relaxed);
            }
            Err(error) => return Err(from_protobuf(&error, limits)),
        }
    }
    let message = decode(options(limits)).map_err(|e| from_protobuf(&e, limits))?;
    match wire_type::mismatch(&message) {
        Some(what) => Err(Refusal::Damage(what)),
        None => Ok(message),
    }
}

/// Reads a dynamic message from an encoding with field names.
pub(crate) fn read_dynamic(
    types: &Types,
    index: MessageIndex,
    bytes: &[u8],
    encoding: Encoding,
    limits: &Limits,
) -> Result<DynamicMessage, ReadError> {
    let reading = Reading::new(types, index, limits);
    let read = match encoding {
        Encoding::Msgpack => read_msgpack(bytes, reading.seed()),
        Encoding::Cbor => read_cbor(bytes, reading.seed()),
        _ => match read_json(bytes, reading.seed()) {
            Err(error) if !error.is_data() => return Err(ReadError::NotJson(error)),
            read => read.map_err(|error| error.to_string()),
        },
    };
    match read {
        Ok(message) => reading.finish(message),
        Err(said) => {
            let in_digits = match encoding {
                Encoding::Msgpack | Encoding::Cbor => None,
                _ => str::from_utf8(bytes).ok().and_then(integers::in_digits),
            };
            match in_digits {
                Some(json) => read_dynamic(types, index, json.as_bytes(), encoding, limits),
                None => Err(reading.refused(said)),
            }
        }
    }
}

/// The maximum number of unknown fields in a message. Both sides know the schema, so a larger number indicates
/// damage.
const UNKNOWN_FIELDS: usize = 10_000;

fn options(limits: &Limits) -> DecodeOptions {
    DecodeOptions::new()
        // The library does not count the outermost message as a level.
        .with_recursion_limit(u32::try_from(limits.max_depth.saturating_sub(1)).unwrap_or(u32::MAX))
        .with_element_memory_limit(limits.memory())
        .with_unknown_field_limit(UNKNOWN_FIELDS)
}

fn from_protobuf(error: &buffa::DecodeError, limits: &Limits) -> Refusal {
    use buffa::DecodeError as E;
    match error {
        E::RecursionLimitExceeded => Refusal::Limit(BrokenLimit::Depth(limits.max_depth)),
        E::ElementMemoryLimitExceeded => Refusal::Limit(BrokenLimit::Memory(limits.memory())),
        other => Refusal::Damage(other.to_string()),
    }
}

/// Returns the JSON inside the envelope of the `hybrid` encoding.
fn open_hybrid(bytes: &[u8], limits: &Limits) -> Result<String, Refusal> {
    let envelope: Hybrid = options(limits)
        .decode_from_slice(bytes)
        .map_err(|e| from_protobuf(&e, limits))?;
    Ok(envelope.json)
}

fn read_json<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    seed: S,
) -> Result<S::Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    // The guard limits the depth instead.
    deserializer.disable_recursion_limit();
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

fn read_msgpack<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    seed: S,
) -> Result<S::Value, String> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(bytes);
    deserializer.set_max_depth(usize::from(u16::MAX));
    let value = seed
        .deserialize(&mut deserializer)
        .map_err(|e| msgpack_error(&e))?;
    // The library does not report how much it has read. If it cannot read another marker, nothing is left.
    match <u8 as serde::Deserialize>::deserialize(&mut deserializer) {
        Err(MsgpackError::InvalidMarkerRead(_)) => Ok(value),
        _ => Err("extra bytes follow the message".to_owned()),
    }
}

/// Replaces the library's error, which reports only that reading from memory failed.
fn msgpack_error(error: &MsgpackError) -> String {
    match error {
        MsgpackError::InvalidMarkerRead(_) | MsgpackError::InvalidDataRead(_) => {
            "the message is cut off".to_owned()
        }
        other => other.to_string(),
    }
}

fn read_cbor<'de, S: DeserializeSeed<'de>>(bytes: &'de [u8], seed: S) -> Result<S::Value, String> {
    let mut deserializer = minicbor_serde::Deserializer::new(bytes);
    let value = seed
        .deserialize(&mut deserializer)
        .map_err(|e| e.to_string())?;
    if deserializer.decoder().position() != bytes.len() {
        return Err("extra bytes follow the message".to_owned());
    }
    Ok(value)
}
