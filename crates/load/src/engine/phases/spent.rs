//! What the trial spends while its calls count: in one piece, or slice by slice.

use std::ops::{AddAssign, Sub};

use rpcgauge_wire::Traffic;

use crate::clock::{self, CpuReading};
use crate::engine::pool::Pool;

/// A reading of what only ever grows, or the difference of two.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading {
    pub(crate) cpu: CpuReading,
    pub(crate) traffic: Traffic,
    pub(crate) connections_opened: u64,
    pub(crate) tls_resumed: u64,
}

/// What was spent in the spans that are closed, and where the open one began.
pub(crate) struct Spent<'r> {
    /// Called with true as a span begins, with false as it ends.
    measuring: Box<dyn FnMut(bool) + 'r>,
    closed: Reading,
    open: Option<Reading>,
}

impl<'r> Spent<'r> {
    pub(super) fn new(measuring: Box<dyn FnMut(bool) + 'r>) -> Spent<'r> {
        Spent {
            measuring,
            closed: Reading::default(),
            open: None,
        }
    }

    /// From here on, what is spent counts.
    pub(super) fn begin_span(&mut self, pool: &Pool<'_>) {
        (self.measuring)(true);
        self.open = Some(Reading::now(pool));
    }

    /// What is spent from here on does not count. Without an open span there is nothing to do.
    pub(crate) fn end_span(&mut self, pool: &Pool<'_>) {
        if let Some(before) = self.open.take() {
            self.closed += Reading::now(pool) - before;
            (self.measuring)(false);
        }
    }

    /// All that counted so far.
    pub(crate) fn sum(&self, pool: &Pool<'_>) -> Reading {
        let mut sum = self.closed;
        if let Some(before) = self.open {
            sum += Reading::now(pool) - before;
        }
        sum
    }
}

impl Reading {
    fn now(pool: &Pool<'_>) -> Reading {
        Reading {
            traffic: pool.traffic(),
            connections_opened: pool.counts().opened,
            tls_resumed: pool.counts().tls_resumed,
            cpu: clock::cpu(),
        }
    }
}

impl Sub for Reading {
    type Output = Reading;

    fn sub(self, earlier: Reading) -> Reading {
        Reading {
            cpu: self.cpu.since(&earlier.cpu),
            traffic: self.traffic.since(&earlier.traffic),
            connections_opened: self.connections_opened - earlier.connections_opened,
            tls_resumed: self.tls_resumed - earlier.tls_resumed,
        }
    }
}

impl AddAssign for Reading {
    fn add_assign(&mut self, more: Reading) {
        self.cpu += more.cpu;
        self.traffic += more.traffic;
        self.connections_opened += more.connections_opened;
        self.tls_resumed += more.tls_resumed;
    }
}
