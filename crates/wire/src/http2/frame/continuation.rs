//! CONTINUATION (RFC 9113 §6.10): nothing but the next part of a field block.

pub(in crate::http2) const KIND: u8 = 0x9;
