//! Compressing and decompressing, with contexts that are kept from call to call.

mod gzip;
mod zstd;

#[cfg(test)]
mod tests;

use crate::error::{DecodeError, EncodeError};
use crate::limits::{BrokenLimit, INFLATION_FREE_BYTES};
use crate::{Compression, Limits};

/// Compresses again and again. The compressor's state and tables are made once.
pub struct Compressor(Compressing);

enum Compressing {
    None,
    Gzip(gzip::Compressor),
    Zstd(zstd::Compressor),
}

impl Compressor {
    /// # Errors
    /// A level that the compression does not have.
    pub fn new(compression: Compression) -> Result<Self, EncodeError> {
        if !compression.level_is_known() {
            return Err(EncodeError::Compress {
                compression,
                what: format!("\"{compression}\" is no level of it"),
            });
        }
        Ok(Self(match compression {
            Compression::None => Compressing::None,
            Compression::Gzip { level } => Compressing::Gzip(gzip::Compressor::new(level)),
            Compression::Zstd { level } => Compressing::Zstd(
                zstd::Compressor::new(level)
                    .map_err(|what| EncodeError::Compress { compression, what })?,
            ),
        }))
    }

    /// Appends `bytes` compressed to `out`; a plain copy without compression.
    ///
    /// # Errors
    /// The library failed: in practice, it had no memory.
    pub fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let (compression, result) = match &mut self.0 {
            Compressing::None => {
                out.extend_from_slice(bytes);
                return Ok(());
            }
            Compressing::Gzip(gzip) => (Compression::GZIP, gzip.compress(bytes, out)),
            Compressing::Zstd(zstd) => (Compression::ZSTD, zstd.compress(bytes, out)),
        };
        result.map_err(|what| EncodeError::Compress { compression, what })
    }
}

/// Decompresses again and again, within limits. The level of a compression does not matter to it.
pub struct Decompressor {
    compression: Compression,
    limits: Limits,
    decompressing: Decompressing,
}

enum Decompressing {
    None,
    Gzip(gzip::Decompressor),
    Zstd(zstd::Decompressor),
}

/// What stops a decompression.
enum Stop {
    Limit(BrokenLimit),
    Damage(String),
}

impl Decompressor {
    /// # Errors
    /// The library failed: in practice, it had no memory.
    pub fn new(compression: Compression, limits: Limits) -> Result<Self, DecodeError> {
        let decompressing = match compression {
            Compression::None => Decompressing::None,
            Compression::Gzip { .. } => Decompressing::Gzip(gzip::Decompressor::new()),
            Compression::Zstd { .. } => Decompressing::Zstd(
                zstd::Decompressor::new(&limits)
                    .map_err(|what| DecodeError::Compressed { compression, what })?,
            ),
        };
        Ok(Self {
            compression,
            limits,
            decompressing,
        })
    }

    /// Replaces `out` by `bytes` decompressed; a plain copy without compression.
    ///
    /// # Errors
    /// Damage, bytes after the end, and broken limits. `out` then holds no more than the limits
    /// allow, and nothing of use.
    pub fn decompress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
        out.clear();
        let room = Room::new(bytes.len(), &self.limits);
        room.check(bytes.len()).map_err(|stop| self.error(stop))?;
        let result = match &mut self.decompressing {
            Decompressing::None => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Decompressing::Gzip(gzip) => gzip.decompress(bytes, out, &room),
            Decompressing::Zstd(zstd) => zstd.decompress(bytes, out, &room),
        };
        result.map_err(|stop| self.error(stop))
    }

    fn error(&self, stop: Stop) -> DecodeError {
        match stop {
            Stop::Limit(limit) => DecodeError::Limit(limit),
            Stop::Damage(what) => DecodeError::Compressed {
                compression: self.compression,
                what,
            },
        }
    }
}

/// How much may come out of so many compressed bytes.
struct Room {
    /// The largest output.
    most: usize,
    /// Which limit that is.
    limit: BrokenLimit,
    max_message_bytes: usize,
}

/// Steps in which the output grows where its size is not known.
const STEP: usize = 16 << 10;

impl Room {
    fn new(compressed: usize, limits: &Limits) -> Self {
        let inflated = compressed
            .saturating_mul(limits.max_inflation)
            .max(INFLATION_FREE_BYTES);
        let max_message_bytes = limits.max_message_bytes;
        if inflated < max_message_bytes {
            let limit = BrokenLimit::Inflation(limits.max_inflation);
            Self {
                most: inflated,
                limit,
                max_message_bytes,
            }
        } else {
            let limit = BrokenLimit::MessageBytes(max_message_bytes);
            Self {
                most: max_message_bytes,
                limit,
                max_message_bytes,
            }
        }
    }

    /// Checks the size of what arrived.
    fn check(&self, compressed: usize) -> Result<(), Stop> {
        if compressed > self.max_message_bytes {
            return Err(Stop::Limit(BrokenLimit::MessageBytes(
                self.max_message_bytes,
            )));
        }
        Ok(())
    }

    /// Makes sure that there is room to write into, one byte more than is allowed at most: that
    /// byte distinguishes a message that is too large from one that just fits.
    fn grow(&self, out: &mut Vec<u8>) -> Result<(), Stop> {
        if out.len() > self.most {
            return Err(Stop::Limit(self.limit));
        }
        if out.len() == out.capacity() {
            let left = self.most - out.len();
            let step = out.len().max(STEP).min(left.saturating_add(1));
            out.reserve_exact(step);
        }
        Ok(())
    }

    /// The last check, of what has come out.
    fn finish(&self, out: &[u8]) -> Result<(), Stop> {
        if out.len() > self.most {
            Err(Stop::Limit(self.limit))
        } else {
            Ok(())
        }
    }
}
