//! Verdicts and claims as sentences.

mod claim;
mod metric;

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

pub(crate) use claim::{claim, claim_measured, claim_outcome, claim_published, size_match};
pub(crate) use metric::{Factor, change_phrase, factor_phrase, metric_name, values};

use crate::findings::verdict::{
    ClaimFindings, Combined, Comparison, Estimate, Note, Outcome, PlacementVerdict, Unresolved,
    Withheld,
};
use crate::units;
use metric::{unit_phrase, verb};

/// What a verdict is about.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) of: &'a str,
    pub(crate) against: &'a str,
    pub(crate) metric: Metric,
}

impl<'a> From<&'a Comparison> for About<'a> {
    fn from(c: &'a Comparison) -> Self {
        Self {
            of: &c.of,
            against: &c.against,
            metric: c.metric,
        }
    }
}

impl<'a> From<&'a ClaimFindings> for About<'a> {
    fn from(c: &'a ClaimFindings) -> Self {
        Self {
            of: &c.of,
            against: &c.against,
            metric: c.metric,
        }
    }
}

/// Under a placement, in words.
pub(crate) fn on(placement: Placement) -> &'static str {
    match placement {
        Placement::OneCore => "on one core",
        Placement::TwoCores => "on two cores",
        Placement::Free => "placed by the scheduler",
    }
}

/// ` [2.24, 2.39]` of a factor, or that there is none.
fn bracket(factor: &Factor) -> String {
    let text = factor
        .interval
        .map(|interval| units::interval(interval, factor.decimals()));
    text.map_or_else(|| " (no interval)".to_owned(), |text| format!(" {text}"))
}

/// The verdict in one clause, without the figures: what is said, and the ratio and interval that
/// stand behind it.
pub(crate) fn headline(
    about: About<'_>,
    verdict: &PlacementVerdict,
    margin: f64,
) -> (String, String) {
    let About {
        of,
        against,
        metric,
    } = about;
    let (verb, better, worse) = verb(metric);
    let name = metric_name(metric);
    let Some(estimate) = &verdict.estimate else {
        return (
            format!("No verdict on {of} against {against} in {name}"),
            String::new(),
        );
    };
    let ratio = format!(
        ", ratio {}{}",
        units::ratio(estimate.ratio),
        plain_bracket(estimate)
    );
    match verdict.outcome {
        Outcome::Faster | Outcome::Slower => {
            let factor = Factor::estimated(metric, estimate);
            let side = if verdict.outcome == Outcome::Faster {
                better
            } else {
                worse
            };
            let value = units::ratio(factor.value);
            (
                format!("{of} {verb} {value}× {side} than {against}"),
                bracket(&factor),
            )
        }
        Outcome::NoDifference => (
            format!("No difference between {of} and {against} in {name}"),
            format!("{ratio}, within ±{}", margin_percent(margin)),
        ),
        Outcome::NotResolved { .. } => (
            format!("Not resolved: {of} against {against} in {name}"),
            ratio,
        ),
        Outcome::NoVerdict { .. } => (
            format!("No verdict on {of} against {against} in {name}"),
            ratio,
        ),
    }
}

/// `3%`, `2.5%`.
pub(crate) fn margin_percent(margin: f64) -> String {
    let percent = (margin * 1_000.0).round() / 10.0;
    format!("{percent}%")
}

fn plain_bracket(estimate: &Estimate) -> String {
    let decimals = units::ratio_decimals(estimate.ratio);
    let text = estimate
        .interval
        .map(|interval| units::interval(interval, decimals));
    text.map_or_else(|| " (no interval)".to_owned(), |text| format!(" {text}"))
}

/// `1.92 ms against 4.41 ms a call (p50)`.
pub(crate) fn figures(about: About<'_>, verdict: &PlacementVerdict) -> Option<String> {
    let (of, against) = values(about.metric, verdict.of_value?, verdict.against_value?);
    Some(format!(
        "{of} against {against} {}",
        unit_phrase(about.metric)
    ))
}

/// Why there is no verdict or none yet, what would help, and what would have been seen.
pub(crate) fn reason(verdict: &PlacementVerdict) -> Option<String> {
    let (why, more) = match verdict.outcome {
        Outcome::Faster | Outcome::Slower => return None,
        Outcome::NoDifference => return power(verdict),
        Outcome::NoVerdict {
            reason: Withheld::NotMeasured,
        } => {
            return Some("no block has figures of both".to_owned());
        }
        Outcome::NoVerdict {
            reason: Withheld::ClientBound,
        } => {
            return Some(
                "client-bound: the client used more than 80% of its core in most blocks, so this \
                 says nothing of the server"
                    .to_owned(),
            );
        }
        Outcome::NotResolved { reason, more } => (unresolved(reason), more),
    };
    let more = more.map(|more| {
        let plural = if more.invocations == 1 {
            "invocation"
        } else {
            "invocations"
        };
        let (invocations, blocks) = (units::count(more.invocations), units::count(more.blocks));
        format!("about {invocations} more {plural} ({blocks} blocks) would settle it")
    });
    // With a failing A/A pair the comparison has no power to speak of.
    let too_wide = matches!(
        verdict.outcome,
        Outcome::NotResolved {
            reason: Unresolved::IntervalTooWide,
            ..
        }
    );
    let power = power(verdict).filter(|_| too_wide);
    let parts: Vec<String> = [Some(why.to_owned()), power, more]
        .into_iter()
        .flatten()
        .collect();
    Some(parts.join("; "))
}

fn unresolved(reason: Unresolved) -> &'static str {
    match reason {
        Unresolved::NoInterval => "one invocation gives no interval",
        Unresolved::IntervalTooWide => "the interval holds 1 and is too wide",
        Unresolved::AaNotOne => "the A/A pair differs, although it is one and the same",
        Unresolved::AaNoInterval => "the A/A pair has no interval",
        Unresolved::AaTooWide => "the A/A pair's interval is wider than this difference",
    }
}

/// The power of a comparison: what it would have shown with 80% probability.
fn power(verdict: &PlacementVerdict) -> Option<String> {
    let smallest = verdict.smallest_difference?;
    let seen = units::percent(smallest - 1.0);
    Some(format!(
        "a difference of {seen} would probably have been seen"
    ))
}

/// A verdict under one placement as a whole sentence without its full stop.
pub(crate) fn verdict(about: About<'_>, verdict: &PlacementVerdict, margin: f64) -> String {
    let (clause, ratio) = headline(about, verdict, margin);
    let mut text = clause + &ratio;
    if let Some(figures) = figures(about, verdict) {
        text = format!("{text}: {figures}");
    }
    if let Some(reason) = reason(verdict) {
        text = format!("{text}. {}", capital(&reason));
    }
    text
}

/// The A/A pair's own line.
pub(crate) fn a_a(about: About<'_>, verdict: &PlacementVerdict) -> String {
    let About {
        of,
        against,
        metric,
    } = about;
    let name = metric_name(metric);
    let Some(estimate) = &verdict.estimate else {
        return format!("A/A check missing: {of} and {against} were not both measured");
    };
    let ratio = format!(
        "ratio {}{}",
        units::ratio(estimate.ratio),
        plain_bracket(estimate)
    );
    match estimate.interval {
        None => format!("A/A check open: {of} and {against} in {name}, {ratio}"),
        Some([low, high]) if low <= 1.0 && 1.0 <= high => format!(
            "A/A check holds: {of} and {against}, one thing measured twice, agree in {name}, \
             {ratio}; differences below {} are not resolved",
            units::percent(high / low - 1.0)
        ),
        Some(_) => format!(
            "A/A check fails: {of} and {against}, one thing measured twice, differ in {name}, \
             {ratio}; no difference in it is resolved"
        ),
    }
}

/// A whole comparison, all placements, in plain sentences.
pub(crate) fn comparison(c: &Comparison, margin: f64) -> String {
    let about = About::from(c);
    let one = |v: &PlacementVerdict| {
        if c.a_a {
            a_a(about, v)
        } else {
            verdict(about, v, margin)
        }
    };
    let Some((first, others)) = c.placements.split_first() else {
        return format!("No verdict on {} against {}.", c.of, c.against);
    };
    if others.is_empty() {
        return format!("{}.", one(first));
    }
    let mut text = match c.combined {
        Combined::DependsOnPlacement if !c.a_a => "Depends on placement. ".to_owned(),
        _ => String::new(),
    };
    for (index, v) in c.placements.iter().enumerate() {
        let again = index > 0 && !c.a_a && v.outcome == first.outcome;
        let sentence = match agreement(about, v).filter(|_| again) {
            Some((clause, ratio)) => clause + &ratio,
            None => one(v),
        };
        let gap = if index == 0 { "" } else { " " };
        text += &format!("{gap}{}: {sentence}.", capital(on(v.placement)));
    }
    text
}

/// The same verdict under a further placement, in short; none where it is none to repeat.
pub(crate) fn agreement(about: About<'_>, verdict: &PlacementVerdict) -> Option<(String, String)> {
    let estimate = verdict.estimate.as_ref()?;
    match verdict.outcome {
        Outcome::Faster | Outcome::Slower => {
            let factor = Factor::estimated(about.metric, estimate);
            Some((
                factor_phrase(about.metric, estimate.ratio),
                bracket(&factor),
            ))
        }
        Outcome::NoDifference => {
            let ratio = format!(
                ", ratio {}{}",
                units::ratio(estimate.ratio),
                plain_bracket(estimate)
            );
            Some(("no difference".to_owned(), ratio))
        }
        Outcome::NotResolved { .. } | Outcome::NoVerdict { .. } => None,
    }
}

/// A note as a clause.
pub(crate) fn note(note: &Note) -> String {
    match note {
        Note::Unguarded => "no A/A pair guards this".to_owned(),
        Note::FailedCalls { variant, share } => format!(
            "{} of the calls of {variant} failed; latency counts those that succeeded",
            units::percent(*share)
        ),
        Note::Unsettled {
            variant,
            trials,
            of,
        } => {
            format!("{trials} of {of} trials of {variant} were still drifting when measuring began")
        }
        Note::ClientBound {
            variant,
            trials,
            of,
        } => {
            format!("{variant} was client-bound in {trials} of {of} trials")
        }
        Note::BlocksLeftOut { left_out, planned } => {
            format!("rests on {} of {planned} blocks", planned - left_out)
        }
        Note::MixedIdle { variant } => {
            format!("idle states were held off in some trials of {variant} only")
        }
    }
}

/// A sentence's beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
