//! The host's monotonic clock, used for handler marks, and the process's CPU time.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, ns. All processes on a host share this clock, so a client on the same host can subtract
/// its own timestamps from the marks.
pub(crate) fn monotonic_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// The CPU time of this process so far, ns.
pub(crate) fn process_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> u64 {
    const NS_PER_SECOND: u64 = 1_000_000_000;
    let now = clock_gettime(clock);
    // Both clocks start at zero, so neither part is negative.
    now.tv_sec.unsigned_abs() * NS_PER_SECOND + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::monotonic_ns;

    #[test]
    fn the_clock_never_goes_back() {
        let stamps: Vec<u64> = (0..1000).map(|_| monotonic_ns()).collect();
        assert!(stamps.is_sorted());
        assert!(stamps[0] > 0);
    }
}
