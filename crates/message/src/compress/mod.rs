//! Compression and decompression with contexts that are reused across calls.

mod gzip;
mod zstd;

#[cfg(test)]
mod tests;

use crate::error::{DecodeError, EncodeError, Refusal};
use crate::limits::{BrokenLimit, INFLATION_FREE_BYTES};
use crate::{Compression, Limits};

/// Compresses any number of messages. Its state and tables are allocated only once.
pub struct Compressor(Compressing);

enum Compressing {
    None,
    Gzip(gzip::Compressor),
    Zstd(zstd::Compressor),
}

impl Compressor {
    /// # Errors
    /// If the compression does not support the level.
    pub fn new(compression: Compression) -> Result<Self, EncodeError> {
        if !compression.level_is_known() {
            return Err(EncodeError::Compress {
                compression,
                what: format!("\"{compression}\" is not a supported level"),
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

    /// Appends `bytes`, compressed, to `out`. Without compression, this is a plain copy.
    ///
    /// # Errors
    /// If the library fails, which in practice means that memory has run out.
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

/// Decompresses any number of messages, within limits. It ignores the compression's level.
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

impl Decompressor {
    /// # Errors
    /// If the library fails, which in practice means that memory has run out.
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

    /// Replaces `out` with `bytes`, decompressed. Without compression, this is a plain copy.
    ///
    /// # Errors
    /// If the data is damaged, bytes follow its end, or a limit is exceeded. The contents of `out` are then
    /// unspecified, but never larger than the limits allow.
    pub fn decompress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
        out.clear();
        self.limits.check_size(bytes)?;
        let room = Room::new(bytes.len(), &self.limits);
        let result = match &mut self.decompressing {
            Decompressing::None => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Decompressing::Gzip(gzip) => gzip.decompress(bytes, out, &room),
            Decompressing::Zstd(zstd) => zstd.decompress(bytes, out, &room),
        };
        result.map_err(|refusal| match refusal {
            Refusal::Limit(limit) => DecodeError::Limit(limit),
            Refusal::Damage(what) => DecodeError::Compressed {
                compression: self.compression,
                what,
            },
        })
    }
}

/// How far compressed bytes may expand.
struct Room {
    /// The maximum size of the output.
    most: usize,
    /// The limit that sets `most`.
    limit: BrokenLimit,
}

/// How much the output grows at a time while its size is unknown.
const STEP: usize = 16 << 10;

impl Room {
    fn new(compressed: usize, limits: &Limits) -> Self {
        let inflated = compressed
            .saturating_mul(limits.max_inflation)
            .max(INFLATION_FREE_BYTES);
        let most = inflated.min(limits.max_message_bytes);
        let limit = if inflated < limits.max_message_bytes {
            BrokenLimit::Inflation(limits.max_inflation)
        } else {
            BrokenLimit::MessageBytes(most)
        };
        Self { most, limit }
    }

    /// Ensures that `out` has spare capacity, but at most one byte beyond the maximum. That byte tells a
    /// message that is too large from one that just fits.
    fn grow(&self, out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.check(out)?;
        if out.len() == out.capacity() {
            let left = self.most - out.len();
            let step = out.len().max(STEP).min(left.saturating_add(1));
            out.reserve_exact(step);
        }
        Ok(())
    }

    /// Checks the size of the output so far.
    fn check(&self, out: &[u8]) -> Result<(), Refusal> {
        if out.len() > self.most {
            Err(Refusal::Limit(self.limit))
        } else {
            Ok(())
        }
    }
}
