//! Judges how each figure changed between two runs.

use rpcgauge_stats::{Estimate, Outcome, VerdictRule, judge_changes};
use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::CodeKind;

use super::shared::{Figure, Held, Trials};
use super::{Change, MetricChange, Shift, common};
use crate::evaluate::Uneven;
use crate::findings::trial::Unfit;
use crate::findings::{Figures, Findings};
use crate::metric::{self, better, is_counted, is_latency};

/// A change that is not judged yet, with the figures to judge it by if both runs have them.
type Open = (MetricChange, Option<(Held, Option<Uneven>)>);

/// All changes. Controls are not judged, since they show the noise that the others are judged by.
pub(super) fn metrics(before: &Findings, after: &Findings, margin: f64) -> Vec<MetricChange> {
    let mut open: Vec<Open> = Vec::new();
    for (old, new) in common(before, after).filter(|(old, _)| old.repeats.is_none()) {
        for cell in &old.cells {
            let placement = cell.placement;
            if let (Some(was), Some(is)) = (cell.figures.as_deref(), new.figures(placement)) {
                let figure = |metric| Figure {
                    variant: &old.name,
                    placement,
                    metric,
                };
                let streams = was.messages.is_some();
                let changes = Metric::all()
                    .filter(|metric| streams || !metric.is_of_messages())
                    .filter_map(|metric| change(figure(metric), [before, after], [was, is]));
                open.extend(changes);
            }
        }
    }
    let comparisons = open.iter().filter(|(_, held)| held.is_some()).count();
    let judged = open.into_iter().map(|(mut change, held)| {
        if let Some((held, uneven)) = held {
            judge(&mut change, &held, uneven.as_ref(), comparisons, margin);
        }
        change
    });
    judged.collect()
}

/// A metric of a variant in two runs; `None` if either run has no figure. A trial in which no call succeeded has a
/// goodput of 0, which has no logarithm. Goodput is worse if this is the case in most trials of the second run, but
/// not in most trials of the first; with any other number of such trials it is not resolved.
fn change(figure: Figure<'_>, runs: [&Findings; 2], figures: [&Figures; 2]) -> Option<Open> {
    let metric = figure.metric;
    let [was, is] = figures;
    let [before, after] = [metric::of_cell(metric, was)?, metric::of_cell(metric, is)?];
    let ratio = after / before;
    let trials = runs.map(|run| figure.trials(run));
    let is_silent = metric == Metric::Goodput && trials.iter().any(Trials::some_are_silent);
    let outcome = if is_silent && trials[1].most_are_silent() && !trials[0].most_are_silent() {
        Change::Worse
    } else if is_silent {
        Change::NotResolved
    } else {
        let mut unfit = trials.iter().filter_map(|trials| trials.unfit(metric));
        unfit.next().map_or(Change::NoBase, |unfit| match unfit {
            Unfit::ClientBound => Change::ClientBound,
            Unfit::LinkNotHeld => Change::LinkNotHeld,
        })
    };
    // A percentile over the many rates of a ramp means little.
    let is_over_ramp =
        is_latency(metric) && figures.iter().any(|figures| !figures.steps.is_empty());
    let held = (outcome == Change::NoBase && !is_over_ramp)
        .then(|| Held::new(figure, runs))
        .flatten();
    let is_dynamic = |figures: &Figures| figures.code.contains(&CodeKind::Dynamic);
    let change = MetricChange {
        variant: figure.variant.to_owned(),
        placement: figure.placement,
        metric,
        before,
        after,
        ratio,
        shifts: Vec::new(),
        dynamic_code: !is_counted(metric) && figures.into_iter().any(is_dynamic),
        outcome,
    };
    let uneven = Uneven::of(metric, is, was);
    ratio
        .is_finite()
        .then_some((change, held.map(|held| (held, uneven))))
}

/// Judges a change as one of `comparisons`, so that changes by chance stay rare over all of them.
fn judge(
    change: &mut MetricChange,
    held: &Held,
    uneven: Option<&Uneven>,
    comparisons: usize,
    margin: f64,
) {
    let rule = VerdictRule {
        better: better(change.metric),
        margin,
    };
    let shifts: Vec<Estimate> = held
        .against
        .iter()
        .map(|(_, runs)| runs.change(comparisons))
        .collect();
    let apart = held.bases.map(|bases| bases.change(1));
    let said = |shifts: &[Estimate]| judge_changes(shifts, &held.a_a, apart.as_ref(), &rule);
    let outcome = said(&shifts);
    let stands = uneven.is_none_or(|uneven| {
        let off: Vec<Estimate> = shifts.iter().map(|s| s.off_by(uneven.reach)).collect();
        said(&off) == outcome
    });
    change.outcome = match came_to(outcome) {
        Change::NotResolved => Change::NotResolved,
        _ if !stands => Change::Unanswered,
        judged => judged,
    };
    let against = held.against.iter().zip(&shifts);
    change.shifts = against
        .map(|((base, _), shift)| Shift {
            base: base.clone(),
            ratio: shift.ratio(),
            interval: shift.ends(),
        })
        .collect();
}

/// The change for an outcome of [`judge_changes`].
pub(crate) fn came_to(outcome: Option<Outcome>) -> Change {
    match outcome {
        None | Some(Outcome::NotResolved { .. }) => Change::NotResolved,
        Some(Outcome::Faster) => Change::Better,
        Some(Outcome::Slower) => Change::Worse,
        Some(Outcome::NoDifference) => Change::NoDifference,
    }
}
