//! Why a server's reflection makes no schema.

use crate::nearest::Nearest;

/// A server from which no schema can be had: a sentence whose subject is the server. One line each;
/// the server's own words are escaped and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReflectionError {
    /// The server has other services.
    #[error("has no service \"{service}\"{nearest}")]
    NoService {
        /// The service that was asked for.
        service: String,
        /// What was probably meant.
        nearest: Nearest,
    },
    /// The server lists the service, and says that it does not know it.
    #[error("lists \"{service}\", but sends no descriptor of it{said}")]
    ListedOnly {
        /// The service that was asked for.
        service: String,
        /// The server's words in brackets, if it has any.
        said: String,
    },
    /// An error in place of a descriptor.
    #[error("refuses server reflection: status {code}{said}")]
    Refused {
        /// A gRPC status code.
        code: u32,
        /// The server's words in brackets, if it has any.
        said: String,
    },
    /// The server lacks a file that another one imports.
    #[error("sends no descriptor of the file \"{import}\", which \"{importer}\" imports")]
    NoFile {
        /// The file.
        import: String,
        /// The file that imports it.
        importer: String,
    },
    /// A response to another request.
    #[error("sends a reflection response that was not asked for")]
    Unexpected,
    /// A response that cannot be used.
    #[error("sends a damaged reflection response: {0}")]
    Damaged(String),
}
