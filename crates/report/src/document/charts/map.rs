//! A map of the fastest way to call, by the size of the message and the rate of the network.

use super::super::chart::{Area, Axis, Chart, Mark, Marks, Named, Plot, Tick, Weight};
use super::super::maps::of_network;
use super::super::networks::rate;
use crate::distinct;
use crate::findings::map::{CheckedPoint, MapCheck, MapFindings, MappedNetwork, RateStretch};
use crate::findings::sweep::Sweep;
use crate::units;
use crate::words::{self, joined};

/// The classes of ways, each alone and with others that are not told apart.
const WAYS: [[&str; 2]; 8] = [
    ["w0", "n0"],
    ["w1", "n1"],
    ["w2", "n2"],
    ["w3", "n3"],
    ["w4", "n4"],
    ["w5", "n5"],
    ["w6", "n6"],
    ["w7", "n7"],
];

/// A plot for each kind of network; `None` if there are more ways than colours.
pub(in crate::document) fn chart(sweep: &Sweep, map: &MapFindings) -> Option<Chart> {
    let rows = map.networks.iter().flat_map(|network| &network.regions);
    let chosen = rows.flat_map(|row| &row.stretches);
    let ways = distinct(chosen.map(|stretch| &*stretch.choice));
    let plots = map.networks.iter();
    let plots = plots.filter_map(|network| plot(sweep, map, network, &ways));
    let intro = "The fastest way by the size of the message and the rate of the network, both on logarithmic axes. Pale \
                 areas (~) have other ways within the error of the model.";
    let is_drawn = ways.len() <= WAYS.len();
    Chart::new(Weight::Bars, "Regions", intro, None, plots.collect()).filter(|_| is_drawn)
}

fn plot(sweep: &Sweep, map: &MapFindings, network: &MappedNetwork, ways: &[&str]) -> Option<Plot> {
    let (first, last) = (network.regions.first()?, network.regions.last()?);
    let y = Axis::Log {
        low: f64::from(first.size),
        high: f64::from(last.size),
    };
    let [low, high] = [map.bits_per_second.first()?, map.bits_per_second.last()?];
    let x = Axis::Log {
        low: *low as f64,
        high: *high as f64,
    };
    let title = joined(of_network(network), ", ");
    let kinds = ways.iter().zip(WAYS).flat_map(|(way, [clear, near])| {
        [
            (
                (clear, (*way).to_owned().into()),
                areas(network, way, true, x, y),
            ),
            (
                (near, format!("{way} ~").into()),
                areas(network, way, false, x, y),
            ),
        ]
    });
    let shades: Vec<(Named, Vec<Area>)> = kinds.filter(|(_, areas)| !areas.is_empty()).collect();
    let check = map.check.as_ref();
    Some(Plot {
        label: format!(
            "Map of the fastest way over {title}, for {} from {} to {}",
            sweep.sized_by, first.size, last.size
        ),
        title: words::capital(&format!("{title}: {} by rate", sweep.sized_by)),
        // More labels would overlap on a phone.
        x: map
            .bits_per_second
            .iter()
            .map(|bits| Tick {
                at: x.place(*bits as f64),
                label: rate(*bits),
            })
            .collect(),
        y: y.labels(|size| units::count(size as u64)),
        shades,
        hints: hints(sweep, map, network, x, y),
        points: check.map_or_else(Vec::new, |check| points(map, network, check, x, y)),
        ..Plot::default()
    })
}

/// The times of all ways around each cell of the table: what they take over loopback, and what the network adds.
fn hints(
    sweep: &Sweep,
    map: &MapFindings,
    network: &MappedNetwork,
    x: Axis,
    y: Axis,
) -> Vec<(Area, String)> {
    let sizes = network.rows.iter().map(|row| y.place(f64::from(row.size)));
    let rates = map.bits_per_second.iter().map(|bits| x.place(*bits as f64));
    let (sizes, rates): (Vec<f64>, Vec<f64>) = (sizes.collect(), rates.collect());
    let cells = network.rows.iter().enumerate().flat_map(|(line, row)| {
        let y = around(&sizes, line);
        let cells = row.cells.iter().zip(&map.bits_per_second).enumerate();
        let rates = &rates;
        cells.map(move |(column, (cell, bits))| {
            let head = format!("{} {}, {}", sweep.sized_by, row.size, rate(*bits));
            let times = cell.times.iter().map(|time| {
                format!(
                    "{}: {} = {} over loopback + {}",
                    time.series,
                    units::time(time.ns),
                    units::time(time.loopback_ns),
                    units::time(time.ns - time.loopback_ns)
                )
            });
            let x = around(rates, column);
            (
                Area { x, y },
                joined(std::iter::once(head).chain(times), "\n"),
            )
        })
    });
    cells.collect()
}

/// The stretch of an axis that is nearest to one of these places.
fn around(places: &[f64], index: usize) -> [f64; 2] {
    let middle = |other: usize| f64::midpoint(places[index], places[other]);
    let last = places.len() - 1;
    [
        middle(index.saturating_sub(1)),
        middle((index + 1).min(last)),
    ]
}

/// The areas in which a way is chosen, clearly or not.
fn areas(network: &MappedNetwork, way: &str, is_clear: bool, x: Axis, y: Axis) -> Vec<Area> {
    let rows = &network.regions;
    let sizes = rows.iter().map(|row| y.place(f64::from(row.size)));
    let sizes: Vec<f64> = sizes.collect();
    let is_shown = |stretch: &&RateStretch| stretch.choice == way && stretch.is_clear == is_clear;
    let areas = rows.iter().enumerate().flat_map(|(place, row)| {
        let y = around(&sizes, place);
        let shown = row.stretches.iter().filter(is_shown);
        shown.map(move |stretch| Area {
            x: stretch.bits_per_second.map(|bits| x.place(bits as f64)),
            y,
        })
    });
    areas.collect()
}

/// The points of a check that are nearest to this network.
fn points(
    map: &MapFindings,
    network: &MappedNetwork,
    check: &MapCheck,
    x: Axis,
    y: Axis,
) -> Vec<Marks> {
    let distance = |network: &MappedNetwork, point: &CheckedPoint| {
        (point.round_trip_ns as f64 / network.round_trip_ns as f64)
            .ln()
            .abs()
    };
    let is_nearest = |point: &&CheckedPoint| {
        let is_same = |one: &&MappedNetwork| one.connection == point.connection;
        let mut others = map.networks.iter().filter(is_same);
        is_same(&network) && others.all(|other| distance(network, point) <= distance(other, point))
    };
    let nearest: Vec<&CheckedPoint> = check.points.iter().filter(is_nearest).collect();
    let marks = |mark, name, is_right: bool| Marks {
        mark,
        name,
        at: nearest
            .iter()
            .filter(|point| point.is_right() == is_right)
            .map(|point| {
                let place = (
                    x.place(point.bits_per_second as f64),
                    y.place(f64::from(point.size)),
                );
                ("ink", place)
            })
            .collect(),
    };
    let marks = [
        marks(Mark::Ring, "measured: the named way is right", true),
        marks(
            Mark::Cross,
            "measured: another way is over 5% faster",
            false,
        ),
    ];
    marks
        .into_iter()
        .filter(|marks| !marks.at.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::map::{MapCell, MapRow, MappedConnection, RegionRow, WayTime};

    #[test]
    fn the_areas_of_all_ways_cover_the_map_without_overlap() {
        let stretch = |from, to, choice: &str, is_clear| RateStretch {
            bits_per_second: [from, to],
            choice: choice.to_owned(),
            is_clear,
        };
        let row = |size, turn| RegionRow {
            size,
            stretches: vec![
                stretch(1_000_000, turn, "gzip", true),
                stretch(turn, turn * 10, "json", false),
                stretch(turn * 10, 1_000_000_000, "json", true),
            ],
        };
        let network = MappedNetwork {
            connection: MappedConnection::Kept,
            round_trip_ns: 1_000_000,
            rows: Vec::new(),
            regions: vec![row(1, 2_000_000), row(10, 20_000_000), row(100, 50_000_000)],
        };
        let map = MapFindings {
            bits_per_second: vec![1_000_000, 1_000_000_000],
            networks: vec![network],
            check: None,
        };
        let sweep = Sweep {
            sized_by: "scale",
            series: Vec::new(),
            crossings: Vec::new(),
            map: None,
        };
        let chart = chart(&sweep, &map).unwrap();
        let shades = &chart.plots[0].shades;
        let names: Vec<&str> = shades.iter().map(|((_, name), _)| &**name).collect();
        assert_eq!(names, ["gzip", "json", "json ~"]);
        let size = |area: &Area| (area.x[1] - area.x[0]) * (area.y[1] - area.y[0]);
        let all: f64 = shades.iter().flat_map(|(_, areas)| areas).map(size).sum();
        assert!((all - 1.0).abs() < 1e-9, "{all}");
    }

    #[test]
    fn a_pointer_shows_the_times_of_all_ways() {
        let time = |series: &str, ns| WayTime {
            series: series.to_owned(),
            ns,
            loopback_ns: 3e5,
        };
        let cell = MapCell {
            choice: "json".to_owned(),
            close: 1,
            times: vec![time("json", 2.3e6), time("gzip", 3.3e6)],
        };
        let row = |size| MapRow {
            size,
            response_bytes: None,
            cells: vec![cell.clone(), cell.clone()],
        };
        let network = MappedNetwork {
            connection: MappedConnection::Kept,
            round_trip_ns: 1_000_000,
            rows: vec![row(1), row(100)],
            regions: Vec::new(),
        };
        let map = MapFindings {
            bits_per_second: vec![1_000_000, 1_000_000_000],
            networks: Vec::new(),
            check: None,
        };
        let sweep = Sweep {
            sized_by: "n",
            series: Vec::new(),
            crossings: Vec::new(),
            map: None,
        };
        let axis = |low, high| Axis::Log { low, high };
        let (rates, sizes) = (axis(1e6, 1e9), axis(1.0, 100.0));
        let hints = hints(&sweep, &map, &network, rates, sizes);
        assert_eq!(hints.len(), 4);
        let (area, text) = &hints[1];
        assert_eq!((area.x, area.y), ([0.5, 1.0], [0.0, 0.5]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "n 1, 1 Gbit/s",
                "json: 2.30 ms = 300 µs over loopback + 2.00 ms",
                "gzip: 3.30 ms = 300 µs over loopback + 3.00 ms",
            ]
        );
    }
}
