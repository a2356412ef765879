//! Markdown for a pull request: verdicts, figures, claims, what failed.

use rpcgauge_study::settings::Placement;

use crate::escape::markdown as safe;
use crate::failures::Failures;
use crate::findings::{Cell, Figures, Findings, VariantFindings};
use crate::listing;
use crate::marks;
use crate::questions::{self, Answer};
use crate::summary;
use crate::units::{self, NONE};
use crate::words::{self, About};

/// Writes findings as Markdown (GitHub's flavour).
#[must_use]
pub fn render(findings: &Findings) -> String {
    let mut text = format!("## rpcgauge: {}\n\n", safe(&findings.study.name));
    text += &format!("{}\n\n", safe(&findings.study.question));
    text += &format!("_{}_\n", safe(&questions::facts(findings).join("; ")));
    for warning in &findings.warnings {
        text += &format!("\n**!** {}\n", safe(warning));
    }
    listings(&mut text, findings);
    live(&mut text, findings);
    objectives(&mut text, findings);
    summary(&mut text, findings);
    verdicts(&mut text, findings);
    claims(&mut text, findings);
    for placement in &findings.study.placements {
        figures(&mut text, findings, *placement);
    }
    not_measured(&mut text, findings);
    failed_trials(&mut text, findings);
    failed_calls(&mut text, findings);
    if findings.comparisons.is_empty() {
        return text;
    }
    let over = match findings.live().next() {
        Some(_) => "blocks",
        None => "invocations and blocks",
    };
    text += &format!(
        "\nRatios are medians over paired blocks, with {} intervals from a bootstrap over \
         {over}. The two figures beside a ratio are over all calls, so that they \
         can differ by another ratio.\n",
        words::margin_percent(findings.study.confidence)
    );
    text
}

fn live(text: &mut String, findings: &Findings) {
    let several = findings.live().count() > 1;
    for variant in findings.live() {
        for cell in &variant.cells {
            let facts = words::live::facts(variant, cell);
            if facts.is_empty() {
                continue;
            }
            if several {
                *text += &format!("\n### Target {}\n", safe(&variant.name));
            }
            *text += "\n| | |\n|---|---|\n";
            for (label, fact) in facts {
                *text += &format!("| {label} | {} |\n", safe(&fact));
            }
        }
    }
}

fn listings(text: &mut String, findings: &Findings) {
    for listing in listing::all(findings) {
        let titles: Vec<&str> = listing.columns.iter().map(|column| column.title).collect();
        *text += &format!(
            "\n### {}\n\n{}| {} |\n|{}\n",
            safe(&listing.heading),
            listing
                .sentences
                .iter()
                .map(|sentence| format!("{}\n\n", safe(sentence)))
                .collect::<String>(),
            titles.join(" | "),
            "--:|".repeat(titles.len())
        );
        for row in &listing.rows {
            *text += &format!("| {} |\n", row.join(" | "));
        }
        *text += &format!("\n{}\n", listing.note);
    }
}

fn objectives(text: &mut String, findings: &Findings) {
    if findings.objectives.is_empty() {
        return;
    }
    let several = findings.live().count() > 1;
    *text += match several {
        true => "\n### Objectives\n\n| objective | target | outcome |\n|---|---|---|\n",
        false => "\n### Objectives\n\n| objective | outcome |\n|---|---|\n",
    };
    for found in &findings.objectives {
        let target = match several {
            true => format!(" {} |", safe(&found.variant)),
            false => String::new(),
        };
        *text += &format!(
            "| {} |{target} {} |\n",
            safe(&found.objective.to_string()),
            safe(&words::live::objective(found))
        );
    }
}

fn summary(text: &mut String, findings: &Findings) {
    let placements = &findings.study.placements;
    let rows = summary::rows(findings);
    if rows.is_empty() {
        return;
    }
    let titles = if placements.len() > 1 {
        placements.iter().map(|p| words::place(*p)).collect()
    } else {
        vec!["verdict"]
    };
    *text += &format!(
        "\n| question | {} |\n|---|{}\n",
        titles.join(" | "),
        "---|".repeat(titles.len())
    );
    for row in rows {
        if let Some(heading) = &row.heading {
            *text += &format!("| {} |{}\n", safe(heading), " |".repeat(titles.len()));
        }
        let sign = if row.answer == Answer::Depends {
            "~ "
        } else {
            ""
        };
        *text += &format!("| {sign}{} |", safe(&row.text));
        for placement in placements {
            let place = row.found.iter().find(|p| p.placement == *placement);
            *text += &place.map_or_else(
                || format!(" {NONE} |"),
                |p| format!(" {} {} |", p.answer.sign(), safe(&p.found.text())),
            );
        }
        *text += "\n";
    }
    let below = [
        Some(summary::SIGNS.replace('~', "\\~")),
        Some(summary::checks(findings).join(". ")).filter(|c| !c.is_empty()),
        summary::claims(findings),
    ];
    let below: Vec<String> = below.into_iter().flatten().collect();
    *text += &format!("\n{}.\n", below.join(".  \n"));
}

fn verdicts(text: &mut String, findings: &Findings) {
    let several = findings.study.placements.len() > 1;
    for question in questions::questions(findings) {
        *text += &format!("\n### {}\n\n", safe(question.text));
        for comparison in &question.comparisons {
            if Answer::of(comparison) == Answer::Depends {
                *text += "- \\~ Depends on placement:\n";
            }
            let about = question.about(findings, comparison);
            for line in words::lines(about, comparison, findings.study.margin) {
                let reason = line.reason.as_ref().map(|r| words::capital(r) + ".");
                *text += &format!(
                    "- {} {}{}. {}",
                    line.answer.sign(),
                    place(several, line.placement),
                    safe(&line.text()),
                    safe(&reason.unwrap_or_default())
                );
                text.truncate(text.trim_end().len());
                text.push('\n');
            }
        }
        if let Some(notes) = words::notes(question.comparisons) {
            *text += &format!("\n_{}_\n", safe(&notes));
        }
    }
    let checks: Vec<_> = questions::a_a_checks(findings).collect();
    if !checks.is_empty() {
        *text += "\n### Is a difference seen where there is none?\n\n";
    }
    for check in checks {
        let about = About::from(check);
        for verdict in &check.placements {
            let place = place(several, verdict.placement);
            *text += &format!("- {place}{}.\n", safe(&words::a_a(about, verdict)));
        }
    }
}

/// A placement before a line, where there are several.
fn place(several: bool, placement: Placement) -> String {
    if several {
        format!("_{}:_ ", words::place(placement))
    } else {
        String::new()
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
                let size = p.size.map(words::size_match);
                let size = size.map_or_else(String::new, |s| format!(", {s}"));
                safe(&format!(
                    "{place}{}{size}",
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
    *text += &format!("\n_{}_\n", words::HOW_CLAIMS_ARE_READ);
}

fn figures(text: &mut String, findings: &Findings, placement: Placement) {
    let groups = questions::groups(findings, placement);
    if groups.is_empty() {
        return;
    }
    *text += &format!(
        "\n<details><summary>Figures {}</summary>\n\n\
         | variant | p50 | p99 | delay p99 | calls/s | bytes a call | client CPU | client share \
         | server CPU | code | marks |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n",
        words::on(placement)
    );
    for (variant, cell) in groups.into_iter().flat_map(|group| group.members) {
        *text += &row(variant, cell);
    }
    let left_out = words::live::left_out(findings, placement);
    let left_out = left_out.map_or_else(String::new, |told| format!(" {told}"));
    *text += &format!(
        "\nDelay: how long after it was due a call was sent. Client share: of its core.{left_out}\n"
    );
    *text += "\n</details>\n";
}

fn row(variant: &VariantFindings, cell: &Cell) -> String {
    let figures = cell.figures.as_deref();
    let show = |value: fn(&Figures) -> Option<String>| {
        figures.and_then(value).unwrap_or_else(|| NONE.to_owned())
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        safe(&variant.name),
        show(|f| f.latency.as_ref().map(|l| units::time(l.p50_ns as f64))),
        show(|f| f.latency.as_ref()?.p99_ns.map(|ns| units::time(ns as f64))),
        show(|f| Some(units::time(f.send_delay.as_ref()?.p99_ns? as f64))),
        show(|f| Some(units::number(f.goodput))),
        show(|f| Some(units::size(f.bytes?.total()))),
        show(|f| Some(units::time(f.cpu.client?.total_ns))),
        show(|f| f.client_share.map(units::percent)),
        show(|f| Some(units::time(f.cpu.server?.total_ns))),
        show(|f| Some(words::code_names(&f.code))),
        marks::names(cell),
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
}

/// Trials that failed although others of their variant were measured.
fn failed_trials(text: &mut String, findings: &Findings) {
    let failures = Failures::of_measured_variants(findings);
    if !failures.listed.is_empty() {
        *text += "\n### Failed trials\n\n";
    }
    for failure in &failures.listed {
        *text += &format!("- {}\n", safe(&words::failure(failure)));
    }
    if let Some(others) = failures.left_out() {
        *text += &format!("- {others}\n");
    }
}

fn failed_calls(text: &mut String, findings: &Findings) {
    let cells = findings.variants.iter().flat_map(|v| &v.cells);
    let mut figures = cells.filter_map(|cell| cell.figures.as_deref());
    if figures.any(|f| words::mishaps(f).is_some()) {
        *text += "\n### Failed calls and connections\n\n";
    }
    for variant in &findings.variants {
        for cell in &variant.cells {
            let Some(figures) = cell.figures.as_deref() else {
                continue;
            };
            if let Some(mishaps) = words::mishaps(figures) {
                let (name, place) = (safe(&variant.name), words::on(cell.placement));
                *text += &format!("- {name} {place}: {}\n", safe(&mishaps));
            }
            for error in &figures.errors {
                *text += &format!(
                    "  - {} × {}, \"{}\"\n",
                    units::count(error.count),
                    safe(&error.kind),
                    safe(&error.text),
                );
            }
            if let Some(others) = words::other_errors(figures) {
                *text += &format!("  - {}\n", safe(&others));
            }
        }
    }
}
