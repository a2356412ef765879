//! The clocks: monotonic time for calls, and CPU time of the measuring thread.

use std::mem::MaybeUninit;
use std::time::Duration;

use rpcgauge_trial::Cpu;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// CPU time of a thread so far, or a sum of differences between readings, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuReading {
    pub(crate) total_ns: u64,
    user_ns: u64,
    system_ns: u64,
}

/// CLOCK_MONOTONIC, ns. A server on the same host takes its marks from this clock.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CLOCK_BOOTTIME, ns. Like [`now`], but it also advances while the machine is suspended.
pub(crate) fn boot() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// Converts a duration to ns. Saturates after 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time of this thread so far.
pub(crate) fn cpu() -> CpuReading {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for a whole `rusage`, which the call fills in. If the call fails, it stays
    // all zeros, which is a valid `rusage`.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanos = |time: libc::timeval| time.tv_sec as u64 * SECOND + time.tv_usec as u64 * 1000;
    CpuReading {
        total_ns: read(libc::CLOCK_THREAD_CPUTIME_ID),
        user_ns: nanos(usage.ru_utime),
        system_ns: nanos(usage.ru_stime),
    }
}

impl CpuReading {
    /// Adds the time between two readings of the same thread, `before` and `now`.
    pub(crate) fn add_span(&mut self, before: &CpuReading, now: &CpuReading) {
        self.total_ns += now.total_ns.saturating_sub(before.total_ns);
        self.user_ns += now.user_ns.saturating_sub(before.user_ns);
        self.system_ns += now.system_ns.saturating_sub(before.system_ns);
    }

    pub(crate) fn time(&self) -> Cpu {
        Cpu {
            total_ns: self.total_ns,
            user_ns: Some(self.user_ns),
            system_ns: Some(self.system_ns),
        }
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for a `timespec` that outlives the call. Every Linux kernel supports the
    // clocks used here, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_beyond_the_clock_are_bounded() {
        assert_eq!(nanos(Duration::MAX), u64::MAX);
        assert_eq!(nanos(Duration::from_micros(3)), 3000);
    }
}
