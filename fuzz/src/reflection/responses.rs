//! Builds a server's responses from a script.

use buffa::encoding::{Tag, WireType, encode_varint};
use buffa::types::encode_bytes;
use buffa::{Enumeration as _, Message as _, MessageField};
use buffa_descriptor::generated::descriptor::descriptor_proto::ExtensionRange;
use buffa_descriptor::generated::descriptor::field_descriptor_proto::{Label, Type};
use buffa_descriptor::generated::descriptor::{
    DescriptorProto, Edition, EnumDescriptorProto, EnumOptions, EnumValueDescriptorProto,
    FieldDescriptorProto, FieldOptions, FileDescriptorProto, MessageOptions, MethodDescriptorProto,
    OneofDescriptorProto, ServiceDescriptorProto,
};

use crate::script::{Args, Script, Step};

/// The kinds of steps. Higher numbers wrap around. Multiple strings in a payload are separated by colons;
/// trailing ones may be omitted.
pub mod step {
    /// Begins a response with files, which the next steps add.
    pub const FILES: u8 = 0;
    /// An encoded file.
    pub const ENCODED: u8 = 1;
    /// A file in parts, which the next steps add. Arguments: its syntax, then its name.
    pub const FILE: u8 = 2;
    /// The file's package.
    pub const PACKAGE: u8 = 3;
    /// The name of a file that the file imports.
    pub const IMPORT: u8 = 4;
    /// Begins a message in the file or in the open message, to which the next steps belong. Arguments: options,
    /// then its name.
    pub const MESSAGE: u8 = 5;
    /// Ends the open message.
    pub const END: u8 = 6;
    /// A field of the open message. Arguments: type, bits, number (4 bytes) and oneof index; then its name, its
    /// type's name, its JSON name, and the message that it extends.
    pub const FIELD: u8 = 7;
    /// A oneof of the open message.
    pub const ONEOF: u8 = 8;
    /// A range of extension numbers of the open message. Arguments: the first number and the number after the
    /// last one (4 bytes each).
    pub const RANGE: u8 = 9;
    /// An enum in the file or in the open message. Arguments: whether duplicate numbers are allowed, then its
    /// name.
    pub const ENUM: u8 = 10;
    /// A value of the last enum. Arguments: its number (4 bytes), then its name.
    pub const VALUE: u8 = 11;
    /// A service of the file.
    pub const SERVICE: u8 = 12;
    /// A method of the last service. Arguments: which sides stream, then its name, its request type and its
    /// response type.
    pub const METHOD: u8 = 13;
    /// Adds the last file again.
    pub const AGAIN: u8 = 14;
    /// A response that lists services.
    pub const SERVICES: u8 = 15;
    /// An error response. Arguments: its code, then its message.
    pub const ERROR: u8 = 16;
    /// An encoded response.
    pub const ANSWER: u8 = 17;
    /// Bytes to read both as a message and as a request.
    pub const PAYLOAD: u8 = 18;
    /// The number of kinds.
    pub const COUNT: u8 = 19;
}

/// Bits of a field.
pub mod bit {
    /// The label `required`; the default is `optional`.
    pub const REQUIRED: u8 = 0x01;
    /// The label `repeated`.
    pub const REPEATED: u8 = 0x02;
    /// proto3's `optional`.
    pub const PRESENT: u8 = 0x04;
    /// Whether it belongs to a oneof.
    pub const IN_ONEOF: u8 = 0x08;
    /// `[packed = true]`.
    pub const PACKED: u8 = 0x10;
    /// Whether it extends another message.
    pub const EXTENSION: u8 = 0x20;
}

/// Bits of a message's options.
pub mod option {
    /// Whether it is a map entry.
    pub const MAP_ENTRY: u8 = 0x01;
    /// Whether it has the wire format of a MessageSet.
    pub const MESSAGE_SET: u8 = 0x02;
    /// Whether JSON names may conflict.
    pub const CLASHES: u8 = 0x04;
}

/// A server's responses in order.
#[derive(Debug, Default)]
pub(super) struct Responses {
    pub(super) bodies: Vec<Vec<u8>>,
    pub(super) payloads: Vec<Vec<u8>>,
}

impl Responses {
    pub(super) fn read(script: &Script) -> Responses {
        let mut responses = Responses::default();
        // The files of the open response, and the file being built from parts.
        let mut files: Option<Vec<Vec<u8>>> = None;
        let mut parts: Option<Parts> = None;
        for step in &script.steps {
            let kind = step.kind % step::COUNT;
            let mut args = Args(&step.payload);
            if matches!(kind, step::PACKAGE..=step::METHOD) {
                if let Some(parts) = &mut parts {
                    parts.add(kind, step);
                }
                continue;
            }
            if kind == step::PAYLOAD {
                responses.payloads.push(step.payload.clone());
                continue;
            }
            if let Some(parts) = parts.take() {
                files.get_or_insert_default().push(parts.whole());
            }
            match kind {
                step::ENCODED => files.get_or_insert_default().push(step.payload.clone()),
                step::FILE => parts = Some(Parts::new(args.u8(), args.rest())),
                step::AGAIN => {
                    let files = files.get_or_insert_default();
                    files.extend(files.last().cloned());
                }
                _ => {
                    responses
                        .bodies
                        .extend(files.take().map(|files| answer_files(&files)));
                    match kind {
                        step::FILES => files = Some(Vec::new()),
                        step::SERVICES => responses.bodies.push(answer_services(&step.payload)),
                        step::ERROR => {
                            let code = args.u8();
                            responses.bodies.push(answer_error(code, args.rest()));
                        }
                        _ => responses.bodies.push(step.payload.clone()),
                    }
                }
            }
        }
        if let Some(parts) = parts {
            files.get_or_insert_default().push(parts.whole());
        }
        responses
            .bodies
            .extend(files.map(|files| answer_files(&files)));
        responses
    }
}

/// Appends a length-delimited field.
fn put(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    Tag::new(number, WireType::LengthDelimited).encode(out);
    encode_bytes(bytes, out);
}

/// A message with a single bytes field.
fn wrapped(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put(number, bytes, &mut out);
    out
}

/// A `ServerReflectionResponse` with these files.
pub(super) fn answer_files(files: &[Vec<u8>]) -> Vec<u8> {
    let mut list = Vec::new();
    files.iter().for_each(|file| put(1, file, &mut list));
    wrapped(4, &list)
}

/// A `ServerReflectionResponse` with these services, separated by colons.
fn answer_services(names: &[u8]) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names.split(|byte| *byte == b':') {
        put(1, &wrapped(1, name), &mut list);
    }
    wrapped(6, &list)
}

/// A `ServerReflectionResponse` with an error.
pub(super) fn answer_error(code: u8, message: &[u8]) -> Vec<u8> {
    let mut error = Vec::new();
    Tag::new(1, WireType::Varint).encode(&mut error);
    encode_varint(code.into(), &mut error);
    put(2, message, &mut error);
    wrapped(7, &error)
}

/// A file that imports another file.
pub(super) fn importing(name: &str, import: String) -> Vec<u8> {
    FileDescriptorProto {
        name: Some(name.to_owned()),
        dependency: vec![import],
        ..Default::default()
    }
    .encode_to_vec()
}

/// A file that is being built from steps.
struct Parts {
    file: FileDescriptorProto,
    /// The messages that have not ended yet, each nested in the one before it.
    open: Vec<DescriptorProto>,
}

impl Parts {
    fn new(syntax: u8, name: &[u8]) -> Parts {
        let (syntax, edition) = match syntax % 3 {
            0 => (None, None),
            1 => (Some("proto3".to_owned()), None),
            _ => (Some("editions".to_owned()), Some(Edition::EDITION_2023)),
        };
        Parts {
            file: FileDescriptorProto {
                name: text(name),
                syntax,
                edition,
                ..Default::default()
            },
            open: Vec::new(),
        }
    }

    fn add(&mut self, kind: u8, step: &Step) {
        let mut args = Args(&step.payload);
        match kind {
            step::PACKAGE => self.file.package = text(args.rest()),
            step::IMPORT => self.file.dependency.extend(text(args.rest())),
            step::MESSAGE => self.open.push(message(args)),
            step::END => self.end(),
            step::FIELD => self.field(args),
            step::ONEOF => self.in_message(|message| {
                message.oneof_decl.push(OneofDescriptorProto {
                    name: text(args.rest()),
                    ..Default::default()
                });
            }),
            step::RANGE => self.in_message(|message| {
                message.extension_range.push(ExtensionRange {
                    start: Some(args.u32() as i32),
                    end: Some(args.u32() as i32),
                    ..Default::default()
                });
            }),
            step::ENUM => {
                let allow_alias = Some(args.u8() % 2 == 1);
                let options = EnumOptions {
                    allow_alias,
                    ..Default::default()
                };
                let declared = EnumDescriptorProto {
                    name: text(args.rest()),
                    options: MessageField::some(options),
                    ..Default::default()
                };
                self.enums().push(declared);
            }
            step::VALUE => {
                let value = EnumValueDescriptorProto {
                    number: Some(args.u32() as i32),
                    name: text(args.rest()),
                    ..Default::default()
                };
                if let Some(last) = self.enums().last_mut() {
                    last.value.push(value);
                }
            }
            step::SERVICE => self.file.service.push(ServiceDescriptorProto {
                name: text(args.rest()),
                ..Default::default()
            }),
            _ => {
                if let Some(service) = self.file.service.last_mut() {
                    service.method.push(method(args));
                }
            }
        }
    }

    fn enums(&mut self) -> &mut Vec<EnumDescriptorProto> {
        match self.open.last_mut() {
            Some(message) => &mut message.enum_type,
            None => &mut self.file.enum_type,
        }
    }

    fn in_message(&mut self, change: impl FnOnce(&mut DescriptorProto)) {
        if let Some(message) = self.open.last_mut() {
            change(message);
        }
    }

    fn field(&mut self, mut args: Args<'_>) {
        let number = 1 + i32::from(args.u8() % 18);
        let bits = args.u8();
        let has = |bit| bits & bit != 0;
        let label = match bits {
            _ if has(bit::REPEATED) => Label::LABEL_REPEATED,
            _ if has(bit::REQUIRED) => Label::LABEL_REQUIRED,
            _ => Label::LABEL_OPTIONAL,
        };
        let mut field = FieldDescriptorProto {
            r#type: Type::from_i32(number),
            label: Some(label),
            proto3_optional: has(bit::PRESENT).then_some(true),
            number: Some(args.u32() as i32),
            ..Default::default()
        };
        let oneof = i32::from(args.u8());
        field.oneof_index = has(bit::IN_ONEOF).then_some(oneof);
        if has(bit::PACKED) {
            field.options = MessageField::some(FieldOptions {
                packed: Some(true),
                ..Default::default()
            });
        }
        let mut texts = args.rest().split(|byte| *byte == b':').map(text);
        field.name = texts.next().flatten();
        field.type_name = texts.next().flatten();
        field.json_name = texts.next().flatten();
        field.extendee = texts.next().flatten();
        let (fields, extensions) = match self.open.last_mut() {
            Some(message) => (&mut message.field, &mut message.extension),
            // Outside of messages, there can only be extensions.
            None => return self.file.extension.push(field),
        };
        if has(bit::EXTENSION) {
            extensions.push(field)
        } else {
            fields.push(field)
        }
    }

    fn end(&mut self) {
        if let Some(message) = self.open.pop() {
            match self.open.last_mut() {
                Some(outer) => outer.nested_type.push(message),
                None => self.file.message_type.push(message),
            }
        }
    }

    fn whole(mut self) -> Vec<u8> {
        while !self.open.is_empty() {
            self.end();
        }
        self.file.encode_to_vec()
    }
}

fn message(mut args: Args<'_>) -> DescriptorProto {
    let bits = args.u8();
    let has = |bit| (bits & bit != 0).then_some(true);
    DescriptorProto {
        name: text(args.rest()),
        options: MessageField::some(MessageOptions {
            map_entry: has(option::MAP_ENTRY),
            message_set_wire_format: has(option::MESSAGE_SET),
            deprecated_legacy_json_field_conflicts: has(option::CLASHES),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn method(mut args: Args<'_>) -> MethodDescriptorProto {
    let streams = args.u8();
    let mut texts = args.rest().split(|byte| *byte == b':').map(text);
    MethodDescriptorProto {
        name: texts.next().flatten(),
        input_type: texts.next().flatten(),
        output_type: texts.next().flatten(),
        client_streaming: Some(streams & 1 != 0),
        server_streaming: Some(streams & 2 != 0),
        ..Default::default()
    }
}

/// Converts bytes to text; `None` if they are empty.
fn text(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
