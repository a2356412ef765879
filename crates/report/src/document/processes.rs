//! The processes that several variants share, and why other variants have their own.

use std::collections::BTreeMap;

use rpcgauge_study::words::{Named as _, some_names};

use super::{Block, Column, Figure, Item, Section, Shown, Table, number, row};
use crate::findings::Findings;
use crate::findings::processes::ProcessFindings;
use crate::units;

const FIGURES: [Figure<ProcessFindings>; 5] = [
    (Column::text("process", 1), |one| {
        Some(one.role.as_str().to_owned())
    }),
    (Column::text("of", 0), |one| {
        let names: Vec<&str> = one.variants.iter().map(String::as_str).collect();
        Some(some_names(&names))
    }),
    number("peak memory", 2, |one| {
        one.memory_peak.map(|bytes| units::size(bytes as f64))
    }),
    number("threads", 3, |one| {
        one.threads.map(|threads| threads.to_string())
    }),
    number("start-up", 4, |one| one.startup_ns.map(units::ns)),
];

/// A table of the shared processes, and the reasons of variants that have their own.
pub(super) fn section(findings: &Findings) -> Section {
    let mut table = Table::of_figures(Column::text("program", 0), &FIGURES);
    table.add_group(
        findings
            .processes
            .iter()
            .map(|one| row(one.program.clone(), &FIGURES, Some(one))),
    );
    let table = (!findings.processes.is_empty()).then_some(Block::Table(table));
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, reason) in &findings.study.own_processes {
        reasons.entry(reason).or_default().push(name);
    }
    let own = reasons.into_iter().map(|(reason, names)| {
        Item::plain(format!("Own processes: {} ({reason})", some_names(&names)).into())
    });
    let blocks = table.into_iter().chain(Block::list(own));
    Section::new("processes", "Processes", Shown::Always, blocks)
}
