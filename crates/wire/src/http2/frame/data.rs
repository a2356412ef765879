//! DATA (RFC 9113 §6.1). Its payload is handed on as it comes; see `receive`.

pub(in crate::http2) const KIND: u8 = 0x0;
