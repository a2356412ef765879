//! Measures a variant or a floor over an emulated link, in the network namespace of the link's client end.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rpcgauge_link::{Network, Snapshot};
use rpcgauge_trial::{LinkCounts, Random};

use super::{Carried, Measurer};
use crate::error::TrialResult;

/// A link, and its counters when measuring began.
pub(crate) struct LinkMeter {
    network: Rc<Network>,
    before: OnceCell<Snapshot>,
    /// When counting began in the current slice, and the total counting time of earlier slices.
    since: Cell<Instant>,
    counted_for: Cell<Duration>,
}

impl LinkMeter {
    pub(crate) fn new(network: Rc<Network>) -> Rc<Self> {
        Rc::new(Self {
            network,
            before: OnceCell::new(),
            since: Cell::new(Instant::now()),
            counted_for: Cell::default(),
        })
    }

    /// Starts counting, unless it has already started. If the link has failed, [`Self::counted`] fails.
    pub(crate) fn begin(&self) {
        if self.before.get().is_none()
            && let Ok(now) = self.network.counts()
        {
            let _ = self.before.set(now);
            self.since.set(Instant::now());
        }
    }

    fn slice_ended(&self) {
        if self.before.get().is_some() {
            let all = self.counted_for.get() + self.since.get().elapsed();
            self.counted_for.set(all);
        }
    }

    /// What the link did since measuring began; `None` if it never began.
    fn counted(&self) -> TrialResult<Option<LinkCounts>> {
        let now = self.network.counts()?;
        Ok(self.before.get().map(|before| LinkCounts {
            over_ns: self.counted_for.get().as_nanos() as u64,
            ..now.since(before)
        }))
    }
}

/// Runs another measurer whose sockets belong to the link's client end.
pub(crate) struct OverLink<'m, T> {
    link: Rc<LinkMeter>,
    /// Seeds of the jitter: one for each slice, the same for all variants that alternate. Packets sent at the
    /// same times are delayed equally, which cancels in the variants' ratio. Losses are not shared: a lost
    /// packet changes the packets after it, so shared losses would cancel only in the A/A pair, which would
    /// hide them.
    seeds: Random,
    within: Box<dyn Measurer<T> + 'm>,
    /// Adds what the link did to the result.
    note: fn(&mut T, LinkCounts),
}

impl<'m, T> OverLink<'m, T> {
    pub(crate) fn new(
        link: Rc<LinkMeter>,
        seed: u64,
        within: Box<dyn Measurer<T> + 'm>,
        note: fn(&mut T, LinkCounts),
    ) -> Self {
        Self {
            link,
            seeds: Random::new(seed),
            within,
            note,
        }
    }
}

impl<T> Measurer<T> for OverLink<'_, T> {
    fn prepare(&mut self, stop: &AtomicBool) -> TrialResult {
        let _entered = self.link.network.client().enter()?;
        self.within.prepare(stop)
    }

    fn warm_up_slice(&mut self, stop: &AtomicBool) -> TrialResult<bool> {
        let _entered = self.link.network.client().enter()?;
        self.within.warm_up_slice(stop)
    }

    fn slice(&mut self, stop: &AtomicBool) -> TrialResult<f64> {
        if !self.within.warms_up_in_slice() {
            self.link.begin();
        }
        self.link.network.restart_jitter(self.seeds.seed())?;
        let _entered = self.link.network.client().enter()?;
        self.link.since.set(Instant::now());
        let spent = self.within.slice(stop);
        self.link.slice_ended();
        spent
    }

    fn requests_sent(&self) -> Option<u64> {
        self.within.requests_sent()
    }

    fn carried(&self) -> Option<Carried> {
        self.within.carried()
    }

    fn finish(self: Box<Self>) -> TrialResult<Box<T>> {
        let Self {
            link, within, note, ..
        } = *self;
        let _entered = link.network.client().enter()?;
        let mut measured = within.finish()?;
        if let Some(counts) = link.counted()? {
            note(&mut measured, counts);
        }
        Ok(measured)
    }
}
