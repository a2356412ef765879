//! Verdicts as lines: what is said, how sure it is, the figures behind it, why it is open.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

use super::metric::{metric_name, unit_phrase, value, verb};
use super::ratio::Found;
use super::{About, margin_percent, on};
use crate::findings::verdict::{
    BlockCounts, Combined, Comparison, More, Outcome, PlacementVerdict, Unresolved, Withheld,
};
use crate::questions::Answer;
use crate::units;

/// A verdict under one placement, in parts that each output puts together in its own way.
pub(crate) struct Line {
    pub(crate) placement: Placement,
    pub(crate) answer: Answer,
    /// `grpc answers 1.17× faster than rest`; of a further placement only `1.09× faster`.
    pub(crate) clause: String,
    /// `[1.06, 1.29]`, or what else stands behind the clause; may be empty.
    pub(crate) ratio: String,
    /// `816 µs against 967 µs a call (p50)`.
    pub(crate) figures: Option<String>,
    /// Why it is open, and what would help; no full stop.
    pub(crate) reason: Option<String>,
}

impl Line {
    /// All but the reason, without a full stop.
    pub(crate) fn text(&self) -> String {
        let mut text = self.clause.clone();
        if !self.ratio.is_empty() {
            text = format!("{text} {}", self.ratio);
        }
        match &self.figures {
            Some(figures) => format!("{text}: {figures}"),
            None => text,
        }
    }
}

/// A comparison that is no A/A check, a line for each placement, the study's own first.
pub(crate) fn lines(about: About<'_>, comparison: &Comparison, margin: f64) -> Vec<Line> {
    let verdicts = comparison.placements.iter().enumerate();
    verdicts
        .map(|(index, verdict)| line(about, verdict, margin, index > 0))
        .collect()
}

/// A verdict in full, or in short after one that named the pair.
pub(super) fn line(
    about: About<'_>,
    verdict: &PlacementVerdict,
    margin: f64,
    is_further: bool,
) -> Line {
    let (clause, ratio) = if is_further {
        further(about.metric, verdict)
    } else {
        headline(about, verdict, margin)
    };
    let figures = verdict.of_value.zip(verdict.against_value);
    let unit = if is_further {
        String::new()
    } else {
        format!(" {}", unit_phrase(about.metric))
    };
    Line {
        placement: verdict.placement,
        answer: Answer::under(verdict),
        clause,
        ratio,
        figures: figures.map(|(of, against)| {
            let (of, against) = (value(about.metric, of), value(about.metric, against));
            format!("{of} against {against}{unit}")
        }),
        reason: reason(about.metric, verdict),
    }
}

/// What is said of a pair, and the ratio and interval that stand behind it.
fn headline(about: About<'_>, verdict: &PlacementVerdict, margin: f64) -> (String, String) {
    let About {
        of,
        against,
        metric,
    } = about;
    let (verb, ..) = verb(metric);
    let name = metric_name(metric);
    let no_verdict = format!("No verdict on {of} against {against} in {name}");
    let Some(estimate) = &verdict.estimate else {
        return (no_verdict, String::new());
    };
    let found = Found::of(metric, estimate);
    match verdict.outcome {
        Outcome::Faster | Outcome::Slower => (
            format!("{of} {verb} {} than {against}", found.phrase),
            found.interval,
        ),
        Outcome::NoDifference => (
            format!("No difference between {of} and {against} in {name}:"),
            format!("{}, within ±{}", found.text(), margin_percent(margin)),
        ),
        Outcome::NotResolved { .. } => (
            format!("Not resolved: {of} against {against} in {name},"),
            found.text(),
        ),
        Outcome::NoVerdict { .. } => (format!("{no_verdict},"), found.text()),
    }
}

/// The same of a further placement.
fn further(metric: Metric, verdict: &PlacementVerdict) -> (String, String) {
    let Some(estimate) = &verdict.estimate else {
        return ("no verdict".to_owned(), String::new());
    };
    let found = Found::of(metric, estimate);
    match verdict.outcome {
        Outcome::Faster | Outcome::Slower => (found.phrase, found.interval),
        Outcome::NoDifference => ("no difference,".to_owned(), found.text()),
        Outcome::NotResolved { .. } => ("not resolved,".to_owned(), found.text()),
        Outcome::NoVerdict { .. } => ("no verdict,".to_owned(), found.text()),
    }
}

/// A comparison's answer in a few words, and where alone it was found if other placements leave it open.
pub(crate) fn answer(comparison: &Comparison) -> String {
    let answer = Answer::of(comparison);
    if comparison.combined != Combined::Unconfirmed {
        return answer.label().to_owned();
    }
    let places: Vec<&str> = comparison
        .placements
        .iter()
        .filter(|v| Answer::under(v) == answer)
        .map(|v| on(v.placement))
        .collect();
    format!("{} {} only", answer.label(), places.join(" and "))
}

/// A verdict in as few words as can be, for a table: `1.17× faster`, `[1.06, 1.29]`.
pub(crate) fn brief(metric: Metric, verdict: &PlacementVerdict) -> Found {
    let word = |phrase: &str| Found {
        phrase: phrase.to_owned(),
        interval: String::new(),
    };
    match (&verdict.estimate, verdict.outcome) {
        (
            _,
            Outcome::NoVerdict {
                reason: Withheld::ClientBound,
            },
        ) => word("client-bound"),
        (None, _) => word(without(verdict)),
        (Some(estimate), _) => Found::of(metric, estimate),
    }
}

/// What there is of a comparison without an estimate.
pub(super) fn without(verdict: &PlacementVerdict) -> &'static str {
    match verdict.blocks {
        BlockCounts {
            client_bound: 1.., ..
        } => "client-bound",
        // Where all calls of a variant fail, for one.
        BlockCounts { no_value: 1.., .. } => "without figures of both",
        _ => NOT_MEASURED,
    }
}

/// What is said where one of two variants, or both, have no trial that was measured.
pub(super) const NOT_MEASURED: &str = "not measured";

/// Why there is no verdict or none yet, what would help, and what would have been seen.
fn reason(metric: Metric, verdict: &PlacementVerdict) -> Option<String> {
    let (why, more) = match verdict.outcome {
        Outcome::Faster | Outcome::Slower => return contrary(verdict),
        Outcome::NoDifference => return power(verdict),
        Outcome::NoVerdict {
            reason: Withheld::NotMeasured,
        } => return Some("no block has figures of both".to_owned()),
        Outcome::NoVerdict {
            reason: Withheld::ClientBound,
        } => {
            return Some(
                "client-bound: the client used more than 80% of its core in most blocks, so this \
                 says nothing of the server"
                    .to_owned(),
            );
        }
        Outcome::NotResolved { reason, more } => (reason, more),
    };
    // With a failing A/A pair the comparison has no power to speak of.
    let too_wide = why == Unresolved::IntervalTooWide;
    let power = power(verdict).filter(|_| too_wide);
    let run = verdict.estimate.as_ref().map_or(1, |e| e.invocations);
    let parts = [
        Some(unresolved(why, metric, verdict)),
        power,
        more.map(|more| help(more, run)),
        contrary(verdict),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// The two figures beside a ratio are over all calls, the ratio is the median of the blocks': where
/// a few blocks hold most of the slowest calls, a percentile's figures can point the other way.
fn contrary(verdict: &PlacementVerdict) -> Option<String> {
    let (of, against) = verdict.of_value.zip(verdict.against_value)?;
    let estimate = verdict.estimate.as_ref()?;
    let ratio = estimate.ratio;
    // Such a ratio is told both ways.
    if estimate
        .interval
        .is_some_and(|[low, high]| low <= 1.0 && 1.0 <= high)
    {
        return None;
    }
    let points_other_way = (of < against && ratio > 1.0) || (of > against && ratio < 1.0);
    points_other_way.then(|| {
        "over all calls together the figures point the other way: a few blocks hold most of what \
         makes them up, and the ratio is that of the median block"
            .to_owned()
    })
}

/// Why a comparison is open. What the A/A pair came to stands with it: its own line is about one
/// metric, and this one may be about another.
fn unresolved(why: Unresolved, metric: Metric, verdict: &PlacementVerdict) -> String {
    let a_a = verdict.guard.as_ref();
    let a_a = a_a.map_or_else(String::new, |guard| {
        format!(", {},", Found::of(metric, &guard.estimate).text())
    });
    match why {
        Unresolved::NoInterval => "one invocation gives no interval".to_owned(),
        Unresolved::IntervalTooWide => "the interval holds 1 and is too wide".to_owned(),
        Unresolved::AaNotOne => {
            format!("the A/A pair differs{a_a} although it is one and the same")
        }
        Unresolved::AaNoInterval => "the A/A pair has no interval".to_owned(),
        Unresolved::AaTooWide => {
            format!("the A/A pair's interval{a_a} is wider than this difference")
        }
    }
}

/// Nobody repeats a run this many times to settle a question.
const SENSIBLE_TIMES: u64 = 20;

/// How much more measuring would settle it, beside the invocations there were.
fn help(more: More, run: u64) -> String {
    if more.invocations > run.saturating_mul(SENSIBLE_TIMES) {
        return format!(
            "settling it would take far more runs than is sensible (over {SENSIBLE_TIMES} like \
             this one)"
        );
    }
    let counted = |count: u64, one: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {one}{plural}", units::count(count))
    };
    format!(
        "about {} ({}) would settle it",
        counted(more.invocations, "more invocation"),
        counted(more.blocks, "block")
    )
}

/// A difference beyond this factor is no longer a question of noise.
pub(super) const WORTHLESS: f64 = 10.0;

/// The power of a comparison: what it would have shown with 80% probability.
fn power(verdict: &PlacementVerdict) -> Option<String> {
    let smallest = verdict.smallest_difference?;
    Some(if smallest > WORTHLESS {
        "too noisy to show any difference that is to be expected".to_owned()
    } else {
        format!(
            "a difference of {} would probably have been seen",
            units::difference(smallest)
        )
    })
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::settings::Timing;

    use super::*;
    use crate::findings::verdict::Estimate;

    fn needed(invocations: u64, blocks: u64, run: u64) -> String {
        help(
            More {
                invocations,
                blocks,
            },
            run,
        )
    }

    #[test]
    fn figures_that_point_the_other_way_are_explained() {
        let verdict = |of: f64, against: f64, ratio: f64| PlacementVerdict {
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
            guard: None,
            smallest_difference: None,
            notes: Vec::new(),
        };
        for (of, against, ratio, explained) in [
            (40.0, 45.0, 1.8, true),
            (45.0, 40.0, 0.8, true),
            (45.0, 40.0, 1.8, false),
            (40.0, 45.0, 0.8, false),
            (40.0, 40.0, 1.8, false),
        ] {
            let reason = reason(Metric::LatencyP99, &verdict(of, against, ratio));
            assert_eq!(reason.is_some(), explained, "{of} {against} {ratio}");
        }
        let open = PlacementVerdict {
            outcome: Outcome::NotResolved {
                reason: Unresolved::AaTooWide,
                more: None,
            },
            ..verdict(40.0, 45.0, 1.8)
        };
        let told = reason(Metric::LatencyP99, &open).unwrap();
        assert!(told.contains("; over all calls together"), "{told}");
        // Told as "1.2× faster to 1.8× slower", which points both ways.
        let both_ways = verdict(40.0, 45.0, 1.05);
        assert_eq!(reason(Metric::LatencyP99, &both_ways), None);
    }

    #[test]
    fn what_has_no_estimate_says_why() {
        let told = |client_bound, no_value| {
            without(&PlacementVerdict {
                placement: Placement::Free,
                timing: Timing::Load,
                of_value: None,
                against_value: None,
                estimate: None,
                outcome: Outcome::NoVerdict {
                    reason: Withheld::NotMeasured,
                },
                blocks: BlockCounts {
                    client_bound,
                    no_value,
                    missing: 1,
                    ..BlockCounts::default()
                },
                guard: None,
                smallest_difference: None,
                notes: Vec::new(),
            })
        };
        assert_eq!(told(1, 1), "client-bound");
        assert_eq!(told(0, 1), "without figures of both");
        assert_eq!(told(0, 0), "not measured");
    }

    #[test]
    fn help_counts_or_says_that_it_is_too_much() {
        assert_eq!(
            needed(1, 1, 8),
            "about 1 more invocation (1 block) would settle it"
        );
        assert_eq!(
            needed(78, 156, 8),
            "about 78 more invocations (156 blocks) would settle it"
        );
        assert_eq!(
            needed(165, 165, 8),
            "settling it would take far more runs than is sensible (over 20 like this one)"
        );
    }
}
