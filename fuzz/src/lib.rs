//! The bodies of the fuzz targets. Each accepts arbitrary bytes, and panics if a property is violated.
//! `docs/fuzzing.md` describes the targets and how to run them.

pub mod compress;
pub mod conversation;
pub mod decode;
pub mod grpc;
pub mod hpack;
pub mod http1;
pub mod http2;
pub mod locust;
pub mod meter;
pub mod records;
pub mod reflection;
pub mod script;
pub mod text;
pub mod websocket;

pub use compress::decompress;
pub use decode::{decode_cbor, decode_json, decode_msgpack, decode_protobuf};
pub use grpc::{grpc_answer, grpc_text};
pub use hpack::{hpack_decode, hpack_encode};
pub use http1::{http1, http1_head};
pub use http2::http2;
pub use locust::locust;
pub use records::records;
pub use reflection::reflection;
pub use text::text;
pub use websocket::websocket;

/// A target's body.
pub type Target = fn(&[u8]);

/// Every target, by the name of its binary and of its folders.
pub const TARGETS: [(&str, Target); 17] = [
    ("decode_cbor", decode_cbor),
    ("decode_json", decode_json),
    ("decode_msgpack", decode_msgpack),
    ("decode_protobuf", decode_protobuf),
    ("decompress", decompress),
    ("grpc_answer", grpc_answer),
    ("grpc_text", grpc_text),
    ("hpack_decode", hpack_decode),
    ("hpack_encode", hpack_encode),
    ("http1", http1),
    ("http1_head", http1_head),
    ("http2", http2),
    ("locust", locust),
    ("records", records),
    ("reflection", reflection),
    ("text", text),
    ("websocket", websocket),
];
