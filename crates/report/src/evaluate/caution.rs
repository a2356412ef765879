//! Finds the cautions about the figures of a cell, about a verdict and about a whole run.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::{CodeKind, Environment};
use rpcgauge_study::settings::{Idle, Placement, Timing};

use crate::findings::caution::{Caution, CautionKind};
use crate::findings::verdict::{Outcome, PlacementVerdict};
use crate::findings::{Distribution, Figures, TrialCounts, VariantFindings};
use crate::metric::is_counted;

/// The minimum share of the measured calls from which calls left unsent by the warm-up are reported: fewer hardly
/// move a p99.
const BACKLOG_SHARE: f64 = 0.01;

/// The cautions about a variant's figures under a placement.
pub(super) fn of_cell(
    variant: &str,
    placement: Placement,
    trials: &TrialCounts,
    figures: Option<&Figures>,
) -> Vec<Caution> {
    use CautionKind as Kind;
    let missing = trials.planned - trials.measured;
    let mut cautions = Vec::new();
    let mut add = |kind, count, of| {
        if count > 0 {
            cautions.push(Caution::about(kind, variant, [count, of]).under(placement));
        }
    };
    add(Kind::Interrupted, trials.interrupted, trials.measured);
    add(Kind::GaveUp, trials.gave_up, trials.measured);
    add(Kind::MaxRequests, trials.max_requests, trials.measured);
    add(Kind::ClientBound, trials.client_bound, trials.measured);
    add(Kind::LinkNotHeld, trials.link_not_held, trials.measured);
    add(Kind::Unsettled, trials.unsettled, trials.measured);
    add(Kind::Incomplete, missing, trials.planned);
    if let Some(figures) = figures {
        let (calls, connections) = (&figures.calls, &figures.connections);
        if figures.unsent_at_start as f64 >= BACKLOG_SHARE * calls.started as f64 {
            add(Kind::Backlog, figures.unsent_at_start, calls.started);
        }
        add(Kind::FailedCalls, calls.failed_total(), calls.ended());
        if let Some(in_flight) = figures.in_flight.filter(|i| i.reached < i.asked) {
            add(Kind::FewerInFlight, in_flight.reached, in_flight.asked);
        }
        add(Kind::MixedIdle, u64::from(figures.idle.len() > 1), 0);
        let uncompressed = figures.uncompressed_responses;
        let messages = figures
            .messages
            .as_deref()
            .map(|messages| messages.received);
        add(
            Kind::Uncompressed,
            uncompressed,
            messages.unwrap_or(calls.answered),
        );
        add(Kind::FailedConnects, connections.failed, 0);
        add(Kind::Reopened, connections.reopened, 0);
        let left_out = figures.left_out;
        add(Kind::LeftOutFailed, figures.left_out_failed, left_out);
        add(Kind::NeverBegun, calls.never_begun, calls.started);
        add(Kind::Retried, calls.retried, 0);
        add(Kind::BodiesLate, figures.bodies_late, calls.started);
        let is_dynamic = figures.code.contains(&CodeKind::Dynamic);
        add(Kind::DynamicCode, u64::from(is_dynamic), 0);
    }
    cautions.sort_unstable();
    cautions
}

/// The cautions about a verdict on two variants.
pub(super) fn of_verdict(
    verdict: &PlacementVerdict,
    metric: Metric,
    [of, against]: [&VariantFindings; 2],
    same_encoding: bool,
    a_a: bool,
) -> Vec<Caution> {
    use CautionKind as Kind;
    let placement = verdict.placement;
    let judged = !matches!(verdict.outcome, Outcome::NoVerdict { .. });
    let blocks = &verdict.blocks;
    let mut cautions = Vec::new();
    let mut push = |kind, counts: [u64; 2]| {
        cautions.push(Caution {
            count: counts[0],
            of: counts[1],
            ..Caution::plain(kind, Some(placement))
        });
    };
    if of.is_running() {
        push(Kind::RunningInstances, [0, 0]);
    }
    if judged && !a_a && verdict.control.is_none() {
        push(Kind::NoControl, [0, 0]);
    }
    if judged && blocks.used < blocks.planned {
        push(
            Kind::BlocksLeftOut,
            [blocks.planned - blocks.used, blocks.planned],
        );
    }
    let bounded = match (of.how.at_a_time, against.how.at_a_time) {
        (Some(most), None) => Some((of, most)),
        (None, Some(most)) => Some((against, most)),
        _ => None,
    };
    let bounded = bounded.filter(|_| of.is_live() && of.how.is_at_a_rate());
    cautions.extend(bounded.map(|(variant, most)| {
        Caution::about(Kind::Bounded, &variant.name, [u64::from(most), 0]).under(placement)
    }));
    let is_dynamic = |variant: &VariantFindings| {
        let figures = variant.figures(placement);
        figures.is_some_and(|figures| figures.code.contains(&CodeKind::Dynamic))
    };
    // If it does the same work for both, dynamic code cannot decide between them.
    let same_work = same_encoding && is_dynamic(of) && is_dynamic(against);
    for variant in [of, against] {
        let Some(cell) = variant.cell(placement) else {
            continue;
        };
        let concerns = |caution: &&Caution| match caution.kind {
            // The caution about left-out blocks covers this one.
            Kind::Incomplete => false,
            // Under load, a withheld verdict states this reason itself.
            Kind::ClientBound => judged || variant.timing == Timing::Stages,
            Kind::LinkNotHeld => judged && !is_counted(metric),
            Kind::DynamicCode => judged && !is_counted(metric) && !same_work,
            _ => true,
        };
        cautions.extend(cell.cautions.iter().filter(concerns).cloned());
    }
    cautions.sort();
    cautions
}

/// The cautions about the whole run: about the machine's state, and about each live service.
pub(super) fn of_run(
    environment: Option<&Environment>,
    variants: &[VariantFindings],
) -> Vec<Caution> {
    let idle = environment.filter(|environment| !is_idle_as_asked(environment));
    let idle = idle.map(|_| Caution::plain(CautionKind::IdleNotHeld, None));
    let unverified = variants.iter().filter_map(unverified);
    let found = idle.into_iter().chain(unverified);
    found.chain(of_services(variants)).collect()
}

/// Whether idle states were disabled if the run requested it.
pub(super) fn is_idle_as_asked(environment: &Environment) -> bool {
    let idle = &environment.idle;
    idle.asked != Idle::Held || idle.got == Idle::Held
}

/// The caution that a service's certificate was not verified.
fn unverified(variant: &VariantFindings) -> Option<Caution> {
    let service = variant.how.service.as_ref()?;
    (service.verified == Some(false) && variant.repeats.is_none())
        .then(|| Caution::about(CautionKind::Unverified, &service.target, [0, 0]))
}

/// A call is a stall if it takes this many times the median and at least [`MIN_STALL_NS`].
const STALL_FACTOR: f64 = 10.0;
const MIN_STALL_NS: u64 = 1_000_000;

/// A percentile of a distribution, with the caution about its send delay.
type Tail = (CautionKind, fn(&Distribution) -> Option<f64>);

/// The tails that are checked, the lowest first.
const TAILS: [Tail; 2] = [
    (CautionKind::LateP99, |times| times.p99_ns),
    (CautionKind::LateP999, |times| times.p999_ns),
];

/// The cautions about the live services among these variants. Ramps have none, since a percentile over all rates of
/// a ramp means little.
fn of_services(variants: &[VariantFindings]) -> Vec<Caution> {
    let is_looked_at = |v: &&VariantFindings| v.is_live() && v.repeats.is_none();
    let of = |variant: &VariantFindings| {
        let figures = variant.measured().map(|(_, figures)| figures);
        let level = figures.filter(|figures| figures.steps.is_empty());
        let found = level.flat_map(|figures| {
            let waited = waited(variant, figures);
            let late = late(figures).filter(|_| waited.is_none());
            [stalls(figures), late, waited]
        });
        found
            .flatten()
            .map(|(kind, counts)| Caution::about(kind, &variant.name, counts))
            .collect::<Vec<_>>()
    };
    variants.iter().filter(is_looked_at).flat_map(of).collect()
}

/// The caution that calls stalled in most of a run.
fn stalls(figures: &Figures) -> Option<(CautionKind, [u64; 2])> {
    let median = figures.latency.as_ref()?.p50_ns;
    let longest = figures.timeline.usual_longest_ns?;
    let is_stall = longest >= MIN_STALL_NS && longest as f64 >= STALL_FACTOR * median;
    is_stall.then_some((CautionKind::Stalls, [longest, median as u64]))
}

/// The caution that calls waited for a connection for most of their time.
fn waited(variant: &VariantFindings, figures: &Figures) -> Option<(CautionKind, [u64; 2])> {
    let most = variant
        .how
        .at_a_time
        .filter(|_| variant.how.is_at_a_rate())?;
    let delay = figures.send_delay.as_ref()?.p50_ns;
    let taken = figures
        .latency
        .as_ref()
        .or(figures.failed_latency.as_ref())?;
    let counts = [u64::from(most), delay as u64];
    (delay > taken.p50_ns / 2.0).then_some((CautionKind::TooFewConnections, counts))
}

/// The caution that most of a tail latency passed before the calls were sent.
fn late(figures: &Figures) -> Option<(CautionKind, [u64; 2])> {
    let (latency, delay) = (figures.latency.as_ref()?, figures.send_delay.as_ref()?);
    TAILS.into_iter().find_map(|(kind, tail)| {
        let (latency, delay) = (tail(latency)?, tail(delay)?);
        // A delay longer than the latency comes from failed calls, which are not in the latency.
        let is_part = delay <= latency;
        // The latest calls need not be those that were sent latest. Records of older versions have no service time.
        let service = figures.service_time.as_ref().and_then(tail);
        let is_served_fast = service.is_none_or(|service| service < latency / 2.0);
        (is_part && is_served_fast && delay > latency / 2.0)
            .then_some((kind, [delay as u64, latency as u64]))
    })
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::histogram::Unpacked;
    use rpcgauge_study::record::{Histogram, TrialFigures, TrialOutcome};

    use crate::findings::caution::CautionKind;
    use crate::fixture::{Sample, findings, live, ramp, versus};

    fn shown(mut sample: Sample, change: impl Fn(&mut TrialFigures)) -> Vec<String> {
        for record in &mut sample.trials {
            if let TrialOutcome::Measured(measured) = &mut record.outcome {
                change(measured);
            }
        }
        let findings = findings(&sample);
        let cautions = crate::document::cautions(&findings).into_iter();
        cautions
            .filter(|text| text.contains("spikes in most") || text.contains("mostly send delay"))
            .collect()
    }

    /// Sets the longest call of each of the first `slices` slices to `ns`.
    fn spiking(slices: usize, ns: u64) -> impl Fn(&mut TrialFigures) {
        move |measured| {
            for slice in &mut measured.timeline.slices[..slices] {
                slice.latency_max_ns = ns;
            }
        }
    }

    #[test]
    fn spikes_of_milliseconds_in_most_of_a_load_are_warned_of() {
        assert_eq!(shown(live(), |_| {}), [""; 0]);
        insta::assert_snapshot!(shown(live(), spiking(60, 4_200_000)).join("\n"), @"spikes in most of the run: in half of its slices a call took 4.20 ms or longer, 41.6× the median (101 µs); look for something periodic, such as garbage collection, a timer or another program");
        for (slices, ns) in [(40, 4_200_000), (60, 900_000)] {
            assert_eq!(shown(live(), spiking(slices, ns)), [""; 0], "{slices} {ns}");
        }
        assert_eq!(shown(ramp(), spiking(60, 4_200_000)), [""; 0]);
        let failing = |measured: &mut TrialFigures| {
            spiking(60, 4_200_000)(measured);
            for slice in &mut measured.timeline.slices[10..] {
                (slice.answered, slice.failed, slice.latency_max_ns) = (0, 1, 0);
            }
        };
        assert_eq!(
            shown(live(), failing),
            [""; 0],
            "most slices had only failures"
        );
        let each = shown(versus(1.0, 0.01), spiking(60, 4_200_000));
        assert!(each[0].starts_with("grpc: ") && each[1].starts_with("rest: "));
        assert_eq!(each.len(), 2, "{each:?}");
    }

    #[test]
    fn what_the_warmup_left_unsent_is_said_where_it_can_move_a_percentile() {
        let left = |unsent: u64| {
            let mut sample = live();
            for record in &mut sample.trials {
                if let TrialOutcome::Measured(measured) = &mut record.outcome {
                    measured.warmup.calls = 5_000;
                    (measured.late.ended, measured.late.sent_before) = (unsent + 3, 3);
                }
            }
            let findings = findings(&sample);
            let cautions = findings.variants[0].cells[0].cautions.iter();
            let backlog = cautions.filter(|caution| caution.kind == CautionKind::Backlog);
            backlog
                .map(|caution| crate::words::caution::clause(caution, false))
                .collect::<Vec<_>>()
                .join("\n")
        };
        insta::assert_snapshot!(left(1_000), @"1,000 calls that were due in the warm-up had not been sent when it ended: the 204 measured calls waited behind them, and their late responses are part of no rate; lower the rate or use a longer warm-up");
        assert_eq!(left(1), "");
    }

    /// A histogram of two groups of calls, each given as a number of calls and the time of each.
    fn times(parts: [(u64, u64); 2]) -> Histogram {
        let mut times = Unpacked::new(3).unwrap();
        for (calls, ns) in parts {
            times.record_n(ns, calls).unwrap();
        }
        times.into()
    }

    #[test]
    fn a_tail_that_is_mostly_the_delay_of_sends_is_warned_of() {
        let late = |calls: u64, delay_ns: u64| {
            move |measured: &mut TrialFigures| {
                measured.latency = times([(2_000 - calls, 1_000_000), (calls, 50_000_000)]);
                measured.send_delay = times([(2_000 - calls, 1_000), (calls, delay_ns)]);
            }
        };
        insta::assert_snapshot!(shown(live(), late(5, 49_000_000)).join("\n"), @"p99.9 is mostly send delay (49.0 ms of 50.0 ms): calls waited for a connection or for this client, so it says little about the service");
        insta::assert_snapshot!(shown(live(), late(50, 49_000_000)).join("\n"), @"p99 is mostly send delay (49.0 ms of 50.0 ms): calls waited for a connection or for this client, so it says little about the service");
        assert_eq!(shown(live(), late(5, 20_000_000)), [""; 0]);
        assert_eq!(
            shown(live(), late(50, 60_000_000)),
            [""; 0],
            "of failed calls"
        );
        assert_eq!(shown(ramp(), late(50, 49_000_000)), [""; 0]);
    }
}
