//! Comparisons in the order a person reads them: question by question, A/A checks last.

use std::collections::BTreeSet;

use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::Placement;

use crate::findings::verdict::{Combined, Comparison, Outcome, PlacementVerdict};
use crate::findings::{Cell, Findings, VariantFindings};
use crate::units;
use crate::words::{self, About};

/// A question, and the comparisons that answer it.
pub(crate) struct Question<'a> {
    pub(crate) text: &'a str,
    pub(crate) comparisons: Vec<&'a Comparison>,
}

impl<'a> Question<'a> {
    /// What one of its comparisons is about: without the group's name before both variants', where all
    /// its comparisons are of that group.
    pub(crate) fn about(&self, findings: &'a Findings, comparison: &'a Comparison) -> About<'a> {
        let group = |c: &Comparison| findings.variant(&c.of).map(|v| v.group.as_deref());
        let about = About::from(comparison);
        if self
            .comparisons
            .iter()
            .all(|c| group(c) == group(comparison))
        {
            return about.within_group(findings);
        }
        about
    }
}

/// The questions in the study's order.
pub(crate) fn questions(findings: &Findings) -> Vec<Question<'_>> {
    let mut questions: Vec<Question<'_>> = Vec::new();
    for comparison in findings.comparisons.iter().filter(|c| !c.a_a) {
        match questions.iter_mut().find(|q| q.text == comparison.question) {
            Some(question) => question.comparisons.push(comparison),
            None => questions.push(Question {
                text: &comparison.question,
                comparisons: vec![comparison],
            }),
        }
    }
    questions
}

/// The A/A pairs.
pub(crate) fn a_a_checks(findings: &Findings) -> impl Iterator<Item = &Comparison> {
    findings.comparisons.iter().filter(|c| c.a_a)
}

/// What a comparison comes to, for a sign or a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Better,
    Worse,
    Same,
    Depends,
    Open,
    Nothing,
}

impl Answer {
    /// The answer of a whole comparison.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        if comparison.combined == Combined::DependsOnPlacement {
            return Self::Depends;
        }
        let answers: Vec<Self> = comparison.placements.iter().map(Self::under).collect();
        let resolved = answers
            .iter()
            .find(|a| !matches!(a, Self::Open | Self::Nothing));
        *resolved.or(answers.first()).unwrap_or(&Self::Nothing)
    }

    /// The answer under one placement.
    pub(crate) fn under(verdict: &PlacementVerdict) -> Self {
        match verdict.outcome {
            Outcome::Faster => Self::Better,
            Outcome::Slower => Self::Worse,
            Outcome::NoDifference => Self::Same,
            Outcome::NotResolved { .. } => Self::Open,
            Outcome::NoVerdict { .. } => Self::Nothing,
        }
    }

    /// The sign of a line.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Better => '▲',
            Self::Worse => '▼',
            Self::Same => '=',
            Self::Depends => '~',
            Self::Open | Self::Nothing => '?',
        }
    }

    /// In a word or two.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "no difference",
            Self::Depends => "depends on placement",
            Self::Open => "not resolved",
            Self::Nothing => "no verdict",
        }
    }
}

/// Variants of a study that are looked at together, and what was measured of them.
pub(crate) struct Group<'a> {
    /// The part of the study they belong to, and what their names share: `list n=10`.
    pub(crate) title: Option<String>,
    pub(crate) members: Vec<(&'a VariantFindings, &'a Cell)>,
}

/// The variants that were planned under a placement, in the study's order; those of one part of
/// the study together, within it those that are compared with each other.
pub(crate) fn groups(findings: &Findings, placement: Placement) -> Vec<Group<'_>> {
    let mut parts: Vec<Vec<(&VariantFindings, &Cell)>> = Vec::new();
    for variant in &findings.variants {
        let Some(cell) = variant.cell(placement) else {
            continue;
        };
        match parts.iter_mut().find(|p| p[0].0.group == variant.group) {
            Some(part) => part.push((variant, cell)),
            None => parts.push(vec![(variant, cell)]),
        }
    }
    let mut groups = Vec::new();
    for part in parts {
        let compared = compared(findings, part);
        let several = compared.len() > 1;
        groups.extend(compared.into_iter().map(|members| Group {
            title: title(&members, several),
            members,
        }));
    }
    groups
}

/// Splits variants into those that are compared with each other, directly or through others.
fn compared<'a>(
    findings: &Findings,
    part: Vec<(&'a VariantFindings, &'a Cell)>,
) -> Vec<Vec<(&'a VariantFindings, &'a Cell)>> {
    let place = |name: &str| part.iter().position(|(v, _)| v.name == name);
    let mut set: Vec<usize> = (0..part.len()).collect();
    for comparison in &findings.comparisons {
        let (Some(of), Some(against)) = (place(&comparison.of), place(&comparison.against)) else {
            continue;
        };
        let (low, high) = (set[of].min(set[against]), set[of].max(set[against]));
        for member in &mut set {
            if *member == high {
                *member = low;
            }
        }
    }
    let sets: BTreeSet<usize> = set.iter().copied().collect();
    let members = |wanted: usize| {
        let all = part.iter().zip(&set);
        all.filter(|(_, set)| **set == wanted)
            .map(|(member, _)| *member)
            .collect()
    };
    sets.into_iter().map(members).collect()
}

/// The group's name, and where it has several titles what all of its variants' names share.
fn title(members: &[(&VariantFindings, &Cell)], several: bool) -> Option<String> {
    let group = members.first()?.0.group.as_deref()?;
    let mut shared: Vec<&str> = Vec::new();
    for (index, (variant, _)) in members.iter().enumerate() {
        let local = words::local(&variant.name, group).unwrap_or(&variant.name);
        let parts: Vec<&str> = local.split(['-', ' ']).collect();
        if index == 0 {
            shared = parts;
        } else {
            shared.retain(|part| parts.contains(part));
        }
    }
    Some(if several && !shared.is_empty() {
        format!("{group}: {}", shared.join(" "))
    } else {
        group.to_owned()
    })
}

/// What a report says of its run before anything else: how much is there, when, on what machine.
pub(crate) fn facts(findings: &Findings) -> Vec<String> {
    let started_at_ms = findings.progress.started_at_ms;
    let environment = findings.environment.as_ref();
    let optional = [
        started_at_ms.map(|ms| units::wall_clock(ms) + " UTC"),
        environment.map(machine),
        environment.map(|e| e.idle.got.to_string()),
        limits(findings),
    ];
    let progress = words::capital(&progress(findings));
    [progress]
        .into_iter()
        .chain(optional.into_iter().flatten())
        .collect()
}

/// How much of the plan is there, in words.
fn progress(findings: &Findings) -> String {
    let p = &findings.progress;
    if p.is_complete() {
        return match p.planned {
            1 => "one trial measured".to_owned(),
            trials => format!("all {trials} trials measured"),
        };
    }
    let mut text = format!("{} of {} trials measured", p.measured, p.planned);
    if p.failed > 0 {
        text += &format!(", {} failed", p.failed);
    }
    if p.missing > 0 {
        text += &format!(", {} not run (interrupted)", p.missing);
    }
    text
}

/// The limits of decoding, where they are not the defaults.
fn limits(findings: &Findings) -> Option<String> {
    let changed = findings.study.limits.changed()?;
    Some(format!("limits {changed}"))
}

/// The machine in one line.
fn machine(e: &Environment) -> String {
    let place = e
        .virtualization
        .as_ref()
        .map(|v| format!(", {v}"))
        .unwrap_or_default();
    let cores = if e.cores == 1 { "core" } else { "cores" };
    format!("{}, {} {cores}{place}", e.processor, e.cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::quickstart;

    fn titles(findings: &Findings) -> Vec<String> {
        let groups = groups(findings, Placement::TwoCores);
        groups.into_iter().filter_map(|g| g.title).collect()
    }

    #[test]
    fn a_question_at_several_sizes_names_the_size_of_each_answer() {
        let mut sample = crate::fixture::two(2.0)
            .spec(crate::fixture::Spec::new("large", 300_000.0))
            .pair(
                "Which is faster?",
                "large",
                "rest",
                rpcgauge_study::plan::Metric::LatencyP50,
            )
            .build();
        let scaled = |name: &str| match name {
            "large" => "scale=10-large".to_owned(),
            name => format!("scale=1-{name}"),
        };
        let plan = &mut sample.plan;
        for variant in &mut plan.variants {
            variant.name = scaled(&variant.name);
            variant.repeats = variant.repeats.take().map(|name| scaled(&name));
            variant.group = variant
                .name
                .split_once('-')
                .map(|(group, _)| group.to_owned());
        }
        for pair in &mut plan.pairs {
            (pair.of, pair.against) = (scaled(&pair.of), scaled(&pair.against));
        }
        for trial in &mut sample.trials {
            trial.variant = scaled(&trial.variant);
        }
        sample.floors.clear();
        let findings = crate::fixture::findings(&sample);
        let rows: Vec<String> = crate::summary::rows(&findings)
            .into_iter()
            .map(|row| row.text)
            .collect();
        assert_eq!(
            rows,
            [
                "scale=1-grpc against scale=1-rest, p50 latency",
                "scale=10-large against scale=1-rest, p50 latency"
            ]
        );
    }

    #[test]
    fn variants_that_are_compared_stand_together_under_what_they_share() {
        let titles = titles(quickstart::findings());
        assert_eq!(
            titles,
            [
                "several",
                "list: n=10",
                "list: n=500",
                "gzip: one",
                "gzip: all",
                "unix-socket",
                "load"
            ]
        );
    }
}
