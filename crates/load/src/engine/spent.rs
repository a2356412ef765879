//! What the trial spends while its calls count: in one piece, or slice by slice.

use std::ops::{AddAssign, Sub};

use rpcgauge_wire::Traffic;

use super::Engine;
use crate::clock;
use crate::measurement::Cpu;

/// A reading of what only ever grows, or the difference of two.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    pub(super) cpu: Cpu,
    pub(super) traffic: Traffic,
    pub(super) connections_opened: u64,
    pub(super) tls_resumed: u64,
}

/// What was spent in the spans that are closed, and where the open one began.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    closed: Reading,
    open: Option<Reading>,
}

impl Engine<'_, '_, '_> {
    /// From here on, what is spent counts.
    pub(super) fn begin_span(&mut self) {
        (self.hooks.measuring)(true);
        self.spent.open = Some(self.reading());
    }

    /// What is spent from here on does not count. Without an open span there is nothing to do.
    pub(super) fn end_span(&mut self) {
        if let Some(before) = self.spent.open.take() {
            self.spent.closed += self.reading() - before;
            (self.hooks.measuring)(false);
        }
    }

    /// All that counted so far.
    pub(super) fn spent(&self) -> Reading {
        let mut sum = self.spent.closed;
        if let Some(before) = self.spent.open {
            sum += self.reading() - before;
        }
        sum
    }

    fn reading(&self) -> Reading {
        Reading {
            traffic: self.traffic(),
            connections_opened: self.connections_opened,
            tls_resumed: self.tls_resumed,
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
