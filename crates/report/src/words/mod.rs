//! Verdicts and claims as sentences.

mod a_a;
mod answer;
pub(crate) mod capacity;
pub(crate) mod caution;
mod claim;
mod crossing;
pub(crate) mod decision;
pub(crate) mod objective;
pub(crate) mod ramp;
mod ratio;
mod reason;
pub(crate) mod spikes;
mod verdict;

use rpcgauge_stats::Better;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::CodeKind;
use rpcgauge_study::settings::{Operation, Placement};

pub(crate) use a_a::{a_a, a_a_brief};
pub(crate) use answer::{Answer, SIGNS, answer};
pub(crate) use caution::Labels;
pub(crate) use claim::{
    HOW_CLAIMS_ARE_READ, claim, claim_measured, claim_outcome, claim_published, size_match,
};
pub(crate) use crossing::{crossing, crossing_lines, found as crossing_found, within_group};
pub(crate) use ratio::{Factor, Found, change_phrase, factor_phrase, interval_beside};
pub(crate) use reason::{LONGER, code_mark, times_as_long};
pub(crate) use verdict::{Line, brief, line, lines};

use crate::findings::verdict::{ClaimFindings, Combined, Comparison, RampComparison};
use crate::findings::{Figures, Findings};
use crate::metric::{better, row};
use crate::units;

/// What a verdict is about.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) of: &'a str,
    pub(crate) against: &'a str,
    pub(crate) metric: Metric,
    pub(crate) operation: Option<Operation>,
    /// Whether both variants are called in the same processes.
    pub(crate) one_process: bool,
    /// The words for an application's metric; `None` for the words of `metric` itself.
    pub(crate) said: Option<&'a Said>,
}

/// The words of a metric of an application.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) name: String,
    pub(crate) verb: &'static str,
    pub(crate) better: Better,
    /// The words for the better and the worse of two variants.
    pub(crate) sides: [&'static str; 2],
    /// The words after two figures.
    pub(crate) phrase: &'static str,
    /// A figure with its unit.
    pub(crate) value: fn(f64) -> String,
}

impl<'a> From<&'a Comparison> for About<'a> {
    fn from(c: &'a Comparison) -> Self {
        Self {
            of: &c.of,
            against: &c.against,
            metric: c.metric,
            operation: c.operation,
            one_process: c.one_process,
            said: None,
        }
    }
}

impl<'a> From<&'a RampComparison> for About<'a> {
    fn from(c: &'a RampComparison) -> Self {
        Self {
            of: &c.of,
            against: &c.against,
            metric: c.metric,
            operation: None,
            one_process: false,
            said: None,
        }
    }
}

impl<'a> From<&'a ClaimFindings> for About<'a> {
    fn from(c: &'a ClaimFindings) -> Self {
        Self {
            of: &c.of,
            against: &c.against,
            metric: c.metric,
            operation: None,
            one_process: false,
            said: None,
        }
    }
}

impl<'a> About<'a> {
    /// The metric in a heading.
    pub(crate) fn name(self) -> &'a str {
        self.said.map_or(row(self.metric).name, |said| &said.name)
    }

    /// Which direction is better.
    pub(crate) fn better(self) -> Better {
        let own = || better(self.metric);
        self.said.map_or_else(own, |said| said.better)
    }

    /// A figure with its unit, if it has one.
    pub(crate) fn value(self, figure: f64) -> String {
        let own = || row(self.metric).value(figure);
        self.said.map_or_else(own, |said| (said.value)(figure))
    }

    /// The verb for what a variant does better or worse.
    fn verb(self) -> &'static str {
        let own = || row(self.metric).verb(self.operation);
        self.said.map_or_else(own, |said| said.verb)
    }

    /// The words for the better and the worse of two variants.
    fn sides(self) -> [&'static str; 2] {
        let own = || row(self.metric).sides(self.operation);
        self.said.map_or_else(own, |said| said.sides)
    }

    /// The words after two figures.
    fn phrase(self) -> String {
        let own = || row(self.metric).phrase(self.operation);
        self.said.map_or_else(own, |said| said.phrase.to_owned())
    }

    /// Whether the verdict is about requests of an application's users, not about a client's calls.
    fn is_of_app(self) -> bool {
        self.said.is_some()
    }

    /// Without the group's prefix in the names if both variants are of one group, since the group's
    /// question already names the group.
    pub(crate) fn within_group(self, findings: &'a Findings) -> Self {
        let group = |name: &str| findings.variant(name)?.group.as_deref();
        let (Some(group), Some(other)) = (group(self.of), group(self.against)) else {
            return self;
        };
        match (local(self.of, group), local(self.against, group)) {
            (Some(of), Some(against)) if group == other => Self {
                of,
                against,
                ..self
            },
            _ => self,
        }
    }
}

/// A variant's name without its group's prefix; `None` if it lacks the prefix.
pub(crate) fn local<'a>(name: &'a str, group: &str) -> Option<&'a str> {
    let local = name.strip_prefix(group)?.strip_prefix('-')?;
    (!local.is_empty()).then_some(local)
}

/// A placement as an adverb: `on one core`.
pub(crate) fn on(placement: Placement) -> &'static str {
    match placement {
        Placement::OneCore => "on one core",
        Placement::TwoCores => "on two cores",
        Placement::Free => "placed by the scheduler",
    }
}

/// A placement's name, for a label.
pub(crate) fn place(placement: Placement) -> &'static str {
    match placement {
        Placement::OneCore => "one core",
        Placement::TwoCores => "two cores",
        Placement::Free => "scheduler",
    }
}

/// `3%`, `2.5%`.
pub(crate) fn margin_percent(margin: f64) -> String {
    let percent = (margin * 1_000.0).round() / 10.0;
    format!("{percent}%")
}

/// The counts of error texts that are not listed; `None` if all are listed.
pub(crate) fn other_errors(figures: &Figures) -> Option<String> {
    let others = [
        (figures.errors_left_out, " other error texts"),
        (
            figures.errors_without_sample,
            " errors whose text was not recorded",
        ),
    ];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    let others = joined(others.map(|(count, what)| units::count(count) + what), ", ");
    (!others.is_empty()).then(|| format!("and {others}"))
}

/// The kinds of code that encode and decode the messages: `generated`, `dynamic`.
pub(crate) fn code_names(code: &[CodeKind]) -> String {
    let name = |code: &CodeKind| match code {
        CodeKind::Generated => "generated",
        CodeKind::Dynamic => "dynamic",
    };
    joined(code.iter().map(name), ", ")
}

/// A comparison under all its placements, in plain sentences.
pub(crate) fn comparison(c: &Comparison, margin: f64) -> String {
    let about = About::from(c);
    let texts: Vec<String> = if c.a_a {
        c.placements.iter().map(|v| a_a(about, v)).collect()
    } else {
        lines(about, c, margin).iter().map(verdict_text).collect()
    };
    match &texts[..] {
        [] => format!("No verdict on {} against {}.", c.of, c.against),
        [only] => format!("{only}."),
        several => {
            let flips = c.combined == Combined::DependsOnPlacement && !c.a_a;
            let flips = flips.then(|| "Depends on placement.".to_owned());
            let placed = c.placements.iter().zip(several);
            let placed = placed.map(|(v, text)| format!("{}: {text}.", capital(on(v.placement))));
            joined(flips.into_iter().chain(placed), " ")
        }
    }
}

/// Why a link was not held in a trial (docs/link.md).
pub(crate) const NOT_HELD: &str = "packets left it more than 100 µs late at p99 or were lost outside its queues, \
     its round trip was off by as much, or it and the client used more than 80% of their core";

pub(crate) fn joined(parts: impl IntoIterator<Item: ToString>, between: &str) -> String {
    let parts: Vec<String> = parts.into_iter().map(|part| part.to_string()).collect();
    parts.join(between)
}

/// A clause as a sentence: capitalized, with a full stop.
pub(crate) fn sentence(clause: &str) -> String {
    capital(clause.trim_end_matches('.')) + "."
}

/// A verdict under one placement, without its last full stop.
fn verdict_text(line: &Line) -> String {
    match &line.reason {
        Some(reason) => format!("{}. {}", line.text(), capital(reason)),
        None => line.text(),
    }
}

/// A text with a capital first letter. A name such as `go/grpc-go` stays as it is.
pub(crate) fn capital(text: &str) -> String {
    if text
        .split(' ')
        .next()
        .is_some_and(|word| word.contains('/'))
    {
        return text.to_owned();
    }
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
