//! The report in a terminal: verdicts first, then claims, figures, and what was not measured.

mod style;
mod table;

#[cfg(test)]
mod tests;

use rpcgauge_study::settings::Placement;

pub(crate) use style::Paint;
pub use style::Style;
pub(crate) use table::{Column, Table};

use crate::escape::terminal as safe;
use crate::findings::verdict::{ClaimOutcome, Comparison};
use crate::findings::{Cell, Figures, Findings, VariantFindings};
use crate::questions::{self, Answer, Group, Mark};
use crate::units::{self, NONE, Scale};
use crate::words;

/// Writes findings for a terminal.
#[must_use]
pub fn render(findings: &Findings, style: Style) -> String {
    let mut page = Page {
        style,
        text: String::new(),
    };
    page.title(findings);
    page.verdicts(findings);
    page.claims(findings);
    for placement in &findings.study.placements {
        page.figures(findings, *placement);
    }
    page.not_measured(findings);
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
        let mut facts = vec![words::capital(&questions::progress(findings))];
        facts.extend(
            findings
                .progress
                .started_at_ms
                .map(|ms| units::wall_clock(ms) + " UTC"),
        );
        facts.extend(questions::machine(findings));
        self.paragraph(Paint::Quiet, "", &facts.join("; "));
        for warning in &findings.warnings {
            self.paragraph(Paint::Open, "! ", warning);
        }
    }

    fn verdicts(&mut self, findings: &Findings) {
        for question in questions::questions(findings) {
            self.heading(question.text);
            for comparison in &question.comparisons {
                self.verdict(comparison);
            }
            if let Some(notes) = questions::notes(question.comparisons) {
                self.paragraph(Paint::Quiet, "    ", &notes);
            }
        }
        let checks: Vec<_> = questions::a_a_checks(findings).collect();
        if !checks.is_empty() {
            self.heading("Is a difference seen where there is none?");
        }
        for check in checks {
            self.sentence(Paint::Quiet, "·", &check.sentence);
        }
    }

    fn verdict(&mut self, comparison: &Comparison) {
        let (paint, sign) = match Answer::of(comparison) {
            Answer::Better => (Paint::Good, "▲"),
            Answer::Worse => (Paint::Bad, "▼"),
            Answer::Same => (Paint::Even, "="),
            Answer::Depends => (Paint::Open, "⇄"),
            Answer::Open | Answer::Nothing => (Paint::Open, "?"),
        };
        self.sentence(paint, sign, &comparison.sentence);
    }

    /// A sentence after a coloured sign.
    fn sentence(&mut self, paint: Paint, sign: &str, text: &str) {
        let wrapped = self.style.wrap("    ", &safe(text));
        self.line(&format!(
            "  {} {}",
            self.style.paint(paint, sign),
            &wrapped[4..]
        ));
    }

    fn claims(&mut self, findings: &Findings) {
        if findings.claims.is_empty() {
            return;
        }
        self.heading("Published figures");
        for claim in &findings.claims {
            let (paint, sign) = match claim.outcome {
                ClaimOutcome::Reproduced => (Paint::Good, "✓"),
                ClaimOutcome::Contradicted => (Paint::Bad, "✗"),
                ClaimOutcome::NotResolved => (Paint::Open, "?"),
            };
            self.sentence(paint, sign, &claim.sentence);
        }
    }

    fn figures(&mut self, findings: &Findings, placement: Placement) {
        let groups = questions::groups(findings, placement);
        if groups.is_empty() {
            return;
        }
        self.heading(&format!("Figures {}", words::on(placement)));
        let mut table = Table {
            columns: COLUMNS.to_vec(),
            rows: Vec::new(),
        };
        let mut starts = Vec::new();
        for (_, members) in &groups {
            starts.push(table.rows.len());
            table.rows.extend(rows(members));
        }
        let (lines, dropped) = table.lines(self.style.columns());
        for (index, line) in lines.iter().enumerate() {
            if index == 0 {
                self.line(&self.style.paint(Paint::Quiet, line));
                continue;
            }
            if index > 1 && starts.contains(&(index - 1)) {
                self.text.push('\n');
            }
            self.line(line);
        }
        self.legend(&groups, lines[0].contains("kernel"));
        self.spikes(&groups);
        if !dropped.is_empty() {
            let text = format!("Wider terminals also show: {}.", dropped.join(", "));
            self.paragraph(Paint::Quiet, "", &text);
        }
    }

    fn legend(&mut self, groups: &[Group<'_>], kernel: bool) {
        let cells = || {
            groups
                .iter()
                .flat_map(|(_, members)| members)
                .map(|(_, cell)| cell)
        };
        let used = Mark::ALL
            .into_iter()
            .filter(|m| cells().any(|c| questions::marks(c).contains(m)));
        let mut legend: Vec<String> = used
            .map(|m| format!("{} {}: {}", m.letter(), m.name(), m.meaning()))
            .collect();
        if kernel {
            legend.push("kernel: the floor's part of the median call".to_owned());
        }
        if !legend.is_empty() {
            self.paragraph(Paint::Quiet, "", &(legend.join("; ") + "."));
        }
    }

    fn spikes(&mut self, groups: &[Group<'_>]) {
        let members = groups.iter().flat_map(|(_, members)| members);
        let spikes: Vec<String> = members
            .filter_map(|(variant, cell)| {
                let timeline = &cell.figures.as_deref()?.timeline;
                let highest = timeline.spikes.iter().map(|s| s.max_ns).max()?;
                let found = units::count(timeline.spikes_found);
                Some(format!(
                    "{found} in {} up to {}",
                    variant.name,
                    units::time(highest as f64)
                ))
            })
            .collect();
        if !spikes.is_empty() {
            let text = format!("Spikes (docs/report-schema.md): {}.", spikes.join("; "));
            self.paragraph(Paint::Quiet, "", &text);
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
        let failed: Vec<_> = findings
            .failures
            .iter()
            .filter(|f| not_run.iter().all(|v| v.name != f.variant))
            .collect();
        if !failed.is_empty() {
            self.heading("Failed trials");
        }
        for trial in failed {
            let place = words::on(trial.placement);
            let text = format!(
                "trial {}, {} {place}: {}",
                trial.index, trial.variant, trial.reason
            );
            self.paragraph(Paint::Open, "  ", &text);
        }
        self.failed_calls(findings);
    }

    fn failed_calls(&mut self, findings: &Findings) {
        let with_errors: Vec<(&VariantFindings, &Cell, &Figures)> = findings
            .variants
            .iter()
            .flat_map(|v| v.cells.iter().map(move |c| (v, c)))
            .filter_map(|(v, c)| Some((v, c, c.figures.as_deref()?)))
            .filter(|(_, _, f)| f.calls.failed_total() > 0)
            .collect();
        if with_errors.is_empty() {
            return;
        }
        self.heading("Failed calls");
        for (variant, cell, figures) in with_errors {
            let kinds: Vec<String> = figures
                .calls
                .failed
                .iter()
                .map(|(kind, count)| format!("{} {kind}", units::count(*count)))
                .collect();
            let text = format!(
                "{} {}: {} of {} calls",
                variant.name,
                words::on(cell.placement),
                kinds.join(", "),
                units::count(figures.calls.started),
            );
            self.paragraph(Paint::Open, "  ", &text);
            for error in &figures.errors {
                let text = format!("{} × {}", units::count(error.count), error.text);
                self.paragraph(Paint::Quiet, "    ", &text);
            }
        }
    }
}

/// The columns of the figures, in their order from left to right.
const COLUMNS: [Column; 12] = [
    column("variant", 0, false),
    column("p50", 0, true),
    column("p90", 8, true),
    column("p99", 1, true),
    column("p99.9", 9, true),
    column("max", 10, true),
    column("calls/s", 2, true),
    column("bytes/call", 4, true),
    column("client CPU", 5, true),
    column("server CPU", 6, true),
    column("kernel", 7, true),
    column("", 3, false),
];

const fn column(title: &'static str, rank: u8, right: bool) -> Column {
    Column { title, rank, right }
}

/// The rows of a group: its times share one scale a column.
fn rows(members: &[(&VariantFindings, &Cell)]) -> Vec<Vec<String>> {
    let times: [fn(&Figures) -> Option<f64>; 7] = [
        |f| f.latency.as_ref().map(|l| l.p50_ns as f64),
        |f| f.latency.as_ref()?.p90_ns.map(|ns| ns as f64),
        |f| f.latency.as_ref()?.p99_ns.map(|ns| ns as f64),
        |f| f.latency.as_ref()?.p999_ns.map(|ns| ns as f64),
        |f| f.latency.as_ref().map(|l| l.max_ns as f64),
        |f| Some(f.cpu.client.total_ns),
        |f| Some(f.cpu.server.total_ns),
    ];
    let all = || {
        members
            .iter()
            .filter_map(|(_, cell)| cell.figures.as_deref())
    };
    let scales = times.map(|value| Scale::times(all().filter_map(value)));
    let sizes = Scale::sizes(all().map(|f| f.bytes.total()));
    let rows = members.iter().map(|(variant, cell)| {
        let show = |text: &dyn Fn(&Figures) -> Option<String>| {
            cell.figures
                .as_deref()
                .and_then(text)
                .unwrap_or_else(|| NONE.to_owned())
        };
        let time =
            |column: usize| show(&|f| times[column](f).map(|ns| scales[column].with_unit(ns)));
        vec![
            safe(&variant.name),
            time(0),
            time(1),
            time(2),
            time(3),
            time(4),
            show(&|f| Some(units::count(f.goodput.round() as u64))),
            show(&|f| Some(sizes.with_unit(f.bytes.total()))),
            time(5),
            time(6),
            show(&|f| Some(units::percent(f.floor.as_ref()?.share?))),
            questions::marks(cell)
                .into_iter()
                .map(Mark::letter)
                .collect(),
        ]
    });
    rows.collect()
}
