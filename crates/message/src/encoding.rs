//! How a message becomes bytes.

use serde::{Deserialize, Serialize};

/// How a message becomes bytes, whatever protocol carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// The protobuf binary format.
    Protobuf,
    /// The proto3 JSON mapping with lowerCamelCase names.
    Json,
    /// The proto3 JSON mapping with the field names as written in the .proto file.
    JsonProtoNames,
    /// MessagePack.
    Msgpack,
    /// CBOR (RFC 8949).
    Cbor,
    /// A JSON string inside a protobuf message.
    Hybrid,
}
