//! The map of a sweep: which way to call to use, by the size of the message and the rate of the network.

use std::collections::BTreeSet;

use super::networks::{NEW_CONNECTION, rate};
use super::{Block, Column, Section, Shown, Table, with_head};
use crate::findings::Findings;
use crate::findings::map::{MapCell, MapFindings, MapRow, MappedNetwork};
use crate::findings::sweep::Sweep;
use crate::units;
use crate::words::joined;

/// The sections of the networks.
const IDS: [&str; 4] = ["map", "map-far", "map-new", "map-new-far"];

const HOW_TO_READ: &str = "the simplest way whose time is within 6%, the error of the model in docs/map.md, of the shortest \
    time; ~: it is not the only one. The times are computed from medians over loopback and the bytes of a call, without \
    losses, for the same rate in both directions. CPU is not considered. `report.json` has all times";

/// The map of the only sweep that has one. Of several, none: their tables would be longer than the rest of the report.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let mut mapped = findings
        .sweeps
        .iter()
        .filter_map(|sweep| Some((sweep, sweep.map.as_ref()?)));
    let (Some((sweep, map)), None) = (mapped.next(), mapped.next()) else {
        return Vec::new();
    };
    let networks = IDS.into_iter().zip(&map.networks);
    let sections = networks.map(|(id, network)| {
        let shown = if id == IDS[0] {
            Shown::Always
        } else {
            Shown::Folded
        };
        let connection = if network.new_connection {
            "a new connection for each call"
        } else {
            "a kept connection"
        };
        let round_trip = units::round_time(network.round_trip_ns as f64);
        let title = format!(
            "The fastest way by size and network rate: {connection}, round trip {round_trip} (computed, not measured)"
        );
        Section::new(id, title, shown, [table(sweep, map, network)])
    });
    sections.collect()
}

fn table(sweep: &Sweep, map: &MapFindings, network: &MappedNetwork) -> Block {
    let rates = (1..).zip(&map.bits_per_second);
    let rates = rates.map(|(rank, bits_per_second)| Column {
        title: rate(*bits_per_second).into(),
        ..Column::text("", rank)
    });
    let first = [
        Column::text(sweep.sized_by, 0),
        Column::number("response", 1),
    ];
    let mut table = Table {
        columns: first.into_iter().chain(rates).collect(),
        notes: notes(network),
        ..Table::default()
    };
    table.add_group(network.rows.iter().map(|row| {
        let MapRow {
            size,
            response_bytes,
            cells,
        } = row;
        let response = response_bytes.map_or_else(units::none, units::size);
        with_head(
            size.to_string(),
            [response].into_iter().chain(cells.iter().map(cell)),
        )
    }));
    Block::Table(table)
}

/// How to read the table, and which ways it does not have at every size.
fn notes(network: &MappedNetwork) -> Vec<String> {
    let series = |row: &MapRow| -> BTreeSet<String> {
        let times = row.cells.iter().flat_map(|cell| &cell.times);
        times.map(|time| time.series.clone()).collect()
    };
    let rows: Vec<BTreeSet<String>> = network.rows.iter().map(series).collect();
    let all: BTreeSet<&String> = rows.iter().flatten().collect();
    let missing = all
        .into_iter()
        .filter(|series| rows.iter().any(|row| !row.contains(*series)));
    let missing = joined(missing, ", ");
    let missing = (!missing.is_empty()).then(|| format!("not compared at every size: {missing}"));
    let new = network.new_connection.then(|| NEW_CONNECTION.to_owned());
    [HOW_TO_READ.to_owned()]
        .into_iter()
        .chain(new)
        .chain(missing)
        .collect()
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
        let map = text.split("The fastest way by size").nth(1).unwrap();
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
