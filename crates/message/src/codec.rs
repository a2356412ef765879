//! Encodes, compresses, decompresses and decodes in separate steps, for hot loops.

use crate::compress::{Compressor, Decompressor};
use crate::error::{DecodeError, EncodeError};
use crate::message::{Message, MessageType};
use crate::{BrokenLimit, Compression, Encoding, Limits};

/// Encodes and decodes messages of one type. It reuses compressors, decompressors and their windows across
/// calls. Each of the four stages is its own method, so callers can time them separately. A codec cannot be
/// shared between threads; create one per thread.
pub struct Codec {
    message_type: MessageType,
    encoding: Encoding,
    limits: Limits,
    compressor: Compressor,
    decompressor: Decompressor,
}

impl Codec {
    /// Creates a codec for messages of one type.
    ///
    /// # Errors
    /// If the compression does not support the level.
    pub fn new(
        message_type: MessageType,
        encoding: Encoding,
        compression: Compression,
        limits: Limits,
    ) -> Result<Self, EncodeError> {
        let compressor = Compressor::new(compression)?;
        let decompressor =
            Decompressor::new(compression, limits).map_err(|e| EncodeError::Compress {
                compression,
                what: e.to_string(),
            })?;
        Ok(Self {
            message_type,
            encoding,
            limits,
            compressor,
            decompressor,
        })
    }

    /// Appends the message's bytes to `out`.
    ///
    /// # Errors
    /// If the message has another type, or the encoding cannot represent one of its values.
    pub fn encode(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if !message.message_type().is_same(&self.message_type) {
            return Err(EncodeError::WrongType {
                wanted: self.message_type.full_name().to_owned(),
                given: message.type_name().to_owned(),
            });
        }
        message.encode(self.encoding, out)
    }

    /// Appends `bytes`, compressed, to `out`. Without compression, this is a plain copy.
    pub fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.compressor.compress(bytes, out)
    }

    /// Replaces `out` with `bytes`, decompressed within the limits. Without compression, this is a plain copy.
    pub fn decompress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
        self.decompressor.decompress(bytes, out)
    }

    /// Reads a message from decompressed bytes.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Message, DecodeError> {
        self.message_type.decode(bytes, self.encoding, &self.limits)
    }

    /// Checks that a reader with these limits would accept the message once encoded and compressed. A message
    /// that cannot be encoded passes; encoding it reports the error.
    ///
    /// # Errors
    /// Returns the limit that the message exceeds.
    pub fn check_limits(
        message: &Message,
        encoding: Encoding,
        compression: Compression,
        limits: Limits,
    ) -> Result<(), BrokenLimit> {
        let (mut plain, mut carried) = (Vec::new(), Vec::new());
        let message_type = message.message_type().clone();
        let sent = Self::new(message_type, encoding, compression, limits).and_then(|mut codec| {
            codec.encode(message, &mut plain)?;
            codec.compress(&plain, &mut carried)?;
            Ok(codec)
        });
        let Ok(mut codec) = sent else { return Ok(()) };
        let read = codec
            .decompress(&carried, &mut plain)
            .and_then(|()| codec.decode(&plain));
        match read {
            Err(DecodeError::Limit(limit)) => Err(limit),
            _ => Ok(()),
        }
    }
}

/// The sizes of a message in one encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeRow {
    /// The encoding.
    pub encoding: Encoding,
    /// The size in bytes under each requested compression, in the order requested.
    pub bytes: Vec<usize>,
}

/// Returns the message's size in bytes in each encoding, under each of `compressions`.
///
/// # Errors
/// If an encoding cannot represent a value, or a compression does not support its level.
pub fn sizes(message: &Message, compressions: &[Compression]) -> Result<Vec<SizeRow>, EncodeError> {
    let mut compressors = compressions
        .iter()
        .map(|c| Compressor::new(*c))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut plain, mut packed) = (Vec::new(), Vec::new());
    Encoding::ALL
        .into_iter()
        .map(|encoding| {
            plain.clear();
            message.encode(encoding, &mut plain)?;
            let bytes = compressors
                .iter_mut()
                .map(|compressor| {
                    packed.clear();
                    compressor.compress(&plain, &mut packed)?;
                    Ok(packed.len())
                })
                .collect::<Result<_, EncodeError>>()?;
            Ok(SizeRow { encoding, bytes })
        })
        .collect()
}
