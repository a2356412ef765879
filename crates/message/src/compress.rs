//! Compressing and decompressing, with contexts that are kept from call to call.

use crate::error::{DecodeError, EncodeError};
use crate::{Compression, Limits};

/// Compresses again and again.
pub struct Compressor(());

impl Compressor {
    /// Fails for a level that does not exist.
    pub fn new(_compression: Compression) -> Result<Self, EncodeError> {
        todo!()
    }

    /// Replaces `out` by `bytes` compressed; a plain copy without compression.
    pub fn compress(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        todo!()
    }
}

/// Decompresses again and again, within limits. The level of a compression does not matter to it.
pub struct Decompressor(());

impl Decompressor {
    /// A decompressor that keeps to `limits`.
    pub fn new(_compression: Compression, _limits: Limits) -> Self {
        todo!()
    }

    /// Replaces `out` by `bytes` decompressed; a plain copy without compression.
    pub fn decompress(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) -> Result<(), DecodeError> {
        todo!()
    }
}
