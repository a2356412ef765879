//! The search for the highest rate that meets the objectives, with its trials.

use super::super::{Block, Column, Figure, Section, Shown, Table, Text, charts, number, row};
use crate::findings::capacity::{CapacityFindings, CapacityTrial};
use crate::{units, words};

/// The columns after the target rate in the table of a search's trials.
const TRIAL: [Figure<CapacityTrial>; 8] = [
    number("sent/s", 5, |t| Some(units::number(t.sent_rate))),
    number("goodput", 3, |t| Some(units::number(t.goodput))),
    number("unsuccessful", 4, |t| {
        Some(units::count(t.started.saturating_sub(t.answered)))
    }),
    number("p50", 2, |t| t.latency_p50_ns.map(units::time)),
    number("p99", 0, |t| t.latency_p99_ns.map(units::time)),
    number("delay p99", 1, |t| t.send_delay_p99_ns.map(units::time)),
    number("client share", 2, |t| t.client_share.map(units::percent)),
    (Column::text("outcome", 0), |t| {
        Some(words::capacity::outcome(t))
    }),
];

const TRIAL_NOTE: &str = "All trials, in the order they ran. A rate counts as met if three trials met every \
     objective and at most one trial missed one, and as missed if two trials missed one. Delay: the time from when \
     a call was due until it was sent. Client share: of its core.";

pub(super) fn section(found: &CapacityFindings) -> Section {
    let sentences = words::capacity::sentences(found).into_iter().enumerate();
    let paragraphs = sentences.map(|(index, sentence)| match index {
        0 => Block::Paragraph(Text::strong(sentence)),
        _ => Block::Paragraph(sentence.into()),
    });
    let trial = |trial: &CapacityTrial| row(units::rate(trial.rate), &TRIAL, Some(trial));
    let table = Block::Table(Table {
        rows: found.trials.iter().map(trial).collect(),
        notes: vec![TRIAL_NOTE.to_owned()],
        ..Table::of_figures(Column::number("target/s", 0), &TRIAL)
    });
    let chart = charts::of_search(found).map(Block::Chart);
    let blocks = paragraphs.chain(chart).chain([table]);
    Section::new("capacity", "Capacity", Shown::Always, blocks)
}
