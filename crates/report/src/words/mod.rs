//! Verdicts and claims as sentences.

mod a_a;
mod answer;
pub(crate) mod capacity;
pub(crate) mod caution;
mod claim;
mod crossing;
pub(crate) mod objective;
mod ratio;
mod reason;
pub(crate) mod spikes;
mod verdict;

use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::Code;
use rpcgauge_study::settings::{Operation, Placement};

pub(crate) use a_a::{a_a, a_a_brief};
pub(crate) use answer::{Answer, SIGNS, answer};
pub(crate) use caution::Labels;
pub(crate) use claim::{
    HOW_CLAIMS_ARE_READ, claim, claim_measured, claim_outcome, claim_published, size_match,
};
pub(crate) use crossing::{crossing, crossing_lines, found as crossing_found, within_group};
pub(crate) use ratio::{Factor, Found, change_phrase, factor_phrase, interval_beside};
pub(crate) use reason::{LONGER, code_mark};
pub(crate) use verdict::{Line, brief, lines};

use crate::findings::verdict::{Combined, Comparison};
use crate::findings::{Figures, Findings};
use crate::units;

/// What a verdict is about.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) of: &'a str,
    pub(crate) against: &'a str,
    pub(crate) metric: Metric,
    pub(crate) operation: Option<Operation>,
}

impl<'a> From<&'a Comparison> for About<'a> {
    fn from(c: &'a Comparison) -> Self {
        Self {
            of: &c.of,
            against: &c.against,
            metric: c.metric,
            operation: c.operation,
        }
    }
}

impl<'a> About<'a> {
    /// The same, without the group's name before both variants' where they are of one group: under
    /// the group's own question that is clear enough.
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

/// A variant's name without its group's before it.
pub(crate) fn local<'a>(name: &'a str, group: &str) -> Option<&'a str> {
    let local = name.strip_prefix(group)?.strip_prefix('-')?;
    (!local.is_empty()).then_some(local)
}

/// Under a placement, in words.
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

/// How often each variant ran: `2 blocks in each of 8 invocations`; `10 blocks` of services of which
/// there was none.
pub(crate) fn design(invocations: u32, blocks: u32, is_live: bool) -> String {
    let blocks = units::counted(blocks.into(), "block");
    match invocations {
        _ if is_live => blocks,
        1 => format!("{blocks} in 1 invocation"),
        _ => format!(
            "{blocks} in each of {}",
            units::counted(invocations.into(), "invocation")
        ),
    }
}

/// `3%`, `2.5%`.
pub(crate) fn margin_percent(margin: f64) -> String {
    let percent = (margin * 1_000.0).round() / 10.0;
    format!("{percent}%")
}

/// The texts of errors that are not listed; none where all are.
pub(crate) fn other_errors(figures: &Figures) -> Option<String> {
    let texts = (figures.errors_left_out > 0)
        .then(|| format!("{} other texts", units::count(figures.errors_left_out)));
    let unrecorded = (figures.errors_without_sample > 0).then(|| {
        let count = units::count(figures.errors_without_sample);
        format!("{count} × texts that were not recorded")
    });
    let others: Vec<String> = texts.into_iter().chain(unrecorded).collect();
    (!others.is_empty()).then(|| format!("and {}", others.join(", ")))
}

/// How codecs came to know their message.
pub(crate) fn code_names(code: &[Code]) -> String {
    let name = |code: &Code| match code {
        Code::Generated => "generated",
        Code::Dynamic => "dynamic",
    };
    code.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// A whole comparison, all placements, in plain sentences.
pub(crate) fn comparison(c: &Comparison, margin: f64) -> String {
    let about = About::from(c);
    let sentences: Vec<(Placement, String)> = if c.a_a {
        let check = |v| a_a(about, v);
        c.placements
            .iter()
            .map(|v| (v.placement, check(v)))
            .collect()
    } else {
        let lines = lines(about, c, margin);
        lines
            .iter()
            .map(|l| (l.placement, verdict_text(l)))
            .collect()
    };
    match sentences.as_slice() {
        [] => format!("No verdict on {} against {}.", c.of, c.against),
        [(_, only)] => format!("{only}."),
        several => {
            let flips = c.combined == Combined::DependsOnPlacement && !c.a_a;
            let flips = flips.then(|| "Depends on placement.".to_owned());
            let placed = several
                .iter()
                .map(|(place, text)| format!("{}: {text}.", capital(on(*place))));
            flips
                .into_iter()
                .chain(placed)
                .collect::<Vec<_>>()
                .join(" ")
        }
    }
}

/// A clause with a capital and a full stop.
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

/// A sentence's beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
