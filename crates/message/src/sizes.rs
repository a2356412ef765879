//! How large a message is in every encoding and compression.

use crate::compress::Compressor;
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
///
/// # Errors
/// A value that an encoding has no form for, and a level that a compression does not have.
pub fn sizes(message: &Message, compressions: &[Compression]) -> Result<Vec<SizeRow>, EncodeError> {
    let mut compressors = compressions
        .iter()
        .map(|c| Compressor::new(*c))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut plain, mut packed) = (Vec::new(), Vec::new());
    Encoding::ALL
        .into_iter()
        .map(|encoding| {
            plain.clear();
            message.encode(encoding, &mut plain)?;
            let bytes = compressors
                .iter_mut()
                .map(|compressor| {
                    packed.clear();
                    compressor.compress(&plain, &mut packed)?;
                    Ok(packed.len())
                })
                .collect::<Result<_, EncodeError>>()?;
            Ok(SizeRow { encoding, bytes })
        })
        .collect()
}
