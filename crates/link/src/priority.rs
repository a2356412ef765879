//! The scheduling priority of a link's thread, and the cores that it runs on.

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::num::NonZeroU64;

/// Just above every thread without real-time priority. The thread yields to the kernel's own.
const REAL_TIME: libc::c_int = 1;

/// The priority of a link's thread. A lower one makes packets late on a busy machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Above all other programs.
    RealTime,
    /// The highest of other programs (nice -20).
    High,
    /// As any program.
    Normal,
}

/// Gives the calling thread the highest priority that it may have.
pub(crate) fn raise() -> Priority {
    // Without this the kernel rounds timeouts up by 50 µs.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let parameters = libc::sched_param {
        sched_priority: REAL_TIME,
    };
    // SAFETY: `parameters` outlives the call, and 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } == 0 {
        Priority::RealTime
    } else if prefer() {
        Priority::High
    } else {
        Priority::Normal
    }
}

/// Gives the calling thread priority over other programs, below every link's; returns whether that is allowed.
pub(crate) fn prefer() -> bool {
    setpriority_process(None, -20).is_ok()
}

/// Keeps the calling thread on these cores; on any if the set is empty.
pub(crate) fn pin(cores: &[usize]) {
    let mut set = CpuSet::new();
    let possible = cores.iter().filter(|&&core| core < CpuSet::MAX_CPU);
    possible.for_each(|&core| set.set(core));
    if set.count() > 0 {
        // A core that went away leaves the thread where it is: lateness shows what that costs.
        let _ = sched_setaffinity(None, &set);
    }
}
