//! The mapping of dynamic messages to JSON, MessagePack and CBOR. `docs/encodings.md` describes it for users.
//!
//! The protobuf library writes JSON, and reads all three formats ([`read`]) through a [`guard`], which enforces
//! the limits and tracks the path for errors. MessagePack and CBOR are written here ([`write`]) with native
//! types in the same mapping, because the library would write 64-bit integers and bytes as strings.

pub(crate) mod guard;
pub(crate) mod integers;
pub(crate) mod read;
mod watch;
pub(crate) mod well_known;
pub(crate) mod write;

#[cfg(test)]
mod tests;
