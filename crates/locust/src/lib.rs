//! Joins a Locust master as a worker.
//!
//! A master decides how many users there are and shows what they do; its workers are the users. They exchange messages
//! over ZeroMQ, each a MessagePack array of a type, its data and the worker's name ([`message`]). A [`Worker`] runs the
//! connection on a thread of its own: it keeps the heartbeat, passes the master's [`Command`]s on, and sends [`Report`]s.
//!
//! The protocol is not documented. This follows Locust 2.47 (`locust/rpc`, `runners.py`, `stats.py`), and a test runs a
//! real master.

mod error;
mod message;
mod report;
mod session;
mod worker;

pub use error::LocustError;
pub use report::{Calls, Report};
pub use worker::{Command, Master, Worker};
