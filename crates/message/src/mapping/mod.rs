//! How messages look in JSON, MessagePack and CBOR: one mapping for all three, and for generated
//! and dynamic code alike. `docs/encodings.md` is its description for readers.
//!
//! It is the proto3 JSON mapping, with native forms where a format has them: a serializer that is
//! not human-readable gets 64-bit integers as integers, bytes as bytes, NaN and the infinities as
//! floats, and map keys in their own types. [`leaf`] holds the forms of single values, [`write`]
//! and [`read`] the dynamic messages, [`generated`] the generated ones, and [`well_known`] the
//! types that have forms of their own.

pub(crate) mod generated;
pub(crate) mod key;
pub(crate) mod leaf;
pub(crate) mod memory;
pub(crate) mod read;
pub(crate) mod trail;
pub(crate) mod well_known;
pub(crate) mod write;

#[cfg(test)]
mod tests;

/// Which of a field's two names is written. Readers take both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// lowerCamelCase, or as `json_name` in the .proto file says.
    Json,
    /// As written in the .proto file.
    Proto,
}

impl Names {
    pub(crate) fn pick<'a>(self, json: &'a str, proto: &'a str) -> &'a str {
        match self {
            Self::Json => json,
            Self::Proto => proto,
        }
    }
}
