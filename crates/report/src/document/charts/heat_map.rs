//! Heat maps: the calls of a live service by when they were due and how long they took.

use super::super::chart::{Area, Axis, Named, Plot, Size};
use super::super::{Column, Table};
use super::timeline;
use crate::findings::timeline::{HeatColumn, HeatMap, TimelineFindings};
use crate::units;

/// The classes of the shades, from few calls to many.
const SHADES: [&str; 6] = ["h0", "h1", "h2", "h3", "h4", "h5"];

/// The heat map of a timeline; `None` if latencies were not counted over time.
pub(super) fn plot(name: &str, timeline: &TimelineFindings, size: Size) -> Option<Plot> {
    let map = timeline.heat_map.as_ref()?;
    let end = timeline::end(timeline)?;
    let [low, high] = [map.rows_ns.first()?, map.rows_ns.last()?].map(|ns| (*ns).max(1) as f64);
    let y = Axis::Log { low, high };
    let shades = Shades::of(map);
    let areas = areas(map, &shades, |row| y.place(map.rows_ns[row] as f64), end);
    let widest = map.columns.iter().map(|column| column.length_ns).max();
    let said = format!(
        "{} columns of {}; {} calls in the fullest cell; latencies from {} to {}",
        map.columns.len(),
        units::ns(widest.unwrap_or(0)),
        units::count(shades.most),
        units::time(low),
        units::time(high),
    );
    let title = "Calls by latency";
    let named = |shade: usize| shades.named(shade);
    Some(Plot {
        title: match size {
            Size::Whole => title.to_owned(),
            _ => format!("{title}: {name}"),
        },
        label: format!("Heat map of the latency of {name} over time: {said}"),
        size,
        x: Axis::Linear { high: end }.times(),
        y: y.times(),
        shades: (0..).map(named).zip(areas).collect(),
        trials: timeline::trial_starts(timeline, end),
        below: said,
        table: Some(("Percentiles over time", percentiles(&map.columns))),
        ..Plot::default()
    })
}

/// The numbers of calls at which shades begin. They grow by about the same factor, since the tail is in cells with few
/// calls and most calls are in cells with many.
struct Shades {
    from: Vec<u64>,
    most: u64,
}

impl Shades {
    fn of(map: &HeatMap) -> Self {
        let counts = map.columns.iter().flat_map(|column| &column.counts);
        let most = counts.copied().max().unwrap_or(0);
        let part = |shade: usize| shade as f64 / SHADES.len() as f64;
        let begin = |shade| (most as f64).powf(part(shade)).round() as u64;
        let mut from: Vec<u64> = (0..SHADES.len()).map(begin).collect();
        from.dedup();
        Self { from, most }
    }

    /// The shade of a cell; `None` without calls.
    fn shade(&self, calls: u64) -> Option<usize> {
        self.from
            .iter()
            .rposition(|from| *from <= calls.max(1))
            .filter(|_| calls > 0)
    }

    /// The class of a shade, and the numbers of calls that it stands for.
    fn named(&self, shade: usize) -> Named {
        let class = SHADES[SHADES.len() - self.from.len() + shade];
        let first = self.from[shade];
        let last = self.from.get(shade + 1).map_or(self.most, |next| next - 1);
        let calls = match last {
            1 => "1 call".to_owned(),
            _ if first == last => format!("{} calls", units::count(last)),
            _ => format!("{}–{} calls", units::count(first), units::count(last)),
        };
        (class, calls.into())
    }
}

/// The areas of each shade. Equal neighbours in a row are one area. `y` is the position at which a row begins.
fn areas(map: &HeatMap, shades: &Shades, y: impl Fn(usize) -> f64, end: f64) -> Vec<Vec<Area>> {
    let mut areas: Vec<Vec<Area>> = vec![Vec::new(); shades.from.len()];
    for row in 0..map.rows_ns.len() - 1 {
        let shade = |column: &HeatColumn| shades.shade(column.counts[row]);
        for same in map.columns.chunk_by(|one, next| shade(one) == shade(next)) {
            if let (Some(shade), [first, ..], [.., last]) = (shade(&same[0]), same, same) {
                let until = last.start_ns.saturating_add(last.length_ns);
                areas[shade].push(Area {
                    x: [first.start_ns, until].map(|ns| (ns as f64 / end).min(1.0)),
                    y: [y(row), y(row + 1)],
                });
            }
        }
    }
    areas
}

fn percentiles(columns: &[HeatColumn]) -> Table {
    let time = |ns: Option<f64>| ns.map_or_else(units::none, units::time);
    let row = |column: &HeatColumn| {
        vec![
            units::ns(column.start_ns),
            units::count(column.counts.iter().sum()),
            time(column.p50_ns),
            time(column.p90_ns),
            time(column.p99_ns),
        ]
    };
    let heads = ["from", "succeeded", "p50", "p90", "p99"];
    Table {
        columns: heads.map(|title| Column::number(title, 0)).to_vec(),
        rows: columns.iter().map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map with rows of a power of two each, and columns of a second with these counts.
    fn map(columns: &[&[u64]]) -> HeatMap {
        let column = |(second, counts): (u64, &&[u64])| HeatColumn {
            start_ns: second * 1_000_000_000,
            length_ns: 1_000_000_000,
            p50_ns: None,
            p90_ns: None,
            p99_ns: None,
            counts: counts.to_vec(),
        };
        HeatMap {
            rows_ns: (0..=columns[0].len()).map(|row| 1_024 << row).collect(),
            columns: (0..).zip(columns).map(column).collect(),
        }
    }

    #[test]
    fn shades_say_how_many_calls_they_stand_for() {
        let named = |most| {
            let shades = Shades::of(&map(&[&[most]]));
            let named = (0..shades.from.len()).map(|shade| shades.named(shade));
            named
                .map(|(class, calls)| format!("{class} {calls}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(named(1), ["h5 1 call"]);
        assert_eq!(named(3), ["h4 1 call", "h5 2–3 calls"]);
        let many = [
            "h0 1–9 calls",
            "h1 10–99 calls",
            "h2 100–999 calls",
            "h3 1,000–9,999 calls",
            "h4 10,000–99,999 calls",
            "h5 100,000–1,000,000 calls",
        ];
        assert_eq!(named(1_000_000), many);
    }

    #[test]
    fn every_cell_with_calls_is_in_one_area_of_its_shade() {
        let map = map(&[&[1, 5], &[1, 0], &[1, 5], &[3, 5]]);
        let shades = Shades::of(&map);
        let areas = areas(&map, &shades, |row| row as f64 / 2.0, 4e9);
        let area = |x, y| Area { x, y };
        let (low, high) = ([0.0, 0.5], [0.5, 1.0]);
        let of = |calls| &areas[shades.shade(calls).unwrap()];
        assert_eq!(*of(1), [area([0.0, 0.75], low)]);
        assert_eq!(*of(3), [area([0.75, 1.0], low)]);
        assert_eq!(*of(5), [area([0.0, 0.25], high), area([0.5, 1.0], high)]);
        assert_eq!(shades.shade(0), None);
    }
}
