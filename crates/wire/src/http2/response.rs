//! Checks that a response's fields are well-formed (RFC 9113 §8.2, §8.3).

use super::error::Http2Violation;
use crate::event::Fields;
use crate::request::{is_token_byte, is_value_byte, read_decimal, read_status};

/// The fields of a response's head that the connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
}

/// Checks a head: `:status` as its only pseudo-header field, then regular fields.
pub(super) fn check_head(fields: &Fields<'_>) -> Result<ResponseHead, Http2Violation> {
    let mut fields = fields.iter();
    let status = match fields.next() {
        Some((b":status", value)) => read_status(value).ok_or(Http2Violation::Status)?,
        _ => return Err(Http2Violation::PseudoFields),
    };
    let mut content_length = None;
    for (name, value) in fields {
        check_field(name, value)?;
        if name == b"content-length" {
            let length = read_decimal(value).ok_or(Http2Violation::ContentLength)?;
            if content_length.is_some_and(|earlier| earlier != length) {
                return Err(Http2Violation::ContentLength);
            }
            content_length = Some(length);
        }
    }
    Ok(ResponseHead {
        status,
        content_length,
    })
}

/// Checks a trailer section: regular fields only.
pub(super) fn check_trailers(fields: &Fields<'_>) -> Result<(), Http2Violation> {
    fields
        .iter()
        .try_for_each(|(name, value)| check_field(name, value))
}

fn check_field(name: &[u8], value: &[u8]) -> Result<(), Http2Violation> {
    if name.first() == Some(&b':') {
        return Err(Http2Violation::PseudoFields);
    }
    if name.is_empty()
        || !name
            .iter()
            .all(|&b| is_token_byte(b) && !b.is_ascii_uppercase())
    {
        return Err(Http2Violation::FieldName);
    }
    let blank = |b: Option<&u8>| matches!(b, Some(b' ' | b'\t'));
    let well_formed = value.iter().all(|&b| is_value_byte(b));
    if !well_formed || blank(value.first()) || blank(value.last()) {
        return Err(Http2Violation::FieldValue);
    }
    match name {
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
            Err(Http2Violation::ConnectionField)
        }
        b"te" if value != b"trailers" => Err(Http2Violation::ConnectionField),
        _ => Ok(()),
    }
}
