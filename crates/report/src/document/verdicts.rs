//! The verdicts: each question with its comparisons, and their verdicts under each placement.

use rpcgauge_stats::Better;

use super::groups::{self, Asked};
use super::{Block, Section, Shown, charts};
use crate::by_key;
use crate::findings::Findings;
use crate::findings::verdict::{ClaimFindings, ClaimOutcome, Comparison, PlacementVerdict};
use crate::metric::row as metric;
use crate::units::MAX_RATIO;
use crate::words::{self, About, Found, Line};
pub(crate) use crate::words::{Answer, SIGNS};

/// All verdicts of a study.
pub(crate) struct Verdicts {
    /// Their heading on a terminal.
    pub(crate) title: &'static str,
    /// The short names of the placements, the study's own first.
    pub(crate) placements: Vec<&'static str>,
    pub(crate) groups: Vec<Group>,
    /// The A/A checks, which show how reliable the verdicts are.
    pub(crate) checks: Option<Question>,
    /// How far the checks' axis of ratios extends to either side of 1; `None` without an estimate.
    pub(crate) checks_reach: Option<f64>,
    /// The checks in short, and the counts of claims by outcome.
    pub(crate) below: Vec<String>,
}

/// Questions about the same variants.
pub(crate) struct Group {
    pub(crate) questions: Vec<Question>,
    /// How far its axis of ratios extends to either side of 1; `None` without an estimate.
    pub(crate) reach: Option<f64>,
    /// The title of its charts and tables.
    pub(crate) title: String,
    /// The cautions of all questions together, each once.
    pub(crate) cautions: Option<String>,
    /// Charts and tables of the variants.
    pub(crate) more: Vec<Block>,
}

/// A question and its answers.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) rows: Vec<Row>,
    /// The sizes at which the verdicts turn, a line for each placement.
    pub(crate) crossings: Vec<String>,
    pub(crate) cautions: Option<String>,
}

impl Question {
    /// Whether the question is a heading above its rows. With only one row, the question is the row's text.
    pub(crate) fn has_heading(&self) -> bool {
        self.rows.len() > 1
    }
}

pub(crate) struct Row {
    /// The question, or the row's variants and metric if the question has several comparisons.
    pub(crate) text: String,
    /// The combined answer of all placements.
    pub(crate) answer: Answer,
    /// The study's own placement first.
    pub(crate) verdicts: Vec<Verdict>,
}

impl Row {
    /// The answer shown for the row: the one under the study's own placement, unless the answer depends on
    /// placement.
    pub(crate) fn sign(&self) -> Answer {
        match (self.answer, self.verdicts.first()) {
            (Answer::Depends, _) | (_, None) => self.answer,
            (_, Some(own)) => own.answer,
        }
    }

    /// The verdicts to list separately: all if the answer depends on placement, otherwise those whose answer
    /// differs from the one under the study's own placement.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Verdict> {
        let own = self.verdicts.first().map(|verdict| verdict.answer);
        let depends = self.answer == Answer::Depends;
        let others = self.verdicts.iter();
        others.filter(move |verdict| depends || Some(verdict.answer) != own)
    }
}

/// A verdict under a placement.
pub(crate) struct Verdict {
    /// The placement's short name.
    pub(crate) place: &'static str,
    /// The placement as an adverb: `on one core`.
    pub(crate) on: &'static str,
    pub(crate) answer: Answer,
    /// The verdict in as few words as possible.
    pub(crate) found: Found,
    /// The verdict in full.
    pub(crate) line: Line,
    pub(crate) drawn: Option<Drawn>,
}

/// A ratio to draw: logarithms, positive if better.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawn {
    pub(crate) at: f64,
    pub(crate) interval: Option<[f64; 2]>,
    /// How far "no difference" extends to either side of 0.
    pub(crate) margin: f64,
    /// How far the A/A pair extends to either side of 0: no difference within that range is resolved.
    pub(crate) control: Option<f64>,
    /// A published ratio.
    pub(crate) published: Option<f64>,
}

pub(super) fn section(findings: &Findings) -> Option<Section> {
    let placements = match &findings.study.placements[..] {
        [] | [_] => vec!["verdict"],
        several => several.iter().map(|p| words::place(*p)).collect(),
    };
    let groups = groups::together(findings);
    let checks = || groups::a_a_checks(findings);
    let below = checks().map(check).chain(claims_counted(findings));
    let verdicts = Verdicts {
        title: "Summary",
        placements,
        groups: groups
            .iter()
            .map(|together| group(findings, together))
            .collect(),
        checks: checks_of(findings),
        checks_reach: reach(checks().flat_map(|c| &c.placements).flat_map(ratios)),
        below: below.collect(),
    };
    let blocks = [Block::Verdicts(verdicts)];
    let section = Section::new("verdicts", "Verdicts", Shown::Always, blocks);
    Some(section).filter(|_| !findings.variants.is_empty())
}

fn group(findings: &Findings, together: &groups::Together<'_>) -> Group {
    let questions = together.questions.iter();
    let comparisons = questions.clone().flat_map(|asked| &asked.comparisons);
    let verdicts = comparisons
        .clone()
        .flat_map(|comparison| &comparison.placements);
    let all: Vec<&Comparison> = comparisons.copied().collect();
    Group {
        cautions: words::caution::of_comparisons(&all),
        reach: reach(verdicts.flat_map(ratios)),
        questions: questions.map(|asked| question(findings, asked)).collect(),
        title: title(together),
        more: charts::of_group(findings, &together.variants),
    }
}

/// The title of a group's charts and tables, with the name of the study's group if all variants belong to one group.
fn title(together: &groups::Together<'_>) -> String {
    let mut parts = together.variants.iter().map(|v| v.group.as_deref());
    let first = parts.next().flatten();
    match first.filter(|_| parts.all(|part| part == first)) {
        Some(group) => format!("Charts and figures of {group}"),
        None => "Charts and figures".to_owned(),
    }
}

fn question(findings: &Findings, asked: &Asked<'_>) -> Question {
    let margin = findings.study.margin;
    let several = asked.comparisons.len() > 1;
    let row = |comparison: &&Comparison| {
        let about = asked.about(findings, comparison);
        let code = comparison.placements.iter().map(words::code_mark);
        let text = if several {
            subject(about)
        } else {
            asked.text.to_owned()
        };
        let lines = words::lines(about, comparison, margin).into_iter();
        let verdicts = lines.zip(&comparison.placements);
        let verdicts = verdicts.map(|(line, v)| verdict(about, v, line, margin));
        Row {
            text: text + code.max().unwrap_or_default(),
            answer: Answer::of(comparison),
            verdicts: verdicts.collect(),
        }
    };
    Question {
        text: asked.text.to_owned(),
        rows: asked.comparisons.iter().map(row).collect(),
        crossings: crossings(findings, asked),
        cautions: words::caution::of_comparisons(&asked.comparisons),
    }
}

/// The two variants of a comparison and its metric.
fn subject(about: About<'_>) -> String {
    let name = metric(about.metric).name;
    format!("{} against {}, {name}", about.of, about.against)
}

fn verdict(about: About<'_>, v: &PlacementVerdict, line: Line, margin: f64) -> Verdict {
    Verdict {
        place: words::place(v.placement),
        on: words::on(v.placement),
        answer: line.answer,
        found: words::brief(about, v),
        line,
        drawn: drawn(about, v, margin),
    }
}

/// The A/A checks, as a question with a row for each.
fn checks_of(findings: &Findings) -> Option<Question> {
    let row = |comparison: &Comparison| {
        let about = About::from(comparison);
        let verdicts = comparison.placements.iter().map(|v| {
            let line = Line {
                answer: Answer::Check,
                clause: words::a_a(about, v),
                ratio: String::new(),
                figures: None,
                reason: None,
            };
            verdict(about, v, line, findings.study.margin)
        });
        Row {
            text: subject(about),
            answer: Answer::Check,
            verdicts: verdicts.collect(),
        }
    };
    let rows: Vec<Row> = groups::a_a_checks(findings).map(row).collect();
    (!rows.is_empty()).then(|| Question {
        text: "Does measuring the same thing twice show a difference?".to_owned(),
        rows,
        crossings: Vec::new(),
        cautions: None,
    })
}

/// The crossings to show below a question: those whose largest size the question is about.
fn crossings(findings: &Findings, asked: &Asked<'_>) -> Vec<String> {
    let is_last = |pair: &String| asked.comparisons.iter().any(|c| c.pair == *pair);
    let all = findings.sweeps.iter().flat_map(|sweep| {
        let ending = sweep.crossings.iter();
        let ending = ending.filter(|one| one.pairs.values().last().is_some_and(is_last));
        ending.flat_map(|one| words::crossing_lines(findings, sweep, one))
    });
    all.collect()
}

/// An A/A check in one line.
fn check(comparison: &Comparison) -> String {
    let said = comparison.placements.iter().map(|v| {
        let brief = words::a_a_brief(v);
        match comparison.placements.len() {
            1 => brief,
            _ => format!("{}: {brief}", words::place(v.placement)),
        }
    });
    let name = metric(comparison.metric).name;
    let said = words::joined(said, "; ");
    let process = if comparison.one_process {
        ", in one process"
    } else {
        ""
    };
    let of = &comparison.against;
    format!("A/A check of {of} in {name}{process}: {said}")
}

/// The counts of claims by outcome; `None` if the study has no claims.
fn claims_counted(findings: &Findings) -> Option<String> {
    // Outcomes under only one placement come after those under all placements.
    let mut claims: Vec<&ClaimFindings> = findings.claims.iter().collect();
    claims.sort_by_key(|c| (c.outcome, !c.depends_on_placement, c.only_under.clone()));
    let outcome = |claim: &ClaimFindings| {
        if claim.depends_on_placement {
            "dependent on placement".to_owned()
        } else {
            words::claim_outcome(claim)
        }
    };
    let counted = by_key(claims.into_iter().map(|claim| (outcome(claim), claim))).into_iter();
    let counted = counted.map(|(outcome, claims)| format!("{} {outcome}", claims.len()));
    let counted = words::joined(counted, ", ");
    (!counted.is_empty()).then(|| format!("Published figures: {counted}"))
}

/// The possible ends of the axis of ratios: round numbers, since they are its labels.
const ENDS: [f64; 10] = [1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1_000.0];

/// How far the axis of these ratios extends to either side of 1: to a round ratio beyond the furthest, but at most
/// to [`MAX_RATIO`]. Ratios beyond the end are drawn at the end.
pub(crate) fn reach(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let logs = ratios.map(|ratio| ratio.ln().abs());
    let furthest = logs.filter(|log| log.is_finite()).reduce(f64::max)?;
    let round = ENDS.into_iter().find(|end| end.ln() >= furthest * 1.05);
    Some(round.unwrap_or(MAX_RATIO))
}

/// The measured ratio and the ends of its interval.
pub(crate) fn ratios(verdict: &PlacementVerdict) -> impl Iterator<Item = f64> {
    let ends = verdict.estimate.and_then(|e| e.interval);
    let ratio = verdict.estimate.map(|e| e.ratio);
    ends.into_iter().flatten().chain(ratio)
}

/// A verdict to draw; `None` without an estimate.
pub(crate) fn drawn(about: About<'_>, verdict: &PlacementVerdict, margin: f64) -> Option<Drawn> {
    let estimate = verdict.estimate?;
    let turn = |ratio: f64| turned(about.better(), ratio);
    let control = verdict.control.as_ref();
    let control = control.and_then(|control| control.estimate.interval);
    Some(Drawn {
        at: turn(estimate.ratio),
        interval: estimate.interval.map(|ends| {
            let [a, b] = ends.map(turn);
            [a.min(b), a.max(b)]
        }),
        margin: margin.ln_1p(),
        control: control.map(|[low, high]| low.ln().abs().max(high.ln().abs())),
        published: None,
    })
}

/// The logarithm of a ratio, positive if better.
pub(crate) fn turned(better: Better, ratio: f64) -> f64 {
    match better {
        Better::Higher => ratio.ln(),
        Better::Lower => -ratio.ln(),
    }
}

/// The outcome of a claim, as a sign.
pub(crate) fn claimed(outcome: ClaimOutcome, depends: bool) -> (char, Answer) {
    match outcome {
        _ if depends => ('~', Answer::Depends),
        ClaimOutcome::Reproduced => ('✓', Answer::Better),
        ClaimOutcome::Contradicted => ('✗', Answer::Worse),
        ClaimOutcome::NotReproduced => ('✗', Answer::Open),
        ClaimOutcome::NotResolved => ('?', Answer::Open),
    }
}
