//! Messages in memory and their types, for generated and for dynamic code.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use buffa::editions::FieldPresence;
use buffa_descriptor::{
    DynamicMessage, FieldDescriptor, FieldKind, MessageIndex, ScalarType, SingularKind,
};
use rpcgauge_trial::CodeKind;

use crate::diff::first_difference;
use crate::error::{DecodeError, EncodeError, SampleError};
use crate::format::{self, DecodeFn, Generated};
use crate::mapping::read::ReadError;
use crate::mapping::well_known::WellKnown;
use crate::nearest::Nearest;
use crate::path::all_fields;
use crate::schema::types::Types;
use crate::whole_file::without_mark;
use crate::{Encoding, Limits};

/// The nesting depth of the workloads' deepest message, the response of `list`.
const GENERATED_LEVELS: usize = 4;

/// Limits for messages from the user or from this program. Their size is checked when they are sent.
const ANY_SIZE: Limits = Limits {
    max_message_bytes: usize::MAX,
    ..Limits::DEFAULT
};

/// The type of a message. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MessageType {
    /// The descriptors that dynamic code uses.
    types: Arc<Types>,
    index: MessageIndex,
    /// The generated code that reads messages of this type.
    generated: Option<DecodeFn>,
}

impl MessageType {
    pub(crate) fn dynamic(types: Arc<Types>, index: MessageIndex) -> Self {
        Self {
            types,
            index,
            generated: None,
        }
    }

    pub(crate) fn with_generated(self, generated: DecodeFn) -> Self {
        Self {
            generated: Some(generated),
            ..self
        }
    }

    /// `package.Message`.
    pub fn full_name(&self) -> &str {
        self.types.pool.message(self.index).full_name()
    }

    /// Whether generated or dynamic code reads and writes messages of this type.
    pub fn code(&self) -> CodeKind {
        match self.generated {
            Some(_) => CodeKind::Generated,
            None => CodeKind::Dynamic,
        }
    }

    /// Reads a sample in the proto3 JSON mapping, with either kind of field names.
    ///
    /// # Errors
    /// If the text is not JSON or a value does not fit; the error includes the value's JSON path.
    pub fn from_json(&self, json: &str) -> Result<Message, SampleError> {
        let json = without_mark(json);
        if let Some(decode) = self.generated
            && let Ok(message) = decode(json.as_bytes(), Encoding::Json, &ANY_SIZE)
        {
            return Ok(self.of_generated(message));
        }
        // The dynamic reader accepts every form that the mapping allows, and reports the path of an error.
        let sample_error = |error| match error {
            ReadError::Limit(limit) => SampleError::Limit(limit),
            ReadError::At { path, what } => SampleError::At { path, what },
            ReadError::NotJson(error) => SampleError::not_json(json, &error),
        };
        let (types, bytes) = (&self.types, json.as_bytes());
        let message = format::read_dynamic(types, self.index, bytes, Encoding::Json, &ANY_SIZE)
            .map_err(sample_error)?;
        if let Some(path) = types.missing_required(&message) {
            let what = "a required field is missing".to_owned();
            return Err(SampleError::At { path, what });
        }
        self.adopt(message).map_err(|e| SampleError::At {
            path: "$".to_owned(),
            what: e.to_string(),
        })
    }

    /// Reads a message from `bytes`, which must contain nothing else.
    ///
    /// # Errors
    /// If the bytes are damaged, a value does not fit, or a limit is exceeded.
    pub fn decode(
        &self,
        bytes: &[u8],
        encoding: Encoding,
        limits: &Limits,
    ) -> Result<Message, DecodeError> {
        let dynamic = || self.decode_dynamic(bytes, encoding, limits);
        match self.generated {
            None => dynamic().map(|message| self.of_dynamic(message)),
            // The derived readers do not limit depth because their types are shallow.
            Some(_) if encoding != Encoding::Protobuf && limits.max_depth < GENERATED_LEVELS => {
                self.adopt(dynamic()?)
            }
            Some(decode) => match decode(bytes, encoding, limits) {
                Ok(message) => Ok(self.of_generated(message)),
                // The dynamic reader's error includes the path and the expected value.
                Err(error) => Err(dynamic().err().unwrap_or(error)),
            },
        }
    }

    /// Checks that messages of this type can have a value at a JSON Pointer (RFC 6901) in their JSON.
    ///
    /// # Errors
    /// Names the first field that does not exist.
    pub fn check_pointer(&self, pointer: &str) -> Result<(), String> {
        self.field_at(pointer).map(drop)
    }

    /// The text of the value that is meant if a single value at a JSON Pointer is absent from a message; `None` if its
    /// absence means none: the field has explicit presence, as a member of a `oneof` has, or is not a plain value.
    pub fn default_at(&self, pointer: &str) -> Option<&str> {
        let field = self.field_at(pointer).ok()??;
        if field.presence() != FieldPresence::Implicit || field.oneof_index().is_some() {
            return None;
        }
        match field.kind() {
            FieldKind::Singular(SingularKind::Scalar(scalar)) => Some(match scalar {
                ScalarType::String | ScalarType::Bytes => "",
                ScalarType::Bool => "false",
                _ => "0",
            }),
            FieldKind::Singular(SingularKind::Enum(index)) => {
                let value = self.types.pool.enumeration(index).value(0)?;
                Some(value.name())
            }
            FieldKind::Singular(SingularKind::Message(_))
            | FieldKind::List(_)
            | FieldKind::Map { .. } => None,
        }
    }

    /// The field at a JSON Pointer; `None` within a type whose JSON has another form than its fields, and for a message.
    fn field_at(&self, pointer: &str) -> Result<Option<&FieldDescriptor>, String> {
        let pool = &self.types.pool;
        let (mut index, mut steps) = (self.index, pointer.split('/').skip(1));
        while let Some(step) = steps.next() {
            let message = pool.message(index);
            // Its JSON has another form than its fields.
            if WellKnown::of(message).is_some() {
                return Ok(None);
            }
            let name = step.replace("~1", "/").replace("~0", "~");
            let Some((_, field)) = all_fields(pool, index).find(|(known, _)| *known == name) else {
                let known: Vec<&str> = all_fields(pool, index).map(|(known, _)| known).collect();
                let nearest = Nearest::or_known(&name, known);
                let of = message.full_name();
                return Err(format!("{of} has no field \"{name}\" in JSON{nearest}"));
            };
            let kind = match field.kind() {
                FieldKind::Singular(kind) => kind,
                FieldKind::List(kind) => {
                    if let Some(step) = steps.next()
                        && step.parse::<usize>().is_err()
                    {
                        return Err(format!(
                            "\"{name}\" is a list; write an index, as in {name}[0].{step}"
                        ));
                    }
                    kind
                }
                FieldKind::Map { value: kind, .. } => {
                    // The key.
                    steps.next();
                    kind
                }
            };
            index = match (kind, steps.clone().next()) {
                (SingularKind::Message(next), _) => next,
                (_, None) => return Ok(Some(field)),
                (_, Some(step)) => {
                    return Err(format!(
                        "\"{name}\" has no field \"{step}\", because it is a single value"
                    ));
                }
            };
        }
        Ok(None)
    }

    fn decode_dynamic(
        &self,
        bytes: &[u8],
        encoding: Encoding,
        limits: &Limits,
    ) -> Result<DynamicMessage, DecodeError> {
        format::decode_dynamic(&self.types, self.index, bytes, encoding, limits)
    }

    /// Whether both are the same type. Generated and dynamic types are not distinguished.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.full_name() == other.full_name()
    }

    /// Converts a dynamic message of this type to the kind of code that the type uses.
    fn adopt(&self, message: DynamicMessage) -> Result<Message, DecodeError> {
        match self.generated {
            None => Ok(self.of_dynamic(message)),
            Some(_) => self.decode(&message.encode_to_vec(), Encoding::Protobuf, &ANY_SIZE),
        }
    }

    pub(crate) fn of_generated(&self, message: Arc<dyn Generated>) -> Message {
        Message {
            message_type: self.clone(),
            value: Value::Generated(message),
        }
    }

    fn of_dynamic(&self, message: DynamicMessage) -> Message {
        Message {
            message_type: self.clone(),
            value: Value::Dynamic(Arc::new(Dynamic {
                message,
                by_proto_names: OnceLock::new(),
            })),
        }
    }
}

/// A message in memory. It is immutable, so a clone only copies a reference.
#[derive(Debug, Clone)]
pub struct Message {
    message_type: MessageType,
    value: Value,
}

#[derive(Debug, Clone)]
enum Value {
    Generated(Arc<dyn Generated>),
    Dynamic(Arc<Dynamic>),
}

/// A dynamic message.
#[derive(Debug)]
struct Dynamic {
    message: DynamicMessage,
    /// The message with the .proto file's field names; built when it is first needed.
    by_proto_names: OnceLock<Result<DynamicMessage, String>>,
}

impl Message {
    /// The message's type.
    pub fn message_type(&self) -> &MessageType {
        &self.message_type
    }

    /// The full name of the message's type.
    pub fn type_name(&self) -> &str {
        self.message_type.full_name()
    }

    /// Whether it is a generated or a dynamic message.
    pub fn code(&self) -> CodeKind {
        match self.value {
            Value::Generated(_) => CodeKind::Generated,
            Value::Dynamic(_) => CodeKind::Dynamic,
        }
    }

    /// Appends the message's bytes to `out`. On error, `out` is unchanged.
    ///
    /// # Errors
    /// If the encoding cannot represent a value, such as a time before the year 1 in JSON.
    pub fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let result = match &self.value {
            Value::Generated(message) => message.encode(encoding, out),
            Value::Dynamic(dynamic) => self.encode_dynamic(dynamic, encoding, out),
        };
        result.inspect_err(|_| out.truncate(start))
    }

    fn encode_dynamic(
        &self,
        dynamic: &Dynamic,
        encoding: Encoding,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let renamed = || self.message_type.types.by_proto_names(&dynamic.message);
        let message = match encoding {
            Encoding::JsonProtoNames => dynamic.by_proto_names.get_or_init(renamed).as_ref(),
            _ => Ok(&dynamic.message),
        };
        let message = message.map_err(|what| EncodeError::NoForm {
            message_type: self.type_name().to_owned(),
            encoding,
            what: what.clone(),
        })?;
        format::encode_dynamic(message, self.type_name(), encoding, out)
    }

    /// Returns the message's bytes.
    pub fn to_bytes(&self, encoding: Encoding) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.encode(encoding, &mut out)?;
        Ok(out)
    }

    /// Returns the path to something that protobuf's JSON loses: the library omits extensions in an `Any`'s payload.
    pub(crate) fn lost_in_json(&self) -> Option<String> {
        if !self.message_type().types.has_any {
            return None;
        }
        let json = String::from_utf8(self.to_bytes(Encoding::ProtoJson).ok()?).ok()?;
        let read = self.message_type().from_json(&json).ok()?;
        first_difference(self, &read).map(|difference| difference.path)
    }

    /// Whether both are generated messages with the same bytes, and therefore equal.
    pub(crate) fn has_bytes_of(&self, other: &Self) -> bool {
        let bytes = |message: &Self| message.to_bytes(Encoding::Protobuf).ok();
        let both = (self.code(), other.code()) == (CodeKind::Generated, CodeKind::Generated);
        both && bytes(self).is_some_and(|own| Some(own) == bytes(other))
    }

    /// Returns the generated message if it is of type `M`.
    pub(crate) fn downcast<M: 'static>(&self) -> Option<&M> {
        match &self.value {
            Value::Generated(message) => message.as_any().downcast_ref(),
            Value::Dynamic(_) => None,
        }
    }

    /// Returns the message as a dynamic message.
    pub(crate) fn to_dynamic(&self) -> Result<Cow<'_, DynamicMessage>, String> {
        match &self.value {
            Value::Dynamic(dynamic) => Ok(Cow::Borrowed(&dynamic.message)),
            Value::Generated(_) => {
                let bytes = self
                    .to_bytes(Encoding::Protobuf)
                    .map_err(|e| e.to_string())?;
                self.message_type
                    .decode_dynamic(&bytes, Encoding::Protobuf, &ANY_SIZE)
                    .map(Cow::Owned)
                    .map_err(|e| e.to_string())
            }
        }
    }
}
