//! Measures the variants of a block slice by slice, in a new random order in each round.

use std::sync::atomic::{AtomicBool, Ordering};

use rpcgauge_load::floor::Floor;
use rpcgauge_study::record::TrialFigures;
use rpcgauge_trial::Random;

use super::{Carried, Measurer};
use crate::error::TrialResult;

pub(crate) struct Rotation<'m> {
    variants: Vec<Member<'m, TrialFigures>>,
    /// The floors, which are measured for one slice in every round.
    floors: Vec<Member<'m, Floor>>,
    random: Random,
}

type Ends<T> = Vec<TrialResult<Box<T>>>;

struct Member<'m, T> {
    /// The measurer, or why the variant cannot be measured.
    measurer: TrialResult<Box<dyn Measurer<T> + 'm>>,
    /// The fraction measured so far, from 0 to 1, and how much the last slice added to it.
    done: f64,
    step: f64,
}

impl<'m, T> Member<'m, T> {
    /// Prepares a measurer.
    fn new(measurer: TrialResult<Box<dyn Measurer<T> + 'm>>, stop: &AtomicBool) -> Self {
        let mut member = Self {
            measurer,
            done: 0.0,
            step: 0.0,
        };
        member.attempt(|measurer| measurer.prepare(stop));
        member
    }

    fn is_measured(&self) -> bool {
        self.measurer.is_err() || self.done >= 1.0
    }

    /// Runs `work` on the measurer. If it fails, the failure replaces the measurer.
    fn attempt<R>(
        &mut self,
        work: impl FnOnce(&mut dyn Measurer<T>) -> TrialResult<R>,
    ) -> Option<R> {
        let measurer = self.measurer.as_mut().ok()?;
        match work(measurer.as_mut()) {
            Ok(value) => Some(value),
            Err(failure) => {
                self.measurer = Err(failure.after(measurer.requests_sent()));
                None
            }
        }
    }

    fn slice(&mut self, stop: &AtomicBool) {
        if let Some(done) = self.attempt(|measurer| measurer.slice(stop)) {
            self.step = done - self.done;
            self.done = done;
        }
    }

    fn finish(self) -> TrialResult<Box<T>> {
        let measurer = self.measurer?;
        let sent = measurer.requests_sent();
        measurer.finish().map_err(|failure| failure.after(sent))
    }
}

impl<'m> Rotation<'m> {
    /// An empty rotation. `seed` determines the order in each round.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            variants: Vec::new(),
            floors: Vec::new(),
            random: Random::new(seed),
        }
    }

    /// Prepares a variant and includes it from the next round on.
    pub(crate) fn add(
        &mut self,
        variant: TrialResult<Box<dyn Measurer<TrialFigures> + 'm>>,
        stop: &AtomicBool,
    ) {
        self.variants.push(Member::new(variant, stop));
    }

    /// Like [`Rotation::add`], for a floor.
    pub(crate) fn add_floor(
        &mut self,
        floor: TrialResult<Box<dyn Measurer<Floor> + 'm>>,
        stop: &AtomicBool,
    ) {
        self.floors.push(Member::new(floor, stop));
    }

    /// Warms up the variants in alternation, until all have settled or reached their limits. No variant is measured
    /// while another one is still drifting.
    pub(crate) fn warm_up(&mut self, stop: &AtomicBool) {
        let mut is_over = false;
        while !is_over && !stop.load(Ordering::Relaxed) {
            is_over = true;
            for variant in &mut self.variants {
                let over = variant.attempt(|measurer| measurer.warm_up_slice(stop));
                is_over &= over.unwrap_or(true);
            }
        }
    }

    /// Whether any variant is not fully measured yet.
    pub(crate) fn goes_on(&self) -> bool {
        !self.variants.iter().all(Member::is_measured)
    }

    /// Measures one slice of each variant and floor. A variant that is more than one slice ahead of another skips the
    /// round, so that all variants are measured over the same period.
    pub(crate) fn round(&mut self, stop: &AtomicBool) {
        let unmeasured = self.variants.iter().filter(|one| !one.is_measured());
        let behind = unmeasured.map(|one| one.done).fold(1.0, f64::min);
        let count = self.variants.len();
        let has_turn = |place: &usize| match self.variants.get(*place) {
            Some(variant) => !variant.is_measured() && variant.done <= behind + variant.step,
            None => self.floors[place - count].measurer.is_ok(),
        };
        let mut order: Vec<usize> = (0..count + self.floors.len()).filter(has_turn).collect();
        self.random.shuffle(&mut order);
        for place in order {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            match self.variants.get_mut(place) {
                Some(variant) => variant.slice(stop),
                None => self.floors[place - count].slice(stop),
            }
        }
    }

    /// What the calls of each variant have carried so far, in the order in which the variants were added.
    pub(crate) fn carried(&self) -> Vec<Option<Carried>> {
        let carried = |member: &Member<'_, _>| member.measurer.as_ref().ok()?.carried();
        self.variants.iter().map(carried).collect()
    }

    /// The results of the variants and of the floors, each in the order in which they were added.
    pub(crate) fn finish(self) -> (Ends<TrialFigures>, Ends<Floor>) {
        let variants = self.variants.into_iter().map(Member::finish);
        let floors = self.floors.into_iter().map(Member::finish);
        (variants.collect(), floors.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use rpcgauge_study::record::Fault;

    use super::*;
    use crate::error::TrialFailure;

    /// A measurer of plain values: the fraction that each slice adds, and the slice that fails.
    struct Values<'l> {
        name: char,
        step: f64,
        slices: u32,
        /// The number of slices that its warm-up still needs.
        warm_up: u32,
        fails_at: Option<u32>,
        log: &'l RefCell<String>,
    }

    impl<T> Measurer<T> for Values<'_> {
        fn prepare(&mut self, _: &AtomicBool) -> TrialResult {
            match self.fails_at {
                Some(0) => Err(TrialFailure::new(Fault::Subject, "not ready")),
                _ => Ok(()),
            }
        }

        fn warm_up_slice(&mut self, _: &AtomicBool) -> TrialResult<bool> {
            self.log.borrow_mut().push(self.name.to_ascii_uppercase());
            self.warm_up = self.warm_up.saturating_sub(1);
            Ok(self.warm_up == 0)
        }

        fn slice(&mut self, _: &AtomicBool) -> TrialResult<f64> {
            self.slices += 1;
            self.log.borrow_mut().push(self.name);
            match self.fails_at {
                Some(at) if self.slices == at => Err(TrialFailure::new(Fault::Subject, "died")),
                _ => Ok(self.step * f64::from(self.slices)),
            }
        }

        fn requests_sent(&self) -> Option<u64> {
            Some(self.slices.into())
        }

        fn finish(self: Box<Self>) -> TrialResult<Box<T>> {
            Err(TrialFailure::new(Fault::Instrument, "values only"))
        }
    }

    fn rotated(members: &[(char, f64, Option<u32>, bool)]) -> (String, Vec<String>) {
        let log = RefCell::new(String::new());
        let stop = AtomicBool::new(false);
        let mut rotation = Rotation::new(3);
        for (name, step, fails_at, decides) in members {
            let values = Values {
                name: *name,
                step: *step,
                slices: 0,
                warm_up: 0,
                fails_at: *fails_at,
                log: &log,
            };
            if *decides {
                rotation.add(Ok(Box::new(values)), &stop)
            } else {
                rotation.add_floor(Ok(Box::new(values)), &stop)
            }
        }
        while rotation.goes_on() {
            rotation.round(&stop);
            log.borrow_mut().push(' ');
        }
        let ends = rotation.finish().0.into_iter();
        let failed = |failure: TrialFailure| {
            let sent = failure.requests_sent.expect("it is known");
            format!("{} after {sent}", failure.reason)
        };
        let ends = ends.map(|end| end.map_or_else(failed, |_| "measured".into()));
        let ends = ends.collect();
        (log.into_inner(), ends)
    }

    fn count(text: &str, name: char) -> usize {
        text.chars().filter(|c| *c == name).count()
    }

    #[test]
    fn each_has_a_slice_in_each_round_in_changing_order() {
        let (log, _) = rotated(&[
            ('a', 0.05, None, true),
            ('b', 0.05, None, true),
            ('c', 0.05, None, true),
        ]);
        let rounds: Vec<&str> = log.split_whitespace().collect();
        assert_eq!(rounds.len(), 20);
        for round in &rounds {
            assert!("abc".chars().all(|name| count(round, name) == 1), "{round}");
        }
        let orders: std::collections::BTreeSet<&&str> = rounds.iter().collect();
        assert_eq!(orders.len(), 6, "every order occurs");
    }

    #[test]
    fn one_that_is_sooner_done_waits_so_that_all_end_together() {
        let (log, _) = rotated(&[('a', 0.25, None, true), ('b', 0.02, None, true)]);
        assert_eq!((count(&log, 'a'), count(&log, 'b')), (4, 50));
        let last_a = log.rfind('a').unwrap();
        assert!(last_a > log.len() / 2, "{log}");
    }

    #[test]
    fn one_that_fails_leaves_and_the_others_go_on() {
        let (log, ends) = rotated(&[
            ('a', 0.1, Some(3), true),
            ('b', 0.1, None, true),
            ('c', 0.1, Some(0), true),
        ]);
        assert_eq!(
            (count(&log, 'a'), count(&log, 'b'), count(&log, 'c')),
            (3, 10, 0)
        );
        let expected = ["died after 3", "values only after 10", "not ready after 0"];
        assert_eq!(ends, expected, "each with what it had sent");
    }

    #[test]
    fn those_that_warm_up_in_turn_do_so_until_the_last_has_settled() {
        let log = RefCell::new(String::new());
        let stop = AtomicBool::new(false);
        let mut rotation = Rotation::new(3);
        for (name, warm_up) in [('a', 1), ('b', 3)] {
            let values = Values {
                name,
                step: 1.0,
                slices: 0,
                warm_up,
                fails_at: None,
                log: &log,
            };
            rotation.add(Ok(Box::new(values)), &stop);
        }
        rotation.warm_up(&stop);
        assert_eq!(*log.borrow(), "ABABAB");
        stop.store(true, Ordering::Relaxed);
        rotation.warm_up(&stop);
        assert_eq!(*log.borrow(), "ABABAB", "a stop ends it");
    }

    #[test]
    fn company_has_a_slice_in_every_round_and_decides_nothing() {
        let (log, _) = rotated(&[('a', 0.25, None, true), ('f', 9.0, None, false)]);
        assert_eq!((count(&log, 'a'), count(&log, 'f')), (4, 4));
        let (log, _) = rotated(&[('a', 0.25, None, true), ('f', 0.0, Some(2), false)]);
        assert_eq!((count(&log, 'a'), count(&log, 'f')), (4, 2));
    }
}
