//! Errors of a trial that could not be measured at all.

use std::io;

use rpcgauge_trial::{Fault, OutOfBounds};
use rpcgauge_wire::PrepareError;

use crate::bodies::CodecError;

/// Why there is no [`crate::Measurement`]. Failed calls do not make a trial fail.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A setting is invalid or not supported.
    #[error(transparent)]
    Setting(#[from] OutOfBounds),
    /// The request's head cannot be sent.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] PrepareError),
    /// A prepared body cannot be framed.
    #[error("the request body cannot be sent: {0}")]
    Body(#[from] rpcgauge_wire::grpc::MessageTooLong),
    /// The bodies or the checks of a thread's calls cannot be created.
    #[error("{0}")]
    Inputs(CodecError),
    /// The system refused a resource that the event loop needs.
    #[error("cannot {what}: {source}")]
    Machine {
        /// The action that failed, for example `set a timer`.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A verified response was wrong.
    #[error("the response to call {call} is wrong: {error}")]
    WrongResponse {
        /// The call's number, counted from 0 at the start of the warm-up. Calls that slices skip are numbered
        /// too.
        call: u64,
        /// How the response differs from the expected one.
        error: CodecError,
    },
    /// The counts of calls do not add up, which is a bug in this program.
    #[error("{0}: this is a bug in rpcgauge; please report it")]
    Accounting(String),
}

impl LoadError {
    /// An error stating that a setting must be `allowed`.
    pub(crate) fn setting(what: &'static str, allowed: &'static str) -> LoadError {
        LoadError::Setting(OutOfBounds { what, allowed })
    }

    /// Returns a function that adds `what` to a system error.
    pub(crate) fn machine(what: &'static str) -> impl FnOnce(io::Error) -> LoadError {
        move |source| LoadError::Machine { what, source }
    }

    /// Who can fix the error.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Setting(_) | Self::Request(_) | Self::Body(_) | Self::Inputs(_) => Fault::User,
            Self::Machine { .. } => Fault::Machine,
            Self::WrongResponse { .. } => Fault::Subject,
            Self::Accounting(_) => Fault::Instrument,
        }
    }
}
