//! A timer that wakes the loop at a given nanosecond.
//!
//! A timeout of epoll is in whole milliseconds, and every wait sets it again. A timerfd is exact and stays
//! armed over many waits.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::clock::SECOND;

#[derive(Debug)]
pub(super) struct Timer {
    fd: OwnedFd,
    /// When it wakes next, ns of CLOCK_MONOTONIC.
    armed: u64,
}

impl Timer {
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Timer { fd, armed: 0 })
    }

    /// Makes the loop wake at `at` at the latest. An earlier time in the future is kept: waking too early
    /// costs less than moving the timer with every call.
    pub(super) fn wake_by(&mut self, at: u64, now: u64) -> io::Result<()> {
        if self.armed > now && self.armed <= at {
            return Ok(());
        }
        let at = at.max(1);
        let time = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: (at / SECOND) as i64,
                tv_nsec: (at % SECOND) as i64,
            },
        };
        timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &time)?;
        self.armed = at;
        Ok(())
    }
}
