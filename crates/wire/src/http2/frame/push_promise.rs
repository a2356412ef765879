//! PUSH_PROMISE (RFC 9113 §6.6): always refused, since the client switches push off.

pub(in crate::http2) const KIND: u8 = 0x5;
