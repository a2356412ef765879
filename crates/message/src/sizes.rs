//! How large a message is in every encoding and compression.

use crate::error::EncodeError;
use crate::{Compression, Encoding, Message};

/// One encoding's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeRow {
    /// The encoding.
    pub encoding: Encoding,
    /// Bytes under each of the compressions that were asked for, in their order.
    pub bytes: Vec<usize>,
}

/// The message's size in bytes in each encoding, under each of `compressions`.
pub fn sizes(
    _message: &Message,
    _compressions: &[Compression],
) -> Result<Vec<SizeRow>, EncodeError> {
    todo!()
}
