//! The server's log: standard error, as the subject contract has it.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

/// Connection errors that are written out. A client that opens a connection for every call and
/// breaks each off would otherwise be timed writing the log.
const MAX_CONNECTION_ERRORS: u32 = 100;

/// How many connection errors there were.
static CONNECTION_ERRORS: AtomicU32 = AtomicU32::new(0);

/// Writes that a connection ended badly; after [`MAX_CONNECTION_ERRORS`] that no more are written.
pub(crate) fn connection_error(error: &impl Display) {
    let before = CONNECTION_ERRORS.fetch_add(1, Ordering::Relaxed);
    match before {
        ..MAX_CONNECTION_ERRORS => eprintln!("connection ended: {error}"),
        MAX_CONNECTION_ERRORS => eprintln!("connection ended: {error}; no more of these follow"),
        _ => {}
    }
}
