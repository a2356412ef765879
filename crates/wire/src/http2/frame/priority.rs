//! PRIORITY (RFC 9113 §6.3): deprecated, checked and ignored.

pub(in crate::http2) const KIND: u8 = 0x2;

/// Length of the payload, in bytes.
pub(in crate::http2) const LENGTH: usize = 5;
