//! The calls of a mix.

use super::super::{Block, Column, Figure, Section, Shown, Table, Text, number, row};
use super::Called;
use crate::findings::MixFindings;
use crate::units;

/// The columns after the name in the table of a mix.
const CALL: [Figure<MixFindings>; 7] = [
    number("weight", 0, |call| Some(units::count(call.weight.into()))),
    number("calls", 0, |call| Some(units::count(call.started))),
    number("failed", 0, |call| {
        Some(units::count(call.failed.values().sum()))
    }),
    number("p50", 1, |call| {
        Some(units::time(call.latency.as_ref()?.p50_ns))
    }),
    number("p90", 3, |call| {
        call.latency.as_ref()?.p90_ns.map(units::time)
    }),
    number("p99", 0, |call| {
        call.latency.as_ref()?.p99_ns.map(units::time)
    }),
    number("max", 2, |call| {
        Some(units::time(call.latency.as_ref()?.max_ns))
    }),
];

const NOTE: &str = "Calls: all that were due. Those that were never sent are divided by weight. \
     Latency is that of the calls that succeeded.";

pub(super) fn section((.., figures): &Called<'_>, title: String) -> Section {
    let calls = &figures.mix;
    let table = Table {
        rows: calls
            .iter()
            .map(|call| row(call.name.clone(), &CALL, Some(call)))
            .collect(),
        notes: vec![NOTE.to_owned()],
        ..Table::of_figures(Column::text("call", 0), &CALL)
    };
    let called = calls
        .iter()
        .map(|call| (call.name.clone(), Text::from(&call.called)));
    let blocks = [
        Block::Table(table),
        Block::facts(called.collect::<Vec<_>>()),
    ];
    Section::new("mix", title, Shown::Always, blocks)
}
