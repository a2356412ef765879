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

/// Bytes that each table entry and each field of a list counts in addition to its text (RFC 7541
/// §4.1).
pub(crate) const ENTRY_OVERHEAD: usize = 32;

/// Initial size of both tables, in bytes (RFC 9113 §6.5.2).
pub(crate) const DEFAULT_TABLE_SIZE: u32 = 4096;

/// Why a field block cannot be decoded. This ends the connection, since the tables of both sides
/// differ from then on (RFC 7541 §2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum HpackError {
    #[error("a field block is cut off (RFC 7541 §3.2)")]
    Truncated,
    #[error("an integer in a field block overflows (RFC 7541 §5.1)")]
    IntegerOverflow,
    #[error("a field block refers to an entry that does not exist (RFC 7541 §2.3.3)")]
    Index,
    /// A Huffman string with invalid padding or with the end-of-string symbol in it.
    #[error("a Huffman string is malformed (RFC 7541 §5.2)")]
    Huffman,
    #[error("a table size update exceeds what was allowed (RFC 7541 §6.3)")]
    TableSize,
    /// A table size update after a field, or a third one.
    #[error("a table size update is not at the start of its block (RFC 7541 §4.2)")]
    TableSizePosition,
}

#[cfg(test)]
mod tests;
