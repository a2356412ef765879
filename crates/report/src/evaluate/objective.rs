//! Checks whether the variants met their objectives.

use rpcgauge_study::objective::{Measure, Objective};

use crate::findings::objective::{
    Checked, MetObjective, MissedObjective, ObjectiveFindings, ObjectiveOutcome,
};
use crate::findings::{Distribution, Figures, StepFindings, VariantFindings};

/// Checks every objective against every variant that is not an A/A control.
pub(crate) fn judge(
    objectives: &[Objective],
    variants: &[VariantFindings],
) -> Vec<ObjectiveFindings> {
    let own = variants.iter().filter(|variant| variant.repeats.is_none());
    own.flat_map(|variant| {
        let cell = variant.cells.first();
        let figures = cell.and_then(|cell| cell.figures.as_deref());
        objectives.iter().map(move |objective| {
            let steps = figures.map_or(&[][..], |figures| &figures.steps);
            let (step, held) = match deciding(objective, steps) {
                Some((step, held)) => (Some(step), held),
                None => (None, held_against(objective, &Evidence::of(figures))),
            };
            ObjectiveFindings {
                variant: variant.name.clone(),
                objective: objective.clone(),
                step,
                figure: held.figure,
                unanswered: held.unanswered,
                outcome: held.outcome,
            }
        })
    })
    .collect()
}

/// The figures that objectives are checked against: those of a variant, a step or a trial.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Evidence<'a> {
    /// Calls that were due while the client ran.
    pub(crate) started: u64,
    pub(crate) answered: u64,
    pub(crate) goodput: f64,
    pub(crate) latency: Option<&'a Distribution>,
}

impl<'a> Evidence<'a> {
    /// No calls if nothing was measured.
    fn of(figures: Option<&'a Figures>) -> Self {
        figures.map_or_else(Self::default, |figures| Self {
            started: figures.calls.attributable(),
            answered: figures.calls.answered,
            goodput: figures.goodput,
            latency: figures.latency.as_ref(),
        })
    }

    fn of_step(step: &'a StepFindings) -> Self {
        Self {
            started: step.started.saturating_sub(step.stalled),
            answered: step.answered,
            goodput: step.goodput,
            latency: step.latency.as_ref(),
        }
    }
}

/// A figure, and whether it meets an objective.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) figure: Option<f64>,
    /// As in [`ObjectiveFindings::unanswered`].
    pub(crate) unanswered: Option<f64>,
    pub(crate) outcome: ObjectiveOutcome,
}

/// The step of a ramp that decides an objective, which every step must meet: the first that misses it, else the
/// first without a figure, else the one nearest to missing it. Pauses are ignored, and a step that the load did not
/// reach has too few calls. `None` without steps.
fn deciding(objective: &Objective, steps: &[StepFindings]) -> Option<(usize, Held)> {
    let held: Vec<(usize, Held)> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| counts(step))
        .map(|(index, step)| (index, held_against(objective, &Evidence::of_step(step))))
        .collect();
    let missed = |(_, held): &&(usize, Held)| held.outcome == ObjectiveOutcome::Missed;
    let open = |(_, held): &&(usize, Held)| held.figure.is_none();
    let worse = |figure: f64| match objective.measure {
        Measure::Goodput => -figure,
        _ => figure,
    };
    let nearest = held.iter().max_by(|(_, a), (_, b)| {
        let [a, b] = [a, b].map(|held| held.figure.map_or(f64::INFINITY, worse));
        a.total_cmp(&b)
    });
    let first = held.iter().find(missed).or(held.iter().find(open));
    first.or(nearest).copied()
}

/// Checks the objectives against each step of a ramp.
pub(crate) fn check_steps(objectives: &[Objective], steps: &mut [StepFindings]) {
    for step in steps.iter_mut().filter(|step| counts(step)) {
        step.checked = check(objectives, &Evidence::of_step(step));
    }
}

/// Whether a step must meet the objectives: pauses need not.
fn counts(step: &StepFindings) -> bool {
    step.started > 0 || step.is_not_reached()
}

/// Checks all objectives.
pub(crate) fn check(objectives: &[Objective], evidence: &Evidence<'_>) -> Checked {
    let mut checked = Checked::default();
    for objective in objectives {
        let held = held_against(objective, evidence);
        let objective = objective.clone();
        match held
            .figure
            .filter(|_| held.outcome == ObjectiveOutcome::Reached)
        {
            Some(figure) => checked.met.push(MetObjective { objective, figure }),
            None => checked.missed.push(MissedObjective {
                objective,
                figure: held.figure,
                unanswered: held.unanswered,
            }),
        }
    }
    checked
}

/// Checks an objective against all calls that were due. A call that never succeeded is later than any bound, since
/// a service is not fast because it rejects calls.
fn held_against(objective: &Objective, evidence: &Evidence<'_>) -> Held {
    let (calls, needed) = (evidence.started, objective.measure.min_calls());
    let figure = (calls >= needed).then(|| figure(objective.measure, evidence));
    let has_figure = figure.is_some_and(f64::is_finite);
    Held {
        figure: figure.filter(|_| has_figure),
        unanswered: figure
            .filter(|_| !has_figure)
            .map(|_| evidence.unanswered()),
        outcome: match figure {
            None => ObjectiveOutcome::TooFewCalls { calls, needed },
            Some(figure) if objective.is_reached(figure) => ObjectiveOutcome::Reached,
            Some(_) => ObjectiveOutcome::Missed,
        },
    }
}

/// The figure to compare with the bound; infinite for a latency of calls that never succeeded.
fn figure(measure: Measure, evidence: &Evidence<'_>) -> f64 {
    let of_all = |time: fn(&Distribution) -> f64| match evidence.latency {
        Some(latency) if evidence.answered == evidence.started => time(latency),
        _ => f64::INFINITY,
    };
    match measure {
        Measure::Percentile(percentile) => evidence.latency_at(percentile),
        Measure::Mean => of_all(|latency| latency.mean_ns),
        Measure::Max => of_all(|latency| latency.max_ns),
        Measure::Errors => evidence.unanswered(),
        Measure::Goodput => evidence.goodput,
    }
}

impl Evidence<'_> {
    /// The share of the calls that never succeeded: those that failed, and those still in flight at the end.
    fn unanswered(&self) -> f64 {
        self.started.saturating_sub(self.answered) as f64 / self.started as f64
    }

    /// A percentile of the latency of all calls, ordered with those that never succeeded last; infinite if it falls
    /// on such a call.
    fn latency_at(&self, percentile: f64) -> f64 {
        // 99.9 × 1,000 / 100 must give rank 999 despite rounding errors.
        const ROUNDING: f64 = 1e-6;
        let Some(histogram) = self.latency.map(|latency| latency.histogram.unpack()) else {
            return f64::INFINITY;
        };
        let answered = self.answered as f64;
        let rank = percentile * self.started as f64 / 100.0 - ROUNDING;
        let rank = rank.ceil().max(1.0);
        if rank > answered {
            return f64::INFINITY;
        }
        // Half a rank lower, so that rounding cannot reach the next call.
        histogram.quantile((rank - 0.5) / answered)
    }
}

#[cfg(test)]
mod tests;
