//! Comparisons in the order a person reads them: question by question, A/A checks last.

use std::collections::BTreeSet;

use rpcgauge_study::record::Code;
use rpcgauge_study::settings::Placement;

use crate::findings::verdict::{Combined, Comparison, Outcome, PlacementVerdict};
use crate::findings::{Cell, Figures, Findings, VariantFindings};
use crate::words;

/// A question, and the comparisons that answer it.
pub(crate) struct Question<'a> {
    pub(crate) text: &'a str,
    pub(crate) comparisons: Vec<&'a Comparison>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The notes of some comparisons under all placements, each once, as one sentence; none where
/// there are none.
pub(crate) fn notes<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let verdicts = comparisons.into_iter().flat_map(|c| &c.placements);
    let notes: Vec<String> = verdicts
        .flat_map(|v| &v.notes)
        .map(words::note)
        .filter(|note| seen.insert(note.clone()))
        .collect();
    (!notes.is_empty()).then(|| words::capital(&notes.join("; ")) + ".")
}

/// A part of a study, and what was measured of its variants under one placement.
pub(crate) type Group<'a> = (Option<&'a str>, Vec<(&'a VariantFindings, &'a Cell)>);

/// The variants that were planned under a placement, by group, in the study's order.
pub(crate) fn groups(findings: &Findings, placement: Placement) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for variant in &findings.variants {
        let Some(cell) = variant.cell(placement) else {
            continue;
        };
        let name = variant.group.as_deref();
        match groups.iter_mut().find(|(group, _)| *group == name) {
            Some((_, members)) => members.push((variant, cell)),
            None => groups.push((name, vec![(variant, cell)])),
        }
    }
    groups
}

/// What must be known of a cell beside its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    ClientBound,
    Unsettled,
    FailedCalls,
    Incomplete,
    Dynamic,
}

impl Mark {
    pub(crate) const ALL: [Self; 5] = [
        Self::ClientBound,
        Self::Unsettled,
        Self::FailedCalls,
        Self::Incomplete,
        Self::Dynamic,
    ];

    /// A letter for where there is little room.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::ClientBound => 'C',
            Self::Unsettled => 'U',
            Self::FailedCalls => 'F',
            Self::Incomplete => 'I',
            Self::Dynamic => 'D',
        }
    }

    /// In a word or two.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClientBound => "client-bound",
            Self::Unsettled => "unsettled",
            Self::FailedCalls => "failed calls",
            Self::Incomplete => "incomplete",
            Self::Dynamic => "dynamic code",
        }
    }

    /// In full.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::ClientBound => "the client used more than 80% of its core in some trials",
            Self::Unsettled => "latency was still drifting when measuring began in some trials",
            Self::FailedCalls => "some calls failed",
            Self::Incomplete => "some trials failed or did not run",
            Self::Dynamic => "a descriptor was interpreted, no generated code",
        }
    }
}

/// The marks of a cell.
pub(crate) fn marks(cell: &Cell) -> Vec<Mark> {
    let trials = &cell.trials;
    let has = |mark: &Mark| match mark {
        Mark::ClientBound => trials.client_bound > 0,
        Mark::Unsettled => trials.unsettled > 0,
        Mark::FailedCalls => cell
            .figures
            .as_ref()
            .is_some_and(|f| f.calls.failed_total() > 0),
        Mark::Incomplete => trials.measured < trials.planned,
        Mark::Dynamic => cell
            .figures
            .as_ref()
            .is_some_and(|f| f.code.contains(&Code::Dynamic)),
    };
    Mark::ALL.into_iter().filter(has).collect()
}

/// The names of a cell's marks that are cautions; how its code was made stands elsewhere.
pub(crate) fn mark_names(cell: &Cell) -> String {
    let cautions = marks(cell)
        .into_iter()
        .filter(|mark| *mark != Mark::Dynamic);
    cautions.map(Mark::name).collect::<Vec<_>>().join(", ")
}

/// How the codecs of a cell came to know their message.
pub(crate) fn code(figures: &Figures) -> String {
    let name = |code: &Code| match code {
        Code::Generated => "generated",
        Code::Dynamic => "dynamic",
    };
    figures.code.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// How much of the plan is there, in words.
pub(crate) fn progress(findings: &Findings) -> String {
    let p = &findings.progress;
    if p.is_complete() {
        return format!("all {} trials measured", p.planned);
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

/// The machine in one line.
pub(crate) fn machine(findings: &Findings) -> Option<String> {
    let e = findings.environment.as_ref()?;
    let place = e
        .virtualization
        .as_ref()
        .map(|v| format!(", {v}"))
        .unwrap_or_default();
    let cores = if e.cores == 1 { "core" } else { "cores" };
    Some(format!("{}, {} {cores}{place}", e.processor, e.cores))
}
