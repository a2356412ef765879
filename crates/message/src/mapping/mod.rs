//! How messages of dynamic code look in JSON, MessagePack and CBOR. `docs/encodings.md` is the
//! description for readers.
//!
//! JSON is the protobuf library's own: it writes it, and it reads all three ([`read`]) through a
//! [`guard`] that keeps to the limits and knows the path to an error. MessagePack and CBOR are
//! written here ([`write`]), in the same mapping with native forms: the library would write 64-bit
//! integers and bytes as text.

pub(crate) mod guard;
pub(crate) mod integers;
pub(crate) mod read;
mod watch;
pub(crate) mod well_known;
pub(crate) mod write;

#[cfg(test)]
mod tests;
