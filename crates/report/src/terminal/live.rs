//! What was measured of live services, and what they had to reach.

use super::{Page, Paint, Table};
use crate::findings::Findings;
use crate::findings::objective::ObjectiveOutcome;
use crate::listing;
use crate::words::live;

/// Room for the longest label and a gap.
const LABEL: usize = 13;

impl Page {
    /// One block of facts a service.
    pub(super) fn live(&mut self, findings: &Findings) {
        let several = findings.live().count() > 1;
        for variant in findings.live() {
            for cell in &variant.cells {
                let facts = live::facts(variant, cell);
                if facts.is_empty() {
                    continue;
                }
                match several {
                    true => self.heading(&format!("Target {}", variant.name)),
                    false => self.heading("Result"),
                }
                let mut last = "";
                for (label, text) in facts {
                    let shown = if label == last { "" } else { label };
                    self.paragraph(Paint::Plain, &format!("  {shown:<LABEL$}"), &text);
                    last = label;
                }
            }
        }
    }

    /// The tables beside the facts.
    pub(super) fn listings(&mut self, findings: &Findings) {
        for listing in listing::all(findings) {
            self.heading(&listing.heading);
            for sentence in &listing.sentences {
                self.paragraph(Paint::Plain, "  ", sentence);
            }
            let table = Table {
                columns: listing.columns,
                rows: listing.rows,
            };
            let (lines, dropped) = table.lines(self.style.columns());
            for (index, line) in lines.iter().enumerate() {
                match index {
                    0 => self.line(&self.style.paint(Paint::Quiet, line)),
                    _ => self.line(line),
                }
            }
            self.paragraph(Paint::Quiet, "", listing.note);
            if !dropped.is_empty() {
                let more = format!("Wider terminals also show {}.", dropped.join(", "));
                self.paragraph(Paint::Quiet, "", &more);
            }
        }
    }

    /// Each objective with what became of it.
    pub(super) fn objectives(&mut self, findings: &Findings) {
        if findings.objectives.is_empty() {
            return;
        }
        self.heading("Objectives");
        let several = findings.live().count() > 1;
        for found in &findings.objectives {
            let (paint, sign) = match found.outcome {
                ObjectiveOutcome::Reached => (Paint::Good, '✓'),
                ObjectiveOutcome::Missed => (Paint::Bad, '✗'),
                ObjectiveOutcome::TooFewCalls { .. } => (Paint::Open, '?'),
            };
            let of = match several {
                true => format!("{}: ", found.variant),
                false => String::new(),
            };
            let text = format!("{of}{} {}", found.objective, live::objective(found));
            self.signed(paint, sign, "", &text);
        }
    }
}
