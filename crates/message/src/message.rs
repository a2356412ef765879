//! A message in memory, and its type, whether generated or dynamic code stands behind them.

pub use crate::contract::Code;
use crate::error::{DecodeError, EncodeError, SampleError};
use crate::{Encoding, Limits};

/// The type of a message. Cheap to clone.
#[derive(Debug, Clone)]
pub struct MessageType(());

impl MessageType {
    /// `package.Message`.
    pub fn full_name(&self) -> &str {
        todo!()
    }

    /// Whether generated or dynamic code reads and writes messages of this type.
    pub fn code(&self) -> Code {
        todo!()
    }

    /// The message of this type with nothing set.
    pub fn empty(&self) -> Message {
        todo!()
    }

    /// Reads a sample in the proto3 JSON mapping (either kind of field names).
    pub fn from_json(&self, _json: &str) -> Result<Message, SampleError> {
        todo!()
    }

    /// Reads a message from its bytes.
    pub fn decode(
        &self,
        _bytes: &[u8],
        _encoding: Encoding,
        _limits: &Limits,
    ) -> Result<Message, DecodeError> {
        todo!()
    }
}

/// A message in memory. Not changed after it was made, so that a clone is a counted reference.
#[derive(Debug, Clone)]
pub struct Message(());

impl Message {
    /// The full name of its type.
    pub fn type_name(&self) -> &str {
        todo!()
    }

    /// Whether generated or dynamic code stands behind it.
    pub fn code(&self) -> Code {
        todo!()
    }

    /// Appends the message's bytes to `out`.
    pub fn encode(&self, _encoding: Encoding, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        todo!()
    }

    /// The message's bytes.
    pub fn to_bytes(&self, encoding: Encoding) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.encode(encoding, &mut out)?;
        Ok(out)
    }
}
