//! Joins a Locust master as a worker.
//!
//! A master decides how many users there are, and adds up what its workers report about the calls of their users. The
//! messages travel over ZeroMQ. Each is a MessagePack array of its type, its data and the worker's name. A [`Worker`]
//! sends the heartbeats and [`Report`]s, and receives the master's [`Command`]s. A master whose locustfile uses the Python
//! package in `python/rpcgauge-locust` also collects [`Figures`].
//!
//! The protocol is not documented. This follows Locust 2.47 (`locust/rpc`, `runners.py`, `stats.py`), and the tests of the
//! program run a real master.

mod error;
mod message;
mod report;
mod session;
mod worker;

pub use error::LocustError;
pub use report::{Calls, CollectedRun, Figures, Report};
pub use worker::{Command, Master, Worker};

/// Whether these bytes are a message of a master. For fuzzing.
pub fn is_of_master(bytes: &[u8]) -> bool {
    message::FromMaster::parse(bytes).is_some()
}
