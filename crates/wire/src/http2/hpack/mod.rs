//! HPACK, the compression of HTTP/2 fields (RFC 7541).

mod decoder;
mod encoder;
mod error;
mod field_list;
mod huffman;
mod integer;
mod static_table;
mod table;

pub use decoder::{DecodedFields, Decoder};
pub use encoder::Encoder;
pub use error::HpackError;
pub use field_list::{Field, FieldList};

/// What each table entry and each field of a list counts beside its text, in bytes (RFC 7541 §4.1).
pub(crate) const ENTRY_OVERHEAD: usize = 32;

/// Size of both tables until something else is agreed, in bytes (RFC 9113 §6.5.2).
pub(crate) const DEFAULT_TABLE_SIZE: u32 = 4096;

#[cfg(test)]
mod tests;
