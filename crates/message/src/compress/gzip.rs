//! gzip (RFC 1952): members of a header, DEFLATE data (RFC 1951), and a checksum.
//!
//! The header is written and read here, since the library's own gzip streams cannot be reused.

use flate2::{Compress, Crc, Decompress, FlushCompress, FlushDecompress, Status};

use super::{Room, STEP, Stop};

/// The first two bytes, and DEFLATE, the only method (RFC 1952, section 2.3.1).
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Header without any optional part, of no time and an unknown system, so that the same bytes
/// always come out.
const HEADER: [u8; 10] = [MAGIC[0], MAGIC[1], MAGIC[2], 0, 0, 0, 0, 0, 0, 255];

/// Checksum and size, 4 bytes each.
const TRAILER_LEN: usize = 8;

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
        // Usual data shrinks; what does not, grows by little.
        out.reserve(HEADER.len() + bytes.len() / 2 + TRAILER_LEN + 64);
        out.extend_from_slice(&HEADER);
        loop {
            let read = self.deflate.total_in() as usize;
            let status = self
                .deflate
                .compress_vec(&bytes[read..], out, FlushCompress::Finish)
                .map_err(|e| e.to_string())?;
            if status == Status::StreamEnd {
                break;
            }
            out.reserve(STEP);
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
}

impl Decompressor {
    pub(super) fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
        }
    }

    pub(super) fn decompress(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        room: &Room,
    ) -> Result<(), Stop> {
        let mut rest = bytes;
        loop {
            rest = self.member(rest, out, room)?;
            if rest.is_empty() {
                return room.finish(out);
            }
        }
    }

    /// Decompresses one member, and returns what follows it.
    fn member<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
        room: &Room,
    ) -> Result<&'a [u8], Stop> {
        let data = after_header(bytes)?;
        let start = out.len();
        self.inflate.reset(false);
        let mut read = 0;
        loop {
            room.grow(out)?;
            let before = (read, out.len());
            let status = self
                .inflate
                .decompress_vec(&data[read..], out, FlushDecompress::None)
                .map_err(|e| Stop::Damage(e.to_string()))?;
            read = self.inflate.total_in() as usize;
            if status == Status::StreamEnd {
                break;
            }
            if (read, out.len()) == before && out.len() < out.capacity() {
                return Err(ends_early());
            }
        }
        let trailer = &data[read..];
        let (crc, size, rest) = match trailer {
            [a, b, c, d, e, f, g, h, rest @ ..] => (
                u32::from_le_bytes([*a, *b, *c, *d]),
                u32::from_le_bytes([*e, *f, *g, *h]),
                rest,
            ),
            _ => return Err(ends_early()),
        };
        let mut found = Crc::new();
        found.update(&out[start..]);
        if (found.sum(), found.amount()) != (crc, size) {
            return Err(Stop::Damage(
                "the checksum is not that of the data".to_owned(),
            ));
        }
        Ok(rest)
    }
}

fn ends_early() -> Stop {
    Stop::Damage("the data ends early".to_owned())
}

/// What follows a member's header (RFC 1952, section 2.3).
fn after_header(bytes: &[u8]) -> Result<&[u8], Stop> {
    let header = bytes.get(..HEADER.len()).ok_or_else(ends_early)?;
    if header[..MAGIC.len()] != MAGIC {
        return Err(Stop::Damage("it does not begin as gzip does".to_owned()));
    }
    let flags = header[3];
    if flags & flag::RESERVED != 0 {
        return Err(Stop::Damage("reserved flags are set".to_owned()));
    }
    let mut rest = &bytes[HEADER.len()..];
    if flags & flag::EXTRA != 0 {
        let length = rest.first_chunk::<2>().ok_or_else(ends_early)?;
        let length = 2 + usize::from(u16::from_le_bytes(*length));
        rest = rest.get(length..).ok_or_else(ends_early)?;
    }
    for optional in [flag::NAME, flag::COMMENT] {
        if flags & optional != 0 {
            let end = rest
                .iter()
                .position(|byte| *byte == 0)
                .ok_or_else(ends_early)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & flag::HEADER_CRC != 0 {
        let header = &bytes[..bytes.len() - rest.len()];
        let (stated, after) = rest.split_first_chunk().ok_or_else(ends_early)?;
        let mut found = Crc::new();
        found.update(header);
        // The lower half of the checksum.
        if found.sum() as u16 != u16::from_le_bytes(*stated) {
            return Err(Stop::Damage(
                "the header's checksum is not that of the header".to_owned(),
            ));
        }
        rest = after;
    }
    Ok(rest)
}
