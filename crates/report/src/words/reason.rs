//! Why a verdict is open or withheld, what would resolve it, and what else matters for it.

use super::ratio::{Found, factor_phrase};
use super::{About, NOT_HELD};
use crate::findings::caution::CautionKind;
use crate::findings::trial::Unfit;
use crate::findings::verdict::{
    BlockCounts, More, Outcome, PlacementVerdict, Unresolved, Withheld,
};
use crate::units;

/// Why there is no verdict or why it is open, what would help, the difference that would have been seen, and a
/// note on dynamic code.
pub(super) fn reason(about: About<'_>, verdict: &PlacementVerdict) -> Option<String> {
    let unanswered = unanswered(about, verdict);
    let code = dynamic_code(verdict);
    let (why, more) = match verdict.outcome {
        Outcome::Faster | Outcome::Slower => {
            // The difference is resolved although the A/A pair shows one, too.
            let beyond = || format!("this exceeds {}", a_a(about, verdict));
            let beyond = aa_misses_1(verdict).then(beyond);
            return sentence([beyond, contrary(about, verdict), unanswered, code]);
        }
        Outcome::NoDifference => return sentence([power(verdict), unanswered, code]),
        Outcome::NoVerdict { reason } => {
            return match reason {
                Withheld::Unanswered => unanswered,
                Withheld::NotMeasured => Some("no block has figures for both variants".to_owned()),
                Withheld::ClientBound if about.is_of_app() => {
                    Some(load_generator_saturated(&verdict.blocks))
                }
                Withheld::ClientBound => Some(unfit(&verdict.blocks, Unfit::ClientBound)),
                Withheld::LinkNotHeld => Some(unfit(&verdict.blocks, Unfit::LinkNotHeld)),
                Withheld::SendDelay => Some(SENT_LATE.to_owned()),
            };
        }
        Outcome::NotResolved { reason, more } => (reason, more),
    };
    let run = verdict.estimate.as_ref().map_or(1, |e| e.independent());
    sentence([
        Some(unresolved(why, about, verdict)),
        power(verdict),
        more.map(|more| help(about, more, run)),
        contrary(about, verdict),
        code,
    ])
}

fn load_generator_saturated(blocks: &BlockCounts) -> String {
    format!(
        "the load generator used more than 80% of a core in {} of {} blocks and may have set the pace itself; use \
         fewer users, more think time or a lower rate",
        blocks.client_bound,
        blocks.planned - blocks.missing
    )
}

/// Why blocks were unfit, with the number that were unfit for this reason: they may be a minority if blocks were
/// also unfit for other reasons.
fn unfit(blocks: &BlockCounts, reason: Unfit) -> String {
    let in_blocks =
        |count: u64| format!("in {count} of {} blocks", blocks.planned - blocks.missing);
    match reason {
        Unfit::ClientBound => format!(
            "client-bound: the client used more than 80% of its core {}, so this says nothing about the server",
            in_blocks(blocks.client_bound)
        ),
        Unfit::LinkNotHeld => format!(
            "the link was not held {}: {NOT_HELD}, so the result is not about the requested link; use a quieter \
             machine or a slower link",
            in_blocks(blocks.link_not_held)
        ),
    }
}

const SENT_LATE: &str = "the result depends on how late calls were sent: they waited for a connection or for \
     this client; use more --connections or a lower rate";

/// How to collect more data from running services.
pub(crate) const LONGER: &str = "a longer --duration with more --blocks";

/// A note that the two variants have different shares of unsuccessful calls, and how that affects the verdict.
fn unanswered(about: About<'_>, verdict: &PlacementVerdict) -> Option<String> {
    let shares = verdict.unanswered?;
    let is_withheld = matches!(verdict.outcome, Outcome::NoVerdict { .. });
    let does = match (about.is_of_app(), is_withheld) {
        (true, true) => {
            "failed: too many for a verdict on response times, which cover only successful requests"
        }
        (true, false) => "failed and are left out",
        (false, true) => "did not succeed: counting them could change the verdict",
        (false, false) => "did not succeed: counting them would not change the verdict",
    };
    let calls = if about.is_of_app() {
        "requests"
    } else {
        "calls"
    };
    let [of, against] = [shares.of, shares.against].map(units::percent);
    Some(format!(
        "{of} of the {calls} of {} and {against} of the {calls} of {} {does}",
        about.of, about.against
    ))
}

/// A note that a verdict is based on dynamic code.
fn dynamic_code(verdict: &PlacementVerdict) -> Option<String> {
    match verdict.on_dynamic_code()[..] {
        [] => None,
        [one] => Some(format!(
            "only the messages of {one} go through dynamic code in rpcgauge, so the difference may be due to that"
        )),
        _ => Some(
            "messages go through dynamic code in rpcgauge, and generated code may differ"
                .to_owned(),
        ),
    }
}

/// A short mark to append to a text; empty without dynamic code.
pub(crate) fn code_mark(verdict: &PlacementVerdict) -> &'static str {
    if verdict.has(CautionKind::DynamicCode) {
        " (dynamic code)"
    } else {
        ""
    }
}

/// Joins the parts that are present; `None` without any.
fn sentence<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    let text = super::joined(parts.into_iter().flatten(), "; ");
    Some(text).filter(|text| !text.is_empty())
}

/// Whether the interval of a verdict's A/A pair excludes 1.
pub(super) fn aa_misses_1(verdict: &PlacementVerdict) -> bool {
    let interval = verdict.control.as_ref().and_then(|c| c.estimate.interval);
    interval.is_some_and(|[low, high]| low > 1.0 || high < 1.0)
}

/// The difference of the A/A pair in this verdict's metric. The pair's own line may be about another metric.
fn a_a(about: About<'_>, verdict: &PlacementVerdict) -> String {
    let Some(control) = &verdict.control else {
        return "the difference of the A/A pair (the same thing measured twice)".to_owned();
    };
    let found = Found::of(about, &control.estimate);
    format!(
        "the difference of the A/A pair ({}; {} measured twice)",
        found.text(),
        control.of
    )
}

/// A note if the two figures contradict the ratio. The figures are over all calls, but the ratio is the median of the
/// blocks: if blocks vary widely, for example because a few contain most of the slowest calls, the quotient of the figures
/// may lie outside the ratio's interval, or point the other way.
fn contrary(about: About<'_>, verdict: &PlacementVerdict) -> Option<String> {
    let (of, against) = verdict.of_value.zip(verdict.against_value)?;
    let [low, high] = verdict.estimate.as_ref()?.interval?;
    let over_all = of / against;
    // A ratio whose interval includes 1 is written in both directions.
    let is_both_ways = low <= 1.0 && 1.0 <= high;
    // Figures that are exact have an interval of no width, and are rounded.
    let is_inside = (low * 0.99..=high * 1.01).contains(&over_all) || !over_all.is_finite();
    (!is_both_ways && !is_inside).then(|| {
        format!(
            "over all calls together it is {}: blocks vary widely, and the ratio is the median of the blocks",
            factor_phrase(about, over_all)
        )
    })
}

/// Why a comparison is open.
fn unresolved(why: Unresolved, about: About<'_>, verdict: &PlacementVerdict) -> String {
    match why {
        Unresolved::NoInterval if verdict.has(CautionKind::RunningInstances) => {
            "one block gives no interval".to_owned()
        }
        Unresolved::NoInterval => "one invocation gives no interval".to_owned(),
        Unresolved::IntervalTooWide => "the interval includes 1 and is too wide".to_owned(),
        Unresolved::NotBeyondAa => format!("this does not exceed {}", a_a(about, verdict)),
        Unresolved::AaBeyondMargin => {
            format!(
                "this lies inside the margin, but {} does not",
                a_a(about, verdict)
            )
        }
        Unresolved::AaNoInterval => "the A/A pair has no interval".to_owned(),
    }
}

/// The report advises a longer run up to this many times the length of this one.
const SENSIBLE_TIMES: u64 = 20;

/// How many times as long a run would resolve a comparison that fresh starts left open; `None` if it is not open, or if
/// that would be impractical.
pub(crate) fn times_as_long(verdict: &PlacementVerdict) -> Option<f64> {
    let Outcome::NotResolved { more, .. } = verdict.outcome else {
        return None;
    };
    let run = verdict.estimate.as_ref()?.independent();
    let further = more.filter(|more| more.invocations > 0)?.invocations as u64;
    let is_practical = further <= run.saturating_mul(SENSIBLE_TIMES);
    is_practical.then(|| longer(further, run))
}

fn longer(further: u64, run: u64) -> f64 {
    1.0 + further as f64 / run.max(1) as f64
}

/// How much more to measure to resolve the comparison; `run` is the number of independent units in this run.
fn help(about: About<'_>, more: More, run: u64) -> String {
    let (invocations, blocks) = (more.invocations as u64, more.blocks as u64);
    let further = if invocations == 0 {
        blocks
    } else {
        invocations
    };
    if further > run.saturating_mul(SENSIBLE_TIMES) {
        return format!(
            "settling it would take an impractical number of runs (over {SENSIBLE_TIMES} like \
             this one)"
        );
    }
    if invocations == 0 {
        let blocks = units::counted(blocks, "more block");
        return format!("about {blocks} of this length ({LONGER}) would settle it");
    }
    let longer = longer(invocations, run);
    let run = if about.is_of_app() {
        "a run"
    } else {
        "a run, or a --budget,"
    };
    format!(
        "about {} ({}) would settle it: {run} {}× as long",
        units::counted(invocations, "more invocation"),
        units::counted(blocks, "block"),
        units::number(longer)
    )
}

/// An interval that reaches beyond this factor shows nothing: no real difference is expected to be that large.
pub(super) const WORTHLESS: f64 = 10.0;

/// The power of a comparison: the smallest difference that it would have shown with 80% probability.
fn power(verdict: &PlacementVerdict) -> Option<String> {
    let smallest = verdict.smallest_difference?;
    if smallest > WORTHLESS {
        return Some("too noisy to show any difference of a realistic size".to_owned());
    }
    let smallest = units::difference(smallest);
    Some(format!(
        "a difference of {smallest} would probably have been seen"
    ))
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::plan::Metric;
    use rpcgauge_study::settings::{Operation, Placement, Timing};

    use super::*;
    use crate::findings::verdict::{BlockCounts, Control, Estimate};

    const P99: About<'_> = About {
        of: "a",
        against: "b",
        metric: Metric::LatencyP99,
        operation: None,
        one_process: false,
        said: None,
    };

    const NOT_BEYOND: Outcome = Outcome::NotResolved {
        reason: Unresolved::NotBeyondAa,
        more: None,
    };

    fn verdict(of: f64, against: f64, ratio: f64) -> PlacementVerdict {
        PlacementVerdict {
            placement: Placement::TwoCores,
            timing: Timing::Stages,
            of_value: Some(of),
            against_value: Some(against),
            estimate: Some(Estimate {
                ratio,
                interval: Some([ratio * 0.9, ratio * 1.1]),
                confidence: 0.95,
                invocations: 8,
                blocks: 8,
            }),
            outcome: Outcome::Slower,
            blocks: BlockCounts::default(),
            control: None,
            smallest_difference: None,
            unanswered: None,
            cautions: Vec::new(),
        }
    }

    fn needed(invocations: usize, blocks: usize, run: u64) -> String {
        help(
            P99,
            More {
                invocations,
                blocks,
            },
            run,
        )
    }

    #[test]
    fn figures_that_contradict_the_ratio_are_explained() {
        for (of, against, ratio, explained) in [
            (40.0, 45.0, 1.8, true),
            (45.0, 40.0, 0.8, true),
            (45.0, 40.0, 1.8, true),
            (70.0, 40.0, 1.8, false),
            (33.0, 40.0, 0.8, false),
        ] {
            let reason = reason(P99, &verdict(of, against, ratio));
            assert_eq!(reason.is_some(), explained, "{of} {against} {ratio}");
        }
        let open = PlacementVerdict {
            outcome: NOT_BEYOND,
            ..verdict(40.0, 45.0, 1.8)
        };
        let said = reason(P99, &open).unwrap();
        assert!(said.contains("; over all calls together"), "{said}");
        // Given as "1.2× faster to 1.8× slower", which points both ways.
        let both_ways = verdict(40.0, 45.0, 1.05);
        assert_eq!(reason(P99, &both_ways), None);
    }

    #[test]
    fn what_a_codec_does_is_not_counted_in_calls() {
        let codec = About {
            metric: Metric::Goodput,
            operation: Some(Operation::Decode),
            ..P99
        };
        let estimate = Estimate {
            ratio: 1.5,
            interval: Some([1.2, 1.8]),
            confidence: 0.95,
            invocations: 8,
            blocks: 8,
        };
        let [beyond, not_beyond] = [Outcome::Faster, NOT_BEYOND].map(|outcome| {
            let verdict = PlacementVerdict {
                outcome,
                control: Some(Control {
                    of: "a".to_owned(),
                    again: "a again".to_owned(),
                    estimate,
                }),
                ..verdict(2.0, 1.0, 2.0)
            };
            reason(codec, &verdict).unwrap()
        });
        let shown = "the difference of the A/A pair (1.50× more messages per second [1.20, 1.80]; a measured twice)";
        assert_eq!(beyond, format!("this exceeds {shown}"));
        assert_eq!(not_beyond, format!("this does not exceed {shown}"));
    }

    #[test]
    fn help_counts_or_says_that_it_is_too_much() {
        assert_eq!(
            needed(0, 12, 10),
            "about 12 more blocks of this length (a longer --duration with more --blocks) would settle it"
        );
        let too_much =
            "settling it would take an impractical number of runs (over 20 like this one)";
        assert_eq!(needed(0, 201, 10), too_much);
        assert_eq!(
            needed(1, 1, 8),
            "about 1 more invocation (1 block) would settle it: a run, or a --budget, 1.12× as long"
        );
        assert_eq!(
            needed(78, 156, 8),
            "about 78 more invocations (156 blocks) would settle it: a run, or a --budget, 10.8× as long"
        );
        assert_eq!(
            needed(165, 165, 8),
            "settling it would take an impractical number of runs (over 20 like this one)"
        );
    }
}
