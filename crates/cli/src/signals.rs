//! Handles signals that would otherwise terminate the program.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::exit::{Failure, INTERRUPTED};

/// A flag that Ctrl-C sets. A second Ctrl-C exits the program immediately.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in ending() {
        // The order matters: only the second signal must find the flag set.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(INTERRUPTED),
            Arc::clone(&stop),
        )
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
        .map_err(|error| Failure::cannot(format!("cannot listen for Ctrl-C: {error}")))?;
    }
    Ok(stop)
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail like a write to a full disk, instead
/// of terminating the program with SIGXFSZ. The signal is handled rather than ignored, because
/// child processes would inherit an ignored signal.
pub(crate) fn let_large_writes_fail() {
    // If this fails, SIGXFSZ keeps its default action and terminates the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// The signals that end the program. SIGHUP is left out if it was ignored at startup, so that
/// `nohup` keeps the program running when its terminal is closed.
pub(crate) fn ending() -> Vec<i32> {
    // If the status cannot be read, assume that no signal is ignored.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut signals = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP, &status) {
        signals.push(SIGHUP);
    }
    signals
}

/// Whether a process with this `status` file (proc(5)) ignores a signal. `SigIgn` has one bit per
/// signal.
fn is_ignored(signal: i32, status: &str) -> bool {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_has_its_bit() {
        let status = "Name:\ta\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(SIGHUP, status));
        assert!(!is_ignored(SIGINT, status) && !is_ignored(SIGTERM, status));
        assert!(!is_ignored(SIGHUP, "Name:\ta\n"));
    }
}
