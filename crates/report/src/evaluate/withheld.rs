//! Two reasons to withhold a verdict (docs/method.md).
//!
//! **Unsuccessful calls.** Latency covers only the calls that succeeded. If one variant has more unsuccessful calls
//! than the other, the extra ones might have been its slowest or its fastest. CPU time and bytes include the
//! unsuccessful calls, whose part is unknown.
//!
//! **Calls that were sent late.** At a rate, calls to a live service can wait in the client before they are sent, and
//! their latency includes that wait.

use rpcgauge_stats::{Share, shares_differ};
use rpcgauge_study::plan::Metric;

use crate::findings::verdict::Unanswered;
use crate::findings::{Distribution, Figures, supported};
use crate::metric::{self, Kind};

/// Two variants with different shares of unsuccessful calls.
pub(crate) struct Uneven {
    pub(crate) shares: Unanswered,
    /// How far unsuccessful calls may shift the logarithm of the ratio of/against, down and up.
    pub(crate) reach: [f64; 2],
}

impl Uneven {
    /// `None` if the shares do not differ significantly.
    pub(crate) fn of(metric: Metric, of: &Figures, against: &Figures) -> Option<Self> {
        let [own, other] = [of, against].map(|figures| Share {
            part: figures
                .calls
                .attributable()
                .saturating_sub(figures.calls.answered),
            of: figures.calls.attributable(),
        });
        let shares = Unanswered {
            of: own.value(),
            against: other.value(),
        };
        let more = shares.of - shares.against;
        let reach = if more > 0.0 {
            reach(metric, of, more)?
        } else {
            let [down, up] = reach(metric, against, -more)?;
            [-up, -down]
        };
        shares_differ(own, other).then_some(Self { shares, reach })
    }
}

/// How far a share of unsuccessful calls may shift the logarithm of a variant's figure, down and up. `None` if the
/// variant has no figure; infinite if no call succeeded.
fn reach(metric: Metric, figures: &Figures, share: f64) -> Option<[f64; 2]> {
    let answered = figures.calls.answered as f64;
    if answered == 0.0 {
        return Some([f64::NEG_INFINITY, f64::INFINITY]);
    }
    let more = share * figures.calls.attributable() as f64 / answered;
    let quantile = match metric::row(metric).kind {
        Kind::Quantile(quantile) => quantile,
        // Had they succeeded, they might have taken any time, or none at all.
        Kind::Mean { .. } => return Some([-more.ln_1p(), f64::INFINITY]),
        // Their responses may have any size, and every received byte except the successful bodies may be theirs.
        Kind::Bytes(_) => {
            let known = match (metric, figures.bytes) {
                (Metric::CallBytes, Some(bytes)) => {
                    let body = figures.payload.response_compressed.unwrap_or(0.0);
                    (bytes.sent.total() + body).min(bytes.total()) / bytes.total()
                }
                _ => 1.0,
            };
            return Some([known.ln() - more.ln_1p(), f64::INFINITY]);
        }
        // They may have used all the CPU time, or none.
        Kind::Cpu(_) => return Some([f64::NEG_INFINITY, more.ln_1p()]),
        // Memory is not divided by calls.
        Kind::Memory(_) => return Some([0.0, 0.0]),
        // Had they succeeded, they might have taken as long as they took to fail, or no time at all.
        Kind::Goodput => {
            let time = |times: &Option<Distribution>| {
                times
                    .as_ref()
                    .map_or(0.0, |times| times.count as f64 * times.mean_ns)
            };
            let lost = time(&figures.failed_latency) / time(&figures.latency);
            return Some([0.0, more.ln_1p() + lost.ln_1p()]);
        }
    };
    // Had they succeeded, they might have been the fastest, or the slowest.
    let histogram = figures.latency.as_ref()?.histogram.unpack();
    let rank = quantile * (1.0 + more);
    let at = |rank: f64| match rank {
        ..=0.0 => 0.0,
        0.0..=1.0 => histogram.quantile(rank),
        _ => f64::INFINITY,
    };
    let middle = at(quantile);
    Some([rank - more, rank].map(|rank| (at(rank) / middle).ln()))
}

/// Whether send delay decides a difference in latency: the delay is more than half of either latency, or without it
/// the log ratio changes by more than half of that ratio or of the margin, whichever is larger.
pub(crate) fn delay_decides(
    [of, against]: [Option<&Figures>; 2],
    metric: Metric,
    margin: f64,
) -> bool {
    let value = |times: &Distribution| match metric::row(metric).kind {
        Kind::Quantile(quantile) => supported(&times.histogram.unpack(), quantile),
        Kind::Mean { is_latency: true } => Some(times.mean_ns),
        _ => None,
    };
    let times = |figures: &Figures| {
        let (latency, delay) = (figures.latency.as_ref()?, figures.send_delay.as_ref()?);
        Some((value(latency)?, value(delay)?))
    };
    let times = of.and_then(times).zip(against.and_then(times));
    times.is_some_and(|(of, against)| is_decided([of, against], margin))
}

/// [`delay_decides`] for two pairs of a latency and the delay that it includes.
fn is_decided([of, against]: [(f64, f64); 2], margin: f64) -> bool {
    let is_most = |(latency, delay): (f64, f64)| delay > latency / 2.0;
    let ratio = (of.0 / against.0).ln();
    let without = ((of.0 - of.1) / (against.0 - against.1)).ln();
    is_most(of)
        || is_most(against)
        || (ratio - without).abs() > ratio.abs().max(margin.ln_1p()) / 2.0
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::histogram::{Times, Unit};
    use rpcgauge_study::record::TrialOutcome;
    use rpcgauge_study::settings::Placement;

    use super::*;
    use crate::findings::caution::{Caution, CautionKind};
    use crate::findings::verdict::{Outcome, Withheld};
    use crate::fixture::{Sample, findings, two, versus};

    /// Every text that a reader of a report sees.
    fn shown(sample: &Sample) -> Vec<String> {
        let findings = findings(sample);
        let style = crate::terminal::Style {
            verbose: true,
            ..crate::terminal::Style::new(false, None, None)
        };
        let closing = crate::closing(&findings).unwrap();
        let mut shown = vec![
            crate::terminal::render(&findings, style),
            crate::markdown::render(&findings),
            crate::html::render(&findings),
            closing,
        ];
        let sentences = findings.comparisons.iter();
        shown.extend(sentences.map(|c| crate::words::comparison(c, findings.study.margin)));
        shown
            .into_iter()
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn a_verdict_on_running_services_says_so_and_speaks_of_no_invocations() {
        let mut begun = versus(2.0, 0.01);
        begun.trials.truncate(3);
        for sample in [
            versus(2.0, 0.01),
            versus(1.0, 0.01),
            versus(1.05, 0.2),
            begun,
        ] {
            let shown = shown(&sample);
            for text in &shown[..3] {
                assert!(text.contains("two running instances"), "{text}");
            }
            for text in shown {
                assert!(!text.contains("invocation"), "{text}");
            }
        }
    }

    #[test]
    fn blocks_of_running_services_stand_each_for_itself() {
        let findings = findings(&versus(2.0, 0.01));
        let verdict = &findings.comparisons[0].placements[0];
        assert_eq!(verdict.outcome, Outcome::Faster);
        let estimate = verdict.estimate.unwrap();
        assert!(estimate.interval.is_some());
        assert_eq!((estimate.invocations, estimate.blocks), (1, 10));
        let bounded = Caution::about(CautionKind::Bounded, "rest", [64, 0]);
        let bounded = bounded.under(verdict.placement);
        assert!(
            verdict.cautions.contains(&bounded),
            "{:?}",
            verdict.cautions
        );
    }

    #[test]
    fn there_is_no_verdict_on_how_late_calls_were_sent() {
        let mut late = versus(2.0, 0.01);
        for record in &mut late.trials {
            if let TrialOutcome::Measured(measured) = &mut record.outcome
                && record.variant == "rest"
            {
                measured.send_delay = measured.latency.clone();
            }
        }
        let verdict = &findings(&late).comparisons[0].placements[0];
        let reason = Withheld::SendDelay;
        assert_eq!(verdict.outcome, Outcome::NoVerdict { reason });
        for text in &shown(&late)[..3] {
            assert!(text.contains("how late calls were sent"), "{text}");
            assert!(!text.contains("two running instances"), "{text}");
        }
    }

    #[test]
    fn a_delay_decides_where_it_is_most_of_a_latency_or_of_a_difference() {
        let table = [
            // The services differ, and neither has late calls.
            ((1_000.0, 10.0), (1_600.0, 12.0), false),
            ((1_000.0, 0.0), (1_001.0, 1.0), false),
            // The delay is the whole difference, or at least half of it.
            ((1_000.0, 0.0), (1_600.0, 600.0), true),
            ((1_600.0, 400.0), (1_000.0, 0.0), true),
            ((1_000.0, 0.0), (2_000.0, 100.0), false),
            ((1_000.0, 0.0), (1_100.0, 90.0), true),
            // The delays are equal, and most of both latencies.
            ((1_000.0, 600.0), (1_000.0, 600.0), true),
            // The delay hides a difference.
            ((1_000.0, 0.0), (1_000.0, 300.0), true),
            ((1_000.0, 1_000.0), (1_000.0, 0.0), true),
        ];
        for (of, against, expected) in table {
            assert_eq!(
                is_decided([of, against], 0.03),
                expected,
                "{of:?} {against:?}"
            );
            assert_eq!(
                is_decided([against, of], 0.03),
                expected,
                "{against:?} {of:?}"
            );
        }
    }

    /// The reach for 1,000 calls, each 1 µs slower than the one before. The last `unanswered` of them do not succeed
    /// with the first variant.
    fn reach_of(metric: Metric, unanswered: u64) -> Option<[f64; 2]> {
        let findings = findings(&two(1.0).build());
        let against = findings.figures("rest", Placement::TwoCores).unwrap();
        let mut of = against.clone();
        of.calls.started = 1_000;
        of.calls.answered = 1_000 - unanswered;
        let mut times = Times::new(Unit::Ns);
        (1..=1_000 - unanswered).for_each(|call| times.add_each(call * 1_000, 1));
        of.latency = Some(Distribution::of(times));
        let uneven = Uneven::of(metric, &of, against);
        let other = Uneven::of(metric, against, &of);
        if let (Some(uneven), Some(other)) = (&uneven, &other) {
            assert_eq!(uneven.reach, [-other.reach[1], -other.reach[0]]);
            assert_eq!(uneven.shares.of, other.shares.against);
        }
        uneven.map(|uneven| uneven.reach)
    }

    #[test]
    fn unanswered_calls_move_a_percentile_by_their_share_and_a_mean_by_any_amount() {
        assert_eq!(reach_of(Metric::LatencyP50, 0), None);
        assert_eq!(reach_of(Metric::LatencyP50, 1), None, "that may be chance");
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found}");
        let [down, up] = reach_of(Metric::LatencyP50, 10).unwrap();
        close(down, (490.0_f64 / 495.0).ln());
        close(up, (500.0_f64 / 495.0).ln());
        let [down, up] = reach_of(Metric::LatencyP99, 10).unwrap();
        close(down, (980.0_f64 / 980.0).ln());
        close(up, (990.0_f64 / 980.0).ln());
        assert_eq!(reach_of(Metric::LatencyP99, 20).unwrap()[1], f64::INFINITY);
        let all = [f64::NEG_INFINITY, f64::INFINITY];
        assert_eq!(reach_of(Metric::LatencyP50, 600), Some(all));
        let [down, up] = reach_of(Metric::RequestTime, 10).unwrap();
        close(down, 0.99_f64.ln());
        assert_eq!(up, f64::INFINITY);
    }

    #[test]
    fn unanswered_calls_may_have_cost_nothing_or_all() {
        let [any_less, any_more] = [f64::NEG_INFINITY, f64::INFINITY];
        for metric in [Metric::ServerCpu, Metric::ClientCpu] {
            assert_eq!(reach_of(metric, 0), None);
            let [down, up] = reach_of(metric, 500).unwrap();
            assert_eq!(down, any_less);
            assert!((up - 2.0_f64.ln()).abs() < 1e-9, "{up}");
        }
        // Every received byte beyond the response's body may belong to calls that failed.
        let [down, up] = reach_of(Metric::CallBytes, 500).unwrap();
        assert!(down < 0.5_f64.ln() && down > 0.3_f64.ln(), "{down}");
        assert_eq!(up, any_more);
        // Without successful calls, nothing is known.
        for metric in [Metric::ServerCpu, Metric::Goodput, Metric::ResponseBytes] {
            assert_eq!(
                reach_of(metric, 1_000),
                Some([any_less, any_more]),
                "{metric:?}"
            );
        }
        // No failed call has a known latency.
        let [down, up] = reach_of(Metric::Goodput, 500).unwrap();
        assert_eq!(down, 0.0);
        assert!((up - 2.0_f64.ln()).abs() < 1e-9, "{up}");
        let [down, up] = reach_of(Metric::ResponseBytes, 500).unwrap();
        assert!((down - 0.5_f64.ln()).abs() < 1e-9, "{down}");
        assert_eq!(up, any_more);
    }
}
