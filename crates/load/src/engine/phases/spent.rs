//! Bytes and CPU time of the measured part, as a whole or slice by slice.

use rpcgauge_wire::Traffic;

use crate::clock::{self, CpuReading};
use crate::engine::pool::Pool;

/// A reading of monotonic counters, or a sum of differences between readings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading {
    pub(crate) cpu: CpuReading,
    pub(crate) traffic: Traffic,
    pub(crate) connections_opened: u64,
    pub(crate) tls_resumed: u64,
}

/// The sum of the closed spans, and the readings at the beginning of the open one.
pub(crate) struct Spent<'r> {
    /// Called with true when a span begins, and with false when it ends.
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

    /// Opens a span.
    pub(super) fn begin_span(&mut self, pool: &Pool<'_>) {
        (self.measuring)(true);
        self.open = Some(Reading::now(pool));
    }

    /// Closes the open span, if there is one.
    pub(crate) fn end_span(&mut self, pool: &Pool<'_>) {
        if let Some(before) = self.open.take() {
            self.closed.add_span(&before, pool);
            (self.measuring)(false);
        }
    }

    pub(crate) fn sum(&self, pool: &Pool<'_>) -> Reading {
        let mut sum = self.closed;
        if let Some(before) = &self.open {
            sum.add_span(before, pool);
        }
        sum
    }
}

impl Reading {
    fn now(pool: &Pool<'_>) -> Reading {
        Reading {
            traffic: pool.traffic(),
            connections_opened: pool.counts.opened,
            tls_resumed: pool.counts.tls_resumed,
            cpu: clock::cpu(),
        }
    }
    /// Adds the difference between `before` and now.
    fn add_span(&mut self, before: &Reading, pool: &Pool<'_>) {
        let now = Reading::now(pool);
        self.cpu.add_span(&before.cpu, &now.cpu);
        self.traffic += now.traffic.since(&before.traffic);
        self.connections_opened += now.connections_opened - before.connections_opened;
        self.tls_resumed += now.tls_resumed - before.tls_resumed;
    }
}
