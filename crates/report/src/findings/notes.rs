//! What a reader must know beside a verdict.

use rpcgauge_study::settings::Timing;

use super::figures::Figures;
use super::model::VariantFindings;
use super::verdict::{Note, Outcome, PlacementVerdict};

/// The notes of a verdict on two variants.
pub(crate) fn notes(
    verdict: &PlacementVerdict,
    of: &VariantFindings,
    against: &VariantFindings,
    a_a: bool,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let judged = !matches!(verdict.outcome, Outcome::NoVerdict { .. });
    if judged && !a_a && verdict.guard.is_none() {
        notes.push(Note::Unguarded);
    }
    let blocks = &verdict.blocks;
    if judged && blocks.used < blocks.planned {
        notes.push(Note::BlocksLeftOut {
            left_out: blocks.planned - blocks.used,
            planned: blocks.planned,
        });
    }
    for variant in [of, against] {
        let Some(cell) = variant.cell(verdict.placement) else {
            continue;
        };
        let (name, trials) = (&variant.name, &cell.trials);
        if let Some(share) = cell.figures.as_deref().and_then(failed_share) {
            notes.push(Note::FailedCalls {
                variant: name.clone(),
                share,
            });
        }
        if trials.unsettled > 0 {
            let (trials, of) = (trials.unsettled, trials.measured);
            notes.push(Note::Unsettled {
                variant: name.clone(),
                trials,
                of,
            });
        }
        // In load trials it is in the verdict already, or the blocks are left out.
        if trials.client_bound > 0 && (variant.timing == Timing::Stages || judged) {
            let (trials, of) = (trials.client_bound, trials.measured);
            notes.push(Note::ClientBound {
                variant: name.clone(),
                trials,
                of,
            });
        }
        if cell.figures.as_ref().is_some_and(|f| f.idle.len() > 1) {
            notes.push(Note::MixedIdle {
                variant: name.clone(),
            });
        }
    }
    notes
}

/// The failed part of the calls that ended, where any failed.
fn failed_share(figures: &Figures) -> Option<f64> {
    let failed = figures.calls.failed_total();
    (failed > 0).then(|| failed as f64 / figures.calls.ended() as f64)
}
