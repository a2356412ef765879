//! Computes which way to call to use over networks of many rates, for the sizes of a sweep (docs/map.md).

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_model::{Connection, Network};
use rpcgauge_study::plan::Plan;
use rpcgauge_study::settings::Target;

use super::network::Computable;
use crate::findings::VariantFindings;
use crate::findings::decision::Decision;
use crate::findings::map::{MapCell, MapFindings, MapRow, MappedNetwork, WayTime};
use crate::findings::sweep::Sweep;

/// The rates of the columns, bit/s. Faster networks are not mapped: the model is less accurate there.
const RATES: [u64; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Within a region, and to a phone or across an ocean, ns.
const ROUND_TRIPS_NS: [u64; 2] = [1_000_000, 50_000_000];

/// Times that differ by less are not told apart: 95% of the computed times are this accurate, and their ratios more so
/// (docs/map.md).
const MODEL_ERROR: f64 = 0.06;

/// One way to call at one size.
struct Way<'f> {
    series: &'f str,
    calls: Computable<'f>,
    /// How far it departs from the simplest call.
    departures: usize,
    response_bytes: Option<f64>,
}

/// The map of a sweep; `None` unless there is one decision for each size, among at least two ways that can be computed at
/// two sizes, and whose headers are counted.
pub(super) fn map(
    plan: &Plan,
    variants: &[VariantFindings],
    decisions: &[Decision],
    sweep: &Sweep,
) -> Option<MapFindings> {
    let own = *plan.placements.first()?;
    let way = |series, name: &str| {
        let mut all = plan.variants.iter().zip(variants);
        let (variant, findings) = all.find(|(_, findings)| findings.name == name)?;
        let figures = findings.figures(own)?;
        match &variant.settings.target {
            Target::Call(call) if figures.calls.failed_total() == 0 => Some(Way {
                series,
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
    let mut rows: BTreeMap<u32, Vec<Way<'_>>> = BTreeMap::new();
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
        let ways: Vec<Way<'_>> = ways
            .filter_map(|(series, name)| way(series, name))
            .collect();
        if ways.len() > 1 {
            rows.insert(size, ways);
        }
    }
    let mut ways = rows.values().flatten();
    if rows.len() < 2 || !ways.all(|way| way.calls.counts_headers()) {
        return None;
    }
    let kinds = [false, true].into_iter();
    let kinds = kinds.flat_map(|new| ROUND_TRIPS_NS.map(|round_trip| (new, round_trip)));
    Some(MapFindings {
        bits_per_second: RATES.to_vec(),
        networks: kinds.map(|(new, rtt)| mapped(&rows, new, rtt)).collect(),
    })
}

fn mapped(
    rows: &BTreeMap<u32, Vec<Way<'_>>>,
    new_connection: bool,
    round_trip_ns: u64,
) -> MappedNetwork {
    let rows = rows.iter().map(|(size, ways)| MapRow {
        size: *size,
        response_bytes: ways.iter().find_map(|way| way.response_bytes),
        cells: RATES
            .into_iter()
            .filter_map(|rate| {
                let network = Network::unqueued(rate, round_trip_ns / 2);
                cell(ways, &network, new_connection)
            })
            .collect(),
    });
    MappedNetwork {
        new_connection,
        round_trip_ns,
        rows: rows.collect(),
    }
}

/// What to use for calls of one size; `None` without a way.
fn cell(ways: &[Way<'_>], network: &Network, new_connection: bool) -> Option<MapCell> {
    let times = ways.iter().filter_map(|way| {
        let connection = if new_connection {
            way.calls.new_connection()
        } else {
            Connection::Kept
        };
        Some((way, way.calls.time(network, connection)?))
    });
    let times: Vec<(&Way<'_>, f64)> = times.collect();
    let shortest = times.iter().map(|(_, ns)| *ns).reduce(f64::min)?;
    let close = times.iter();
    let close = close.filter(|(_, ns)| *ns <= shortest * (1.0 + MODEL_ERROR));
    let close: Vec<&Way<'_>> = close.map(|(way, _)| *way).collect();
    let choice = close.iter().min_by_key(|way| way.departures)?;
    Some(MapCell {
        choice: choice.series.to_owned(),
        close: close.len(),
        times: times
            .iter()
            .map(|(way, ns)| WayTime {
                series: way.series.to_owned(),
                ns: *ns,
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
            calls: Computable::of(series, latency, response),
            departures,
            response_bytes: Some(response as f64),
        }
    }

    fn choices(
        ways: [(&'static str, f64, u64, usize); 3],
        new_connection: bool,
    ) -> Vec<(String, usize)> {
        let ways = ways.map(|(name, latency, response, from)| way(name, latency, response, from));
        let sizes = BTreeMap::from([(1, Vec::from(ways))]);
        let mapped = mapped(&sizes, new_connection, ROUND_TRIPS_NS[0]);
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
        let chosen = choices(ways, false);
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
        let chosen = choices(ways, false);
        assert_eq!(chosen[3], ("json".to_owned(), 3));
        // At 1 Mbit/s, 600 bytes take 4.8 ms.
        assert_eq!(chosen[0], ("gzip".to_owned(), 1));
    }

    #[test]
    fn a_new_connection_pays_a_round_trip_for_bytes_beyond_its_window() {
        let ways = [
            ("json", 100_000.0, 20_000, 0),
            ("gzip", 600_000.0, 5_000, 1),
            ("grpc", 2_000_000.0, 30_000, 1),
        ];
        assert_eq!(choices(ways, false)[3].0, "json");
        assert_eq!(choices(ways, true)[3].0, "gzip");
    }
}
