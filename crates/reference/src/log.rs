//! The server's log: standard error, as the subject contract says.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

/// The maximum number of connection errors in the log. Otherwise the writing of the log could be timed, if a
/// client opens and aborts a connection for every call.
const MAX_CONNECTION_ERRORS: u32 = 100;

/// The number of connection errors so far.
static CONNECTION_ERRORS: AtomicU32 = AtomicU32::new(0);

/// Logs that a connection ended with an error, up to [`MAX_CONNECTION_ERRORS`] times; one more line says that no
/// further errors are logged.
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
