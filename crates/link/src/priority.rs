//! The scheduling priority of a link's thread, and the cores on which it runs.

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::num::NonZeroU64;

/// Just above all threads without real-time priority, and below the kernel's own real-time threads.
const REAL_TIME: libc::c_int = 1;

/// The priority of a link's thread. With a lower one, packets are late on a busy machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Real-time priority, above all other programs.
    RealTime,
    /// The highest priority short of real time (nice -20).
    High,
    /// The default priority of any program.
    Normal,
}

/// Gives the calling thread the highest priority that the kernel permits.
pub(crate) fn raise() -> Priority {
    // By default, the kernel may delay timeouts by up to 50 µs.
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

/// Gives the calling thread priority over other programs, but below all links. Returns whether the kernel
/// permits this.
pub(crate) fn prefer() -> bool {
    setpriority_process(None, -20).is_ok()
}

/// Pins the calling thread to these cores. If the list is empty, any core may be used.
pub(crate) fn pin(cores: &[usize]) {
    let mut set = CpuSet::new();
    let possible = cores.iter().filter(|&&core| core < CpuSet::MAX_CPU);
    possible.for_each(|&core| set.set(core));
    if set.count() > 0 {
        // If a core has gone offline, the thread stays where it is. Its lateness shows the effect.
        let _ = sched_setaffinity(None, &set);
    }
}
