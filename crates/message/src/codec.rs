//! Encode, compress, decompress and decode, one by one, for hot loops.

use crate::error::{DecodeError, EncodeError};
use crate::message::{Message, MessageType};
use crate::{Compression, Encoding, Limits};

/// One message type's way to bytes and back, with everything that can be kept from call to call:
/// compressors, decompressors and their windows. Its four stages are called apart, so that each
/// can be timed. Not shared between threads; make one for each.
pub struct Codec {
    _private: (),
}

impl Codec {
    /// A codec of messages of a type. Fails for a compression level that does not exist.
    pub fn new(
        _message_type: MessageType,
        _encoding: Encoding,
        _compression: Compression,
        _limits: Limits,
    ) -> Result<Self, EncodeError> {
        todo!()
    }

    /// The message type.
    pub fn message_type(&self) -> &MessageType {
        todo!()
    }

    /// Replaces `out` by the message's bytes.
    pub fn encode(&mut self, _message: &Message, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        todo!()
    }

    /// Replaces `out` by `bytes` compressed; a plain copy without compression.
    pub fn compress(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        todo!()
    }

    /// Replaces `out` by `bytes` decompressed within the limits; a plain copy without compression.
    pub fn decompress(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), DecodeError> {
        todo!()
    }

    /// Reads a message from decompressed bytes.
    pub fn decode(&mut self, _bytes: &[u8]) -> Result<Message, DecodeError> {
        todo!()
    }
}
