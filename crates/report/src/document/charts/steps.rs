//! The figures of a ramp's steps as lines over time.

use super::super::chart::{Axis, Line, Named};
use crate::findings::{Figures, StepFindings};

/// The steps that were reached; none if there are several trials, because their timelines are end to end but their
/// steps are merged.
pub(super) fn reached(figures: &Figures) -> impl Iterator<Item = &StepFindings> {
    let is_one = figures.timeline.trial_starts_ns.len() == 1;
    let steps = figures.steps.iter().filter(move |_| is_one);
    steps.filter(|step| !step.is_not_reached())
}

/// A figure of each step, as level lines over a timeline that ends at `end`. A step without the figure interrupts the
/// line.
pub(super) fn levels(
    figures: &Figures,
    named: &Named,
    y: Axis,
    end: f64,
    figure: fn(&StepFindings) -> Option<f64>,
) -> Vec<Line> {
    let level = |step: &StepFindings| {
        let y = y.place(figure(step)?);
        Some(ends(step).map(|ns| ((ns / end).min(1.0), y)))
    };
    let levels: Vec<_> = reached(figures).map(level).collect();
    let parts = levels.split(Option::is_none);
    Line::parts(
        named,
        parts.map(|part| part.iter().flatten().flatten().copied().collect()),
    )
}

/// When a step begins and ends, ns.
pub(super) fn ends(step: &StepFindings) -> [f64; 2] {
    let end = step.start_ns.saturating_add(step.time_ns);
    [step.start_ns as f64, end as f64]
}
