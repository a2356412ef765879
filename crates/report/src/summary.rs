//! What a reader must know first: each question with its verdict in one line.

use rpcgauge_study::settings::Placement;

use crate::findings::Findings;
use crate::findings::verdict::{Comparison, PlacementVerdict};
use crate::questions::{self, Answer};
use crate::words::{self, About, Found};

/// A line of the summary: one comparison.
pub(crate) struct Row {
    /// The question, or where one question has several comparisons what this one is about.
    pub(crate) text: String,
    /// The question's place among all, from 0.
    pub(crate) question: usize,
    /// The question above this row, where it has several and this is its first.
    pub(crate) heading: Option<String>,
    /// The answer of all placements together.
    pub(crate) answer: Answer,
    /// What was found under each placement it was measured under, the study's own first.
    pub(crate) found: Vec<Place>,
}

/// What was found under a placement.
pub(crate) struct Place {
    pub(crate) placement: Placement,
    pub(crate) answer: Answer,
    pub(crate) found: Found,
}

impl Row {
    /// The answer that the line shows: that of the study's own placement, unless placements give
    /// different ones.
    pub(crate) fn sign(&self) -> Answer {
        match (self.answer, self.found.first()) {
            (Answer::Depends, _) | (_, None) => self.answer,
            (_, Some(own)) => own.answer,
        }
    }
}

/// The rows of all questions, A/A checks aside.
pub(crate) fn rows(findings: &Findings) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, question) in questions::questions(findings).iter().enumerate() {
        let several = question.comparisons.len() > 1;
        for (nth, comparison) in question.comparisons.iter().copied().enumerate() {
            let subject = subject(question.about(findings, comparison));
            let text = if several { &subject } else { question.text };
            let code = comparison.placements.iter().map(words::code_mark);
            rows.push(Row {
                text: text.to_owned() + code.max().unwrap_or_default(),
                question: index,
                heading: (several && nth == 0).then(|| question.text.to_owned()),
                answer: Answer::of(comparison),
                found: comparison
                    .placements
                    .iter()
                    .map(|v| place(comparison, v))
                    .collect(),
            });
        }
    }
    rows
}

/// Two variants and what is compared of them.
fn subject(about: About<'_>) -> String {
    let metric = words::metric_name(about.metric);
    format!("{} against {}, {metric}", about.of, about.against)
}

fn place(comparison: &Comparison, verdict: &PlacementVerdict) -> Place {
    Place {
        placement: verdict.placement,
        answer: Answer::under(verdict),
        found: words::brief(comparison.metric, verdict),
    }
}

/// What the A/A checks say, one line each: how far the verdicts beside them can be trusted. Each is of
/// one variant, and guards first of all those of its own group.
pub(crate) fn checks(findings: &Findings) -> Vec<String> {
    let check = |comparison: &Comparison| {
        let several = comparison.placements.len() > 1;
        let said: Vec<String> = comparison
            .placements
            .iter()
            .map(|v| {
                let brief = words::a_a_brief(v);
                if several {
                    format!("{}: {brief}", words::place(v.placement))
                } else {
                    brief
                }
            })
            .collect();
        let metric = words::metric_name(comparison.metric);
        format!(
            "A/A check of {} in {metric}: {}",
            comparison.against,
            said.join("; ")
        )
    };
    questions::a_a_checks(findings).map(check).collect()
}

/// What became of the published figures, counted; none where the study has none.
pub(crate) fn claims(findings: &Findings) -> Option<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    // In this order; what is so on one placement only stands after what is so on all.
    let mut claims: Vec<_> = findings.claims.iter().collect();
    claims.sort_by_key(|c| (c.outcome, !c.depends_on_placement, c.only_under.clone()));
    for claim in claims {
        let outcome = match claim.depends_on_placement {
            true => "dependent on placement".to_owned(),
            false => words::claim_outcome(claim),
        };
        match counts.iter_mut().find(|(told, _)| *told == outcome) {
            Some((_, count)) => *count += 1,
            None => counts.push((outcome, 1)),
        }
    }
    let told = counts
        .into_iter()
        .map(|(outcome, count)| format!("{count} {outcome}"));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("Published figures: {}", told.join(", ")))
}

/// What the signs mean.
pub(crate) const SIGNS: &str =
    "▲ better, ▼ worse, = no difference, ? not resolved, ~ depends on placement";
