//! The server's log. It goes to standard error, as the subject contract requires.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

/// Maximum number of logged connection errors. Without it, a client that opens and aborts a connection for
/// every call would make log writes part of the measurement.
const MAX_CONNECTION_ERRORS: u32 = 100;

/// Number of connection errors so far.
static CONNECTION_ERRORS: AtomicU32 = AtomicU32::new(0);

/// Logs that a connection ended with an error. The entry after the first [`MAX_CONNECTION_ERRORS`] also notes
/// that further errors are not logged.
pub(crate) fn connection_error(error: &impl Display) {
    let before = CONNECTION_ERRORS.fetch_add(1, Ordering::Relaxed);
    match before {
        ..MAX_CONNECTION_ERRORS => eprintln!("connection ended: {error}"),
        MAX_CONNECTION_ERRORS => {
            eprintln!("connection ended: {error}; further connection errors are not logged")
        }
        _ => {}
    }
}
