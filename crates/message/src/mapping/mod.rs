//! The mapping of dynamic messages to JSON, MessagePack and CBOR. `docs/encodings.md` describes it for users.
//!
//! The protobuf library reads all three formats ([`read`]) through a [`guard`], which enforces the limits and tracks
//! the path for errors. The formats are written here ([`write`]) with native types, because the library writes only
//! the proto3 JSON mapping (`protojson`), in which 64-bit integers and bytes are strings.

pub(crate) mod guard;
pub(crate) mod integers;
pub(crate) mod read;
mod watch;
pub(crate) mod well_known;
pub(crate) mod write;

#[cfg(test)]
mod tests;
