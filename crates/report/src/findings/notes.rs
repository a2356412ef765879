//! What a reader must know beside a verdict.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::Code;
use rpcgauge_study::settings::{Placement, Timing};

use super::figures::Figures;
use super::model::VariantFindings;
use super::running;
use super::trial::is_counted;
use super::verdict::{Note, Outcome, PlacementVerdict};

/// The notes of a verdict on two variants.
pub(crate) fn notes(
    verdict: &PlacementVerdict,
    metric: Metric,
    of: &VariantFindings,
    against: &VariantFindings,
    a_a: bool,
) -> Vec<Note> {
    let mut notes = running::notes(of, against);
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
    if judged && !is_counted(metric) {
        notes.extend(dynamic_code(verdict.placement, [of, against]));
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
        if let Some(figures) = cell.figures.as_deref() {
            notes.extend(beside(name, figures));
        }
    }
    notes
}

/// The note that variants rest on dynamic code, which is slower than generated code.
fn dynamic_code(placement: Placement, variants: [&VariantFindings; 2]) -> Option<Note> {
    let is_dynamic = |variant: &&VariantFindings| {
        let figures = variant.cell(placement).and_then(|c| c.figures.as_deref());
        figures.is_some_and(|figures| figures.code.contains(&Code::Dynamic))
    };
    let dynamic = variants.into_iter().filter(is_dynamic);
    let variants: Vec<String> = dynamic.map(|variant| variant.name.clone()).collect();
    (!variants.is_empty()).then_some(Note::DynamicCode { variants })
}

/// The notes that a variant's figures have by themselves.
fn beside(name: &str, figures: &Figures) -> impl Iterator<Item = Note> {
    let variant = || name.to_owned();
    let calls = &figures.calls;
    let (answers, attempts) = (figures.uncompressed_answers, figures.connections.failed);
    let uncompressed = (answers > 0).then(|| Note::Uncompressed {
        variant: variant(),
        answers,
        of: calls.answered,
    });
    let failed_connects = (attempts > 0).then(|| Note::FailedConnects {
        variant: variant(),
        attempts,
    });
    let reopened = (figures.connections.reopened > 0).then(|| Note::Reopened {
        variant: variant(),
        connections: figures.connections.reopened,
    });
    let left_out_failed = (calls.left_out_failed > 0).then(|| Note::LeftOutFailed {
        variant: variant(),
        calls: calls.left_out_failed,
        of: calls.left_out,
    });
    let never_begun = (calls.never_begun > 0).then(|| Note::NeverBegun {
        variant: variant(),
        calls: calls.never_begun,
        of: calls.started,
    });
    let retried = (calls.retried > 0).then(|| Note::Retried {
        variant: variant(),
        sends: calls.retried,
    });
    let bodies_late = (figures.bodies_late > 0).then(|| Note::BodiesLate {
        variant: variant(),
        calls: figures.bodies_late,
        of: calls.started,
    });
    let fewer = figures.in_flight.filter(|i| i.reached < i.asked);
    let fewer = fewer.map(|in_flight| Note::FewerInFlight {
        variant: variant(),
        reached: in_flight.reached,
        asked: in_flight.asked,
    });
    let mixed_idle = (figures.idle.len() > 1).then(|| Note::MixedIdle { variant: variant() });
    let all = [
        uncompressed,
        failed_connects,
        reopened,
        left_out_failed,
        never_begun,
        retried,
        fewer,
        bodies_late,
        mixed_idle,
    ];
    all.into_iter().flatten()
}

/// The failed part of the calls that ended, where any failed.
fn failed_share(figures: &Figures) -> Option<f64> {
    let failed = figures.calls.failed_total();
    (failed > 0).then(|| failed as f64 / figures.calls.ended() as f64)
}
