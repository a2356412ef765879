//! The map of a sweep: which way to call to use, by the size of the message and the rate of the network.

use super::charts;
use super::networks::{NEW_CONNECTION, rate};
use super::{Block, Column, Section, Shown, Table};
use crate::findings::Findings;
use crate::findings::map::{
    CheckedPoint, CheckedTime, MapCell, MapCheck, MapFindings, MapRow, MappedConnection,
    MappedNetwork,
};
use crate::findings::sweep::{Series, Sweep};
use crate::units;
use crate::words::joined;

const HOW_TO_READ: &str = "the simplest way within 6% of the shortest time (the model's error, docs/map.md); ~: it is not \
    the only one. Times are computed from medians over loopback, whose noise is not considered, and the bytes of a call, \
    without losses, for the same rate in both directions. CPU is not considered. report.json has all times";

const IDLE_CONNECTION: &str = "idle connections: they were kept without calls for longer than their retransmission timeout, and \
    are in slow start again. No point of a check is measured over them";

const UNCHECKED: &str = "not checked on this message: `rpcgauge map` with the run's directory measures some of it over \
    emulated networks";

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
    let [how, missing] = [
        vec![format!("{kind}: {HOW_TO_READ}")],
        missing(findings, sweep, first),
    ];
    let drawing = charts::of_map(sweep, map).map(Block::Chart);
    let unchecked = map.check.is_none().then(|| UNCHECKED.to_owned());
    let others_notes = vec![
        IDLE_CONNECTION.to_owned(),
        format!("new connections: {NEW_CONNECTION}"),
    ];
    vec![
        Section::new(
            "map",
            "Fastest way by size and network rate (computed, not measured)",
            Shown::Always,
            drawing.into_iter().chain([table(
                sweep,
                map,
                std::slice::from_ref(first),
                how.into_iter().chain(missing).chain(unchecked).collect(),
            )]),
        ),
        Section::new(
            "map-others",
            "Fastest way over longer round trips, idle and new connections (computed, not measured)",
            Shown::Folded,
            [table(sweep, map, others, others_notes)],
        ),
    ]
    .into_iter()
    .chain(map.check.iter().flat_map(|check| {
        let points = Section::new(
            "map-points",
            "Points at which the map was checked",
            Shown::Folded,
            [points(sweep, check)],
        );
        [checked(check), points]
    }))
    .collect()
}

/// What the check of a map found.
fn checked(check: &MapCheck) -> Section {
    let points = units::counted(check.points.len() as u64, "point");
    let close = check.points.iter().filter(|point| point.is_close).count();
    let drawn = format!(
        "{points} between those of the map, drawn at random (seed {}); at {close}, the two fastest ways are within 10%",
        check.seed
    );
    let mut facts = vec![("measured", drawn)];
    let left_out = [
        (check.not_held, "the network was not held"),
        (check.not_measured, "a way was not measured"),
    ];
    let left_out = left_out.into_iter().filter(|(count, _)| *count > 0);
    let left_out =
        left_out.map(|(count, why)| format!("{}: {why}", units::counted(count as u64, "point")));
    let left_out = joined(left_out, "; ");
    facts.extend((!left_out.is_empty()).then_some(("left out", left_out)));
    if let Some(errors) = &check.errors {
        let [median, p95, worst] =
            [errors.median, errors.p95, errors.worst.abs()].map(units::percent);
        let sign = if errors.worst < 0.0 { '-' } else { '+' };
        let times = units::count(errors.times as u64);
        facts.push((
            "computed times",
            format!("{times}: half within {median} of the measured ones, 95% within {p95}, worst {sign}{worst}"),
        ));
        let regret = units::percent(errors.worst_regret);
        facts.push((
            "named way",
            format!(
                "the fastest, or at most 5% slower, at {} of {points}; {regret} slower at worst",
                errors.right
            ),
        ));
    }
    Section::new(
        "map-check",
        "How accurate the map is (measured over emulated networks)",
        Shown::Always,
        [Block::facts(facts)],
    )
}

/// The points of a check, those with the largest regret first.
fn points(sweep: &Sweep, check: &MapCheck) -> Block {
    let mut points: Vec<&CheckedPoint> = check.points.iter().collect();
    points.sort_by(|a, b| b.regret.total_cmp(&a.regret));
    let row = |point: &CheckedPoint| {
        let time = |of: fn(&CheckedTime) -> f64| {
            let mut times = point.times.iter();
            let time = times.find(|time| time.series == point.choice);
            time.map_or_else(units::none, |time| units::time(of(time)))
        };
        let fastest = point.times.iter();
        let fastest = fastest.min_by(|a, b| a.measured_ns.total_cmp(&b.measured_ns));
        vec![
            point.size.to_string(),
            rate(point.bits_per_second),
            units::round_time(point.round_trip_ns as f64),
            name(point.connection).to_owned(),
            point.choice.clone(),
            time(|time| time.computed_ns),
            time(|time| time.measured_ns),
            fastest.map_or_else(units::none, |time| time.series.clone()),
            units::percent(point.regret),
        ]
    };
    let columns = vec![
        Column::text(sweep.sized_by, 0),
        Column::number("rate", 0),
        Column::number("round trip", 0),
        Column::text("connection", 0),
        Column::text("named", 0),
        Column::number("computed", 1),
        Column::number("measured", 0),
        Column::text("fastest", 0),
        Column::number("longer by", 0),
    ];
    let mut table = Table {
        columns,
        ..Table::default()
    };
    table.add_group(points.into_iter().map(row));
    Block::Table(table)
}

/// The connection and the round trip.
pub(super) fn of_network(network: &MappedNetwork) -> [String; 2] {
    let connection = match network.connection {
        MappedConnection::Idle => format!("an {} connection", name(network.connection)),
        other => format!("a {} connection", name(other)),
    };
    let round_trip = units::round_time(network.round_trip_ns as f64);
    [connection, format!("round trip {round_trip}")]
}

fn name(connection: MappedConnection) -> &'static str {
    match connection {
        MappedConnection::Kept => "kept",
        MappedConnection::Idle => "idle",
        MappedConnection::New => "new",
    }
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

/// A note about the ways of the sweep that are not in every row, or in none.
fn missing(findings: &Findings, sweep: &Sweep, network: &MappedNetwork) -> Vec<String> {
    let is_call = |series: &&Series| {
        let mut variants = series.variants.values();
        variants.any(|name| {
            findings
                .variant(name)
                .is_some_and(|one| !one.how.is_codec())
        })
    };
    let is_in = |series: &Series, row: &MapRow| {
        let mut times = row.cells.iter().flat_map(|cell| &cell.times);
        times.any(|time| time.series == series.name)
    };
    let rows = |series: &Series| network.rows.iter().filter(|row| is_in(series, row)).count();
    let (none, some): (Vec<&Series>, Vec<&Series>) = sweep
        .series
        .iter()
        .filter(is_call)
        .filter(|series| rows(series) < network.rows.len())
        .partition(|series| rows(series) == 0);
    let notes = [("not in the map", none), ("not at every size", some)];
    let notes = notes.into_iter().filter(|(_, series)| !series.is_empty());
    let note = |(what, series): (&str, Vec<&Series>)| {
        let names = series.iter().map(|series| &*series.name);
        format!("{what}: {}", joined(names, ", "))
    };
    notes.map(note).collect()
}

fn cell(cell: &MapCell) -> String {
    let alone = if cell.close == 1 { "" } else { " ~" };
    format!("{}{alone}", cell.choice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::findings::map::{MapErrors, WayTime};
    use crate::terminal::Style;

    fn findings() -> Findings {
        let time = |series: &str| WayTime {
            series: series.to_owned(),
            ns: 1e6,
            loopback_ns: 2e5,
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
        let network = |connection| MappedNetwork {
            connection,
            round_trip_ns: 1_000_000,
            regions: Vec::new(),
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
                networks: vec![
                    network(MappedConnection::Kept),
                    network(MappedConnection::New),
                ],
                check: None,
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
    fn a_check_says_how_far_computed_times_are_off() {
        let time = |series: &str, computed_ms: f64, measured_ms: f64| CheckedTime {
            series: series.to_owned(),
            computed_ns: computed_ms * 1e6,
            measured_ns: measured_ms * 1e6,
        };
        let point = |size, regret, times| CheckedPoint {
            size,
            bits_per_second: 12_340_000,
            round_trip_ns: 8_420_000,
            connection: if size > 10 {
                MappedConnection::New
            } else {
                MappedConnection::Kept
            },
            is_close: size < 10,
            choice: "grpc".to_owned(),
            regret,
            times,
        };
        let mut findings = findings();
        let map = findings.sweeps[0].map.as_mut().unwrap();
        map.check = Some(MapCheck {
            seed: 1,
            points: vec![
                point(
                    3,
                    0.0,
                    vec![time("grpc", 9.0, 9.1), time("rest-json", 9.5, 9.7)],
                ),
                point(
                    42,
                    0.071,
                    vec![time("grpc", 31.0, 34.1), time("rest-json", 32.0, 31.8)],
                ),
            ],
            not_held: 1,
            not_measured: 0,
            errors: Some(MapErrors {
                times: 4,
                median: 0.011,
                p95: 0.091,
                worst: -0.091,
                right: 1,
                worst_regret: 0.071,
            }),
        });
        let style = Style::new(false, None, Some(100));
        let text = Document::of(&findings).terminal(style);
        let check = text.split("How accurate the map is").nth(1).unwrap();
        let lines: Vec<&str> = check.lines().take(8).collect();
        insta::assert_snapshot!(lines.join("\n"));
        let sections = sections(&findings);
        assert_eq!(sections.len(), 4);
    }

    #[test]
    fn of_several_maps_none_is_shown() {
        let mut findings = findings();
        assert_eq!(sections(&findings).len(), 2);
        findings.sweeps.push(findings.sweeps[0].clone());
        assert!(sections(&findings).is_empty());
    }
}
