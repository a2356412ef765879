//! What is wrong with a line of the contract.

use super::{MAX_LINE_BYTES, VERSION};

/// Why a line of the contract could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// The stream ended before a line was there.
    #[error("no {0} line came before the end of the stream")]
    Missing(&'static str),
    /// The line is longer than [`MAX_LINE_BYTES`].
    #[error("the {0} line is longer than {MAX_LINE_BYTES} bytes")]
    TooLong(&'static str),
    /// The line is no JSON object.
    #[error("the {what} line is no JSON object: {detail}")]
    NotJson {
        /// Which line.
        what: &'static str,
        /// What the parser says, with the column.
        detail: String,
    },
    /// The line is of another version, or says none.
    #[error(
        "the {what} line is of contract version {found}, but this side speaks version {VERSION}: \
         use builds of the same contract version"
    )]
    Version {
        /// Which line.
        what: &'static str,
        /// The text there.
        found: String,
    },
    /// The settings ask for a role that is not in the contract.
    #[error(
        "unknown role {0}: the roles of contract version {VERSION} are server, client, codec and floor"
    )]
    Role(String),
    /// A key is missing, unknown or of the wrong type or value.
    #[error("the {what} line does not fit the contract: {detail}")]
    Shape {
        /// Which line.
        what: &'static str,
        /// Which key and what is wrong with it.
        detail: String,
    },
    /// The line could not be read or written.
    #[error("cannot read or write the {what} line: {detail}")]
    Stream {
        /// Which line.
        what: &'static str,
        /// What the system says.
        detail: String,
    },
}
