//! Detects whether a busy core is stopped periodically, as a CPU quota does.
//!
//! A quota on processor time is renewed at fixed intervals, usually every 100 ms. A core that has used up its
//! quota stays stopped until the next renewal:
//!
//! ```text
//! |== runs ==|.stopped.|== runs ==|.stopped.|== runs ==|.stopped.|
//! 0                    100                  200                  300 ms
//! ```
//!
//! Stops caused by a quota therefore end at the same point of every period. Other programs and interrupts stop
//! a core at arbitrary points.

use std::collections::BTreeSet;
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_study::settings::Placement;
use serde::Serialize;

use crate::machine::placement::{CoreSet, Placements};
use crate::machine::process::thread_waited;

/// How long the cores are kept busy: ten periods.
const WATCH: Duration = Duration::from_secs(1);

/// The default period of control groups and hypervisors.
const PERIOD: Duration = Duration::from_millis(100);

/// The minimum length of a gap in the busy loop for it to count. Interrupts are shorter.
const GAP: Duration = Duration::from_micros(100);

/// Stops shorter than this are not attributed to a quota.
const MIN_STOP: Duration = Duration::from_millis(1);

/// Stops are periodic if their ends fall within this distance of each other in the period.
const PLACE: Duration = Duration::from_millis(2);

/// The minimum fraction of periods with a stop. Below 1 because the quota may not be used up in every period.
const MIN_PERIODS: f64 = 0.8;

/// What was observed while the cores were kept busy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct BusyCores {
    pub(super) watched_ms: u64,
    /// The stops of a quota; `None` if none were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stops: Option<Stops>,
}

/// Stops that recur at the same point of each period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Stops {
    pub(super) period_ms: u64,
    /// The median length of the stop in a period, ms.
    pub(super) stopped_ms: f64,
    pub(super) by: StoppedBy,
}

/// What stops a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoppedBy {
    /// The host, invisibly to this kernel.
    Host,
    /// This kernel, because it ran other threads or enforced a quota.
    Kernel,
}

impl fmt::Display for Stops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (period_ms, stopped_ms) = (self.period_ms, self.stopped_ms);
        let (who, why, what) = match self.by {
            StoppedBy::Host => (
                "the host",
                "a quota on this machine's processor time",
                "ask for a machine without one",
            ),
            StoppedBy::Kernel => (
                "the kernel",
                "a quota on this container's processor time, or a program that runs then",
                "lift the quota or stop the program",
            ),
        };
        write!(
            f,
            "{who} stops busy cores for {stopped_ms:.1} ms in every {period_ms} ms ({why}): high \
             percentiles show that, not the stack; {what}, or measure at a rate that leaves the cores \
             idle for longer"
        )
    }
}

/// An interval in which the busy loop made no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    /// Its end, relative to the start of the watch.
    end: Duration,
    length: Duration,
    by: StoppedBy,
}

/// Keeps the cores that a trial would use busy, and looks for periodic stops.
pub(super) fn watch(placements: &Placements) -> Option<BusyCores> {
    let two = placements.layout(Placement::TwoCores);
    let layout = two
        .or_else(|_| placements.layout(Placement::OneCore))
        .ok()?;
    let mut sides = vec![&layout.client, &layout.server];
    sides.dedup();
    // Both cores must be busy at the same time, because one alone may not use up a quota.
    let found: Vec<Stops> = thread::scope(|scope| {
        let loops = sides
            .iter()
            .map(|cores| scope.spawn(|| stops(&busy(cores))));
        let loops: Vec<_> = loops.collect();
        let ended = loops.into_iter().map(|one| one.join().ok().flatten());
        ended.flatten().collect()
    });
    let longest = |a: &Stops, b: &Stops| a.stopped_ms.total_cmp(&b.stopped_ms);
    Some(BusyCores {
        watched_ms: WATCH.as_millis() as u64,
        stops: found.into_iter().max_by(longest),
    })
}

/// Keeps one core busy and returns the gaps in which it was stopped.
fn busy(core: &CoreSet) -> Vec<Gap> {
    // If the thread cannot be bound, any core will do.
    let _ = core.bind_this_thread();
    let waited = || thread_waited().unwrap_or_default();
    let mut gaps = Vec::new();
    let (began, mut waited_before) = (Instant::now(), waited());
    let mut add = |end: Instant, length, by| {
        let end = end.duration_since(began);
        gaps.extend((length >= GAP).then_some(Gap { end, length, by }));
    };
    let mut last = began;
    while last.duration_since(began) < WATCH {
        let now = Instant::now();
        let length = now.duration_since(last);
        last = now;
        if length >= GAP {
            let waited_now = waited();
            // After the host resumes the core, this thread may still have to wait for its turn.
            let queued = waited_now.saturating_sub(waited_before).min(length);
            add(now - queued, length - queued, StoppedBy::Host);
            add(now, queued, StoppedBy::Kernel);
            (waited_before, last) = (waited_now, Instant::now());
        }
    }
    gaps
}

/// The stops caused by a host quota if there is one, otherwise by a kernel quota.
fn stops(gaps: &[Gap]) -> Option<Stops> {
    [StoppedBy::Host, StoppedBy::Kernel]
        .into_iter()
        .find_map(|by| {
            let gaps: Vec<Gap> = gaps.iter().copied().filter(|gap| gap.by == by).collect();
            Some(Stops {
                period_ms: PERIOD.as_millis() as u64,
                stopped_ms: quota(&gaps)?.as_secs_f64() * 1_000.0,
                by,
            })
        })
}

/// The median stop at the point of the period where the most time was lost. `None` unless most periods have a
/// stop at that point, and those stops make up at least half of the lost time.
fn quota(gaps: &[Gap]) -> Option<Duration> {
    let lost = |gaps: &[Gap]| gaps.iter().map(|gap| gap.length).sum::<Duration>();
    let at = |place: Duration| -> Vec<Gap> {
        let long = gaps.iter().filter(|gap| gap.length >= MIN_STOP);
        long.filter(|gap| is_at(gap.end, place)).copied().collect()
    };
    let long = gaps.iter().filter(|gap| gap.length >= MIN_STOP);
    let place = long
        .map(|gap| gap.end)
        .max_by_key(|&place| lost(&at(place)))?;
    let mut found = at(place);
    // Periods start half a period before the point, so that a stop that ends slightly early still belongs to
    // its own period.
    let offset = PERIOD / 2 + PERIOD - remainder(place);
    let period_of = |gap: &Gap| (gap.end + offset).as_nanos() / PERIOD.as_nanos();
    let hit: BTreeSet<u128> = found.iter().map(period_of).collect();
    let periods = WATCH.as_nanos() / PERIOD.as_nanos();
    let is_quota =
        hit.len() as f64 >= MIN_PERIODS * periods as f64 && lost(&found) * 2 >= lost(gaps);
    found.sort_unstable_by_key(|gap| gap.length);
    is_quota.then(|| found[found.len() / 2].length)
}

/// Whether two times fall at the same point of the period.
fn is_at(time: Duration, place: Duration) -> bool {
    let past = remainder(time.abs_diff(place));
    past.min(PERIOD - past) <= PLACE
}

/// The time since the current period began, if the first period began with the watch.
fn remainder(time: Duration) -> Duration {
    Duration::from_nanos((time.as_nanos() % PERIOD.as_nanos()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: f64) -> Duration {
        Duration::from_secs_f64(ms / 1_000.0)
    }

    /// A gap, given its end and length in ms.
    fn gap(end: f64, length: f64, by: StoppedBy) -> Gap {
        Gap {
            end: ms(end),
            length: ms(length),
            by,
        }
    }

    /// The stops of a quota renewed 37 ms into each period, give or take 1 ms.
    fn quotas(by: StoppedBy) -> Vec<Gap> {
        let late = |period: u32| f64::from(period % 3) - 1.0;
        let stop = |period| {
            gap(
                37.0 + 100.0 * f64::from(period) + late(period),
                25.0 + late(period),
                by,
            )
        };
        (0..10).map(stop).collect()
    }

    /// Stops of equal length at regular intervals.
    fn every(time: f64, length: f64, by: StoppedBy) -> Vec<Gap> {
        let ends = (1..)
            .map(|n| time * f64::from(n))
            .take_while(|end| *end <= 1_000.0);
        ends.map(|end| gap(end, length, by)).collect()
    }

    #[test]
    fn stops_at_one_place_of_the_period_are_a_quota() {
        // The kernel's stops come from another program that shares the core. They must not be attributed to
        // the host.
        let gaps = [quotas(StoppedBy::Host), every(9.3, 4.0, StoppedBy::Kernel)].concat();
        let found = stops(&gaps).unwrap();
        assert_eq!((found.period_ms, found.stopped_ms.round()), (100, 25.0));
        assert_eq!(found.by, StoppedBy::Host);
        let text = found.to_string();
        assert!(
            text.starts_with("the host stops busy cores for 25.0 ms in every 100 ms"),
            "{text}"
        );
        let found = stops(&quotas(StoppedBy::Kernel)).unwrap();
        assert_eq!(found.by, StoppedBy::Kernel);
        // The quota is renewed exactly when the watch begins.
        assert!(stops(&every(100.0, 5.0, StoppedBy::Host)).is_some());
    }

    #[test]
    fn stops_anywhere_are_none() {
        for (what, gaps) in [
            (
                "another program in turn",
                every(8.0, 4.0, StoppedBy::Kernel),
            ),
            (
                "in turns that fit the period",
                every(20.0, 10.0, StoppedBy::Kernel),
            ),
            ("too seldom", quotas(StoppedBy::Host)[..7].to_vec()),
            ("too short", every(100.0, 0.9, StoppedBy::Host)),
            ("nowhere again", every(93.0, 25.0, StoppedBy::Host)),
            ("once for long", vec![gap(900.0, 800.0, StoppedBy::Host)]),
            ("never", Vec::new()),
        ] {
            assert_eq!(stops(&gaps), None, "{what}");
        }
    }
}
