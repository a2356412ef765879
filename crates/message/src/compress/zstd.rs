//! Zstandard (RFC 8878).

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::{DParameter, compress_bound};

use super::{Refusal, Room};
use crate::Limits;

pub(super) struct Compressor {
    context: zstd::bulk::Compressor<'static>,
}

impl Compressor {
    pub(super) fn new(level: i32) -> Result<Self, String> {
        let mut context = zstd::bulk::Compressor::new(level).map_err(|e| e.to_string())?;
        // gzip always adds a checksum. For a fair comparison, zstd adds one too.
        context
            .set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true))
            .map_err(|e| e.to_string())?;
        Ok(Self { context })
    }

    pub(super) fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        out.reserve(compress_bound(bytes.len()));
        let mut end = std::io::Cursor::new(&mut *out);
        end.set_position(end.get_ref().len() as u64);
        let written = self.context.compress_to_buffer(bytes, &mut end);
        written.map(drop).map_err(|e| e.to_string())
    }
}

pub(super) struct Decompressor {
    context: Decoder<'static>,
}

/// Every decoder should support windows up to 8 MiB (RFC 8878, section 3.1.1.1.2).
const MIN_WINDOW_LOG: u32 = 23;
/// The largest window that the library supports on every platform.
const MAX_WINDOW_LOG: u32 = 30;

impl Decompressor {
    pub(super) fn new(limits: &Limits) -> Result<Self, String> {
        let mut context = Decoder::new().map_err(|e| e.to_string())?;
        // A window larger than the maximum message size would waste memory.
        let log = usize::BITS - limits.max_message_bytes.leading_zeros();
        let log = log.clamp(MIN_WINDOW_LOG, MAX_WINDOW_LOG);
        context
            .set_parameter(DParameter::WindowLogMax(log))
            .map_err(|e| e.to_string())?;
        Ok(Self { context })
    }

    pub(super) fn decompress(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        room: &Room,
    ) -> Result<(), Refusal> {
        let damage = |e: std::io::Error| Refusal::Damage(e.to_string());
        self.context.reinit().map_err(damage)?;
        let mut input = InBuffer::around(bytes);
        loop {
            room.grow(out)?;
            let (read, written) = (input.pos(), out.len());
            let mut output = OutBuffer::around_pos(out, written);
            // The number of input bytes that the decoder expects next; 0 at the end of a frame.
            let missing = self.context.run(&mut input, &mut output).map_err(damage)?;
            if missing == 0 {
                if input.pos() == bytes.len() {
                    return room.check(out);
                }
                // Another frame follows.
                self.context.reinit().map_err(damage)?;
            } else if input.pos() == read && out.len() == written {
                return Err(Refusal::Damage("the data is cut off".to_owned()));
            }
        }
    }
}
