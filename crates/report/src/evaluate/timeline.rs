//! Merges the consecutive trials of a cell into one timeline of slices, and finds its spikes.
//!
//! **Spikes.** Within one trial, each slice in which a call succeeded has a longest call. A slice is a spike
//! if the logarithm of that call's latency is above
//!
//! ```text
//! median + min(max(6 × 1.4826 × MAD, ln 3), ln 20)
//! ```
//!
//! that is, more than six robust standard deviations above the median and more than three times the usual longest
//! call. More than twenty times is always a spike, since on an unsteady machine six deviations can be a factor of
//! thousands, which no stall reaches. The spikes themselves hardly change the median and the median absolute deviation
//! (MAD). Neighbouring slices form one spike. Trials with fewer than [`MIN_SLICES`] such slices are not searched.

use rpcgauge_stats::{mad, median};
use rpcgauge_study::record::{Ending, TimelineSlice as Slice, TrialFigures, TrialRecord};
use rpcgauge_study::settings::{Arrivals, Schedule, Settings};

use super::heat_map;
use crate::findings::timeline::{Bin, Spike, TimelineFindings};

/// A spike is more than this many robust standard deviations above the usual slice.
const SPIKE_DEVIATIONS: f64 = 6.0;

/// The minimum factor between the usual slice's longest call and a spike's.
const SPIKE_FACTOR: f64 = 3.0;

/// Above this factor a slice is a spike regardless of how unsteady the other slices are.
const SPIKE_IN_ANY_CASE: f64 = 20.0;

/// The factor from a median absolute deviation to a standard deviation, for normal data.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// A trial with fewer slices in which a call succeeded is not searched for spikes.
const MIN_SLICES: usize = 20;

/// The merged timeline has at most this many bins, each of whole slices.
const MAX_BINS: usize = 240;

/// The maximum number of spikes to list. The highest are listed, and all are counted.
const MAX_SPIKES: usize = 20;

/// Merges measured trials of a variant with these settings, in the order they ran, into one timeline.
pub(crate) fn merge(
    trials: &[(&TrialRecord, &TrialFigures)],
    settings: &Settings,
) -> TimelineFindings {
    let mut timeline = TimelineFindings {
        usual_longest_ns: usual_longest(trials),
        heat_map: heat_map::of(trials),
        ..TimelineFindings::default()
    };
    let per_bin = slices_together(trials, MAX_BINS);
    let mut start_ns = 0_u64;
    for (record, measured) in trials {
        timeline.trial_starts_ns.push(start_ns);
        match spikes(record, measured, start_ns) {
            Some(found) => timeline.spikes.extend(found),
            None => timeline.trials_not_searched += 1,
        }
        let slice_ns = measured.timeline.slice_ns;
        let due_until = start_ns.saturating_add(due_ns(measured, settings));
        for slices in measured.timeline.slices.chunks(per_bin) {
            let bin = bin(slices, slice_ns, start_ns, due_until);
            start_ns = start_ns.saturating_add(bin.length_ns);
            timeline.bins.push(bin);
        }
    }
    join_down_to_most(&mut timeline.bins);
    keep_highest(&mut timeline);
    timeline
}

/// The median, over the slices in which calls ended, of the slice's longest successful call; `None` if that is 0.
fn usual_longest(trials: &[(&TrialRecord, &TrialFigures)]) -> Option<u64> {
    let slices = trials.iter().flat_map(|(_, m)| &m.timeline.slices);
    let longest: Vec<f64> = slices
        .filter(|slice| slice.answered > 0 || slice.failed > 0)
        .map(|slice| slice.latency_max_ns as f64)
        .collect();
    let usual = median(&longest).ok()?;
    (usual > 0.0).then_some(usual as u64)
}

/// How long calls were due in a trial: at a rate, the timeline goes on until the last call has ended. The time between
/// the slices of a trial is not told apart.
fn due_ns(measured: &TrialFigures, settings: &Settings) -> u64 {
    if measured.slices.is_some() {
        return measured.spanned_ns();
    }
    let elapsed = measured.elapsed_ns.saturating_add(measured.stalls.total_ns);
    arrivals_ns(measured, settings).map_or(elapsed, |arrivals| arrivals.min(elapsed))
}

/// How long calls arrived in a trial that its number of calls ended: its time then includes the wait for the last
/// calls, in which none was due. `None` in a closed loop, and for a trial that its time ended.
fn arrivals_ns(measured: &TrialFigures, settings: &Settings) -> Option<u64> {
    let calls = settings.stop.calls;
    let has_all = calls.is_some_and(|calls| measured.calls.started >= calls);
    if !has_all && measured.ending != Ending::MaxRequests {
        return None;
    }
    match settings.target.options()?.schedule {
        Schedule::Closed { .. } => None,
        Schedule::Rate {
            per_second,
            arrivals: Arrivals::Constant,
        } => Some((measured.calls.started as f64 / per_second * 1e9).ceil() as u64),
        Schedule::Rate { .. } | Schedule::Ramp { .. } => {
            // A slice counts the calls that were due in it.
            let has_calls = |slice: &Slice| slice.answered > 0 || slice.failed > 0;
            let last = measured.timeline.slices.iter().rposition(has_calls)?;
            Some(measured.timeline.slice_ns.saturating_mul(last as u64 + 1))
        }
    }
}

fn bin(slices: &[Slice], slice_ns: u64, start_ns: u64, due_until: u64) -> Bin {
    let add = |value: fn(&Slice) -> u64| slices.iter().map(value).fold(0_u64, u64::saturating_add);
    let answered = add(|s| s.answered);
    let sum = add(|s| s.latency_sum_ns);
    let length_ns = slice_ns.saturating_mul(slices.len() as u64);
    Bin {
        start_ns,
        length_ns,
        due_ns: due_until.saturating_sub(start_ns).min(length_ns),
        answered,
        failed: add(|s| s.failed),
        mean_ns: (answered > 0).then(|| sum as f64 / answered as f64),
        max_ns: slices.iter().map(|s| s.latency_max_ns).max().unwrap_or(0),
    }
}

/// The smallest number of slices per bin that gives no more than this many bins; whole trials if there
/// are more trials than that. Each trial's last bin may be shorter.
pub(super) fn slices_together(trials: &[(&TrialRecord, &TrialFigures)], most: usize) -> usize {
    let lengths = || trials.iter().map(|(_, m)| m.timeline.slices.len());
    let bins = |per_bin: usize| lengths().map(|n| n.div_ceil(per_bin)).sum::<usize>();
    let least = lengths().sum::<usize>().div_ceil(most).max(1);
    let whole_trials = lengths().max().unwrap_or(0).max(1);
    (least..whole_trials)
        .find(|per_bin| bins(*per_bin) <= most)
        .unwrap_or(whole_trials)
}

/// Joins bins until there are at most [`MAX_BINS`], which is only necessary if there are more trials than that.
fn join_down_to_most(bins: &mut Vec<Bin>) {
    let together = bins.len().div_ceil(MAX_BINS).max(1);
    if together > 1 {
        *bins = bins.chunks(together).map(join).collect();
    }
}

fn join(bins: &[Bin]) -> Bin {
    let add = |value: fn(&Bin) -> u64| bins.iter().map(value).fold(0_u64, u64::saturating_add);
    let answered = add(|b| b.answered);
    let weighted: f64 = bins
        .iter()
        .map(|b| b.mean_ns.unwrap_or(0.0) * b.answered as f64)
        .sum();
    Bin {
        start_ns: bins.first().map_or(0, |b| b.start_ns),
        length_ns: add(|b| b.length_ns),
        due_ns: add(|b| b.due_ns),
        answered,
        failed: add(|b| b.failed),
        mean_ns: (answered > 0).then(|| weighted / answered as f64),
        max_ns: bins.iter().map(|b| b.max_ns).max().unwrap_or(0),
    }
}

/// The spikes of one trial; `None` if it is too short to be searched.
fn spikes(record: &TrialRecord, measured: &TrialFigures, start_ns: u64) -> Option<Vec<Spike>> {
    let timeline = &measured.timeline;
    let longest =
        |slice: &Slice| (slice.latency_max_ns > 0).then(|| (slice.latency_max_ns as f64).ln());
    let logs: Vec<f64> = timeline.slices.iter().filter_map(longest).collect();
    if logs.len() < MIN_SLICES {
        return None;
    }
    let usual = median(&logs).ok()?;
    let reach = (SPIKE_DEVIATIONS * MAD_TO_DEVIATION * mad(&logs).ok()?)
        .clamp(SPIKE_FACTOR.ln(), SPIKE_IN_ANY_CASE.ln());
    let measured_from_ms = record.measured_from_ms(measured);
    let mut found: Vec<Spike> = Vec::new();
    let mut previous = None;
    for (index, slice) in timeline.slices.iter().enumerate() {
        if longest(slice).is_none_or(|log| log <= usual + reach) {
            continue;
        }
        let factor = slice.latency_max_ns as f64 / usual.exp();
        match found
            .last_mut()
            .filter(|_| previous == index.checked_sub(1))
        {
            Some(spike) => {
                spike.length_ns = spike.length_ns.saturating_add(timeline.slice_ns);
                spike.max_ns = spike.max_ns.max(slice.latency_max_ns);
                spike.factor = spike.factor.max(factor);
            }
            None => {
                let offset_ns = timeline.slice_ns.saturating_mul(index as u64);
                found.push(Spike {
                    trial: record.trial.index,
                    start_ns: start_ns.saturating_add(offset_ns),
                    offset_ns,
                    at_ms: measured_from_ms.saturating_add(offset_ns / 1_000_000),
                    length_ns: timeline.slice_ns,
                    max_ns: slice.latency_max_ns,
                    factor,
                });
            }
        }
        previous = Some(index);
    }
    Some(found)
}

fn keep_highest(timeline: &mut TimelineFindings) {
    timeline.spikes_found = timeline.spikes.len() as u64;
    timeline
        .spikes
        .sort_by(|a, b| b.max_ns.cmp(&a.max_ns).then(a.start_ns.cmp(&b.start_ns)));
    timeline.spikes.truncate(MAX_SPIKES);
    timeline.spikes.sort_by_key(|spike| spike.start_ns);
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::{Timeline, TrialOutcome};
    use rpcgauge_study::settings::RampPart;

    use super::*;
    use crate::fixture::two;

    /// A trial whose slices have these longest calls, in µs.
    fn trial(longest: impl IntoIterator<Item = u64>) -> TrialRecord {
        let mut trial = two(1.0).build().trials.remove(0);
        let slice = |us: u64| Slice {
            answered: 10,
            failed: 1,
            latency_sum_ns: us * 5_000,
            latency_max_ns: us * 1_000,
            ..Slice::default()
        };
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            panic!("it was measured")
        };
        measured.timeline = Timeline {
            slice_ns: 1_000_000,
            slices: longest.into_iter().map(slice).collect(),
        };
        trial
    }

    fn merged(trials: &[TrialRecord]) -> TimelineFindings {
        merged_of(trials, &two(1.0).build().plan.variants[0].settings)
    }

    fn merged_of(trials: &[TrialRecord], settings: &Settings) -> TimelineFindings {
        let measured: Vec<(&TrialRecord, &TrialFigures)> = trials
            .iter()
            .filter_map(|t| match &t.outcome {
                TrialOutcome::Measured(measured) => Some((t, &**measured)),
                TrialOutcome::Failed { .. } => None,
            })
            .collect();
        merge(&measured, settings)
    }

    #[test]
    fn a_spike_is_found_with_its_place_and_size() {
        let calm = (0..100).map(|n| 100 + n % 7);
        let longest = calm.enumerate().map(|(n, us)| {
            if n == 40 || n == 41 {
                2_000 + n as u64
            } else {
                us
            }
        });
        let trial = trial(longest);
        let timeline = merged(std::slice::from_ref(&trial));
        assert_eq!(timeline.spikes_found, 1);
        let spike = timeline.spikes[0];
        assert_eq!((spike.offset_ns, spike.length_ns), (40_000_000, 2_000_000));
        assert_eq!(spike.max_ns, 2_041_000);
        assert!(
            (spike.factor - 2_041.0 / 103.0).abs() < 0.01,
            "{}",
            spike.factor
        );
        assert_eq!(spike.at_ms, trial.started_at_ms + 120 + 40);
    }

    #[test]
    fn a_spike_of_a_trial_in_slices_stands_where_its_measuring_began() {
        let calm = (0..100).map(|n| if n == 40 { 2_000 } else { 100 + n % 7 });
        let mut trial = trial(calm);
        let from = trial.started_at_ms + 5_000;
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            panic!("it was measured")
        };
        measured.measured_from_ms = Some(from);
        let timeline = merged(std::slice::from_ref(&trial));
        assert_eq!(timeline.spikes[0].at_ms, from + 40);
    }

    #[test]
    fn what_varies_by_itself_is_no_spike() {
        let wide = (0..100).map(|n| 100 + (n * 37 % 100) * 8);
        assert_eq!(merged(&[trial(wide)]).spikes_found, 0);
        assert_eq!(
            merged(&[trial(std::iter::repeat_n(100, 100))]).spikes_found,
            0
        );
        let twice = (0..100).map(|n| if n == 50 { 200 } else { 100 });
        assert_eq!(
            merged(&[trial(twice)]).spikes_found,
            0,
            "twice as long is not three times"
        );
    }

    #[test]
    fn a_stall_is_a_spike_however_unsteady_the_rest_is() {
        // Calls take 0.2 to 100 ms except for a stall of 1.5 s, which delays every call that is due during the stall.
        let unsteady = (0..150_u64).map(|n| 200 * 2_u64.pow((n * 37 % 10) as u32));
        let stalled = unsteady.enumerate().map(|(n, us)| match n {
            88..108 => 1_500_000 - (n as u64 - 88) * 75_000,
            _ => us,
        });
        let timeline = merged(&[trial(stalled)]);
        assert_eq!(timeline.spikes_found, 1);
        assert_eq!(timeline.spikes[0].max_ns, 1_500_000_000);
        assert_eq!(timeline.spikes[0].offset_ns, 88_000_000);
    }

    #[test]
    fn a_short_trial_is_not_searched_and_counted() {
        let timeline = merged(&[trial([100, 100, 9_000])]);
        assert_eq!(
            (timeline.spikes_found, timeline.trials_not_searched),
            (0, 1)
        );
    }

    #[test]
    fn all_spikes_are_counted_and_the_highest_listed_in_their_order() {
        let often = (0..400).map(|n| if n % 10 == 5 { 1_000 + n } else { 100 });
        let timeline = merged(&[trial(often)]);
        assert_eq!(
            (timeline.spikes_found, timeline.spikes.len()),
            (40, MAX_SPIKES)
        );
        assert!(timeline.spikes.is_sorted_by_key(|spike| spike.start_ns));
        assert_eq!(timeline.spikes[0].max_ns, 1_205_000);
    }

    #[test]
    fn bins_lose_no_call_and_no_maximum() {
        let trials: Vec<TrialRecord> = (0..7)
            .map(|n| trial((0..101).map(move |slice| 100 + n * 101 + slice)))
            .collect();
        let timeline = merged(&trials);
        assert!(timeline.bins.len() <= MAX_BINS);
        assert_eq!(
            timeline.bins.iter().map(|b| b.answered).sum::<u64>(),
            7 * 101 * 10
        );
        assert_eq!(timeline.bins.iter().map(|b| b.failed).sum::<u64>(), 7 * 101);
        assert_eq!(timeline.bins.iter().map(|b| b.max_ns).max(), Some(806_000));
        assert_eq!(
            timeline.bins.iter().map(|b| b.length_ns).sum::<u64>(),
            7 * 101 * 1_000_000
        );
        assert_eq!(timeline.trial_starts_ns[6], 6 * 101 * 1_000_000);
    }

    #[test]
    fn calls_are_due_until_the_trial_ends_and_not_while_the_last_ones_are_awaited() {
        let mut trial = trial(std::iter::repeat_n(100, 100));
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            panic!("it was measured")
        };
        measured.elapsed_ns = 89_500_000;
        measured.stalls.total_ns = 1_000_000;
        let due = |trial: &TrialRecord| {
            let bins = merged(std::slice::from_ref(trial)).bins;
            bins.iter().map(|bin| bin.due_ns).collect::<Vec<_>>()
        };
        assert_eq!(due(&trial)[89..92], [1_000_000, 500_000, 0]);
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            panic!("it was measured")
        };
        measured.slices = Some(rpcgauge_study::record::Slices {
            count: 2,
            each: rpcgauge_study::plan::Slice {
                skip_calls: 0,
                skip_us: 0,
                least_calls: 1,
                time_us: 1,
            },
            skipped: 0,
            skipped_failed: 0,
            skipped_never_sent: 0,
        });
        assert_eq!(
            due(&trial)[91],
            1_000_000,
            "the time between slices is not known"
        );
    }

    #[test]
    fn no_call_is_due_while_the_last_of_a_number_of_calls_at_a_rate_is_awaited() {
        // 300 calls at 100 per second, of which the last one takes 30 s.
        let mut trial = trial(std::iter::empty());
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            panic!("it was measured")
        };
        measured.elapsed_ns = 33_000_000_000;
        measured.calls.started = 300;
        let slice = |n: u64| Slice {
            answered: if n < 12 { 25 } else { 0 },
            ..Slice::default()
        };
        measured.timeline = Timeline {
            slice_ns: 250_000_000,
            slices: (0..132).map(slice).collect(),
        };
        let due_ms = |trial: &TrialRecord, schedule, calls| {
            let mut variant = crate::fixture::live().plan.variants.remove(0);
            *crate::fixture::live_schedule(&mut variant) = schedule;
            variant.settings.stop.calls = calls;
            let bins = merged_of(std::slice::from_ref(trial), &variant.settings).bins;
            bins.iter().map(|bin| bin.due_ns).sum::<u64>() / 1_000_000
        };
        let rate = |per_second, arrivals| Schedule::Rate {
            per_second,
            arrivals,
        };
        let constant = || rate(100.0, Arrivals::Constant);
        assert_eq!(due_ms(&trial, constant(), Some(300)), 3_000);
        assert_eq!(
            due_ms(&trial, rate(400.0, Arrivals::Constant), Some(300)),
            750
        );
        // A stalled client begins fewer calls in the same time.
        assert_eq!(due_ms(&trial, constant(), None), 33_000);
        let at_random = || rate(100.0, Arrivals::Poisson);
        assert_eq!(due_ms(&trial, at_random(), Some(300)), 3_000);
        let ramp = |arrivals| Schedule::Ramp {
            parts: vec![RampPart {
                from: 0.0,
                to: 400.0,
                time_ms: 10_000,
            }],
            arrivals,
        };
        assert_eq!(due_ms(&trial, ramp(Arrivals::Constant), Some(300)), 3_000);
        // Calls were due until the end of a trial that its time ended, even if the last ones are far apart.
        assert_eq!(due_ms(&trial, at_random(), None), 33_000);
        assert_eq!(due_ms(&trial, at_random(), Some(301)), 33_000);
        assert_eq!(due_ms(&trial, rate(1.0, Arrivals::Constant), None), 33_000);
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            panic!("it was measured")
        };
        measured.ending = Ending::MaxRequests;
        assert_eq!(due_ms(&trial, at_random(), None), 3_000);
    }

    #[test]
    fn a_bin_spans_two_trials_only_where_there_are_more_trials_than_bins() {
        let many = |count| merged(&vec![trial(100..201); count]);
        // Bins of 43 slices would be enough for 10,100 slices in a row, but three bins per trial are too many.
        let timeline = many(100);
        assert!(timeline.bins.len() <= MAX_BINS);
        let starts: Vec<u64> = timeline.bins.iter().map(|bin| bin.start_ns).collect();
        assert!(timeline.trial_starts_ns.iter().all(|s| starts.contains(s)));
        assert!(many(500).bins.len() <= MAX_BINS);
    }
}
