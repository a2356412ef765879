//! The workers of a cluster, side by side.

use super::{Block, Column, Figure, Section, Shown, Table, number, row};
use crate::findings::Findings;
use crate::findings::workers::WorkerFindings;
use crate::{distinct, units};

const CALLS: Figure<WorkerFindings> = (Column::text("calls", 1), |one| Some(one.variant.clone()));
const MACHINE: Figure<WorkerFindings> =
    (Column::text("machine", 9), |one| Some(one.machine.clone()));

const FIGURES: [Figure<WorkerFindings>; 8] = [
    number("users", 4, |one| Some(one.users.to_string())),
    number("from", 5, |one| Some(units::ns(one.began_ns))),
    number("until", 2, |one| Some(units::ns(one.until_ns))),
    number("calls/s", 2, |one| Some(units::number(one.goodput))),
    number("failed", 3, |one| {
        Some(units::count(one.calls.failed_total()))
    }),
    number("p50", 6, |one| one.p50_ns.map(units::time)),
    number("p99", 3, |one| one.p99_ns.map(units::time)),
    number("client share", 7, |one| {
        one.client_share.map(units::percent)
    }),
];

/// The note below the table. The sum of the workers' rates can exceed that of the variant, if not all of them were there
/// the whole time.
const NOTE: &str = "from, until: time since the load began at the master. The figures of the result are those of all \
    calls, merged.";

/// A table of the workers.
pub(super) fn section(findings: &Findings) -> Section {
    let workers = &findings.workers;
    let several = |of: fn(&WorkerFindings) -> &String| distinct(workers.iter().map(of)).len() > 1;
    let variants = several(|one| &one.variant).then_some(CALLS);
    let machines = several(|one| &one.machine).then_some(MACHINE);
    let figures = variants.into_iter().chain(FIGURES).chain(machines);
    let figures: Vec<Figure<WorkerFindings>> = figures.collect();
    let mut table = Table::of_figures(Column::text("worker", 0), &figures);
    let is_running = findings.progress.running.is_some();
    table.add_group(workers.iter().map(|one| {
        let lost = if one.ended || is_running {
            ""
        } else {
            " (lost)"
        };
        row(format!("{}{lost}", one.worker), &figures, Some(one))
    }));
    table.notes.push(NOTE.to_owned());
    let table = (!workers.is_empty()).then_some(Block::Table(table));
    Section::new("workers", "Workers", Shown::Always, table)
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::Calls;
    use rpcgauge_study::run::Writing;

    use super::*;
    use crate::fixture;

    fn worker(name: &str, machine: &str, ended: bool) -> WorkerFindings {
        WorkerFindings {
            worker: name.to_owned(),
            variant: "GET /orders".to_owned(),
            machine: machine.to_owned(),
            users: 5,
            began_ns: 1_500_000,
            until_ns: 30_000_000_000,
            ended,
            calls: Calls::default(),
            goodput: 2_000.0,
            p50_ns: Some(400_000.0),
            p99_ns: None,
            client_share: None,
        }
    }

    #[test]
    fn machines_are_named_if_they_differ_and_lost_workers_once_the_load_has_ended() {
        let mut findings = fixture::findings(&fixture::live());
        assert!(section(&findings).blocks.is_empty());
        findings.workers = vec![worker("one", "fast", true), worker("two", "fast", false)];
        let shown = |findings: &Findings| match &section(findings).blocks[..] {
            [Block::Table(table)] => {
                let titles = table.columns.iter().map(|column| column.title.to_string());
                let titles: Vec<String> = titles.collect();
                (titles, table.rows.concat())
            }
            _ => panic!("one table"),
        };
        let (titles, cells) = shown(&findings);
        let expected = [
            "worker",
            "users",
            "from",
            "until",
            "calls/s",
            "failed",
            "p50",
            "p99",
            "client share",
        ];
        assert_eq!(titles, expected);
        assert_eq!(cells[..4], ["one", "5", "1.50 ms", "30.0 s"]);
        assert_eq!(cells[9], "two (lost)");
        findings.progress.running = Some(Writing { pid: None });
        findings.workers[1].machine = "slow".to_owned();
        let (titles, cells) = shown(&findings);
        assert_eq!(titles.last().unwrap(), "machine");
        assert_eq!([&*cells[9], &*cells[10]], ["fast", "two"]);
    }
}
