//! PING (RFC 9113 §6.7).

use super::{ACK, write_header};
use crate::http2::error::Http2Violation;

pub(in crate::http2) const KIND: u8 = 0x6;

/// Length of the payload, in bytes.
const LENGTH: usize = 8;

pub(in crate::http2) fn read(payload: &[u8]) -> Result<[u8; LENGTH], Http2Violation> {
    payload
        .try_into()
        .map_err(|_| Http2Violation::FrameLength("PING"))
}

pub(in crate::http2) fn write(out: &mut Vec<u8>, payload: [u8; LENGTH]) {
    write_header(out, LENGTH, KIND, 0, 0);
    out.extend_from_slice(&payload);
}

pub(in crate::http2) fn write_ack(out: &mut Vec<u8>, payload: [u8; LENGTH]) {
    write_header(out, LENGTH, KIND, ACK, 0);
    out.extend_from_slice(&payload);
}
