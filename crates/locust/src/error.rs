//! Errors of the connection to a master.

use crate::message::FORMAT;

/// An error of the connection to a master, on one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocustError {
    /// A master's address is not `HOST:PORT`.
    #[error("\"{0}\" is not HOST:PORT, as in locust.example:5557")]
    Master(String),
    /// A worker's name cannot be sent.
    #[error("\"{0}\" is not a valid name of a worker; use 1 to 255 bytes")]
    Name(String),
    /// No connection could be opened.
    #[error(
        "cannot connect to the Locust master at {0}: {1}; check that it runs with --master, and the port"
    )]
    Connect(String, String),
    /// Nothing at the address acts like a master.
    #[error(
        "{0} does not answer like a Locust master; check that Locust runs there with --master, the port, which is not \
         that of its web page, and that no other worker has the same name"
    )]
    NoAnswer(String),
    /// The master answered before, but not for this many seconds.
    #[error("the Locust master at {0} has not answered for {1} s")]
    Lost(String, u64),
    /// The package rpcgauge-locust of the master uses another version of the messages.
    #[error(
        "the master's rpcgauge-locust is of another version (format {0}, this rpcgauge uses {FORMAT}), so the run directory \
         will lack the calls of this worker; install the package and rpcgauge in the same version"
    )]
    Format(u64),
    /// A message of the master cannot be read.
    #[error(
        "the Locust master at {0} sent a message that rpcgauge cannot read; such messages are ignored, so the number of \
         users may be wrong (rpcgauge is tested with Locust 2.47)"
    )]
    Unreadable(String),
    /// The thread of the connection could not be started.
    #[error("the connection to the Locust master failed: {0}")]
    Thread(String),
}
