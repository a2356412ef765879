use proptest::prelude::*;
use rpcgauge_trial::{Arrivals, RampPart};

use super::*;
use crate::clock::{SECOND, nanos};

const MS: u64 = 1_000_000;

impl DueTimes {
    /// Takes the next call if it is due in time.
    fn take_if(&mut self, in_time: impl Fn(u64) -> bool) -> Option<u64> {
        self.next().filter(|due| in_time(*due))?;
        self.take()
    }
}

fn rate(per_second: f64, arrivals: Arrivals, seed: u64) -> DueTimes {
    let schedule = Schedule::Rate {
        per_second,
        arrivals,
    };
    DueTimes::new(&schedule, seed, 0)
}

fn part(from: f64, to: f64, time_ms: u64) -> RampPart {
    RampPart { from, to, time_ms }
}

fn ramp(parts: &[RampPart], arrivals: Arrivals) -> Schedule {
    Schedule::Ramp {
        parts: parts.to_vec(),
        arrivals,
    }
}

/// All due times of a ramp that starts at 0.
fn due_times(parts: &[RampPart], arrivals: Arrivals, seed: u64) -> Vec<u64> {
    let mut due_times = DueTimes::new(&ramp(parts, arrivals), seed, 0);
    std::iter::from_fn(|| due_times.take()).collect()
}

#[test]
fn a_closed_loop_is_due_when_a_call_ends() {
    let mut due_times = DueTimes::new(&Schedule::Closed { in_flight: 2 }, 0, 100);
    assert_eq!(
        (due_times.take(), due_times.take(), due_times.take()),
        (Some(100), Some(100), None)
    );
    due_times.call_ended(150);
    assert_eq!((due_times.next(), due_times.waiting(150)), (Some(150), 1));
    assert_eq!((due_times.take(), due_times.next()), (Some(150), None));
}

#[test]
fn the_number_of_calls_of_a_closed_loop_may_change() {
    let mut due_times = DueTimes::new(&Schedule::Closed { in_flight: 2 }, 0, 100);
    due_times.set_calls(0, 0, 100);
    assert_eq!(due_times.next(), None);
    due_times.set_calls(4, 0, 200);
    assert_eq!(due_times.waiting(200), 4);
    (0..3).for_each(|_| assert_eq!(due_times.take(), Some(200)));
    due_times.set_calls(2, 3, 300);
    assert_eq!(due_times.next(), None, "three are in flight, one too many");
    due_times.call_ended(310);
    due_times.set_calls(2, 2, 320);
    assert_eq!(due_times.next(), None);
    due_times.call_ended(330);
    due_times.set_calls(2, 1, 340);
    assert_eq!(due_times.next(), Some(330));
}

#[test]
fn a_rate_may_change() {
    let mut due_times = rate(100.0, Arrivals::Constant, 0);
    let mut until = |then, at: u64| {
        let due: Vec<u64> =
            std::iter::from_fn(|| due_times.take_if(|due| due <= at * MS)).collect();
        due_times.set_rate(then, at * MS);
        due.iter().map(|due| due / MS).collect::<Vec<_>>()
    };
    const NONE: [u64; 0] = [];
    assert_eq!(until(200.0, 25), [0, 10, 20]);
    // Half a call is left over, which takes 2.5 ms at twice the rate.
    assert_eq!(until(0.0, 40), [27, 32, 37]);
    assert_eq!(until(0.0, 1_000), NONE, "the rate is 0");
    assert_eq!(until(100.0, 1_000), NONE);
    assert_eq!(until(100.0, 1_030), [1_005, 1_015, 1_025]);
}

proptest! {
    #[test]
    fn changes_of_a_rate_neither_add_nor_lose_calls(
        changes in prop::collection::vec((0u32..50, 1u64..400), 1..40),
        poisson: bool,
    ) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let mut due_times = rate(20.0, arrivals, 7);
        let (mut now, mut expected, mut taken) = (0, 0.0, 0u64);
        for (users, ms) in changes {
            let per_second = f64::from(users) * 20.0;
            due_times.set_rate(per_second, now);
            prop_assert!(due_times.next().is_none_or(|due| due >= now));
            now += ms * MS;
            expected += per_second * ms as f64 / 1_000.0;
            while due_times.take_if(|due| due < now).is_some() {
                taken += 1;
            }
        }
        let tolerance = if poisson { 6.0 * expected.sqrt() + 6.0 } else { 1.0 };
        prop_assert!((taken as f64 - expected).abs() <= tolerance, "{taken} of {expected}");
    }
}

#[test]
fn a_rate_goes_on_whatever_ends() {
    let mut due_times = rate(1000.0, Arrivals::Constant, 0);
    due_times.call_ended(5);
    assert_eq!(
        (due_times.take(), due_times.take()),
        (Some(0), Some(1_000_000))
    );
    assert_eq!(
        (due_times.waiting(1_999_999), due_times.waiting(2_000_000)),
        (0, 1)
    );
    assert_eq!(due_times.waiting(12_500_000), 11, "due from 2 ms to 12 ms");
    assert_eq!(due_times.next(), Some(2_000_000));
}

#[test]
fn steps_follow_each_other_and_a_pause_holds_no_call() {
    let parts = [
        part(2.0, 2.0, 1000),
        part(0.0, 0.0, 3000),
        part(4.0, 4.0, 500),
    ];
    let half = SECOND / 2;
    let expected = [0, half, 4 * SECOND, 4 * SECOND + half / 2];
    assert_eq!(due_times(&parts, Arrivals::Constant, 0), expected);
}

#[test]
fn a_linear_ramp_is_due_when_its_rate_has_added_up() {
    // 2 t^2 calls after t seconds, then 8 t - 2 t^2 while the rate falls to 0.
    let parts = [part(0.0, 8.0, 2000), part(8.0, 0.0, 2000)];
    let up = |call: f64| (call / 2.0).sqrt();
    let times = (0..16).map(|call| {
        let call = f64::from(call);
        if call < 8.0 {
            up(call)
        } else {
            4.0 - up(16.0 - call)
        }
    });
    let expected: Vec<u64> = times.map(|time| (time * 1e9).round() as u64).collect();
    assert_eq!(due_times(&parts, Arrivals::Constant, 0), expected);
}

#[test]
fn a_call_that_a_part_does_not_complete_is_the_next_ones() {
    // One and a half calls, then the other half before the next one is due.
    let parts = [part(1.0, 1.0, 1500), part(0.25, 0.25, 4000)];
    let expected = [0, SECOND, 1_500_000_000 + 2 * SECOND];
    assert_eq!(due_times(&parts, Arrivals::Constant, 0), expected);
}

#[test]
fn what_waits_is_what_is_due_and_not_taken() {
    let parts = [
        part(100.0, 100.0, 100),
        part(100.0, 900.0, 100),
        part(0.0, 0.0, 100),
        part(900.0, 0.0, 100),
    ];
    let all = due_times(&parts, Arrivals::Constant, 0);
    for taken in [0, 3, 40, 90] {
        let mut due_times = DueTimes::new(&ramp(&parts, Arrivals::Constant), 0, 0);
        assert_eq!((0..taken).filter_map(|_| due_times.take()).count(), taken);
        // Between two due times, so that rounding does not matter.
        for pair in all.windows(2).filter(|pair| pair[0] < pair[1]) {
            let at = pair[0].midpoint(pair[1]);
            let due = all[taken..].iter().filter(|due| **due <= at).count() as u64;
            assert_eq!(due_times.waiting(at), due, "{taken} taken, at {at}");
        }
    }
    let random = rate(1000.0, Arrivals::Poisson, 7);
    let waiting = random.waiting(100 * SECOND);
    assert!((99_990..=100_001).contains(&waiting), "{waiting}");
}

#[test]
fn after_its_last_call_a_ramp_reaches_to_its_end() {
    let schedule = ramp(&[part(2.0, 2.0, 1000)], Arrivals::Constant);
    let mut due_times = DueTimes::new(&schedule, 0, 7);
    assert_eq!(due_times.reach(), Some(7));
    assert_eq!(due_times.take(), Some(7));
    assert_eq!(due_times.reach(), Some(7 + SECOND / 2));
    due_times.take();
    assert_eq!((due_times.next(), due_times.take()), (None, None));
    assert_eq!(
        (due_times.reach(), due_times.waiting(u64::MAX)),
        (Some(7 + SECOND), 0)
    );
}

#[test]
fn poisson_counts_have_the_mean_and_spread_of_each_part() {
    let parts = [
        part(1000.0, 1000.0, 100),
        part(1000.0, 3000.0, 100),
        part(500.0, 0.0, 100),
    ];
    let means = [100.0, 200.0, 25.0];
    let rounds = 400;
    let mut counts = [const { Vec::new() }; 3];
    for seed in 0..rounds {
        let due = due_times(&parts, Arrivals::Poisson, seed);
        for (index, counts) in counts.iter_mut().enumerate() {
            let part = |due: &&u64| (**due / 100_000_000) as usize == index;
            // The first call is always due at the start.
            let count = due.iter().filter(part).count() - usize::from(index == 0);
            counts.push(count as f64);
        }
    }
    for (counts, expected) in counts.iter().zip(means) {
        let mean = counts.iter().sum::<f64>() / rounds as f64;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / rounds as f64;
        // Four standard errors of the mean, and about four of a Poisson count's variance.
        let error = (expected / rounds as f64).sqrt();
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "{mean} not {expected}"
        );
        let share = variance / expected;
        assert!((0.7..1.4).contains(&share), "{variance} not {expected}");
    }
}

/// Parts with whole rates and milliseconds, so that calls can be counted in whole numbers: (from + to) times
/// milliseconds adds up to 2,000 per call.
fn parts_of_whole_numbers() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let rate = prop_oneof![Just(0u64), 1u64..2000];
    let part = (rate.clone(), rate, 1u64..3000);
    let first_moves = |parts: &Vec<(u64, u64, u64)>| parts[0].0 + parts[0].1 > 0;
    prop::collection::vec(part, 1..6).prop_filter("a pause at the start", first_moves)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn each_part_has_the_calls_of_its_integral(parts in parts_of_whole_numbers()) {
        let ramp: Vec<RampPart> = parts
            .iter()
            .map(|&(from, to, ms)| part(from as f64, to as f64, ms))
            .collect();
        let due = due_times(&ramp, Arrivals::Constant, 0);
        let (mut start_ns, mut halves, mut seen) = (0, 0, 0);
        for (from, to, ms) in parts {
            let end_ns = start_ns + ms * 1_000_000;
            let before = halves;
            halves += (from + to) * ms;
            let here = due[seen..].iter().take_while(|due| **due < end_ns).count();
            // The whole numbers in the half-open interval of call numbers.
            let expected = halves.div_ceil(2000) - before.div_ceil(2000);
            prop_assert_eq!(here as u64, expected);
            for (index, at) in due[seen..seen + here].iter().enumerate() {
                // The integral of the rate is each call's number, up to rounding to nanoseconds.
                let (a, s) = (from as f64, (*at - start_ns) as f64 / 1e9);
                let slope = (to as f64 - a) / (ms as f64 / 1e3);
                let number = before as f64 / 2000.0 + a * s + slope * s * s / 2.0;
                let error = (number - (seen + index) as f64).abs();
                prop_assert!(error <= (a + slope * s).max(0.0) * 1e-9 + 1e-6, "{}", error);
            }
            seen += here;
            start_ns = end_ns;
        }
        prop_assert_eq!(seen, due.len(), "no call after the end");
    }

    #[test]
    fn due_times_of_a_ramp_never_go_back(
        parts in prop::collection::vec((0.0f64..1e9, 0.0f64..1e9, 1u64..1 << 30), 1..4),
        seed in any::<u64>(),
        poisson in any::<bool>(),
    ) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let part = |&(from, to, ms): &(f64, f64, u64)| part(from, to, ms);
        let ramp = ramp(&parts.iter().map(part).collect::<Vec<_>>(), arrivals);
        let mut due_times = DueTimes::new(&ramp, seed, 0);
        let mut before = 0;
        for due in std::iter::from_fn(|| due_times.take()).take(2000) {
            prop_assert!(due >= before);
            prop_assert!(due < nanos(ramp.lasts().unwrap()));
            before = due;
        }
    }

    #[test]
    fn due_times_never_go_back(
        per_second in 0.001f64..1e9,
        seed in any::<u64>(),
        poisson in any::<bool>(),
    ) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let mut due_times = rate(per_second, arrivals, seed);
        let mut before = 0;
        for _ in 0..200 {
            let due = due_times.take().unwrap();
            prop_assert!(due >= before);
            before = due;
        }
    }

    /// Shards divide a schedule without changing what arrives when, and each covers the time until the next call.
    #[test]
    fn the_shards_of_a_schedule_together_are_the_schedule(
        parts in parts_of_whole_numbers(),
        is_ramp in any::<bool>(),
        poisson in any::<bool>(),
        shards in 1u32..6,
        seed in any::<u64>(),
    ) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let parts: Vec<RampPart> = parts
            .iter()
            .map(|&(from, to, ms)| part(from as f64, to as f64, ms))
            .collect();
        let schedule = if is_ramp {
            ramp(&parts, arrivals)
        } else {
            Schedule::Rate { per_second: 1.0 + parts[0].from, arrivals }
        };
        let mut due_times = DueTimes::new(&schedule, seed, 7);
        let whole: Vec<u64> = std::iter::from_fn(|| due_times.take()).take(1_000).collect();
        let end = due_times.covered_until().unwrap();
        prop_assert_eq!(Some(end), due_times.reach());
        for shard in Shard::all(shards) {
            let mut due_times = DueTimes::of_shard(&schedule, shard, seed, 7);
            for number in (shard.index()..whole.len()).step_by(shard.of()) {
                // By rounding, a due time can be moved forward to its predecessor's, which a shard may not have.
                let due = due_times.take().unwrap();
                prop_assert!(due.abs_diff(whole[number]) <= 1, "{} {}", due, whole[number]);
                let next = whole.get(number + 1).copied().unwrap_or(end);
                let covered = due_times.covered_until().unwrap();
                prop_assert!(covered.abs_diff(next) <= 1, "{} {}", covered, next);
            }
        }
    }
}

#[test]
fn what_waits_of_a_shard_is_its_part() {
    for (index, waiting) in [(0, 4), (1, 3), (2, 3)] {
        let schedule = Schedule::Rate {
            per_second: 1000.0,
            arrivals: Arrivals::Constant,
        };
        let shard = Shard::all(3).nth(index).unwrap();
        let mut due_times = DueTimes::of_shard(&schedule, shard, 0, 0);
        assert_eq!(due_times.waiting(9_500_000), waiting, "of 10");
        due_times.take();
        assert_eq!(due_times.waiting(9_500_000), waiting - 1);
        assert_eq!(
            due_times.first_from(9_500_000, u64::MAX) / 1_000_000,
            12 - [0, 2, 1][index]
        );
        let [first, second] = [0, 1].map(|most| due_times.first_from(9_500_000, most));
        assert_eq!((Some(first), second - first), (due_times.next(), 3_000_000));
    }
}
