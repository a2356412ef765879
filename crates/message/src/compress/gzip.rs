//! gzip (RFC 1952): a sequence of members, each with a header, DEFLATE data (RFC 1951) and a checksum.
//!
//! The header is written and read here because flate2's own gzip streams cannot be reused.

use flate2::{Compress, Crc, Decompress, FlushCompress, FlushDecompress, Status};

use super::{Refusal, Room, STEP};

/// The magic bytes, then the code for DEFLATE, the only compression method (RFC 1952, section 2.3.1).
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// A header without optional parts, timestamp or operating system, so the same input always yields the same
/// bytes.
const HEADER: [u8; 10] = [MAGIC[0], MAGIC[1], MAGIC[2], 0, 0, 0, 0, 0, 0, 255];

/// The checksum and the size, 4 bytes each.
const TRAILER_LEN: usize = 8;

/// The output space for each member after the first. flate2's `_vec` functions would zero the vector's entire
/// spare capacity on every call: for a 20-byte member, as much memory as the largest earlier message needed.
const MEMBER_STEP: usize = 1 << 10;

/// Optional parts of the header.
mod flag {
    pub(super) const HEADER_CRC: u8 = 1 << 1;
    pub(super) const EXTRA: u8 = 1 << 2;
    pub(super) const NAME: u8 = 1 << 3;
    pub(super) const COMMENT: u8 = 1 << 4;
    pub(super) const RESERVED: u8 = 0b1110_0000;
}

pub(super) struct Compressor {
    deflate: Compress,
}

impl Compressor {
    pub(super) fn new(level: u32) -> Self {
        Self {
            deflate: Compress::new(flate2::Compression::new(level), false),
        }
    }

    pub(super) fn compress(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        self.deflate.reset();
        out.extend_from_slice(&HEADER);
        let start = out.len();
        // Most data shrinks; the rest grows only slightly.
        let mut step = bytes.len() / 2 + 64;
        out.reserve(step + TRAILER_LEN);
        loop {
            let (read, end) = (self.deflate.total_in() as usize, out.len());
            out.resize(end + step, 0);
            let status = self
                .deflate
                .compress(&bytes[read..], &mut out[end..], FlushCompress::Finish)
                .map_err(|e| e.to_string())?;
            out.truncate(start + self.deflate.total_out() as usize);
            if status == Status::StreamEnd {
                break;
            }
            step = STEP;
        }
        let mut crc = Crc::new();
        crc.update(bytes);
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&crc.amount().to_le_bytes());
        Ok(())
    }
}

pub(super) struct Decompressor {
    inflate: Decompress,
    #[cfg(test)]
    cleared: usize,
}

impl Decompressor {
    pub(super) fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
            #[cfg(test)]
            cleared: 0,
        }
    }

    pub(super) fn decompress(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        room: &Room,
    ) -> Result<(), Refusal> {
        let mut rest = bytes;
        // Most messages are a single member that expands at most 16 times, so one step is enough for them.
        let mut step = bytes.len().saturating_mul(16).max(MEMBER_STEP);
        loop {
            rest = self.member(rest, out, room, step)?;
            if rest.is_empty() {
                return room.check(out);
            }
            step = MEMBER_STEP;
        }
    }

    /// Decompresses one member, starting with `step` bytes of output space, and returns the bytes after it.
    fn member<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
        room: &Room,
        mut step: usize,
    ) -> Result<&'a [u8], Refusal> {
        let data = after_header(bytes)?;
        let start = out.len();
        self.inflate.reset(false);
        let mut read = 0;
        loop {
            room.grow(out)?;
            let before = (read, out.len());
            let end = out.capacity().min(out.len().saturating_add(step));
            out.resize(end, 0);
            #[cfg(test)]
            {
                self.cleared += end - before.1;
            }
            let status = self
                .inflate
                .decompress(&data[read..], &mut out[before.1..], FlushDecompress::None)
                .map_err(|e| Refusal::Damage(e.to_string()))?;
            read = self.inflate.total_in() as usize;
            out.truncate(start + self.inflate.total_out() as usize);
            if status == Status::StreamEnd {
                break;
            }
            if (read, out.len()) == before {
                return Err(ends_early());
            }
            step = step.saturating_mul(2);
        }
        let (crc, rest) = data[read..].split_first_chunk().ok_or_else(ends_early)?;
        let (size, rest) = rest.split_first_chunk().ok_or_else(ends_early)?;
        let stated = (u32::from_le_bytes(*crc), u32::from_le_bytes(*size));
        let mut found = Crc::new();
        found.update(&out[start..]);
        if (found.sum(), found.amount()) != stated {
            return Err(Refusal::Damage(
                "the checksum does not match the data".to_owned(),
            ));
        }
        Ok(rest)
    }
}

fn ends_early() -> Refusal {
    Refusal::Damage("the data is cut off".to_owned())
}

/// Returns the bytes after a member's header (RFC 1952, section 2.3).
fn after_header(bytes: &[u8]) -> Result<&[u8], Refusal> {
    let header = bytes.get(..HEADER.len()).ok_or_else(ends_early)?;
    if header[..MAGIC.len()] != MAGIC {
        return Err(Refusal::Damage(
            "it does not begin with a gzip header".to_owned(),
        ));
    }
    let flags = header[3];
    if flags & flag::RESERVED != 0 {
        return Err(Refusal::Damage("reserved flags are set".to_owned()));
    }
    let mut rest = &bytes[HEADER.len()..];
    if flags & flag::EXTRA != 0 {
        let length = rest.first_chunk::<2>().ok_or_else(ends_early)?;
        let length = 2 + usize::from(u16::from_le_bytes(*length));
        rest = rest.get(length..).ok_or_else(ends_early)?;
    }
    for optional in [flag::NAME, flag::COMMENT] {
        if flags & optional != 0 {
            let end = rest.iter().position(|byte| *byte == 0);
            rest = &rest[end.ok_or_else(ends_early)? + 1..];
        }
    }
    if flags & flag::HEADER_CRC != 0 {
        let header = &bytes[..bytes.len() - rest.len()];
        let (stated, after) = rest.split_first_chunk().ok_or_else(ends_early)?;
        let mut found = Crc::new();
        found.update(header);
        // The header stores only the lower half of the checksum.
        if found.sum() as u16 != u16::from_le_bytes(*stated) {
            return Err(Refusal::Damage(
                "the header's checksum does not match the header".to_owned(),
            ));
        }
        rest = after;
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    /// Zeroing output space is the only work that could grow out of proportion to the input and output.
    #[test]
    fn empty_members_after_a_large_message_clear_little() {
        let mut packed = Vec::new();
        let mut compressor = Compressor::new(6);
        compressor.compress(&[], &mut packed).unwrap();
        let members = packed.repeat(2000);
        let room = Room::new(members.len(), &Limits::DEFAULT);
        let mut out = Vec::with_capacity(16 << 20);
        let mut decompressor = Decompressor::new();
        let outcome = decompressor.decompress(&members, &mut out, &room);
        assert!(outcome.is_ok() && out.is_empty());
        let each = decompressor.cleared / 2000;
        assert!(
            each < 4 << 10,
            "{each} bytes for a member of {}",
            packed.len()
        );
    }

    #[test]
    fn a_member_is_cleared_for_about_twice() {
        let message = vec![b'x'; 10 << 20];
        let mut packed = Vec::new();
        Compressor::new(6).compress(&message, &mut packed).unwrap();
        let limits = Limits {
            max_inflation: usize::MAX,
            ..Limits::DEFAULT
        };
        let room = Room::new(packed.len(), &limits);
        let mut out = Vec::new();
        let mut decompressor = Decompressor::new();
        assert!(decompressor.decompress(&packed, &mut out, &room).is_ok());
        assert_eq!(out, message);
        assert!(decompressor.cleared <= 3 * message.len());
    }
}
