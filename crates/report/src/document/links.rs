//! The tables of links: their settings, and whether they were held.

use rpcgauge_study::link::{format_delay, format_loss, format_rate};
use rpcgauge_study::words::Named as _;

use super::groups::{self, Group, measured};
use super::{Column, Figure, Section, Table, number, row};
use crate::distinct;
use crate::findings::{Findings, LinkDirection, LinkFindings};
use crate::units::{self, ns};
use crate::words;

const FIGURES: [Figure<LinkFindings>; 13] = [
    (Column::text("link", 0), |l| Some(l.name.clone())),
    (Column::text("set", 3), |l| Some(both(l, set))),
    (Column::text("congestion", 8), |l| {
        Some(l.congestion.as_str().to_owned())
    }),
    number("round trip", 1, |l| Some(ns(l.round_trip_ns))),
    number("base", 9, |l| Some(ns(l.base_ns))),
    number("packets/call", 4, |l| {
        Some(both(l, |way| or_none(way.packets_per_call, units::number)))
    }),
    number("bytes/call", 5, |l| {
        Some(both(l, |way| or_none(way.bytes_per_call, units::size)))
    }),
    number("dropped", 6, |l| {
        Some(units::count(l.up.dropped.saturating_add(l.down.dropped)))
    }),
    number("lost", 7, |l| {
        Some(units::count(l.up.lost.saturating_add(l.down.lost)))
    }),
    number("late p50", 10, |l| Some(ns(l.lateness_p50_ns))),
    number("late p99", 2, |l| Some(ns(l.lateness_p99_ns))),
    number("late max", 11, |l| Some(ns(l.lateness_max_ns))),
    number("held", 0, |l| Some(format!("{}/{}", l.held, l.trials))),
];

/// The links of all variants that have one, placement by placement.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    groups::tables(findings, "links", "Links", table)
}

fn table(groups: &[Group<'_>]) -> Option<Table> {
    let links = || measured(groups).filter_map(|(_, figures)| figures.link.as_ref());
    let mut table = Table::of_figures(Column::text("variant", 0), &FIGURES);
    for group in groups {
        let members = measured(std::slice::from_ref(group));
        table.add_group(members.filter_map(|(variant, figures)| {
            let link = figures.link.as_ref()?;
            Some(row(variant.name.clone(), &FIGURES, Some(link)))
        }));
    }
    let like = links()
        .filter_map(|link| Some(format!("the link {} is {}", link.name, link.like.as_ref()?)));
    table.notes = distinct(like);
    table.notes.push(format!("{HOW_TO_READ} A link was not held in a trial if {}. CPU is not measured over a link (docs/link.md).", words::NOT_HELD));
    let foreign: u64 = links().fold(0, |all, link| all.saturating_add(link.foreign_drops));
    if foreign > 0 {
        let packets = units::counted(foreign, "packet");
        table
            .notes
            .push(format!("{packets} were lost outside the links' queues"));
    }
    (!table.rows.is_empty()).then_some(table)
}

const HOW_TO_READ: &str = "Up / down, if the two differ. set: rate and one-way delay; round trip: of a probe, \
    before any call; base: the machine's part of the round trip; dropped: at the tail of a queue; lost: by the set \
    loss; late: the time from when a packet was due until it left; held: trials in which the link was held, of all \
    trials.";

/// The text for each direction, or one text if both are the same.
fn both(link: &LinkFindings, of: impl Fn(&LinkDirection) -> String) -> String {
    let ways = [&link.up, &link.down].map(of);
    words::joined(distinct(ways), " / ")
}

/// The settings of a direction, in a study's notation.
fn set(way: &LinkDirection) -> String {
    let rate = way.rate_bits.map(format_rate).or(way.trace.clone());
    let jitter = (way.jitter_ns > 0).then(|| format!("±{}", format_delay(way.jitter_ns)));
    let loss = way.loss.map(|part| format!("loss {}", format_loss(part)));
    let parts = [rate, Some(format_delay(way.delay_ns)), jitter, loss];
    words::joined(parts.into_iter().flatten(), " ")
}

fn or_none(value: Option<f64>, shown: fn(f64) -> String) -> String {
    value.map_or_else(units::none, shown)
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::plan::Metric;
    use rpcgauge_study::record::TrialOutcome;

    use super::*;
    use crate::fixture::{findings, linked};
    use crate::metric;

    fn section(findings: &Findings) -> String {
        let report = crate::markdown::render(findings);
        let start = report.find("Links, ").expect("it has the section");
        let section = &report[start..];
        let end = section.find("\n\n<details>").unwrap_or(section.len());
        section[..end].to_owned()
    }

    #[test]
    fn links_stand_in_one_table() {
        insta::assert_snapshot!(section(&findings(&linked(3))));
    }

    #[test]
    fn cpu_is_not_taken_over_a_link() {
        let findings = findings(&linked(0));
        let figures = findings.variants[0].cells[0].figures.as_ref().unwrap();
        for metric in [Metric::ClientCpu, Metric::ServerCpu] {
            assert_eq!(metric::of_cell(metric, figures), None);
            assert_eq!(findings.trials[0].figures.get(metric), None);
        }
        assert!(findings.variants[0].cells[0].cautions.is_empty());
    }

    /// The link's thread uses a tenth of the core.
    #[test]
    fn a_link_whose_core_was_full_was_not_held() {
        let not_held = |client_share| {
            let mut sample = linked(0);
            for trial in &mut sample.trials {
                if let TrialOutcome::Measured(measured) = &mut trial.outcome {
                    measured.client_share = Some(client_share);
                }
            }
            let findings = findings(&sample);
            findings.trials.iter().filter(|t| t.link_not_held).count()
        };
        assert_eq!(not_held(0.69), 0);
        assert!(not_held(0.71) > 0);
    }

    #[test]
    fn a_link_that_was_not_held_gives_no_verdict() {
        let said = |not_held| {
            let findings = findings(&linked(not_held));
            let lines = crate::words::comparison(&findings.comparisons[0], 0.03);
            (lines, findings.variants[0].cells[0].cautions.len())
        };
        insta::assert_snapshot!(said(0).0, @"grpc responds 1.46× faster than rest [1.39, 1.53]: 102 µs against 150 µs per call (p50).");
        insta::assert_snapshot!(said(3).0, @"grpc responds 1.48× faster than rest [1.35, 1.62]: 102 µs against 150 µs per call (p50).");
        insta::assert_snapshot!(said(12).0, @"No verdict on grpc against rest in p50 latency: 102 µs against 150 µs per call (p50). The link was not held in 12 of 12 blocks: packets left it more than 100 µs late at p99 or were lost outside its queues, its round trip was off by as much, or it and the client used more than 80% of their core, so the result is not about the requested link; use a quieter machine or a slower link.");
        assert_eq!([0, 3, 12].map(|not_held| said(not_held).1), [0, 1, 1]);
    }

    #[test]
    fn the_cpu_of_the_client_and_of_the_floor_is_in_no_output_over_a_link() {
        let mut sample = linked(0);
        for trial in &mut sample.trials {
            if let TrialOutcome::Measured(measured) = &mut trial.outcome {
                measured.client_share = Some(0.97);
            }
        }
        let findings = findings(&sample);
        let json = crate::json::render(&findings).unwrap();
        assert!(!json.contains("\"client_cpu_ns\""), "of the floor");
        assert!(
            findings
                .trials
                .iter()
                .all(|t| t.floor.is_some() && !t.client_bound)
        );
        for output in [
            crate::markdown::render(&findings),
            crate::html::render(&findings),
            crate::csv::render(&findings),
        ] {
            for leaked in [
                "used up to",
                ",0.97,",
                "bare loop ",
                "client share",
                "client at ",
            ] {
                assert!(!output.contains(leaked), "{leaked}");
            }
        }
    }
}
