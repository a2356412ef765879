//! Decoding messages in every encoding, with generated and dynamic code.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rpcgauge_message::{
    BrokenLimit, CodeKind, DecodeError, Encoding, Limits, Message, MessageType, Schema, Workload,
    WorkloadSpec, first_difference,
};

use crate::meter;
use crate::script::Args;

/// The path of a folder in the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The workloads' response types, which have generated code, followed by two types with every kind of field.
pub static TYPES: LazyLock<[MessageType; 8]> = LazyLock::new(|| {
    let workload = |spec| Workload::new(&spec).expect("a workload");
    let response = |spec| workload(spec).response_type().clone();
    let folder = repository("crates/message/tests/proto");
    let files = ["shop/orders.proto", "legacy.proto"].map(|file| folder.join(file));
    let schema = Schema::compile(&files, &[folder]).expect("the tests' own schema");
    let named = |name| schema.message_type(name).expect("a type of the schema");
    [
        response(WorkloadSpec::Echo { n: 1 }),
        response(WorkloadSpec::Hello {}),
        response(WorkloadSpec::List { n: 1 }),
        response(WorkloadSpec::Records { n: 1 }),
        response(WorkloadSpec::Profile {}),
        response(WorkloadSpec::Followers { n: 1 }),
        named("shop.Order"),
        named("legacy.Request"),
    ]
});

/// A bit of the first byte that allows only a few levels of nesting.
pub const SHALLOW: u8 = 0x80;

/// Decodes arbitrary bytes as protobuf, or as JSON in protobuf. In the first byte, bits 0 to 2 select the type
/// ([`TYPES`]), bit 3 selects the second encoding, and [`SHALLOW`] selects the depth.
pub fn decode_protobuf(input: &[u8]) {
    decode(input, [Encoding::Protobuf, Encoding::Hybrid]);
}

/// Decodes arbitrary bytes as JSON with either kind of names. The first byte is as in [`decode_protobuf`].
pub fn decode_json(input: &[u8]) {
    decode(input, [Encoding::Json, Encoding::JsonProtoNames]);
}

/// Decodes arbitrary bytes as MessagePack. The first byte is as in [`decode_protobuf`].
pub fn decode_msgpack(input: &[u8]) {
    decode(input, [Encoding::Msgpack; 2]);
}

/// Decodes arbitrary bytes as CBOR. The first byte is as in [`decode_protobuf`].
pub fn decode_cbor(input: &[u8]) {
    decode(input, [Encoding::Cbor; 2]);
}

/// Checks that a decoded message can be written in protobuf and reads back unchanged, that generated and
/// dynamic code agree, that errors are one line, and that memory stays within the documented multiple of the
/// input's size.
fn decode(input: &[u8], encodings: [Encoding; 2]) {
    let mut args = Args(input);
    let choice = args.u8();
    let message_type = &TYPES[usize::from(choice % 8)];
    let encoding = encodings[usize::from(choice / 8 % 2)];
    let bytes = args.rest();
    let limits = Limits {
        max_message_bytes: bytes.len().max(1),
        max_depth: if choice & SHALLOW == 0 { 100 } else { 4 },
        ..Limits::DEFAULT
    };
    let read = check_memory(message_type, bytes, encoding, &limits);
    if message_type.code() == CodeKind::Generated {
        let dynamic = Schema::workloads().message_type(message_type.full_name());
        let dynamic = dynamic.expect("the workloads' schema has its types");
        let other = check_memory(&dynamic, bytes, encoding, &limits);
        check_agreement(message_type, encoding, &read, &other);
    }
    match read {
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        Ok(message) => check_forms(message, encoding),
    }
}

/// Checks that generated and dynamic code decode the same message or both refuse. In JSON, MessagePack and
/// CBOR, each accepts forms that the other does not, because one uses serde's derives and the other protobuf's
/// JSON.
fn check_agreement(
    message_type: &MessageType,
    encoding: Encoding,
    generated: &Result<Message, DecodeError>,
    dynamic: &Result<Message, DecodeError>,
) {
    match (generated, dynamic) {
        (Ok(generated), Ok(dynamic)) => assert_eq!(first_difference(generated, dynamic), None),
        (Err(_), Err(_)) => {}
        _ if encoding != Encoding::Protobuf => {}
        // The two need different amounts of memory, so one may hit the limit before the other.
        (Ok(_), Err(DecodeError::Limit(BrokenLimit::Memory(_))))
        | (Err(DecodeError::Limit(BrokenLimit::Memory(_))), Ok(_)) => {}
        // Inside a map entry, the dynamic library (buffa-descriptor 0.9.2) reads key and value as if they had
        // the correct wire type. Elsewhere, it keeps a field with the wrong wire type as an unknown field,
        // which would still be present in the written message.
        (Err(DecodeError::Malformed { what, .. }), Ok(dynamic)) if what.contains("wire type") => {
            let written = dynamic
                .to_bytes(Encoding::Protobuf)
                .expect("an encoded message");
            let again = message_type.decode(&written, Encoding::Protobuf, &Limits::DEFAULT);
            let again = again.expect("a message without a trace of it");
            assert_eq!(first_difference(&again, dynamic), None);
        }
        _ => panic!("generated code: {generated:?}, dynamic code: {dynamic:?}"),
    }
}

/// Decodes a message and checks how much memory that needs.
fn check_memory(
    message_type: &MessageType,
    bytes: &[u8],
    encoding: Encoding,
    limits: &Limits,
) -> Result<Message, DecodeError> {
    meter::reset();
    let read = meter::metered(|| message_type.decode(bytes, encoding, limits));
    let most = MEMORY_FOR_A_LEVEL * limits.max_depth.min(32) + MEMORY_PER_BYTE * bytes.len();
    let peak = meter::peak();
    assert!(peak <= most as u64, "{peak} bytes held, {most} expected");
    read
}

/// The memory per level that a message of any size may use. A list may reserve space for the 1,024 elements
/// that it announces, and the innermost level holds an error's text.
const MEMORY_FOR_A_LEVEL: usize = 256 << 10;

/// The memory per byte of input. A list that grows by doubling needs three times the size of its elements.
const MEMORY_PER_BYTE: usize = 3 * rpcgauge_message::limits::MEMORY_PER_BYTE;

/// Checks that a decoded message can be written in protobuf, and reads back unchanged from every encoding that
/// can represent it.
fn check_forms(message: Message, encoding: Encoding) {
    // A damaged map entry may lack its value. The library then uses 0, which a closed enum may not define, and
    // reads the 0 that it wrote as an unknown field. So protobuf is read a second time, now without the damage.
    let message = match encoding {
        Encoding::Protobuf => written_and_read(&message),
        _ => message,
    };
    assert_eq!(
        first_difference(&message, &written_and_read(&message)),
        None
    );
    check_mapped(&message);
}

/// Encodes the message in protobuf and decodes it again.
pub(crate) fn written_and_read(message: &Message) -> Message {
    let written = message
        .to_bytes(Encoding::Protobuf)
        .expect("an encoded message");
    message
        .message_type()
        .decode(&written, Encoding::Protobuf, &Limits::DEFAULT)
        .expect("what was written")
}

/// Checks that the message can be read from every encoding that can represent it.
pub(crate) fn check_mapped(message: &Message) {
    for encoding in Encoding::ALL {
        // Encoding fails for damaged payloads of an `Any` and for times that JSON cannot represent.
        if let Ok(bytes) = message.to_bytes(encoding) {
            let back = message
                .message_type()
                .decode(&bytes, encoding, &Limits::DEFAULT);
            // serde's derives write NaN as null in JSON, but do not accept null as a number.
            let null =
                message.code() == CodeKind::Generated && bytes.windows(5).any(|w| w == b":null");
            assert!(back.is_ok() || null, "{encoding}: {back:?}");
        }
    }
}
