//! Verdicts as lines: the statement, its interval, its figures, and why the verdict is open.

use super::ratio::Found;
use super::reason::reason;
use super::{About, Answer, margin_percent};
use crate::findings::caution::{Caution, CautionKind};
use crate::findings::verdict::{BlockCounts, Comparison, Outcome, PlacementVerdict, Withheld};

/// A verdict under one placement, in parts that each output format arranges in its own way.
pub(crate) struct Line {
    pub(crate) answer: Answer,
    /// `grpc responds 1.17× faster than rest`; for a further placement only `1.09× faster`.
    pub(crate) clause: String,
    /// `[1.06, 1.29]`, or other words after the clause; may be empty.
    pub(crate) ratio: String,
    /// `816 µs against 967 µs per call (p50)`.
    pub(crate) figures: Option<String>,
    /// Why the verdict is open, and what would help, without a full stop.
    pub(crate) reason: Option<String>,
}

impl Line {
    /// Everything except the reason, without a full stop.
    pub(crate) fn text(&self) -> String {
        let text = format!("{} {}", self.clause, self.ratio);
        match &self.figures {
            Some(figures) => format!("{}: {figures}", text.trim_end()),
            None => text.trim_end().to_owned(),
        }
    }
}

/// The lines of a comparison other than an A/A check: one for each placement, the study's own first.
pub(crate) fn lines(about: About<'_>, comparison: &Comparison, margin: f64) -> Vec<Line> {
    let verdicts = comparison.placements.iter().enumerate();
    verdicts
        .map(|(index, verdict)| line(about, verdict, margin, index > 0))
        .collect()
}

/// A verdict in full, or a short form if an earlier line names the pair (`is_further`).
pub(crate) fn line(
    about: About<'_>,
    verdict: &PlacementVerdict,
    margin: f64,
    is_further: bool,
) -> Line {
    let (clause, ratio) = if is_further {
        further(about, verdict)
    } else {
        headline(about, verdict, margin)
    };
    let figures = verdict.of_value.zip(verdict.against_value);
    let unit = if is_further {
        String::new()
    } else {
        format!(" {}", about.phrase())
    };
    Line {
        answer: Answer::under(verdict),
        clause,
        ratio,
        figures: figures.map(|(of, against)| {
            let [of, against] = [of, against].map(|figure| about.value(figure));
            format!("{of} against {against}{unit}")
        }),
        reason: reason(about, verdict),
    }
}

/// The statement about a pair, and its ratio and interval.
fn headline(about: About<'_>, verdict: &PlacementVerdict, margin: f64) -> (String, String) {
    let (of, against) = (about.of, about.against);
    let (verb, name) = (about.verb(), about.name());
    let no_verdict = format!("No verdict on {of} against {against} in {name}");
    let Some(estimate) = &verdict.estimate else {
        return (no_verdict, String::new());
    };
    let found = Found::of(about, estimate);
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

/// The short form of [`headline`], for a further placement.
fn further(about: About<'_>, verdict: &PlacementVerdict) -> (String, String) {
    let Some(estimate) = &verdict.estimate else {
        return ("no verdict".to_owned(), String::new());
    };
    let found = Found::of(about, estimate);
    match verdict.outcome {
        Outcome::Faster | Outcome::Slower => (found.phrase, found.interval),
        Outcome::NoDifference => ("no difference,".to_owned(), found.text()),
        Outcome::NotResolved { .. } => ("not resolved,".to_owned(), found.text()),
        Outcome::NoVerdict { .. } => ("no verdict,".to_owned(), found.text()),
    }
}

/// A verdict in as few words as possible, for a table: `1.17× faster`, `[1.06, 1.29]`.
pub(crate) fn brief(about: About<'_>, verdict: &PlacementVerdict) -> Found {
    let withheld = match verdict.outcome {
        Outcome::NoVerdict { reason } => Some(reason),
        _ => None,
    };
    match (withheld, &verdict.estimate) {
        (Some(Withheld::ClientBound), _) if about.is_of_app() => {
            Found::word("load generator saturated")
        }
        (Some(Withheld::Unanswered), _) if about.is_of_app() => Found::word("failed requests"),
        (Some(Withheld::ClientBound), _) => Found::word("client-bound"),
        (Some(Withheld::LinkNotHeld), _) => Found::word("link not held"),
        (Some(Withheld::SendDelay), _) => Found::word("calls sent late"),
        (Some(Withheld::Unanswered), _) => Found::word("unsuccessful calls"),
        (_, None) => Found::word(without(verdict)),
        (_, Some(estimate)) => Found::of(about, estimate),
    }
}

/// The words for a comparison without an estimate.
pub(super) fn without(verdict: &PlacementVerdict) -> String {
    if let Some(failed) = verdict.cautions.iter().find_map(all_failed) {
        return format!("all calls of {failed} failed");
    }
    let words = match verdict.blocks {
        BlockCounts {
            client_bound: 1.., ..
        } => "client-bound",
        BlockCounts {
            link_not_held: 1.., ..
        } => "link not held",
        // A percentile needs a call beyond it.
        BlockCounts { no_value: 1.., .. } => "too few calls",
        _ => NOT_MEASURED,
    };
    words.to_owned()
}

/// The variant that a caution is about, if it says that all of its calls failed.
fn all_failed(caution: &Caution) -> Option<&str> {
    let all = caution.kind == CautionKind::FailedCalls && caution.count == caution.of;
    caution.variant.as_deref().filter(|_| all)
}

/// The words for a comparison of variants at least one of which has no measured trial.
pub(super) const NOT_MEASURED: &str = "not measured";

#[cfg(test)]
mod tests {
    use rpcgauge_study::plan::Metric;
    use rpcgauge_study::settings::{Operation, Placement, Timing};

    use super::*;

    #[test]
    fn what_has_no_estimate_says_why() {
        let said = |client_bound, no_value| {
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
                control: None,
                smallest_difference: None,
                unanswered: None,
                cautions: Vec::new(),
            })
        };
        assert_eq!(said(1, 1), "client-bound");
        assert_eq!(said(0, 1), "too few calls");
        assert_eq!(said(0, 0), "not measured");
    }

    #[test]
    fn a_codec_answers_no_calls() {
        let mut comparison = crate::fixture::findings(&crate::fixture::two(2.0).build())
            .comparisons
            .remove(0);
        for (operation, verb) in [
            (Operation::Encode, "encodes"),
            (Operation::Decode, "decodes"),
        ] {
            comparison.operation = Some(operation);
            let line = &lines(About::from(&comparison), &comparison, 0.03)[0];
            assert!(
                line.clause.starts_with(&format!("grpc {verb} ")),
                "{}",
                line.clause
            );
            let figures = line.figures.as_deref();
            assert!(
                figures.is_some_and(|f| f.ends_with(" per message (p50)")),
                "{figures:?}"
            );
        }
        comparison.metric = Metric::Goodput;
        let about = About::from(&comparison);
        let further = line(about, &comparison.placements[0], 0.03, true);
        assert!(
            further.clause.ends_with("messages per second"),
            "{}",
            further.clause
        );
    }
}
