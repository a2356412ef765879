//! Frames (RFC 9113 §4, §6): reads the server's and writes the client's.

pub(super) mod headers;
pub(super) mod settings;

use super::error::{ErrorCode, Http2Violation};

/// Frame types (RFC 9113 §6).
pub(super) mod kind {
    /// The payload is passed on as it arrives; see `receive`.
    pub(in crate::http2) const DATA: u8 = 0x0;
    pub(in crate::http2) const HEADERS: u8 = 0x1;
    /// Deprecated; checked and then ignored.
    pub(in crate::http2) const PRIORITY: u8 = 0x2;
    pub(in crate::http2) const RST_STREAM: u8 = 0x3;
    pub(in crate::http2) const SETTINGS: u8 = 0x4;
    /// Always rejected, since the client disables push.
    pub(in crate::http2) const PUSH_PROMISE: u8 = 0x5;
    pub(in crate::http2) const PING: u8 = 0x6;
    pub(in crate::http2) const GOAWAY: u8 = 0x7;
    pub(in crate::http2) const WINDOW_UPDATE: u8 = 0x8;
    /// The next fragment of a field block.
    pub(in crate::http2) const CONTINUATION: u8 = 0x9;
}

/// Length of a frame header in bytes.
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

/// A frame header (RFC 9113 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Length of the payload in bytes.
    pub(super) length: u32,
    /// The type; see [`kind`].
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
            stream: read_31_bits([s0, s1, s2, s3]),
        }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Writes a frame header. The payload of `length` bytes must follow.
#[inline]
pub(super) fn write_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[l0, l1, l2, kind, flags, s0, s1, s2, s3]);
}

/// Length of the deprecated priority fields, in PRIORITY and in HEADERS, in bytes (RFC 9113 §6.2, §6.3).
pub(super) const PRIORITY_LENGTH: usize = 5;

/// Parses RST_STREAM (RFC 9113 §6.4).
pub(super) fn read_rst_stream(payload: &[u8]) -> Result<ErrorCode, Http2Violation> {
    let code = exactly(payload, "RST_STREAM")?;
    Ok(ErrorCode(u32::from_be_bytes(code)))
}

pub(super) fn write_rst_stream(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    write_header(out, 4, kind::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Parses PING (RFC 9113 §6.7).
pub(super) fn read_ping(payload: &[u8]) -> Result<[u8; 8], Http2Violation> {
    exactly(payload, "PING")
}

/// `flags` is 0 or [`ACK`].
pub(super) fn write_ping(out: &mut Vec<u8>, flags: u8, payload: [u8; 8]) {
    write_header(out, payload.len(), kind::PING, flags, 0);
    out.extend_from_slice(&payload);
}

/// Parses GOAWAY (RFC 9113 §6.8): the last stream that was or will be processed, and why. Debug
/// data is ignored.
pub(super) fn read_goaway(payload: &[u8]) -> Result<(u32, ErrorCode), Http2Violation> {
    let wrong = Http2Violation::FrameLength("GOAWAY");
    let (last, rest) = payload.split_first_chunk().ok_or(wrong)?;
    let code = rest.first_chunk().ok_or(wrong)?;
    Ok((read_31_bits(*last), ErrorCode(u32::from_be_bytes(*code))))
}

/// Names 0 as the last processed stream, since the server opens none.
pub(super) fn write_goaway(out: &mut Vec<u8>, code: ErrorCode) {
    write_header(out, 8, kind::GOAWAY, 0, 0);
    out.extend_from_slice(&0u32.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Parses WINDOW_UPDATE (RFC 9113 §6.9): the increment of the window.
pub(super) fn read_window_update(payload: &[u8]) -> Result<u32, Http2Violation> {
    exactly(payload, "WINDOW_UPDATE").map(read_31_bits)
}

pub(super) fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    write_header(out, 4, kind::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// The payload of a frame with a fixed length.
fn exactly<const N: usize>(payload: &[u8], name: &'static str) -> Result<[u8; N], Http2Violation> {
    payload
        .try_into()
        .map_err(|_| Http2Violation::FrameLength(name))
}

/// Reads a 31-bit number and ignores the reserved top bit.
fn read_31_bits(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & 0x7fff_ffff
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
