//! The signals that end the program.

use std::fs;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What asks the program to end. A hang-up does not where it was ignored from the start: `nohup` was
/// to keep the program running when its terminal is closed.
pub(crate) fn ending() -> Vec<i32> {
    // Where the system does not tell, nothing was ignored.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut signals = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP, &status) {
        signals.push(SIGHUP);
    }
    signals
}

/// Whether a process with this `status` (proc(5)) ignores a signal: `SigIgn` has a bit for each.
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
