//! Verdicts and claims as sentences.

use rpcgauge_stats::Better;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

use crate::findings::better;
use crate::findings::verdict::{
    ClaimFindings, ClaimOutcome, Combined, Comparison, Estimate, Note, Outcome, PlacementVerdict,
    SizeMatch, Unresolved, Withheld,
};
use crate::units::{self, Scale};

/// What a verdict is about.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) of: &'a str,
    pub(crate) against: &'a str,
    pub(crate) metric: Metric,
}

impl<'a> From<&'a Comparison> for About<'a> {
    fn from(c: &'a Comparison) -> Self {
        Self { of: &c.of, against: &c.against, metric: c.metric }
    }
}

impl<'a> From<&'a ClaimFindings> for About<'a> {
    fn from(c: &'a ClaimFindings) -> Self {
        Self { of: &c.of, against: &c.against, metric: c.metric }
    }
}

/// A metric's name in a heading.
pub(crate) fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::LatencyP50 => "p50 latency",
        Metric::LatencyMean => "mean latency",
        Metric::LatencyP99 => "p99 latency",
        Metric::RequestTime => "request time",
        Metric::ResponseTime => "response time",
        Metric::DecodeTime => "decode time",
        Metric::Goodput => "goodput",
        Metric::ResponseBytes => "answer size",
        Metric::CallBytes => "bytes a call",
        Metric::ClientCpu => "client CPU",
        Metric::ServerCpu => "server CPU",
    }
}

/// What a variant does, and the words for the better and the worse side of it.
fn verb(metric: Metric) -> (&'static str, &'static str, &'static str) {
    match metric {
        Metric::LatencyP50 | Metric::LatencyMean | Metric::LatencyP99 => {
            ("answers", "faster", "slower")
        }
        Metric::RequestTime => ("gets its request to the handler", "faster", "slower"),
        Metric::ResponseTime => ("gets its answer back", "faster", "slower"),
        Metric::DecodeTime => ("decodes its answer", "faster", "slower"),
        Metric::Goodput => ("completes", "more calls a second", "fewer calls a second"),
        Metric::ResponseBytes => ("has answers", "smaller", "larger"),
        Metric::CallBytes => ("moves", "fewer bytes a call", "more bytes a call"),
        Metric::ClientCpu => ("takes", "less client CPU", "more client CPU"),
        Metric::ServerCpu => ("takes", "less server CPU", "more server CPU"),
    }
}

/// What stands behind two figures of a metric.
fn unit_phrase(metric: Metric) -> &'static str {
    match metric {
        Metric::LatencyP50 => "a call (p50)",
        Metric::LatencyMean => "a call (mean)",
        Metric::LatencyP99 => "a call (p99)",
        Metric::RequestTime => "request time (mean)",
        Metric::ResponseTime => "response time (mean)",
        Metric::DecodeTime => "to decode an answer (mean)",
        Metric::Goodput => "calls/s",
        Metric::ResponseBytes => "an answer",
        Metric::CallBytes => "a call",
        Metric::ClientCpu => "of client CPU a call",
        Metric::ServerCpu => "of server CPU a call",
    }
}

/// Figures of a metric, written so that they can be compared.
pub(crate) fn values(metric: Metric, of: f64, against: f64) -> (String, String) {
    let scale = match metric {
        Metric::Goodput => return (units::number(of), units::number(against)),
        Metric::ResponseBytes | Metric::CallBytes => Scale::sizes([of, against]),
        _ => Scale::times([of, against]),
    };
    (scale.with_unit(of), scale.with_unit(against))
}

/// Under a placement, in words.
pub(crate) fn on(placement: Placement) -> &'static str {
    match placement {
        Placement::OneCore => "on one core",
        Placement::TwoCores => "on two cores",
        Placement::Free => "placed by the scheduler",
    }
}

/// A ratio turned so that it is at least 1, its interval turned with it, and whether the better
/// side is meant.
pub(crate) struct Factor {
    pub(crate) value: f64,
    pub(crate) interval: Option<[f64; 2]>,
    pub(crate) is_better: bool,
}

impl Factor {
    pub(crate) fn of(metric: Metric, ratio: f64, interval: Option<[f64; 2]>) -> Self {
        let less = ratio < 1.0;
        let (value, interval) = if less {
            (1.0 / ratio, interval.map(|[low, high]| [1.0 / high, 1.0 / low]))
        } else {
            (ratio, interval)
        };
        Self { value, interval, is_better: less == (better(metric) == Better::Lower) }
    }

    fn estimated(metric: Metric, estimate: &Estimate) -> Self {
        Self::of(metric, estimate.ratio, estimate.interval)
    }

    fn decimals(&self) -> usize {
        units::ratio_decimals(self.value)
    }
}

/// `2.31× faster`.
pub(crate) fn factor_phrase(metric: Metric, ratio: f64) -> String {
    let factor = Factor::of(metric, ratio, None);
    let (_, better, worse) = verb(metric);
    format!("{}× {}", units::ratio(factor.value), if factor.is_better { better } else { worse })
}

/// `is 1.12× slower`, of one variant before and after.
pub(crate) fn change_phrase(metric: Metric, ratio: f64) -> String {
    let (better, worse) = match metric {
        Metric::Goodput => ("higher", "lower"),
        Metric::ResponseBytes | Metric::CallBytes => ("smaller", "larger"),
        Metric::ClientCpu | Metric::ServerCpu => ("less", "more"),
        _ => ("faster", "slower"),
    };
    let factor = Factor::of(metric, ratio, None);
    format!("{}× {}", units::ratio(factor.value), if factor.is_better { better } else { worse })
}

/// ` [2.24, 2.39]` of a factor, or that there is none.
fn bracket(factor: &Factor) -> String {
    let text = factor.interval.map(|interval| units::interval(interval, factor.decimals()));
    text.map_or_else(|| " (no interval)".to_owned(), |text| format!(" {text}"))
}

/// The verdict in one clause, without the figures: what is said, and the ratio and interval that
/// stand behind it.
pub(crate) fn headline(
    about: About<'_>,
    verdict: &PlacementVerdict,
    margin: f64,
) -> (String, String) {
    let About { of, against, metric } = about;
    let (verb, better, worse) = verb(metric);
    let name = metric_name(metric);
    let Some(estimate) = &verdict.estimate else {
        return (format!("No verdict on {of} against {against} in {name}"), String::new());
    };
    let ratio = format!(", ratio {}{}", units::ratio(estimate.ratio), plain_bracket(estimate));
    match verdict.outcome {
        Outcome::Faster | Outcome::Slower => {
            let factor = Factor::estimated(metric, estimate);
            let side = if verdict.outcome == Outcome::Faster { better } else { worse };
            let value = units::ratio(factor.value);
            (format!("{of} {verb} {value}× {side} than {against}"), bracket(&factor))
        }
        Outcome::NoDifference => (
            format!("No difference between {of} and {against} in {name}"),
            format!("{ratio}, within ±{}", margin_percent(margin)),
        ),
        Outcome::NotResolved { .. } => {
            (format!("Not resolved: {of} against {against} in {name}"), ratio)
        }
        Outcome::NoVerdict { .. } => {
            (format!("No verdict on {of} against {against} in {name}"), ratio)
        }
    }
}

/// `3%`, `2.5%`.
pub(crate) fn margin_percent(margin: f64) -> String {
    let percent = (margin * 1_000.0).round() / 10.0;
    format!("{percent}%")
}

fn plain_bracket(estimate: &Estimate) -> String {
    let decimals = units::ratio_decimals(estimate.ratio);
    let text = estimate.interval.map(|interval| units::interval(interval, decimals));
    text.map_or_else(|| " (no interval)".to_owned(), |text| format!(" {text}"))
}

/// `1.92 ms against 4.41 ms a call (p50)`.
pub(crate) fn figures(about: About<'_>, verdict: &PlacementVerdict) -> Option<String> {
    let (of, against) = values(about.metric, verdict.of_value?, verdict.against_value?);
    Some(format!("{of} against {against} {}", unit_phrase(about.metric)))
}

/// Why there is no verdict or none yet, and what would help.
pub(crate) fn reason(outcome: Outcome) -> Option<String> {
    let (why, more) = match outcome {
        Outcome::Faster | Outcome::Slower | Outcome::NoDifference => return None,
        Outcome::NoVerdict { reason: Withheld::NotMeasured } => {
            return Some("no block has figures of both".to_owned());
        }
        Outcome::NoVerdict { reason: Withheld::ClientBound } => {
            return Some(
                "client-bound: the client used more than 80% of its core in most blocks, so this \
                 says nothing of the server"
                    .to_owned(),
            );
        }
        Outcome::NotResolved { reason, more } => {
            let why = match reason {
                Unresolved::NoInterval => "one invocation gives no interval",
                Unresolved::IntervalTooWide => "the interval holds 1 and is too wide",
                Unresolved::AaNotOne => "the A/A pair differs, although it is one and the same",
                Unresolved::AaNoInterval => "the A/A pair has no interval",
                Unresolved::AaTooWide => "the A/A pair's interval is wider than this difference",
            };
            (why, more)
        }
    };
    Some(match more {
        Some(more) => format!(
            "{why}; about {} more {} ({} blocks) would settle it",
            units::count(more.invocations),
            if more.invocations == 1 { "invocation" } else { "invocations" },
            units::count(more.blocks),
        ),
        None => why.to_owned(),
    })
}

/// A verdict under one placement as a whole sentence without its full stop.
pub(crate) fn verdict(about: About<'_>, verdict: &PlacementVerdict, margin: f64) -> String {
    let (clause, ratio) = headline(about, verdict, margin);
    let mut text = clause + &ratio;
    if let Some(figures) = figures(about, verdict) {
        text = format!("{text}: {figures}");
    }
    if let Some(reason) = reason(verdict.outcome) {
        text = format!("{text}. {}", capital(&reason));
    }
    text
}

/// The A/A pair's own line.
pub(crate) fn a_a(about: About<'_>, verdict: &PlacementVerdict) -> String {
    let About { of, against, metric } = about;
    let name = metric_name(metric);
    let Some(estimate) = &verdict.estimate else {
        return format!("A/A check missing: {of} and {against} were not both measured");
    };
    let ratio = format!("ratio {}{}", units::ratio(estimate.ratio), plain_bracket(estimate));
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
        if c.a_a { a_a(about, v) } else { verdict(about, v, margin) }
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
            Some((factor_phrase(about.metric, estimate.ratio), bracket(&factor)))
        }
        Outcome::NoDifference => {
            let ratio = format!(", ratio {}{}", units::ratio(estimate.ratio), plain_bracket(estimate));
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
        Note::Unsettled { variant, trials, of } => {
            format!("{trials} of {of} trials of {variant} were still drifting when measuring began")
        }
        Note::ClientBound { variant, trials, of } => {
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

/// What a claim comes to, in a word.
pub(crate) fn claim_outcome(claim: &ClaimFindings) -> &'static str {
    match claim.outcome {
        _ if claim.depends_on_placement => "depends on placement",
        ClaimOutcome::Reproduced => "reproduced",
        ClaimOutcome::Contradicted => "contradicted",
        ClaimOutcome::NotResolved => "not resolved",
    }
}

/// The measured side of a claim: `3.10× faster [2.94, 3.27]`.
pub(crate) fn claim_measured(metric: Metric, verdict: &PlacementVerdict) -> String {
    match (&verdict.estimate, verdict.outcome) {
        (None, _) => "not measured".to_owned(),
        (Some(estimate), Outcome::Faster | Outcome::Slower) => {
            let factor = Factor::estimated(metric, estimate);
            format!("{}{}", factor_phrase(metric, estimate.ratio), bracket(&factor))
        }
        (Some(estimate), Outcome::NoDifference) => {
            format!("no difference, ratio {}{}", units::ratio(estimate.ratio), plain_bracket(estimate))
        }
        (Some(estimate), Outcome::NoVerdict { reason: Withheld::ClientBound }) => {
            format!("client-bound, ratio {}", units::ratio(estimate.ratio))
        }
        (Some(estimate), _) => {
            format!("ratio {}{}", units::ratio(estimate.ratio), plain_bracket(estimate))
        }
    }
}

/// How the measured size stands to the published one.
pub(crate) fn size_match(size: SizeMatch) -> &'static str {
    match size {
        SizeMatch::Agrees => "size agrees within a quarter",
        SizeMatch::Smaller => "smaller than published",
        SizeMatch::Larger => "larger than published",
    }
}

/// The published side of a claim: `2.45× faster (2.92 against 7.16 ms)`.
pub(crate) fn claim_published(claim: &ClaimFindings) -> String {
    let published = &claim.published;
    let figures = format!("{} against {} {}", published.of, published.against, published.unit);
    match claim.published_ratio {
        Some(ratio) => format!("{} ({figures})", factor_phrase(claim.metric, ratio)),
        None => figures,
    }
}

/// A claim in a plain sentence.
pub(crate) fn claim(claim: &ClaimFindings) -> String {
    let mut text = format!(
        "{}: {} against {} in {}, published {}",
        capital(claim_outcome(claim)),
        claim.of,
        claim.against,
        metric_name(claim.metric),
        claim_published(claim),
    );
    for (index, p) in claim.placements.iter().enumerate() {
        let place = if claim.placements.len() > 1 {
            format!(" {}", on(p.verdict.placement))
        } else {
            String::new()
        };
        if p.verdict.estimate.is_none() {
            text += &format!("; not measured{place}");
            continue;
        }
        let joint = if index == 0 { "; measured" } else { ", and" };
        text += &format!("{joint}{place} {}", claim_measured(claim.metric, &p.verdict));
        if let Some(size) = p.size {
            text += &format!(" ({})", size_match(size));
        }
    }
    text + "."
}

/// A sentence's beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
