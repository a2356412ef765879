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
        points: check.map_or_else(Vec::new, |check| points(map, network, check, x, y)),
        ..Plot::default()
    })
}

/// The areas in which a way is chosen, clearly or not.
fn areas(network: &MappedNetwork, way: &str, is_clear: bool, x: Axis, y: Axis) -> Vec<Area> {
    let rows = &network.regions;
    let middle = |place: usize, other: usize| {
        let [size, other] = [place, other].map(|place| y.place(f64::from(rows[place].size)));
        f64::midpoint(size, other)
    };
    let is_shown = |stretch: &&RateStretch| stretch.choice == way && stretch.is_clear == is_clear;
    let areas = rows.iter().enumerate().flat_map(|(place, row)| {
        let ends = [place.saturating_sub(1), (place + 1).min(rows.len() - 1)];
        let y = ends.map(|end| middle(place, end));
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
        let is_same = |one: &&MappedNetwork| one.new_connection == point.new_connection;
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
    use crate::findings::map::RegionRow;

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
            new_connection: false,
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
}
