//! What the engines of a trial on several threads agree on: when calls begin, when the warm-up ends, when the
//! measured part begins, and whether the trial gives up. Nothing here is used for a measured call.
//!
//! ```text
//! connections open ──► begin ──► warm-up ──► over for all ──► each is ready ──► measured from
//!                     (meeting)                                                  (meeting)
//! ```
//!
//! At a [`Meeting`], the last engine to arrive sets a time that is far enough ahead for the others to notice it. A
//! member that ends early arrives everywhere, so that none waits for it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::phases::CommonMeter;
use crate::shard::Shard;

/// How often a member that waits at a meeting looks whether the time is set, ns.
const LOOK_NS: u64 = 1_000_000;

/// How far ahead the time of a meeting is, ns: all members look within this time.
const AHEAD_NS: u64 = 2 * LOOK_NS;

/// How long a member counts as having only failures after it last said so, ns. It says so in each turn of its loop.
const FRESH_NS: u64 = 500_000_000;

/// Shared by the engines of a trial.
pub(super) struct Team {
    /// The seed of the whole trial's arrivals.
    seed: u64,
    begin: Meeting,
    measured: Meeting,
    pub(super) meter: CommonMeter,
    /// How the warm-up ended: whether latency had settled.
    settled: OnceLock<bool>,
    failing: Vec<Failing>,
}

/// Whether the calls of a member fail. Times are in ns.
#[derive(Debug, Default)]
struct Failing {
    /// When it last had only failures for as long as the trial's patience.
    at: AtomicU64,
    /// When it ended; 0 before that.
    ended_at: AtomicU64,
}

impl Failing {
    /// Whether it has had no success within `patience` (ns) until `now`.
    fn is_for(&self, patience: u64, now: u64) -> bool {
        let ended_at = self.ended_at.load(Ordering::Relaxed);
        let fails = |at: u64| now.saturating_sub(at) <= FRESH_NS.min(patience);
        if ended_at == 0 {
            fails(self.at.load(Ordering::Relaxed))
        } else {
            now.saturating_sub(ended_at) >= patience
        }
    }
}

/// A time that all members wait for.
#[derive(Debug)]
struct Meeting {
    missing: AtomicUsize,
    /// 0 until the last member has arrived.
    at: AtomicU64,
    /// The latest time that the last member may set.
    latest: AtomicU64,
}

impl Team {
    pub(super) fn new(seed: u64, members: usize) -> Team {
        Team {
            seed,
            begin: Meeting::new(members),
            measured: Meeting::new(members),
            meter: Arc::default(),
            settled: OnceLock::new(),
            failing: (0..members).map(|_| Failing::default()).collect(),
        }
    }

    /// Ends the warm-up for all members, unless it has ended.
    pub(super) fn end_warmup(&self, settled: bool) {
        self.settled.get_or_init(|| settled);
    }
}

impl Meeting {
    fn new(members: usize) -> Meeting {
        Meeting {
            missing: AtomicUsize::new(members),
            at: AtomicU64::new(0),
            latest: AtomicU64::new(u64::MAX),
        }
    }

    /// Arrives. The time is `at` of the last member, or of one whose `at` is before its `soonest`.
    fn arrive(&self, at: u64, soonest: u64) {
        if at < soonest {
            self.latest.fetch_min(at, Ordering::AcqRel);
        }
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            let latest = self.latest.load(Ordering::Acquire);
            self.at.store(at.min(latest).max(1), Ordering::Release);
        }
    }

    fn at(&self) -> Option<u64> {
        Some(self.at.load(Ordering::Acquire)).filter(|at| *at > 0)
    }
}

/// An engine's place in a team.
pub(super) struct Member<'t> {
    team: &'t Team,
    shard: Shard,
    /// Whether it has arrived at the meeting before the first call, and at the one before the measured part.
    has_opened: bool,
    is_ready: bool,
}

impl<'t> Member<'t> {
    pub(super) fn new(team: &'t Team, shard: Shard) -> Member<'t> {
        Member {
            team,
            shard,
            has_opened: false,
            is_ready: false,
        }
    }

    pub(super) fn shard(&self) -> Shard {
        self.shard
    }

    pub(super) fn seed(&self) -> u64 {
        self.team.seed
    }

    pub(super) fn meter(&self) -> CommonMeter {
        Arc::clone(&self.team.meter)
    }

    /// Notes that the connections are open. Returns when calls begin, once that time has come.
    pub(super) fn begin(&mut self, now: u64) -> Option<u64> {
        if !std::mem::replace(&mut self.has_opened, true) {
            self.team.begin.arrive(now + AHEAD_NS, now + AHEAD_NS);
        }
        self.team.begin.at().filter(|at| *at <= now)
    }

    /// Notes that the warm-up is over for this member if `settled` is set. Returns how it ended if it is over for all.
    pub(super) fn warmup_ended(&self, settled: Option<bool>) -> Option<bool> {
        if let Some(settled) = settled {
            self.team.end_warmup(settled);
        }
        self.team.settled.get().copied()
    }

    /// Notes that measuring may begin, at the first arrival of this member from a time on: `first_from` returns it.
    /// Returns when it begins, once that time has come.
    pub(super) fn ready(&mut self, now: u64, first_from: impl FnOnce(u64) -> u64) -> Option<u64> {
        if !std::mem::replace(&mut self.is_ready, true) {
            let soonest = now + AHEAD_NS;
            self.team.measured.arrive(first_from(soonest), soonest);
        }
        self.team.measured.at().filter(|at| *at <= now)
    }

    /// When the measured part begins, once that is known, ns.
    pub(super) fn measured_from(&self) -> Option<u64> {
        self.team.measured.at()
    }

    /// When to look again at a meeting where this member has arrived, ns; `None` if it waits at none.
    pub(super) fn looks_at(&self, now: u64) -> Option<u64> {
        let (begin, measured) = (&self.team.begin, &self.team.measured);
        let meeting = match (self.has_opened, self.is_ready) {
            (_, true) => measured,
            (true, false) if begin.at().is_none_or(|at| at > now) => begin,
            (_, false) => return None,
        };
        Some(meeting.at().unwrap_or(now + LOOK_NS))
    }

    /// Notes that this member has had only failures for as long as `patience` (ns). Returns whether that is so for
    /// all members.
    pub(super) fn gives_up(&self, patience: u64, now: u64) -> bool {
        let failing = &self.team.failing;
        failing[self.shard.index()].at.store(now, Ordering::Relaxed);
        failing.iter().all(|one| one.is_for(patience, now))
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let now = crate::clock::now();
        self.begin(now);
        self.ready(now, |at| at);
        let failing = &self.team.failing[self.shard.index()];
        failing.ended_at.store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(team: &Team) -> [Member<'_>; 2] {
        let mut shards = Shard::all(2);
        [(); 2].map(|()| Member::new(team, shards.next().unwrap()))
    }

    #[test]
    fn the_last_one_to_arrive_sets_a_time_for_all() {
        let team = Team::new(0, 2);
        let [mut first, mut second] = members(&team);
        assert_eq!(first.begin(100), None);
        assert_eq!(first.looks_at(100), Some(100 + LOOK_NS));
        assert_eq!(second.begin(300), None);
        let begin = 300 + AHEAD_NS;
        assert_eq!(
            (first.looks_at(400), second.looks_at(400)),
            (Some(begin), Some(begin))
        );
        assert_eq!(
            (first.begin(begin), second.begin(begin + 5)),
            (Some(begin), Some(begin))
        );
        assert_eq!(first.looks_at(begin), None, "calls are made");
    }

    #[test]
    fn the_measured_part_begins_no_later_than_a_call_that_waits_for_it() {
        let team = Team::new(0, 2);
        let [mut first, mut second] = members(&team);
        assert_eq!(first.ready(100, |_| 250), None);
        assert_eq!(second.ready(300, |at| at + 7), Some(250));
        assert_eq!(first.measured_from(), Some(250));
    }

    #[test]
    fn one_that_ends_early_keeps_none_waiting() {
        let team = Team::new(0, 2);
        let [first, mut second] = members(&team);
        assert_eq!(second.begin(1), None);
        drop(first);
        assert!(second.looks_at(1).is_some_and(|at| at > 1 + LOOK_NS));
        second.ready(1, |at| at);
        assert!(second.measured_from().is_some());
    }

    #[test]
    fn the_warm_up_ends_for_all_and_once() {
        let team = Team::new(0, 2);
        let [first, second] = members(&team);
        assert_eq!(first.warmup_ended(None), None);
        assert_eq!(first.warmup_ended(Some(false)), Some(false));
        assert_eq!(second.warmup_ended(Some(true)), Some(false));
    }

    #[test]
    fn a_team_gives_up_when_all_its_members_have_only_failures() {
        let team = Team::new(0, 2);
        let [first, second] = members(&team);
        let (patience, now) = (10 * FRESH_NS, 100 * FRESH_NS);
        assert!(!first.gives_up(patience, now));
        assert!(
            !second.gives_up(patience, now + FRESH_NS + 1),
            "the first has succeeded since"
        );
        assert!(first.gives_up(patience, now + FRESH_NS + 2));
        drop(second);
        let now = crate::clock::now();
        assert!(!first.gives_up(patience, now), "the second has just ended");
        assert!(first.gives_up(patience, now + patience));
    }
}
