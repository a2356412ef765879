//! Computes which way to call to use over networks of many rates, for the sizes of a sweep (docs/map.md).

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_model::Network;
use rpcgauge_study::plan::Plan;
use rpcgauge_study::settings::Target;

use super::network::Computable;
use crate::findings::VariantFindings;
use crate::findings::decision::Decision;
use crate::findings::map::{
    MapCell, MapFindings, MapRow, MappedConnection, MappedNetwork, RateStretch, RegionRow, WayTime,
};
use crate::findings::sweep::Sweep;

/// The rates of the columns, bit/s. Faster networks are not mapped: the model is less accurate there.
pub(super) const RATES: [u64; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Within a region, and to a phone or across an ocean, ns.
pub(super) const ROUND_TRIPS_NS: [u64; 2] = [1_500_000, 50_000_000];

/// Times that differ by less are not told apart: 95% of the computed times are this accurate, and their ratios more so
/// (docs/map.md).
const MODEL_ERROR: f64 = 0.06;

/// How many sizes regions have, at most, and how many steps between two rates.
const DRAWN_SIZES: u32 = 32;
const DRAWN_RATES: f64 = 16.0;

/// One way to call at one size.
pub(super) struct Way<'f> {
    pub(super) series: &'f str,
    /// The variant; of a size that was not measured, that of a smaller one.
    pub(super) variant: &'f str,
    pub(super) calls: Computable<'f>,
    /// How far it departs from the simplest call.
    pub(super) departures: usize,
    pub(super) response_bytes: Option<f64>,
}

/// The ways to call, by size.
pub(super) type Ways<'f> = BTreeMap<u32, Vec<Way<'f>>>;

/// The map of a sweep; `None` unless there is one decision for each size, among at least two ways that can be computed at
/// two sizes, and whose headers are counted.
pub(super) fn map(
    plan: &Plan,
    variants: &[VariantFindings],
    decisions: &[Decision],
    sweep: &Sweep,
) -> Option<MapFindings> {
    let rows = ways(plan, variants, decisions, sweep)?;
    let kinds = [
        MappedConnection::Kept,
        MappedConnection::Idle,
        MappedConnection::New,
    ];
    let kinds = kinds.into_iter();
    let kinds = kinds.flat_map(|kind| ROUND_TRIPS_NS.map(|round_trip| (kind, round_trip)));
    Some(MapFindings {
        bits_per_second: RATES.to_vec(),
        networks: kinds
            .map(|(kind, round_trip)| mapped(&rows, kind, round_trip))
            .collect(),
        check: None,
    })
}

/// The ways to call that the map of a sweep compares; `None` if it has no map.
pub(super) fn ways<'f>(
    plan: &Plan,
    variants: &'f [VariantFindings],
    decisions: &[Decision],
    sweep: &'f Sweep,
) -> Option<Ways<'f>> {
    let own = *plan.placements.first()?;
    let way = |series, name: &str| {
        let mut all = plan.variants.iter().zip(variants);
        let (variant, findings) = all.find(|(_, findings)| findings.name == name)?;
        let figures = findings.figures(own)?;
        match &variant.settings.target {
            Target::Call(call) if figures.calls.failed_total() == 0 => Some(Way {
                series,
                variant: &findings.name,
                calls: Computable::new(&findings.name, call, figures)?,
                departures: call.departures(),
                response_bytes: figures.payload.response,
            }),
            Target::Call(_) | Target::Codec(_) | Target::Live(_) => None,
        }
    };
    let series = || sweep.series.iter();
    let sizes: BTreeSet<u32> = series()
        .flat_map(|one| one.variants.keys().copied())
        .collect();
    let mut rows = Ways::new();
    for size in sizes {
        let at_size = series().filter_map(|one| Some((&*one.name, one.variants.get(&size)?)));
        let at_size: Vec<(&str, &String)> = at_size.collect();
        let count = |decision: &&Decision| {
            let names = at_size.iter();
            names
                .filter(|(_, name)| decision.variants.contains(name))
                .count()
        };
        let mut fitting = decisions.iter().filter(|decision| count(decision) > 1);
        let Some(decision) = fitting.next() else {
            continue;
        };
        if fitting.next().is_some() {
            return None;
        }
        let ways = at_size.into_iter();
        let ways = ways.filter(|(_, name)| decision.variants.contains(name));
        let ways: Vec<Way<'f>> = ways
            .filter_map(|(series, name)| way(series, name))
            .collect();
        if ways.len() > 1 {
            rows.insert(size, ways);
        }
    }
    let mut ways = rows.values().flatten();
    let is_map = rows.len() > 1 && ways.all(|way| way.calls.counts_headers());
    is_map.then_some(rows)
}

fn mapped(ways: &Ways<'_>, connection: MappedConnection, round_trip_ns: u64) -> MappedNetwork {
    // The lengths in the rows are those of one encoding.
    let first = ways.values().next().and_then(|ways| ways.first());
    let first = first.map(|way| way.series);
    let response_bytes = |ways: &[Way<'_>]| {
        let same = ways.iter().find(|way| Some(way.series) == first)?;
        same.response_bytes
    };
    let rows = ways.iter().map(|(size, ways)| MapRow {
        size: *size,
        response_bytes: response_bytes(ways),
        cells: RATES
            .into_iter()
            .filter_map(|rate| {
                let network = Network::unqueued(rate, round_trip_ns / 2);
                cell(ways, &network, connection)
            })
            .collect(),
    });
    MappedNetwork {
        connection,
        round_trip_ns,
        rows: rows.collect(),
        regions: regions(ways, connection, round_trip_ns),
    }
}

/// What to use between the sizes and rates of the rows.
fn regions(ways: &Ways<'_>, connection: MappedConnection, round_trip_ns: u64) -> Vec<RegionRow> {
    let (Some(low), Some(high)) = (ways.keys().next(), ways.keys().next_back()) else {
        return Vec::new();
    };
    let [low, high] = [low, high].map(|size| f64::from(*size));
    let part = |step: u32| f64::from(step) / f64::from(DRAWN_SIZES);
    let sizes = (0..=DRAWN_SIZES).map(|step| (low * (high / low).powf(part(step))).round() as u32);
    let sizes: BTreeSet<u32> = sizes.collect();
    let rate = |step: f64| (RATES[0] as f64 * 10f64.powf(step / DRAWN_RATES)).round() as u64;
    let steps = DRAWN_RATES as u32 * (RATES.len() as u32 - 1);
    let stretches = |size: u32| {
        let ways = at(ways, size);
        let mut stretches: Vec<RateStretch> = Vec::new();
        for step in (0..steps).map(f64::from) {
            let network = Network::unqueued(rate(step + 0.5), round_trip_ns / 2);
            let Some(cell) = cell(&ways, &network, connection) else {
                continue;
            };
            let (is_clear, end) = (cell.close == 1, rate(step + 1.0));
            match stretches.last_mut() {
                Some(last) if (&last.choice, last.is_clear) == (&cell.choice, is_clear) => {
                    last.bits_per_second[1] = end;
                }
                Some(_) | None => stretches.push(RateStretch {
                    bits_per_second: [rate(step), end],
                    choice: cell.choice,
                    is_clear,
                }),
            }
        }
        stretches
    };
    let rows = sizes.into_iter().map(|size| RegionRow {
        size,
        stretches: stretches(size),
    });
    rows.collect()
}

/// The ways to call with a message of this size, between the nearest sizes that were measured.
pub(super) fn at<'f>(rows: &Ways<'f>, size: u32) -> Vec<Way<'f>> {
    let (Some((small, smaller)), Some((large, larger))) =
        (rows.range(..=size).next_back(), rows.range(size..).next())
    else {
        return Vec::new();
    };
    let part = match large - small {
        0 => 0.0,
        distance => f64::from(size - small) / f64::from(distance),
    };
    let ways = smaller.iter().filter_map(|way| {
        let other = larger.iter().find(|other| other.series == way.series)?;
        Some(Way {
            calls: way.calls.toward(&other.calls, part),
            response_bytes: None,
            ..*way
        })
    });
    ways.collect()
}

/// What to use for calls of one size; `None` without a way.
pub(super) fn cell(
    ways: &[Way<'_>],
    network: &Network,
    connection: MappedConnection,
) -> Option<MapCell> {
    let times = ways.iter().filter_map(|way| {
        let connection = way.calls.connection(connection);
        Some((way, way.calls.time(network, connection)?))
    });
    let times: Vec<(&Way<'_>, f64)> = times.collect();
    let shortest = times.iter().map(|(_, ns)| *ns).reduce(f64::min)?;
    let close = times.iter();
    let close = close.filter(|(_, ns)| *ns <= shortest * (1.0 + MODEL_ERROR));
    let close: Vec<&(&Way<'_>, f64)> = close.collect();
    let (choice, _) = close.iter().min_by(|(a, a_ns), (b, b_ns)| {
        let simpler = a.departures.cmp(&b.departures);
        simpler.then(a_ns.total_cmp(b_ns))
    })?;
    Some(MapCell {
        choice: choice.series.to_owned(),
        close: close.len(),
        times: times
            .iter()
            .map(|(way, ns)| WayTime {
                series: way.series.to_owned(),
                ns: *ns,
                loopback_ns: way.calls.loopback(),
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(series: &'static str, latency: f64, response: u64, departures: usize) -> Way<'static> {
        Way {
            series,
            variant: series,
            calls: Computable::of(series, latency, response),
            departures,
            response_bytes: Some(response as f64),
        }
    }

    fn choices(
        ways: [(&'static str, f64, u64, usize); 3],
        connection: MappedConnection,
    ) -> Vec<(String, usize)> {
        let ways = ways.map(|(name, latency, response, from)| way(name, latency, response, from));
        let sizes = BTreeMap::from([(1, Vec::from(ways))]);
        let mapped = mapped(&sizes, connection, ROUND_TRIPS_NS[0]);
        let cells = mapped.rows[0].cells.iter();
        cells
            .map(|cell| (cell.choice.clone(), cell.close))
            .collect()
    }

    #[test]
    fn slow_networks_choose_bytes_and_fast_ones_work() {
        let ways = [
            ("json", 200_000.0, 100_000, 0),
            ("gzip", 1_200_000.0, 10_000, 1),
            ("grpc", 300_000.0, 50_000, 1),
        ];
        let chosen = choices(ways, MappedConnection::Kept);
        let names: Vec<&str> = chosen.iter().map(|(name, _)| &**name).collect();
        // At 1 Gbit/s, gRPC takes 1.72 ms, JSON 2.03 ms and gzip 2.28 ms.
        assert_eq!(names, ["gzip", "gzip", "gzip", "grpc"]);
        assert!(
            chosen[..3].iter().all(|(_, close)| *close == 1),
            "{chosen:?}"
        );
    }

    #[test]
    fn of_ways_that_the_model_does_not_tell_apart_the_simplest_is_chosen() {
        // All fit into a packet, and differ by less than 6% of a round trip of 1 ms.
        let ways = [
            ("gzip", 100_000.0, 300, 1),
            ("json", 130_000.0, 900, 0),
            ("grpc", 110_000.0, 400, 1),
        ];
        let chosen = choices(ways, MappedConnection::Kept);
        assert_eq!(chosen[3], ("json".to_owned(), 3));
        // At 1 Mbit/s, 600 bytes take 4.8 ms.
        assert_eq!(chosen[0], ("gzip".to_owned(), 1));
    }

    #[test]
    fn regions_turn_between_the_measured_sizes_and_rates() {
        let ways = |bytes: u64| {
            let work = bytes as f64;
            vec![
                way("json", 50_000.0 + work, bytes, 0),
                way("gzip", 50_000.0 + 11.0 * work, bytes / 4, 1),
            ]
        };
        let sizes = BTreeMap::from([(1, ways(1_000)), (100, ways(100_000))]);
        let regions = mapped(&sizes, MappedConnection::Kept, ROUND_TRIPS_NS[0]).regions;
        let chosen = |size: u32| {
            let row = regions.iter().find(|row| row.size == size).unwrap();
            let stretches = row.stretches.iter();
            let clear = stretches.filter(|stretch| stretch.is_clear);
            let clear = clear.map(|one| (&*one.choice, one.bits_per_second));
            clear.collect::<Vec<_>>()
        };
        // Of 100 kB, gzip saves 78 kB with headers, and takes 1 ms more: it pays below about 620 Mbit/s.
        let [(slow, [_, turn]), (fast, [from, _])] = chosen(100)[..] else {
            panic!("{:?}", chosen(100));
        };
        assert_eq!((slow, fast), ("gzip", "json"));
        assert!((300_000_000..620_000_000).contains(&turn), "{turn}");
        assert!((620_000_000..=1_000_000_000).contains(&from), "{from}");
        assert_eq!(chosen(1).len(), 1, "{:?}", chosen(1));
        let is_ordered = regions.windows(2).all(|two| two[0].size < two[1].size);
        assert!(is_ordered && regions.len() > 10, "{}", regions.len());
    }

    #[test]
    fn a_new_or_idle_connection_pays_a_round_trip_for_bytes_beyond_its_window() {
        let ways = [
            ("json", 100_000.0, 20_000, 0),
            ("gzip", 600_000.0, 5_000, 1),
            ("grpc", 2_000_000.0, 30_000, 1),
        ];
        let chosen = |connection| choices(ways, connection)[3].0.clone();
        assert_eq!(chosen(MappedConnection::Kept), "json");
        assert_eq!(chosen(MappedConnection::Idle), "gzip");
        assert_eq!(chosen(MappedConnection::New), "gzip");
    }
}
