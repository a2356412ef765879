//! The steps of a ramp.

use rpcgauge_study::objective::Objective;

use super::super::{Block, Column, Figure, Section, Shown, Table, Text, charts, number, row};
use crate::findings::{Figures, StepFindings};
use crate::units;

/// The columns after the step's number in the table of a ramp.
const STEP: [Figure<StepFindings>; 9] = [
    number("at", 6, |s| match s.start_ns {
        0 => Some("0 s".to_owned()),
        ns => Some(units::round_time(ns as f64)),
    }),
    number("target/s", 0, |s| Some(asked(s))),
    number("sent/s", 3, |s| per_second(s, s.sent)),
    number("succeeded/s", 0, |s| per_second(s, s.answered_within)),
    number("unsuccessful", 2, |s| {
        Some(units::count(s.started.saturating_sub(s.answered)))
    }),
    number("p50", 1, |s| Some(units::time(s.latency.as_ref()?.p50_ns))),
    number("p99", 0, |s| s.latency.as_ref()?.p99_ns.map(units::time)),
    number("max", 5, |s| Some(units::time(s.latency.as_ref()?.max_ns))),
    number("delay p99", 4, |s| {
        s.send_delay.as_ref()?.p99_ns.map(units::time)
    }),
];

const STEP_NOTE: &str = "Succeeded: the responses that arrived in the step. The other columns are about the calls \
     that were due in the step, whenever they were sent or finished. A percentile is given only if a call lies \
     beyond it. Delay: the time from when a call was due until it was sent.";

pub(super) fn section(figures: &Figures, objectives: &[Objective]) -> Section {
    let step = |(place, step): (usize, &StepFindings)| row(place.to_string(), &STEP, Some(step));
    let table = Table {
        rows: (1..).zip(&figures.steps).map(step).collect(),
        notes: vec![STEP_NOTE.to_owned()],
        ..Table::of_figures(Column::number("step", 0), &STEP)
    };
    let chart = charts::of_ramp(figures, objectives).map(Block::Chart);
    let answers = objectives
        .iter()
        .filter_map(|objective| answer(objective, &figures.steps));
    let answers = answers.map(|answer| Block::Paragraph(Text::strong(answer)));
    let blocks = answers.chain([Block::Table(table)]).chain(chart);
    Section::new("ramp", "Ramp", Shown::Always, blocks)
}

/// Up to which rate an objective was met; `None` if that was in every step, or in a step without calls.
fn answer(objective: &Objective, steps: &[StepFindings]) -> Option<String> {
    let misses = |step: &StepFindings| {
        let mut missed = step.checked.missed.iter();
        missed.any(|missed| missed.objective == *objective)
    };
    let first = steps.iter().position(misses)?;
    let missed = steps.iter().filter(|step| misses(step)).count();
    let before = steps[..first].iter().rfind(|step| step.started > 0);
    let met = before.map_or_else(
        || "was not met".to_owned(),
        |step| format!("was met up to {} calls/s", asked(step)),
    );
    Some(format!(
        "{objective} {met}; it was missed in {missed} of {}, first in step {} ({} calls/s).",
        units::counted(steps.len() as u64, "step"),
        first + 1,
        asked(&steps[first])
    ))
}

/// A step's number of calls as a rate; `None` if no calls were due in the step.
fn per_second(step: &StepFindings, calls: u64) -> Option<String> {
    let seconds = step.lasted_ns as f64 / 1e9;
    (step.started > 0 && seconds > 0.0).then(|| units::number(calls as f64 / seconds))
}

/// The target rate of a step: `400`, or `400–500` if it changes within the step.
fn asked(step: &StepFindings) -> String {
    if step.from == step.to {
        return units::number(step.from);
    }
    format!("{}–{}", units::number(step.from), units::number(step.to))
}
