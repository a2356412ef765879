//! `report.html`: one file that needs nothing else.
//!
//! Drawn in Rust: plots are inline SVG and HTML, there is no script, and a content security policy
//! forbids one as well as any request. Texts go through the template's escaping; the SVG holds
//! numbers only.

mod bars;
mod curves;
mod plot;
mod tables;
mod timelines;
mod verdicts;

#[cfg(test)]
mod tests;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, escape_formatter};
use rpcgauge_study::settings::Placement;
use serde::Serialize;

use crate::error::ReportError;
use crate::escape;
use crate::failures::Failures;
use crate::findings::Findings;
use crate::findings::objective::{ObjectiveFindings, ObjectiveOutcome};
use crate::listing::{self, Listing};
use crate::questions;
use crate::words;

/// The size that a page keeps under, bytes.
pub const LIMIT: usize = 600_000;

const TEMPLATE: &str = include_str!("../../templates/report.html");
const STYLE: &str = include_str!("../../templates/report.css");

/// How much is drawn. Later ones are smaller; a page takes the first one that fits.
const DETAILS: [Detail; 5] = [
    Detail {
        further: true,
        timelines: true,
        curves: true,
        bars: true,
        left_out: None,
    },
    Detail {
        further: false,
        timelines: true,
        curves: true,
        bars: true,
        left_out: Some("the plots of further placements"),
    },
    Detail {
        further: false,
        timelines: false,
        curves: true,
        bars: true,
        left_out: Some("the plots of further placements and all timelines"),
    },
    Detail {
        further: false,
        timelines: false,
        curves: false,
        bars: true,
        left_out: Some("the plots of further placements, all timelines and percentile curves"),
    },
    Detail {
        further: false,
        timelines: false,
        curves: false,
        bars: false,
        left_out: Some("all plots"),
    },
];

#[derive(Debug, Clone, Copy)]
struct Detail {
    /// Plots of other placements than the first.
    further: bool,
    timelines: bool,
    curves: bool,
    bars: bool,
    left_out: Option<&'static str>,
}

/// Draws findings as a page. Where the whole would be larger than [`LIMIT`], plots are left out,
/// and the page says which; verdicts and the table of all figures never are.
///
/// # Errors
/// [`ReportError::Template`], which is a defect of this program.
pub fn render(findings: &Findings) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => {
            escape_formatter(out, state, &Value::from(escape::page(text)))
        }
        _ => escape_formatter(out, state, value),
    });
    environment.add_template("report", TEMPLATE)?;
    let template = environment.get_template("report")?;
    let mut page = String::new();
    for detail in DETAILS {
        page = template.render(Serde(View::of(findings, detail)))?;
        if page.len() < LIMIT {
            break;
        }
    }
    Ok(page)
}

/// What the template is given.
#[derive(Debug, Serialize)]
struct View {
    style: &'static str,
    name: String,
    question: String,
    facts: Vec<String>,
    warnings: Vec<String>,
    live: Vec<LiveView>,
    listings: Vec<ListingView>,
    objectives: Vec<ObjectiveView>,
    /// Whether the objectives are of several services.
    several_targets: bool,
    incomplete: bool,
    /// Whether anything is compared: one live service by itself is not.
    compared: bool,
    /// Whether any variant is a subject: of live services no stages are known.
    subjects: bool,
    summary: verdicts::SummaryView,
    questions: Vec<verdicts::QuestionView>,
    a_a_checks: Vec<String>,
    claims: Vec<verdicts::ClaimView>,
    how_claims_are_read: &'static str,
    placements: Vec<PlacementView>,
    figure_columns: &'static [&'static str],
    not_run: Vec<(String, String)>,
    failures: Vec<tables::FailureView>,
    failures_left_out: Option<String>,
    errors: Vec<tables::ErrorView>,
    environment: Vec<(String, String)>,
    method: MethodView,
    left_out: Option<&'static str>,
}

/// What was measured of a live service.
#[derive(Debug, Serialize)]
struct LiveView {
    name: String,
    facts: Vec<(&'static str, String)>,
}

/// A table beside a live service's figures.
#[derive(Debug, Serialize)]
struct ListingView {
    heading: String,
    sentences: Vec<String>,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    note: &'static str,
}

impl ListingView {
    fn of(listing: Listing) -> Self {
        Self {
            heading: listing.heading,
            sentences: listing.sentences,
            columns: listing.columns.iter().map(|column| column.title).collect(),
            rows: listing.rows,
            note: listing.note,
        }
    }
}

/// What a variant had to reach.
#[derive(Debug, Serialize)]
struct ObjectiveView {
    objective: String,
    variant: String,
    class: &'static str,
    outcome: String,
}

/// Everything that was measured under one placement.
#[derive(Debug, Serialize)]
struct PlacementView {
    title: String,
    #[serde(skip)]
    measured: bool,
    plots: bool,
    stages: bars::BarsView,
    stage_table: tables::StageTable,
    curves: Vec<curves::CurvesView>,
    timelines: Vec<timelines::TimelineView>,
    bytes: bars::BarsView,
    cpu: bars::BarsView,
    figures: Vec<tables::FigureRow>,
    /// What the figures under load do not hold.
    left_out: Option<String>,
}

/// What the method's short text says of this run.
#[derive(Debug, Serialize)]
struct MethodView {
    confidence: String,
    margin: String,
    /// `2 blocks in each of 8 invocations`; at most so many, where not all variants ran as often
    /// under every placement.
    design: String,
    seed: u64,
    rpcgauge: String,
}

impl View {
    fn of(findings: &Findings, detail: Detail) -> Self {
        let study = &findings.study;
        let failures = Failures::of_all(findings);
        let placements = study.placements.iter().enumerate();
        let placements = placements
            .map(|(n, p)| PlacementView::of(findings, *p, detail, n == 0 || detail.further))
            .filter(|view| view.measured);
        Self {
            style: STYLE,
            name: study.name.clone(),
            question: study.question.clone(),
            facts: questions::facts(findings),
            warnings: findings.warnings.clone(),
            live: LiveView::all(findings),
            listings: listing::all(findings)
                .into_iter()
                .map(ListingView::of)
                .collect(),
            objectives: ObjectiveView::all(findings),
            several_targets: findings.live().count() > 1,
            incomplete: findings.progress.missing > 0,
            compared: findings.live().count() != 1,
            subjects: findings.variants.iter().any(|variant| !variant.is_live()),
            summary: verdicts::summary(findings),
            questions: verdicts::questions(findings),
            a_a_checks: verdicts::a_a_checks(findings),
            claims: verdicts::claims(findings),
            how_claims_are_read: words::HOW_CLAIMS_ARE_READ,
            placements: placements.collect(),
            figure_columns: &tables::COLUMNS,
            not_run: findings
                .variants
                .iter()
                .filter(|v| !v.not_run.is_empty())
                .map(|v| (v.name.clone(), v.not_run.join("; ")))
                .collect(),
            failures: tables::failures(&failures),
            failures_left_out: failures.left_out(),
            errors: tables::errors(findings),
            environment: findings
                .environment
                .as_ref()
                .map(tables::environment)
                .into_iter()
                .flatten()
                .chain(tables::floor_blocks(findings))
                .collect(),
            method: MethodView {
                confidence: words::margin_percent(study.confidence),
                margin: words::margin_percent(study.margin),
                design: design(findings),
                seed: study.seed,
                rpcgauge: findings
                    .environment
                    .as_ref()
                    .map_or_else(String::new, |e| e.rpcgauge.clone()),
            },
            left_out: detail.left_out,
        }
    }
}

/// How often variants ran.
fn design(findings: &Findings) -> String {
    let study = &findings.study;
    let most = u64::from(study.invocations) * u64::from(study.blocks);
    let mut cells = findings.variants.iter().flat_map(|v| &v.cells);
    let fewer = cells.any(|cell| cell.trials.planned < most);
    let at_most = if fewer { "at most " } else { "" };
    let is_live = findings.live().next().is_some();
    at_most.to_owned() + &words::design(study.invocations, study.blocks, is_live)
}

impl LiveView {
    fn all(findings: &Findings) -> Vec<Self> {
        let cells = findings.live().flat_map(|variant| {
            let cells = variant.cells.iter();
            cells.map(move |cell| Self {
                name: variant.name.clone(),
                facts: words::live::facts(variant, cell),
            })
        });
        cells.filter(|view| !view.facts.is_empty()).collect()
    }
}

impl ObjectiveView {
    fn all(findings: &Findings) -> Vec<Self> {
        let view = |found: &ObjectiveFindings| Self {
            objective: found.objective.to_string(),
            variant: found.variant.clone(),
            class: match found.outcome {
                ObjectiveOutcome::Reached => "better",
                ObjectiveOutcome::Missed => "worse",
                ObjectiveOutcome::TooFewCalls { .. } => "open",
            },
            outcome: words::live::objective(found),
        };
        findings.objectives.iter().map(view).collect()
    }
}

impl PlacementView {
    fn of(findings: &Findings, placement: Placement, detail: Detail, plots: bool) -> Self {
        let groups = questions::groups(findings, placement);
        let mut members = groups.iter().flat_map(|group| &group.members);
        Self {
            title: words::capital(words::on(placement)),
            measured: members.any(|(_, cell)| cell.figures.is_some()),
            plots: plots && (detail.bars || detail.curves || detail.timelines),
            stages: drawn(plots && detail.bars, || bars::stages(&groups)),
            stage_table: tables::stages(&groups),
            curves: drawn(plots && detail.curves, || curves::views(&groups)),
            timelines: drawn(plots && detail.timelines, || timelines::views(&groups)),
            bytes: drawn(plots && detail.bars, || bars::bytes(&groups)),
            cpu: drawn(plots && detail.bars, || bars::cpu(&groups)),
            figures: tables::figures(&groups),
            left_out: words::live::left_out(findings, placement),
        }
    }
}

/// Plots, or none of them.
fn drawn<T: Default>(wanted: bool, draw: impl FnOnce() -> T) -> T {
    if wanted { draw() } else { T::default() }
}
