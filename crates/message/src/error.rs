//! Errors of encoding and decoding messages.

use crate::limits::BrokenLimit;
use crate::path::{clip, without_position};
use crate::{Compression, Encoding};

/// Bytes that are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A limit was exceeded.
    #[error("{0}")]
    Limit(BrokenLimit),
    /// The bytes are damaged, or are not a message of the expected type.
    #[error("not a {message_type} in {encoding}: {what}")]
    Malformed {
        /// The full name of the expected type.
        message_type: String,
        /// The expected encoding.
        encoding: Encoding,
        /// What is wrong; begins with a path (`$.items[2].price: `) if one is known.
        what: String,
    },
    /// The compressed bytes are damaged.
    #[error("not {}: {what}", .compression.coding())]
    Compressed {
        /// The expected compression.
        compression: Compression,
        /// What is wrong.
        what: String,
    },
}

/// Why bytes were refused, without the expected type and encoding.
pub(crate) enum Refusal {
    Limit(BrokenLimit),
    Damage(String),
}

impl Refusal {
    /// Adds the expected type and encoding.
    pub(crate) fn of(self, message_type: &str, encoding: Encoding) -> DecodeError {
        match self {
            Self::Limit(limit) => DecodeError::Limit(limit),
            Self::Damage(what) => DecodeError::Malformed {
                message_type: message_type.to_owned(),
                encoding,
                what,
            },
        }
    }
}

impl From<BrokenLimit> for DecodeError {
    fn from(limit: BrokenLimit) -> Self {
        Self::Limit(limit)
    }
}

/// A message that cannot be encoded, or bytes that cannot be compressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The message's type is not the codec's.
    #[error("the codec encodes {wanted}, not {given}")]
    WrongType {
        /// The full name of the codec's type.
        wanted: String,
        /// The full name of the message's type.
        given: String,
    },
    /// The encoding cannot represent a value in the message.
    #[error("a {message_type} cannot be represented in {encoding}: {what}")]
    NoForm {
        /// The message's type.
        message_type: String,
        /// The encoding.
        encoding: Encoding,
        /// Which value, and why.
        what: String,
    },
    /// The compressor failed.
    #[error("{} could not compress: {what}", .compression.coding())]
    Compress {
        /// The compression.
        compression: Compression,
        /// The library's error message.
        what: String,
    },
}

impl EncodeError {
    pub(crate) fn no_form(message_type: &str, encoding: Encoding, what: &str) -> Self {
        Self::NoForm {
            message_type: message_type.to_owned(),
            encoding,
            what: clip(what),
        }
    }
}

/// A JSON sample that does not fit its message type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// A value does not fit. The path resembles JSONPath (RFC 9535): `$.items[2].price`.
    #[error("{path}: {what}")]
    At {
        /// The path.
        path: String,
        /// What is wrong, and what is expected.
        what: String,
    },
    /// The text is not JSON at all.
    #[error("{what}{}", .place.map(|(line, column)| format!(" at line {line} column {column}")).unwrap_or_default())]
    NotJson {
        /// What is wrong.
        what: String,
        /// Line and column, from 1.
        place: Option<(usize, usize)>,
    },
    /// The sample exceeds a limit.
    #[error("{0}")]
    Limit(BrokenLimit),
    /// The sample is a valid message but nests too deeply for a plan.
    #[error("objects and lists nest deeper than {0} levels, the maximum in a plan")]
    TooNested(usize),
}

impl SampleError {
    /// The error for a text that is not JSON.
    pub(crate) fn not_json(text: &str, error: &serde_json::Error) -> Self {
        let what = if text.trim().is_empty() {
            "the text is empty; {} is a message without fields".to_owned()
        } else if error.is_eof() {
            "the JSON is incomplete; was it cut off?".to_owned()
        } else {
            clip(&without_position(error))
        };
        // serde_json counts the bytes read on a line, so the column is 0 at the start of a line.
        let place = (error.line() > 0).then(|| (error.line(), error.column().max(1)));
        Self::NotJson { what, place }
    }

    /// Whether a value is invalid or the text is not JSON; false for a wrong name or an exceeded limit.
    pub fn is_of_value(&self) -> bool {
        match self {
            Self::At { what, .. } => what.starts_with("invalid value"),
            Self::NotJson { .. } => true,
            Self::Limit(_) | Self::TooNested(_) => false,
        }
    }

    /// The error prefixed with the sample's file: `file:line:column: what` if the position is known, else
    /// `file: what`.
    pub fn in_file(&self, file: &str) -> String {
        match self {
            Self::NotJson {
                what,
                place: Some((line, column)),
            } => format!("{file}:{line}:{column}: {what}"),
            error => format!("{file}: {error}"),
        }
    }
}
