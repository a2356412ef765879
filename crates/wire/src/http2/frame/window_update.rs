//! WINDOW_UPDATE (RFC 9113 §6.9).

use super::{read_31_bits, write_header};
use crate::http2::error::Http2Violation;

pub(in crate::http2) const KIND: u8 = 0x8;

pub(in crate::http2) fn read(payload: &[u8]) -> Result<u32, Http2Violation> {
    let increment = payload
        .try_into()
        .map_err(|_| Http2Violation::FrameLength("WINDOW_UPDATE"))?;
    Ok(read_31_bits(increment))
}

pub(in crate::http2) fn write(out: &mut Vec<u8>, stream: u32, increment: u32) {
    write_header(out, 4, KIND, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}
