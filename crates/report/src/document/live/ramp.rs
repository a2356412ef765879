//! The steps of a ramp: those of one target, or of two targets side by side.

use rpcgauge_study::objective::Objective;

use super::super::{
    Block, Column, Figure, Section, Shown, Table, Text, charts, number, row, with_head,
};
use crate::findings::verdict::{PlacementVerdict, RampComparison};
use crate::findings::{Figures, Findings, StepFindings};
use crate::units;
use crate::words::{self, About, Answer, Found, SIGNS, ramp::rate};

/// The columns after the step's number in the table of a ramp.
const STEP: [Figure<StepFindings>; 9] = [
    number("at", 6, |s| match s.start_ns {
        0 => Some("0 s".to_owned()),
        ns => Some(units::round_time(ns as f64)),
    }),
    number("target/s", 0, |s| Some(rate(s))),
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

/// The steps of one target.
pub(super) fn section(
    title: String,
    shown: Shown,
    figures: &Figures,
    objectives: &[Objective],
) -> Section {
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
    Section::new("ramp", title, shown, blocks)
}

const COMPARED_NOTE: &str = "Reached: the responses that arrived in the step, per second. Latency is that of the calls \
     that were due in the step and succeeded. Each step is judged on its own.";

/// What a ramp showed about two targets, step by step.
pub(super) fn compared(findings: &Findings) -> Option<Section> {
    let ramps = &findings.ramps;
    let pairs = ramps.iter().map(|one| (About::from(one), &one.steps[..]));
    let cautions = words::caution::of_verdicts(&pairs.collect::<Vec<_>>());
    let notes = [COMPARED_NOTE.to_owned(), SIGNS.to_owned()];
    let notes = notes.into_iter().chain(cautions).map(Block::Note);
    let tables: Vec<[Block; 2]> = ramps
        .iter()
        .filter_map(|one| table(findings, one))
        .collect();
    let chart = charts::of_ramps(findings).map(Block::Chart);
    let is_compared = !tables.is_empty();
    let blocks = tables.into_iter().flatten().chain(notes).chain(chart);
    is_compared.then(|| Section::new("ramp", "Ramp", Shown::Always, blocks))
}

/// The sentence about a pair and its table of steps.
fn table(findings: &Findings, compared: &RampComparison) -> Option<[Block; 2]> {
    let about = About::from(compared);
    let [of, against] = [about.of, about.against].map(|name| {
        let (_, figures) = findings.variant(name)?.measured().next()?;
        Some(&figures.steps)
    });
    let (of, against) = (of?, against?);
    let head = [
        Column::number("step", 0),
        Column::number("target/s", 0),
        named(format!("{} reached", about.of), 2),
        named(format!("{} reached", about.against), 2),
        named(about.of.to_owned(), 0),
        named(about.against.to_owned(), 0),
        Column {
            right: false,
            ..named(format!("{} is", about.of), 0)
        },
    ];
    let cells = |of: &StepFindings, against: &StepFindings, verdict: &PlacementVerdict| {
        let value = |value: Option<f64>| value.map_or_else(units::none, |value| about.value(value));
        let reached = |step: &StepFindings| {
            per_second(step, step.answered_within).unwrap_or_else(units::none)
        };
        let sign = Answer::under(verdict).sign();
        let found = match verdict.estimate {
            None if of.answered > 0 && against.answered > 0 => Found::word("too few calls"),
            _ => words::brief(about, verdict),
        };
        [
            rate(of),
            reached(of),
            reached(against),
            value(verdict.of_value),
            value(verdict.against_value),
            match of.started {
                0 => units::none(),
                _ => format!("{sign} {}", found.text()),
            },
        ]
    };
    let steps = of.iter().zip(against).zip(&compared.steps);
    let cells = steps.map(|((of, against), verdict)| cells(of, against, verdict));
    let rows = (1..).zip(cells);
    let table = Table {
        columns: head.to_vec(),
        rows: rows
            .map(|(place, cells): (usize, _)| with_head(place.to_string(), cells))
            .collect(),
        ..Table::default()
    };
    let sentence = words::ramp::sentence(compared, of);
    Some([
        Block::Paragraph(Text::strong(sentence)),
        Block::Table(table),
    ])
}

fn named(title: String, rank: u8) -> Column {
    Column {
        title: title.into(),
        ..Column::number("", rank)
    }
}

/// Up to which rate an objective was met, and where it was missed; `None` if it never was. Steps that are pauses, were
/// not reached, or had too few calls show nothing.
fn answer(objective: &Objective, steps: &[StepFindings]) -> Option<String> {
    let misses = |step: &StepFindings| {
        let mut missed = step.checked.missed.iter();
        missed.any(|missed| {
            let is_shown = missed.figure.is_some() || missed.unanswered.is_some();
            missed.objective == *objective && is_shown
        })
    };
    let meets = |step: &&StepFindings| {
        step.checked
            .met
            .iter()
            .any(|met| met.objective == *objective)
    };
    let first = steps.iter().position(misses)?;
    let missed = steps.iter().filter(|step| misses(step)).count();
    let shown = missed + steps.iter().filter(meets).count();
    let highest = steps[..first].iter().filter(meets);
    let highest = highest.max_by(|one, other| one.to.total_cmp(&other.to));
    let met = highest.map_or_else(
        || "was missed".to_owned(),
        |step| format!("was met up to {} calls/s, and missed", rate(step)),
    );
    Some(format!(
        "{objective} {met} in {missed} of {}, first in step {} ({} calls/s).",
        units::counted(shown as u64, "step"),
        first + 1,
        rate(&steps[first])
    ))
}

/// A step's number of calls as a rate; `None` if no calls were due in the step.
fn per_second(step: &StepFindings, calls: u64) -> Option<String> {
    let seconds = step.lasted_ns as f64 / 1e9;
    (step.started > 0 && seconds > 0.0).then(|| units::number(calls as f64 / seconds))
}
