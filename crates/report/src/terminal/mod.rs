//! The report in a terminal: a summary, verdicts, claims, figures, and what was not measured.

mod figures;
mod live;
mod style;
mod summary;
mod table;

#[cfg(test)]
mod tests;

use rpcgauge_study::settings::Placement;

pub(crate) use style::Paint;
pub use style::Style;
pub(crate) use table::{Column, Table};

use crate::escape::terminal as safe;
use crate::failures::Failures;
use crate::findings::verdict::{ClaimOutcome, Combined, Comparison};
use crate::findings::{Cell, Figures, Findings, VariantFindings};
use crate::questions::{self, Answer};
use crate::units;
use crate::words::{self, About};

/// Writes findings for a terminal.
#[must_use]
pub fn render(findings: &Findings, style: Style) -> String {
    let mut page = Page {
        style,
        text: String::new(),
    };
    page.title(findings);
    page.listings(findings);
    page.live(findings);
    page.objectives(findings);
    page.summary(findings);
    page.verdicts(findings);
    page.claims(findings);
    // One service by itself is told whole above.
    if findings.live().count() != 1 {
        page.figures(findings);
    }
    page.not_measured(findings);
    page.failed_trials(findings);
    page.failed_calls(findings);
    page.text
}

struct Page {
    style: Style,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.text.push('\n');
        let wrapped = self.style.wrap("", &safe(text));
        self.line(&self.style.paint(Paint::Heading, &wrapped));
    }

    fn paragraph(&mut self, paint: Paint, first: &str, text: &str) {
        let wrapped = self.style.wrap(first, &safe(text));
        self.line(&self.style.paint(paint, &wrapped));
    }

    fn title(&mut self, findings: &Findings) {
        let study = &findings.study;
        let title = self
            .style
            .wrap("", &safe(&format!("{}: {}", study.name, study.question)));
        self.line(&self.style.paint(Paint::Heading, &title));
        let facts = questions::facts(findings).join("; ");
        self.paragraph(Paint::Quiet, "", &facts);
        for warning in &findings.warnings {
            self.paragraph(Paint::Open, "! ", warning);
        }
    }

    fn verdicts(&mut self, findings: &Findings) {
        for question in questions::questions(findings) {
            self.heading(question.text);
            for comparison in &question.comparisons {
                let about = question.about(findings, comparison);
                self.verdict(findings, comparison, about);
            }
            if let Some(notes) = words::notes(question.comparisons) {
                let indent = 4 + label_width(findings);
                self.paragraph(Paint::Quiet, &" ".repeat(indent), &notes);
            }
        }
        let checks: Vec<_> = questions::a_a_checks(findings).collect();
        if !checks.is_empty() {
            self.heading("Is a difference seen where there is none?");
        }
        for check in checks {
            let about = About::from(check);
            for verdict in &check.placements {
                let label = label(findings, verdict.placement);
                let text = words::a_a(about, verdict) + ".";
                self.signed(Paint::Quiet, '·', &label, &text);
            }
        }
    }

    /// A line for each placement, and why it is open below it.
    fn verdict(&mut self, findings: &Findings, comparison: &Comparison, about: About<'_>) {
        if comparison.combined == Combined::DependsOnPlacement {
            self.signed(Paint::Open, '~', "", "Depends on placement:");
        }
        for line in words::lines(about, comparison, findings.study.margin) {
            let label = label(findings, line.placement);
            self.signed(paint(line.answer), line.answer.sign(), &label, &line.text());
            if let Some(reason) = &line.reason {
                let indent = " ".repeat(4 + label.chars().count());
                self.paragraph(Paint::Quiet, &indent, &(words::capital(reason) + "."));
            }
        }
    }

    /// A coloured sign, a label, and a text beside them.
    fn signed(&mut self, paint: Paint, sign: char, label: &str, text: &str) {
        let indent = 4 + label.chars().count();
        let wrapped = self.style.wrap(&" ".repeat(indent), &safe(text));
        let sign = self.style.paint(paint, &sign.to_string());
        self.line(&format!("  {sign} {label}{}", &wrapped[indent..]));
    }

    fn claims(&mut self, findings: &Findings) {
        if findings.claims.is_empty() {
            return;
        }
        self.heading("Published figures");
        self.paragraph(Paint::Quiet, "", words::HOW_CLAIMS_ARE_READ);
        for claim in &findings.claims {
            let (paint, sign) = match claim.outcome {
                _ if claim.depends_on_placement => (Paint::Open, '~'),
                ClaimOutcome::Reproduced => (Paint::Good, '✓'),
                ClaimOutcome::Contradicted => (Paint::Bad, '✗'),
                ClaimOutcome::NotResolved => (Paint::Open, '?'),
            };
            let text = format!(
                "{}: {} against {} in {}",
                words::capital(&words::claim_outcome(claim)),
                claim.of,
                claim.against,
                words::metric_name(claim.metric)
            );
            self.signed(paint, sign, "", &text);
            let published = words::claim_published(claim);
            self.paragraph(Paint::Quiet, "    published  ", &published);
            for measured in &claim.placements {
                let place = if claim.placements.len() > 1 {
                    words::place(measured.verdict.placement)
                } else {
                    "measured"
                };
                let size = measured.size.map(words::size_match);
                let size = size.map_or_else(String::new, |s| format!(", {s}"));
                let text = words::claim_measured(claim.metric, &measured.verdict) + &size;
                self.paragraph(Paint::Plain, &format!("    {place:<9}  "), &text);
            }
        }
    }

    fn not_measured(&mut self, findings: &Findings) {
        let not_run: Vec<_> = findings
            .variants
            .iter()
            .filter(|v| !v.not_run.is_empty())
            .collect();
        if !not_run.is_empty() {
            self.heading("Not measured");
        }
        for variant in &not_run {
            let text = format!("{}: {}", variant.name, variant.not_run.join("; "));
            self.paragraph(Paint::Open, "  ", &text);
        }
    }

    fn failed_trials(&mut self, findings: &Findings) {
        let failures = Failures::of_measured_variants(findings);
        if !failures.listed.is_empty() {
            self.heading("Failed trials");
        }
        for failure in &failures.listed {
            self.paragraph(Paint::Open, "  ", &words::failure(failure));
        }
        if let Some(others) = failures.left_out() {
            self.paragraph(Paint::Quiet, "  ", &others);
        }
    }

    fn failed_calls(&mut self, findings: &Findings) {
        let amiss: Vec<(&VariantFindings, &Cell, &Figures, String)> = findings
            .variants
            .iter()
            .filter(|v| !v.is_live())
            .flat_map(|v| v.cells.iter().map(move |c| (v, c)))
            .filter_map(|(v, c)| Some((v, c, c.figures.as_deref()?)))
            .filter_map(|(v, c, f)| Some((v, c, f, words::mishaps(f)?)))
            .collect();
        if amiss.is_empty() {
            return;
        }
        self.heading("Failed calls and connections");
        for (variant, cell, figures, mishaps) in amiss {
            let place = words::on(cell.placement);
            let text = format!("{} {place}: {mishaps}", variant.name);
            self.paragraph(Paint::Open, "  ", &text);
            for error in &figures.errors {
                let text = format!("{} × {}", units::count(error.count), error.text);
                self.paragraph(Paint::Quiet, "    ", &text);
            }
            if let Some(others) = words::other_errors(figures) {
                self.paragraph(Paint::Quiet, "    ", &others);
            }
        }
    }
}

/// The colour of an answer.
fn paint(answer: Answer) -> Paint {
    match answer {
        Answer::Better => Paint::Good,
        Answer::Worse => Paint::Bad,
        Answer::Same => Paint::Even,
        Answer::Depends | Answer::Open | Answer::Nothing => Paint::Open,
    }
}

/// A placement before a line; nothing in a study of one placement.
fn label(findings: &Findings, placement: Placement) -> String {
    let width = label_width(findings);
    format!("{:<width$}", words::place(placement))
        .chars()
        .take(width)
        .collect()
}

/// Room for the widest placement's name and a gap.
fn label_width(findings: &Findings) -> usize {
    let placements = &findings.study.placements;
    if placements.len() < 2 {
        return 0;
    }
    let widest = placements.iter().map(|p| words::place(*p).len()).max();
    widest.unwrap_or(0) + 2
}
