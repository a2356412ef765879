//! Frames: one type a file (RFC 9113 §4, §6).
//!
//! What a server sends is read; what a client sends is written. Types that a client only receives
//! have no writer, and the other way round.

pub(super) mod continuation;
pub(super) mod data;
pub(super) mod goaway;
pub(super) mod headers;
pub(super) mod ping;
pub(super) mod priority;
pub(super) mod push_promise;
pub(super) mod rst_stream;
pub(super) mod settings;
pub(super) mod window_update;

/// Length of the header of each frame, in bytes.
pub(super) const HEADER_LENGTH: usize = 9;

/// Flag of DATA and HEADERS: the stream ends here.
pub(super) const END_STREAM: u8 = 0x1;
/// Flag of SETTINGS and PING: an acknowledgement.
pub(super) const ACK: u8 = 0x1;
/// Flag of HEADERS and CONTINUATION: the field block ends here.
pub(super) const END_HEADERS: u8 = 0x4;
/// Flag of DATA and HEADERS: padding follows the payload.
pub(super) const PADDED: u8 = 0x8;
/// Flag of HEADERS: priority fields precede the block.
pub(super) const PRIORITY: u8 = 0x20;

/// The header of each frame (RFC 9113 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Length of the payload in bytes.
    pub(super) length: u32,
    /// The type; see the `KIND` of each module.
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    pub(super) fn read(bytes: [u8; HEADER_LENGTH]) -> FrameHeader {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = bytes;
        FrameHeader {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind,
            flags,
            // The top bit is reserved and ignored.
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Writes a frame's header; its payload of `length` bytes must follow.
#[inline]
pub(super) fn write_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[l0, l1, l2, kind, flags, s0, s1, s2, s3]);
}

/// A 31-bit number whose top bit is reserved, as the first of `bytes`.
fn read_31_bits(bytes: &[u8; 4]) -> u32 {
    u32::from_be_bytes(*bytes) & 0x7fff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_written_as_they_are_read() {
        let mut out = Vec::new();
        write_header(&mut out, 0x01_02_03, 9, 0x25, 0x7fff_fffe);
        assert_eq!(out, [1, 2, 3, 9, 0x25, 0x7f, 0xff, 0xff, 0xfe]);
        out[5] = 0xff;
        let header = FrameHeader::read(out.try_into().unwrap());
        let expected = FrameHeader {
            length: 0x01_02_03,
            kind: 9,
            flags: 0x25,
            stream: 0x7fff_fffe,
        };
        assert_eq!(header, expected);
        assert!(header.has(PRIORITY) && !header.has(PADDED));
    }
}
