//! Verdicts and claims as the page shows them, with a small plot of each ratio.

use rpcgauge_study::plan::Metric;
use serde::Serialize;

use super::plot::per_cent;
use crate::findings::Findings;
use crate::findings::verdict::{ClaimFindings, ClaimOutcome, Comparison, PlacementVerdict};
use crate::questions::{self, Answer};
use crate::summary;
use crate::units::MOST_RATIO;
use crate::words::{self, About, Factor};

/// The first thing on the page.
#[derive(Debug, Serialize)]
pub(crate) struct SummaryView {
    /// The placements' names, a column each; a single one has no name.
    columns: Vec<&'static str>,
    rows: Vec<SummaryRow>,
    signs: &'static str,
    below: Vec<String>,
}

/// A comparison in one line.
#[derive(Debug, Serialize)]
pub(crate) struct SummaryRow {
    heading: Option<String>,
    text: String,
    /// The question's place, for a link.
    question: usize,
    depends: bool,
    /// In the columns' order; absent where nothing was planned.
    cells: Vec<Option<SummaryCell>>,
}

/// A verdict under one placement in as few words as can be.
#[derive(Debug, Serialize)]
pub(crate) struct SummaryCell {
    class: &'static str,
    sign: char,
    /// The sign in words.
    label: &'static str,
    phrase: String,
    interval: String,
}

/// Each question with its verdict.
pub(crate) fn summary(findings: &Findings) -> SummaryView {
    let placements = &findings.study.placements;
    let cell = |place: &summary::Place| SummaryCell {
        class: class(place.answer),
        sign: place.answer.sign(),
        label: place.answer.label(),
        phrase: place.found.phrase.clone(),
        interval: place.found.interval.clone(),
    };
    let row = |row: summary::Row| SummaryRow {
        depends: row.answer == Answer::Depends,
        cells: placements
            .iter()
            .map(|p| row.found.iter().find(|f| f.placement == *p).map(cell))
            .collect(),
        heading: row.heading,
        text: row.text,
        question: row.question,
    };
    let mut below: Vec<String> = summary::checks(findings);
    below.extend(summary::claims(findings));
    SummaryView {
        columns: if placements.len() > 1 {
            placements.iter().map(|p| words::place(*p)).collect()
        } else {
            vec!["verdict"]
        },
        rows: summary::rows(findings).into_iter().map(row).collect(),
        signs: summary::SIGNS,
        below,
    }
}

/// A question and its answers.
#[derive(Debug, Serialize)]
pub(crate) struct QuestionView {
    text: String,
    verdicts: Vec<VerdictView>,
    notes: Option<String>,
    /// The labels of the ratio plots' common axis; absent without any plot.
    reach: Option<String>,
}

/// A comparison.
#[derive(Debug, Serialize)]
pub(crate) struct VerdictView {
    class: &'static str,
    label: String,
    lines: Vec<LineView>,
}

/// A verdict under one placement.
#[derive(Debug, Serialize)]
pub(crate) struct LineView {
    /// Named where there are several.
    placement: Option<String>,
    clause: String,
    ratio: String,
    figures: Option<String>,
    reason: Option<String>,
    forest: Option<Forest>,
}

/// A ratio on a logarithmic axis, better to the right: places in per cent.
#[derive(Debug, Serialize)]
pub(crate) struct Forest {
    class: &'static str,
    dot: f64,
    low: Option<f64>,
    width: Option<f64>,
    margin_low: f64,
    margin_width: f64,
    label: String,
}

/// A claim.
#[derive(Debug, Serialize)]
pub(crate) struct ClaimView {
    about: String,
    metric: &'static str,
    says: String,
    source: String,
    published: String,
    figures: String,
    measured: Vec<ClaimLine>,
    outcome: String,
    class: &'static str,
}

/// A claim under one placement.
#[derive(Debug, Serialize)]
pub(crate) struct ClaimLine {
    placement: Option<&'static str>,
    text: String,
    size: Option<&'static str>,
}

/// The questions of a study and what answers them.
pub(crate) fn questions(findings: &Findings) -> Vec<QuestionView> {
    let margin = findings.study.margin;
    let view = |question: questions::Question<'_>| {
        let reach = reach(&question.comparisons);
        QuestionView {
            text: question.text.to_owned(),
            verdicts: question
                .comparisons
                .iter()
                .map(|c| verdict(question.about(findings, c), c, reach, margin))
                .collect(),
            reach: question
                .comparisons
                .iter()
                .flat_map(|c| &c.placements)
                .any(|v| v.estimate.is_some())
                .then(|| format!("{}×", (reach.exp() * 100.0).round() / 100.0)),
            notes: words::notes(question.comparisons),
        }
    };
    questions::questions(findings)
        .into_iter()
        .map(view)
        .collect()
}

/// The A/A checks, a sentence for each placement.
pub(crate) fn a_a_checks(findings: &Findings) -> Vec<String> {
    questions::a_a_checks(findings)
        .flat_map(|c| {
            let about = About::from(c);
            let several = c.placements.len() > 1;
            c.placements.iter().map(move |v| {
                let text = words::a_a(about, v);
                if several {
                    format!("{}: {text}.", words::capital(words::on(v.placement)))
                } else {
                    format!("{text}.")
                }
            })
        })
        .collect()
}

fn verdict(about: About<'_>, comparison: &Comparison, reach: f64, margin: f64) -> VerdictView {
    let answer = Answer::of(comparison);
    let several = comparison.placements.len() > 1;
    let lines = words::lines(about, comparison, margin);
    let line = |(line, v): (words::Line, &PlacementVerdict)| LineView {
        placement: several.then(|| words::capital(words::on(v.placement))),
        // The ratio stands apart from it here.
        clause: line.clause.trim_end_matches([',', ':']).to_owned(),
        ratio: line.ratio,
        figures: line.figures,
        reason: line.reason.map(|r| words::capital(&r) + "."),
        forest: forest(comparison.metric, v, reach, margin),
    };
    VerdictView {
        class: class(answer),
        label: words::answer(comparison),
        lines: lines
            .into_iter()
            .zip(&comparison.placements)
            .map(line)
            .collect(),
    }
}

fn class(answer: Answer) -> &'static str {
    match answer {
        Answer::Better => "better",
        Answer::Worse => "worse",
        Answer::Same => "same",
        Answer::Depends => "depends",
        Answer::Open | Answer::Nothing => "open",
    }
}

/// Where the axis of ratios may end, so that its labels are round.
const ENDS: [f64; 10] = [1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1_000.0];

/// How far a question's axis reaches to either side of 1, as a logarithm: to the round ratio beyond
/// the furthest interval.
fn reach(comparisons: &[&Comparison]) -> f64 {
    let estimates = comparisons
        .iter()
        .flat_map(|c| &c.placements)
        .filter_map(|v| v.estimate);
    let ratios = estimates.flat_map(|e| {
        [e.ratio]
            .into_iter()
            .chain(e.interval.into_iter().flatten())
    });
    let furthest = ratios
        .map(|r| r.ln().abs())
        .filter(|l| l.is_finite())
        .fold(0.0, f64::max);
    let round = ENDS
        .into_iter()
        .map(f64::ln)
        .find(|end| *end >= furthest * 1.05);
    // What lies further off tells nothing, and is drawn to the axis's end.
    round.unwrap_or(MOST_RATIO.ln())
}

fn forest(metric: Metric, verdict: &PlacementVerdict, reach: f64, margin: f64) -> Option<Forest> {
    let estimate = verdict.estimate?;
    let factor = Factor::of(metric, estimate.ratio, estimate.interval);
    // Better to the right: a worse factor is turned around.
    let turn = |value: f64| {
        if factor.is_better {
            value.ln()
        } else {
            -value.ln()
        }
    };
    let place = |log: f64| per_cent((0.5 + log / reach / 2.0).clamp(0.0, 1.0));
    let ends = factor.interval.map(|[a, b]| {
        let (a, b) = (place(turn(a)), place(turn(b)));
        (a.min(b), (a - b).abs())
    });
    let band = margin.ln_1p();
    let (margin_low, margin_high) = (place(-band), place(band));
    Some(Forest {
        class: class(Answer::under(verdict)),
        dot: place(turn(factor.value)),
        low: ends.map(|(low, _)| low),
        width: ends.map(|(_, width)| per_cent(width / 100.0)),
        margin_low,
        margin_width: per_cent((margin_high - margin_low) / 100.0),
        label: words::claim_measured(metric, verdict),
    })
}

/// The claims of a study and what became of them.
pub(crate) fn claims(findings: &Findings) -> Vec<ClaimView> {
    findings.claims.iter().map(claim).collect()
}

fn claim(claim: &ClaimFindings) -> ClaimView {
    let several = claim.placements.len() > 1;
    let published = &claim.published;
    ClaimView {
        about: format!("{} against {}", claim.of, claim.against),
        metric: words::metric_name(claim.metric),
        says: claim.says.clone(),
        source: claim.source.clone(),
        published: claim.published_ratio.map_or_else(String::new, |ratio| {
            words::factor_phrase(claim.metric, ratio)
        }),
        figures: format!(
            "{} against {} {}",
            published.of, published.against, published.unit
        ),
        measured: claim
            .placements
            .iter()
            .map(|p| ClaimLine {
                placement: several.then(|| words::on(p.verdict.placement)),
                text: words::claim_measured(claim.metric, &p.verdict),
                size: p.size.map(words::size_match),
            })
            .collect(),
        outcome: words::claim_outcome(claim),
        class: match claim.outcome {
            _ if claim.depends_on_placement => "depends",
            ClaimOutcome::Reproduced => "better",
            ClaimOutcome::Contradicted => "worse",
            ClaimOutcome::NotResolved => "open",
        },
    }
}
