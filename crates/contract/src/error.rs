//! Errors in a line of the contract.

use super::{FIRST_VERSION, MAX_LINE_BYTES, VERSION};

/// Why a line of the contract was rejected. Each message starts with the kind of line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// The stream ended before the line arrived.
    #[error("no {0} line came before the end of the stream")]
    Missing(&'static str),
    /// The line is longer than [`MAX_LINE_BYTES`].
    #[error("the {0} line is longer than {MAX_LINE_BYTES} bytes")]
    TooLong(&'static str),
    /// The line is not a JSON object. Contains the parser's message, with the column.
    #[error("the {0} line is not a JSON object: {1}")]
    NotJson(&'static str, String),
    /// The line has another contract version or none. Contains the value found.
    #[error(
        "the {0} line has contract version {1}, but this side uses versions {FIRST_VERSION} and {VERSION}: use \
         builds of the same contract version"
    )]
    Version(&'static str, String),
    /// The settings name a role that is not in the contract.
    #[error("unknown role {0}: the roles are server, client, codec, floor, servers and clients")]
    Role(String),
    /// A key is missing, unknown, or has the wrong type or value. Contains the key and the problem.
    #[error("the {0} line does not fit the contract: {1}")]
    Shape(&'static str, String),
    /// The number of parts in a ready line differs from the number of parts in the settings.
    #[error("the number of parts in the ready line is {said}, not {asked}")]
    Parts {
        /// Parts in the settings.
        asked: usize,
        /// Parts in the ready line.
        said: usize,
    },
    /// The line could not be read or written. Contains the system's message.
    #[error("cannot read or write the {0} line: {1}")]
    Stream(&'static str, String),
}
