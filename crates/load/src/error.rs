//! Why a trial could not be measured at all.

use std::io;

use rpcgauge_wire::PrepareError;

use crate::bodies::CodecError;
use crate::failure::Fault;

/// Why there is no [`crate::Measurement`]. Calls that fail do not make a trial fail.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A setting that cannot be carried out.
    #[error("{what} must be {allowed}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
    /// The target's name has no address.
    #[error(
        "the host name {host:?} cannot be resolved: check the name, and that this machine can look \
         names up ({source})"
    )]
    Resolve {
        /// The name.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// The request's head cannot be sent.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] PrepareError),
    /// A prepared body cannot be framed.
    #[error("the request body cannot be sent: {0}")]
    Body(#[from] rpcgauge_wire::grpc::MessageTooLong),
    /// The machine did not give what the event loop needs.
    #[error("cannot {what}: {source}")]
    Machine {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A verified response was wrong.
    #[error("the server's answer to call {call} is wrong: {error}")]
    WrongResponse {
        /// The call, counted from 0 at the start of the warm-up.
        call: u64,
        /// What is wrong.
        error: CodecError,
    },
    /// The sum over all calls does not hold: this program has lost count.
    #[error(
        "{started} calls were started, but {answered} answered, {failed} failed and {abandoned} \
         abandoned do not add up to that: this is a fault of rpcgauge, please report it"
    )]
    Accounting {
        /// Calls that were started.
        started: u64,
        /// Calls that succeeded.
        answered: u64,
        /// Calls that failed.
        failed: u64,
        /// Calls that were still open at the end.
        abandoned: u64,
    },
}

/// Who must act on a [`LoadError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    /// What the user asked for cannot be done.
    User,
    /// rpcgauge itself.
    Instrument,
    /// The server.
    Server,
    /// The machine.
    Machine,
}

impl LoadError {
    /// Makes an error of the machine from what the system said.
    pub(crate) fn machine(what: &'static str) -> impl FnOnce(io::Error) -> LoadError {
        move |source| LoadError::Machine { what, source }
    }

    /// Who must act.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Setting { .. } | Self::Resolve { .. } | Self::Request(_) | Self::Body(_) => {
                Blame::User
            }
            Self::Machine { .. } => Blame::Machine,
            Self::WrongResponse { .. } => Blame::Server,
            Self::Accounting { .. } => Blame::Instrument,
        }
    }
}

impl From<Fault> for Blame {
    fn from(fault: Fault) -> Blame {
        match fault {
            Fault::Client => Blame::Instrument,
            Fault::Server => Blame::Server,
            Fault::Machine => Blame::Machine,
        }
    }
}
