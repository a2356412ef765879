//! The suite's messages in the encodings that it requests.
//!
//! The code that is generated for them reads and writes protobuf. Every other encoding goes through
//! `rpcgauge-message`, like the messages of a user.

use std::error::Error;
use std::sync::LazyLock;

use rpcgauge_message::{Encoding, Limits, Message, Schema};

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_descriptor_set(include_bytes!(concat!(env!("OUT_DIR"), "/suites.binpb")))
        .expect("the build script compiled this descriptor set")
});

/// Converts a message from protobuf to `encoding`. `name` is its type's, as in `UnaryRequest`.
pub(crate) fn from_protobuf(
    name: &str,
    message: Vec<u8>,
    encoding: Encoding,
) -> Result<Vec<u8>, Box<dyn Error>> {
    reencoded(name, message, Encoding::Protobuf, encoding)
}

/// Converts a message from `encoding` to protobuf.
pub(crate) fn to_protobuf(
    name: &str,
    message: Vec<u8>,
    encoding: Encoding,
) -> Result<Vec<u8>, Box<dyn Error>> {
    reencoded(name, message, encoding, Encoding::Protobuf)
}

fn reencoded(
    name: &str,
    bytes: Vec<u8>,
    from: Encoding,
    to: Encoding,
) -> Result<Vec<u8>, Box<dyn Error>> {
    if from == to {
        return Ok(bytes);
    }
    Ok(read(name, &bytes, from)?.to_bytes(to)?)
}

fn read(name: &str, bytes: &[u8], encoding: Encoding) -> Result<Message, Box<dyn Error>> {
    let message_type = SCHEMA.message_type(&format!("connectrpc.conformance.v1.{name}"))?;
    Ok(message_type.decode(bytes, encoding, &Limits::DEFAULT)?)
}
