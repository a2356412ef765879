//! The objectives of a run, each with its outcome.

use rpcgauge_study::objective::Measure;

use super::super::{Answer, Block, Item, Section, Shown};
use crate::findings::Findings;
use crate::findings::objective::{ObjectiveFindings, ObjectiveOutcome};
use crate::{units, words};

/// Each objective with its outcome.
pub(in crate::document) fn objectives(findings: &Findings) -> Section {
    let several = findings.live().count() > 1;
    let item = |found: &ObjectiveFindings| {
        let sign = match found.outcome {
            ObjectiveOutcome::Reached => ('✓', Answer::Better),
            ObjectiveOutcome::Missed => ('✗', Answer::Worse),
            ObjectiveOutcome::TooFewCalls { .. } => ('?', Answer::Open),
        };
        let of = if several {
            format!("{}: ", found.variant)
        } else {
            String::new()
        };
        let outcome = words::objective::objective(found);
        let variant = findings.variants.iter().find(|v| v.name == found.variant);
        let figures = variant.and_then(|v| v.measured().next());
        let retried = match (found.objective.measure, figures) {
            (Measure::Errors, Some((_, figures))) => figures.calls.answered_after_retry,
            _ => 0,
        };
        let retried = match retried {
            0 => String::new(),
            calls => format!(
                "; {} succeeded only after a retry",
                units::counted(calls, "call")
            ),
        };
        Item {
            sign: Some(sign),
            text: format!("{of}{} {outcome}{retried}", found.objective).into(),
            ..Item::default()
        }
    };
    let list = Block::list(findings.objectives.iter().map(item));
    Section::new("objectives", "Objectives", Shown::Always, list)
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::TrialOutcome;

    use super::*;

    #[test]
    fn calls_that_were_answered_after_a_retry_stand_beside_the_errors() {
        let mut sample = crate::fixture::live();
        for record in &mut sample.trials {
            if let TrialOutcome::Measured(measured) = &mut record.outcome {
                (measured.calls.retried, measured.calls.answered_after_retry) = (3, 2);
            }
        }
        let Block::List(items) = &objectives(&crate::fixture::findings(&sample)).blocks[0] else {
            panic!("a list");
        };
        let retried = |item: &&Item| {
            item.text
                .words()
                .contains("; 2 calls succeeded only after a retry")
        };
        let retried: Vec<String> = items
            .iter()
            .filter(retried)
            .map(|item| item.text.words())
            .collect();
        assert_eq!(retried.len(), 1, "{retried:?}");
        assert!(retried[0].starts_with("errors<"), "{retried:?}");
    }
}
