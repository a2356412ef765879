//! Goes round the variants of a block, a slice each, in an order drawn anew for each round.

use std::sync::atomic::{AtomicBool, Ordering};

use rpcgauge_trial::Random;

use super::{Carried, Finished, Measurer};
use crate::error::TrialResult;

pub(crate) struct Rotation<'m> {
    members: Vec<Member<'m>>,
    random: Random,
}

pub(crate) struct Member<'m> {
    /// What measures it, or why it cannot be measured.
    measurer: TrialResult<Box<dyn Measurer + 'm>>,
    /// Whether the rotation goes on until it is measured. What only keeps others company, a floor, has
    /// a slice in every round.
    decides: bool,
    /// How much of it is measured, from 0 to 1, and how much of that its last slice was.
    done: f64,
    step: f64,
}

impl<'m> Member<'m> {
    /// A variant that is to be measured to its end.
    pub(crate) fn variant(measurer: TrialResult<impl Measurer + 'm>) -> Self {
        Self {
            measurer: measurer.map(|measurer| Box::new(measurer) as Box<dyn Measurer + 'm>),
            decides: true,
            done: 0.0,
            step: 0.0,
        }
    }

    /// What is measured for as long as the variants are.
    pub(crate) fn company(measurer: TrialResult<impl Measurer + 'm>) -> Self {
        Self {
            decides: false,
            ..Self::variant(measurer)
        }
    }

    fn is_measured(&self) -> bool {
        self.measurer.is_err() || self.done >= 1.0
    }

    /// Lets the measurer work. One that fails leaves.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut dyn Measurer) -> TrialResult<T>) -> Option<T> {
        match work(self.measurer.as_mut().ok()?.as_mut()) {
            Ok(value) => Some(value),
            Err(failure) => {
                self.measurer = Err(failure);
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
}

impl<'m> Rotation<'m> {
    /// An empty rotation whose orders follow from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            members: Vec::new(),
            random: Random::new(seed),
        }
    }

    /// Gets one more ready, and takes it in from the next round on.
    pub(crate) fn add(&mut self, mut member: Member<'m>, stop: &AtomicBool) {
        member.attempt(|measurer| measurer.get_ready(stop));
        self.members.push(member);
    }

    /// Whether some variant is not measured to its end.
    pub(crate) fn goes_on(&self) -> bool {
        let mut deciding = self.members.iter().filter(|member| member.decides);
        deciding.any(|member| !member.is_measured())
    }

    /// Measures a slice of each. A variant that is ahead of another by more than a slice sits the round
    /// out, so that all are measured over the same time.
    pub(crate) fn round(&mut self, stop: &AtomicBool) {
        let behind = self
            .members
            .iter()
            .filter(|member| member.decides && !member.is_measured())
            .map(|member| member.done)
            .fold(1.0, f64::min);
        let has_turn = |member: &Member<'_>| match member.decides {
            true => !member.is_measured() && member.done <= behind + member.step,
            false => member.measurer.is_ok(),
        };
        let mut order: Vec<usize> = (0..self.members.len())
            .filter(|index| has_turn(&self.members[*index]))
            .collect();
        self.random.shuffle(&mut order);
        for index in order {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            self.members[index].slice(stop);
        }
    }

    /// What the calls of each carried so far, in the order in which they were added.
    pub(crate) fn carried(&self) -> Vec<Option<Carried>> {
        let carried = |member: &Member<'_>| member.measurer.as_ref().ok()?.carried();
        self.members.iter().map(carried).collect()
    }

    /// What each came to, in the order in which they were added.
    pub(crate) fn finish(self) -> Vec<TrialResult<Finished>> {
        let finish = |member: Member<'m>| member.measurer?.finish();
        self.members.into_iter().map(finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use rpcgauge_study::record::Fault;

    use super::*;
    use crate::error::TrialFailure;

    /// A variant made of plain values: how much of it each slice is, and which one fails.
    struct Values<'l> {
        name: char,
        step: f64,
        slices: u32,
        fails_at: Option<u32>,
        log: &'l RefCell<String>,
    }

    impl Measurer for Values<'_> {
        fn get_ready(&mut self, _: &AtomicBool) -> TrialResult {
            match self.fails_at {
                Some(0) => Err(TrialFailure::new(Fault::Subject, "not ready")),
                _ => Ok(()),
            }
        }

        fn slice(&mut self, _: &AtomicBool) -> TrialResult<f64> {
            self.slices += 1;
            self.log.borrow_mut().push(self.name);
            match self.fails_at {
                Some(at) if self.slices == at => Err(TrialFailure::new(Fault::Subject, "died")),
                _ => Ok(self.step * f64::from(self.slices)),
            }
        }

        fn finish(self: Box<Self>) -> TrialResult<Finished> {
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
                fails_at: *fails_at,
                log: &log,
            };
            let member = match decides {
                true => Member::variant(Ok(values)),
                false => Member::company(Ok(values)),
            };
            rotation.add(member, &stop);
        }
        while rotation.goes_on() {
            rotation.round(&stop);
            log.borrow_mut().push(' ');
        }
        let ends = rotation.finish().into_iter();
        let ends = ends.map(|end| end.map_or_else(|failure| failure.reason, |_| "measured".into()));
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
        assert_eq!(orders.len(), 6, "every order comes");
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
        assert_eq!(ends, ["died", "values only", "not ready"]);
    }

    #[test]
    fn company_has_a_slice_in_every_round_and_decides_nothing() {
        let (log, _) = rotated(&[('a', 0.25, None, true), ('f', 9.0, None, false)]);
        assert_eq!((count(&log, 'a'), count(&log, 'f')), (4, 4));
        let (log, _) = rotated(&[('a', 0.25, None, true), ('f', 0.0, Some(2), false)]);
        assert_eq!((count(&log, 'a'), count(&log, 'f')), (4, 2));
    }
}
