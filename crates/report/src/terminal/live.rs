//! What was measured of live services, and what they had to reach.

use super::{Page, Paint};
use crate::findings::Findings;
use crate::findings::objective::ObjectiveOutcome;
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
