//! HPACK, the compression of HTTP/2 fields (RFC 7541).

mod decoder;
mod encoder;
mod field_list;
mod huffman;
mod integer;
mod static_table;
mod table;

pub use decoder::{DecodedFields, Decoder};
pub use encoder::Encoder;
pub use field_list::{Field, FieldList};

/// Size of each table entry and list field in addition to its text, in bytes (RFC 7541 §4.1).
pub(crate) const ENTRY_OVERHEAD: usize = 32;

/// Initial size of both tables, in bytes (RFC 9113 §6.5.2).
pub(crate) const DEFAULT_TABLE_SIZE: u32 = 4096;

/// Why a field block cannot be decoded. This ends the connection, since the two sides' tables
/// differ from then on (RFC 7541 §2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum HpackError {
    #[error("a field block is cut off (RFC 7541 §3.2)")]
    Truncated,
    #[error("an integer in a field block overflows (RFC 7541 §5.1)")]
    IntegerOverflow,
    #[error("a field block refers to an entry that does not exist (RFC 7541 §2.3.3)")]
    Index,
    /// A Huffman string has invalid padding or contains the end-of-string symbol.
    #[error("a Huffman string is malformed (RFC 7541 §5.2)")]
    Huffman,
    #[error("a table size update exceeds the allowed size (RFC 7541 §6.3)")]
    TableSize,
    /// A table size update follows a field, or is the third in its block.
    #[error("a table size update is not at the start of its block (RFC 7541 §4.2)")]
    TableSizePosition,
}

#[cfg(test)]
mod tests;
