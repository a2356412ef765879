//! GOAWAY (RFC 9113 §6.8).

use super::{read_31_bits, write_header};
use crate::http2::error::{ErrorCode, Http2Violation};

pub(in crate::http2) const KIND: u8 = 0x7;

/// The last stream that was or will be processed, and why. Debug data is ignored.
pub(in crate::http2) fn read(payload: &[u8]) -> Result<(u32, ErrorCode), Http2Violation> {
    let wrong = Http2Violation::FrameLength("GOAWAY");
    let (last, rest) = payload.split_first_chunk().ok_or(wrong)?;
    let code = rest.first_chunk().ok_or(wrong)?;
    Ok((read_31_bits(last), ErrorCode(u32::from_be_bytes(*code))))
}

/// The client's: no stream of the server's was processed, since there are none.
pub(in crate::http2) fn write(out: &mut Vec<u8>, code: ErrorCode) {
    write_header(out, 8, KIND, 0, 0);
    out.extend_from_slice(&0u32.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}
