//! Markdown for a pull request: verdicts, figures, claims, what failed.

use rpcgauge_study::settings::Placement;

use crate::escape::markdown as safe;
use crate::findings::{Cell, Figures, Findings, VariantFindings};
use crate::questions::{self, Answer};
use crate::units::{self, NONE};
use crate::words;

/// Writes findings as Markdown (GitHub's flavour).
#[must_use]
pub fn render(findings: &Findings) -> String {
    let mut text = format!("## rpcgauge: {}\n\n", safe(&findings.study.name));
    text += &format!("{}\n\n", safe(&findings.study.question));
    let machine = questions::machine(findings).map(|m| format!("; {}", safe(&m)));
    text += &format!(
        "_{}{}_\n",
        questions::progress(findings),
        machine.unwrap_or_default()
    );
    verdicts(&mut text, findings);
    claims(&mut text, findings);
    for placement in &findings.study.placements {
        figures(&mut text, findings, *placement);
    }
    not_measured(&mut text, findings);
    text += &format!(
        "\nRatios are medians over paired blocks, with {} intervals from a bootstrap over \
         invocations and blocks.\n",
        words::margin_percent(findings.study.confidence)
    );
    text
}

fn verdicts(text: &mut String, findings: &Findings) {
    for question in questions::questions(findings) {
        *text += &format!("\n### {}\n\n", safe(question.text));
        for comparison in &question.comparisons {
            let sign = match Answer::of(comparison) {
                Answer::Better => "▲",
                Answer::Worse => "▼",
                Answer::Same => "=",
                Answer::Depends => "⇄",
                Answer::Open | Answer::Nothing => "?",
            };
            *text += &format!("- {sign} {}\n", safe(&comparison.sentence));
        }
        if let Some(notes) = questions::notes(question.comparisons) {
            *text += &format!("\n_{}_\n", safe(&notes));
        }
    }
    let checks: Vec<_> = questions::a_a_checks(findings).collect();
    if !checks.is_empty() {
        *text += "\n### Is a difference seen where there is none?\n\n";
    }
    for check in checks {
        *text += &format!("- {}\n", safe(&check.sentence));
    }
}

fn claims(text: &mut String, findings: &Findings) {
    if findings.claims.is_empty() {
        return;
    }
    *text += "\n### Published figures\n\n| claim | published | measured | outcome |\n|---|---|---|---|\n";
    for claim in &findings.claims {
        let measured: Vec<String> = claim
            .placements
            .iter()
            .map(|p| {
                let place = if claim.placements.len() > 1 {
                    format!("{}: ", words::on(p.verdict.placement))
                } else {
                    String::new()
                };
                safe(&format!(
                    "{place}{}",
                    words::claim_measured(claim.metric, &p.verdict)
                ))
            })
            .collect();
        *text += &format!(
            "| {}, {} against {} | {} | {} | {} |\n",
            words::metric_name(claim.metric),
            safe(&claim.of),
            safe(&claim.against),
            safe(&words::claim_published(claim)),
            measured.join("<br>"),
            words::claim_outcome(claim),
        );
    }
}

fn figures(text: &mut String, findings: &Findings, placement: Placement) {
    let groups = questions::groups(findings, placement);
    if groups.is_empty() {
        return;
    }
    *text += &format!(
        "\n<details><summary>Figures {}</summary>\n\n\
         | variant | p50 | p99 | calls/s | bytes a call | client CPU | server CPU | code | marks |\n\
         |---|--:|--:|--:|--:|--:|--:|---|---|\n",
        words::on(placement)
    );
    for (variant, cell) in groups.into_iter().flat_map(|(_, members)| members) {
        *text += &row(variant, cell);
    }
    *text += "\n</details>\n";
}

fn row(variant: &VariantFindings, cell: &Cell) -> String {
    let figures = cell.figures.as_deref();
    let show = |value: fn(&Figures) -> Option<String>| {
        figures.and_then(value).unwrap_or_else(|| NONE.to_owned())
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        safe(&variant.name),
        show(|f| f.latency.as_ref().map(|l| units::time(l.p50_ns as f64))),
        show(|f| f.latency.as_ref()?.p99_ns.map(|ns| units::time(ns as f64))),
        show(|f| Some(units::number(f.goodput))),
        show(|f| Some(units::size(f.bytes.total()))),
        show(|f| Some(units::time(f.cpu.client.total_ns))),
        show(|f| Some(units::time(f.cpu.server.total_ns))),
        show(|f| Some(questions::code(f))),
        questions::mark_names(cell),
    )
}

fn not_measured(text: &mut String, findings: &Findings) {
    let not_run: Vec<_> = findings
        .variants
        .iter()
        .filter(|v| !v.not_run.is_empty())
        .collect();
    if !not_run.is_empty() {
        *text += "\n### Not measured\n\n";
    }
    for variant in not_run {
        *text += &format!(
            "- {}: {}\n",
            safe(&variant.name),
            safe(&variant.not_run.join("; "))
        );
    }
    for variant in &findings.variants {
        for figures in variant.cells.iter().filter_map(|c| c.figures.as_deref()) {
            for error in &figures.errors {
                *text += &format!(
                    "- {}: {} × {}, \"{}\"\n",
                    safe(&variant.name),
                    units::count(error.count),
                    safe(&error.kind),
                    safe(&error.text),
                );
            }
        }
    }
}
