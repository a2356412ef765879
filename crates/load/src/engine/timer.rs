//! A timer that wakes the loop at a given nanosecond.
//!
//! An epoll timeout is in whole milliseconds and must be set again for every wait. A timerfd is exact and
//! stays armed across many waits.

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
    /// When the timer fires next, ns of CLOCK_MONOTONIC.
    armed: u64,
}

impl Timer {
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Timer { fd, armed: 0 })
    }

    /// Makes the loop wake up by `at`. An earlier time in the future is left unchanged, since waking too
    /// early costs less than moving the timer with every call.
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
