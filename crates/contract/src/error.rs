//! What is wrong with a line of the contract.

use super::{MAX_LINE_BYTES, VERSION};

/// Why a line of the contract could not be taken. Each says first which line it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// The stream ended before a line was there.
    #[error("no {0} line came before the end of the stream")]
    Missing(&'static str),
    /// The line is longer than [`MAX_LINE_BYTES`].
    #[error("the {0} line is longer than {MAX_LINE_BYTES} bytes")]
    TooLong(&'static str),
    /// The line is not a JSON object: what the parser says, with the column.
    #[error("the {0} line is not a JSON object: {1}")]
    NotJson(&'static str, String),
    /// The line is of another version, or says none: the text there.
    #[error(
        "the {0} line is of contract version {1}, but this side speaks version {VERSION}: use \
         builds of the same contract version"
    )]
    Version(&'static str, String),
    /// The settings ask for a role that is not in the contract.
    #[error(
        "unknown role {0}: the roles of contract version {VERSION} are server, client, codec, floor, servers and clients"
    )]
    Role(String),
    /// A key is missing, unknown or of the wrong type or value: which key and what is wrong with it.
    #[error("the {0} line does not fit the contract: {1}")]
    Shape(&'static str, String),
    /// A ready line does not have a part for each of the settings.
    #[error("the number of parts in the ready line is {said}, not {asked}")]
    Parts {
        /// How many settings it was given.
        asked: usize,
        /// How many it says something of.
        said: usize,
    },
    /// The line could not be read or written: what the system says.
    #[error("cannot read or write the {0} line: {1}")]
    Stream(&'static str, String),
}
