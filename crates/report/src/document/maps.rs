//! The map of a sweep: which way to call to use, by the size of the message and the rate of the network.

use std::collections::BTreeSet;

use super::networks::{NEW_CONNECTION, rate};
use super::{Block, Column, Section, Shown, Table};
use crate::findings::Findings;
use crate::findings::map::{MapCell, MapFindings, MapRow, MappedNetwork};
use crate::findings::sweep::Sweep;
use crate::units;
use crate::words::joined;

const HOW_TO_READ: &str = "the simplest way whose time is within 6%, the error of the model in docs/map.md, of the shortest \
    time; ~: it is not the only one. The times are computed from medians over loopback and the bytes of a call, without \
    losses, for the same rate in both directions. CPU is not considered. report.json has all times";

/// The map of the only sweep that has one. Of several, none: their tables would be longer than the rest of the report.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let mut mapped = findings
        .sweeps
        .iter()
        .filter_map(|sweep| Some((sweep, sweep.map.as_ref()?)));
    let (Some((sweep, map)), None) = (mapped.next(), mapped.next()) else {
        return Vec::new();
    };
    let Some((first, others)) = map.networks.split_first() else {
        return Vec::new();
    };
    let kind = format!("over {}", joined(of_network(first), ", "));
    let [how, missing] = [vec![format!("{kind}: {HOW_TO_READ}")], missing(first)];
    let others_notes = vec![format!("new connections: {NEW_CONNECTION}")];
    vec![
        Section::new(
            "map",
            "Fastest way by size and network rate (computed, not measured)",
            Shown::Always,
            [table(
                sweep,
                map,
                std::slice::from_ref(first),
                [how, missing].concat(),
            )],
        ),
        Section::new(
            "map-others",
            "Fastest way over longer round trips and new connections (computed, not measured)",
            Shown::Folded,
            [table(sweep, map, others, others_notes)],
        ),
    ]
}

/// The connection and the round trip.
fn of_network(network: &MappedNetwork) -> [String; 2] {
    let connection = if network.new_connection {
        "a new connection"
    } else {
        "a kept connection"
    };
    let round_trip = units::round_time(network.round_trip_ns as f64);
    [connection.to_owned(), format!("round trip {round_trip}")]
}

/// A table of networks. If there are several, its first columns say which one a row is about.
fn table(
    sweep: &Sweep,
    map: &MapFindings,
    networks: &[MappedNetwork],
    notes: Vec<String>,
) -> Block {
    let names_network = networks.len() > 1;
    let network_columns = [Column::text("connection", 0), Column::text("network", 0)];
    let network_columns = network_columns.into_iter().filter(|_| names_network);
    let size_columns = [
        Column::text(sweep.sized_by, 0),
        Column::number("response", 5),
    ];
    let rates = (1..).zip(&map.bits_per_second);
    let rates = rates.map(|(rank, bits_per_second)| Column {
        title: rate(*bits_per_second).into(),
        ..Column::text("", rank)
    });
    let mut table = Table {
        columns: network_columns.chain(size_columns).chain(rates).collect(),
        notes,
        ..Table::default()
    };
    for network in networks {
        table.add_group(network.rows.iter().map(|row| {
            let of_network = of_network(network).into_iter().filter(|_| names_network);
            let response = row.response_bytes.map_or_else(units::none, units::size);
            let of_size = [row.size.to_string(), response];
            of_network
                .chain(of_size)
                .chain(row.cells.iter().map(cell))
                .collect()
        }));
    }
    Block::Table(table)
}

/// A note about the ways that are not compared at every size.
fn missing(network: &MappedNetwork) -> Vec<String> {
    let series = |row: &MapRow| -> BTreeSet<String> {
        let times = row.cells.iter().flat_map(|cell| &cell.times);
        times.map(|time| time.series.clone()).collect()
    };
    let rows: Vec<BTreeSet<String>> = network.rows.iter().map(series).collect();
    let all: BTreeSet<&String> = rows.iter().flatten().collect();
    let some = |series: &&&String| rows.iter().any(|row| !row.contains(**series));
    let missing = all.iter().filter(some);
    let missing = joined(missing, ", ");
    let is_any = !missing.is_empty();
    let note = is_any.then(|| format!("not compared at every size: {missing}"));
    note.into_iter().collect()
}

fn cell(cell: &MapCell) -> String {
    let alone = if cell.close == 1 { "" } else { " ~" };
    format!("{}{alone}", cell.choice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::findings::map::WayTime;
    use crate::terminal::Style;

    fn findings() -> Findings {
        let time = |series: &str| WayTime {
            series: series.to_owned(),
            ns: 1e6,
        };
        let cell = |choice: &str, close| MapCell {
            choice: choice.to_owned(),
            close,
            times: vec![time("rest-json"), time(choice)],
        };
        let row = |size, cells: [MapCell; 2]| MapRow {
            size,
            response_bytes: Some(1e3 * f64::from(size)),
            cells: Vec::from(cells),
        };
        let network = |new_connection| MappedNetwork {
            new_connection,
            round_trip_ns: 1_000_000,
            rows: vec![
                row(1, [cell("rest-json", 3), cell("rest-json", 4)]),
                row(100, [cell("grpc-gzip", 1), cell("rest-json", 2)]),
            ],
        };
        let mut findings = crate::fixture::findings(&crate::fixture::two(2.0).build());
        findings.sweeps = vec![Sweep {
            sized_by: "scale",
            series: Vec::new(),
            crossings: Vec::new(),
            map: Some(MapFindings {
                bits_per_second: vec![10_000_000, 1_000_000_000],
                networks: vec![network(false), network(true)],
            }),
        }];
        findings
    }

    #[test]
    fn a_map_names_what_to_use_by_size_and_rate() {
        let text = Document::of(&findings()).terminal(Style::new(false, None, Some(100)));
        let map = text.split("Fastest way by size").nth(1).unwrap();
        let lines: Vec<&str> = map.lines().take(10).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn of_several_maps_none_is_shown() {
        let mut findings = findings();
        assert_eq!(sections(&findings).len(), 2);
        findings.sweeps.push(findings.sweeps[0].clone());
        assert!(sections(&findings).is_empty());
    }
}
