//! HPACK, the compression of HTTP/2 fields (RFC 7541).

mod error;
mod field_list;

pub use error::HpackError;
pub use field_list::FieldList;
