//! HEADERS (RFC 9113 §6.2).

use super::{FrameHeader, PADDED, PRIORITY, PRIORITY_LENGTH};
use crate::http2::error::Http2Violation;

/// The frame's fragment of the field block: its payload without padding and priority fields.
#[inline]
pub(in crate::http2) fn fragment<'a>(
    header: &FrameHeader,
    payload: &'a [u8],
) -> Result<&'a [u8], Http2Violation> {
    if header.has(PADDED) || header.has(PRIORITY) {
        fragment_within(header, payload)
    } else {
        Ok(payload)
    }
}

fn fragment_within<'a>(
    header: &FrameHeader,
    payload: &'a [u8],
) -> Result<&'a [u8], Http2Violation> {
    let mut fragment = payload;
    if header.has(PADDED) {
        let (&padding, rest) = fragment
            .split_first()
            .ok_or(Http2Violation::FrameLength("HEADERS"))?;
        let end = rest
            .len()
            .checked_sub(usize::from(padding))
            .ok_or(Http2Violation::Padding)?;
        fragment = &rest[..end];
    }
    if header.has(PRIORITY) {
        fragment = fragment
            .get(PRIORITY_LENGTH..)
            .ok_or(Http2Violation::FrameLength("HEADERS"))?;
    }
    Ok(fragment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_and_priority_are_taken_off() {
        let header = |flags| FrameHeader {
            length: 0,
            kind: super::super::kind::HEADERS,
            flags,
            stream: 1,
        };
        assert_eq!(fragment(&header(0), b"abc"), Ok(&b"abc"[..]));
        assert_eq!(fragment(&header(PADDED), b"\x02abcpp"), Ok(&b"abc"[..]));
        assert_eq!(fragment(&header(PRIORITY), b"12345abc"), Ok(&b"abc"[..]));
        assert_eq!(
            fragment(&header(PADDED | PRIORITY), b"\x0112345ap"),
            Ok(&b"a"[..])
        );
        assert_eq!(
            fragment(&header(PADDED), b"\x02"),
            Err(Http2Violation::Padding)
        );
        let length = Err(Http2Violation::FrameLength("HEADERS"));
        assert_eq!(fragment(&header(PADDED), b""), length);
        assert_eq!(fragment(&header(PRIORITY), b"1234"), length);
    }
}
