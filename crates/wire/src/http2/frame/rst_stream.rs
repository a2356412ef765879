//! RST_STREAM (RFC 9113 §6.4).

use super::write_header;
use crate::http2::error::{ErrorCode, Http2Violation};

pub(in crate::http2) const KIND: u8 = 0x3;

pub(in crate::http2) fn read(payload: &[u8]) -> Result<ErrorCode, Http2Violation> {
    let code = payload
        .try_into()
        .map_err(|_| Http2Violation::FrameLength("RST_STREAM"))?;
    Ok(ErrorCode(u32::from_be_bytes(code)))
}

pub(in crate::http2) fn write(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    write_header(out, 4, KIND, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}
