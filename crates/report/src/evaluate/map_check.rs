//! Checks a map: chooses points between its own, and compares the times that are computed there with measured ones
//! (docs/map.md).

use std::collections::BTreeMap;

use rpcgauge_model::Network;
use rpcgauge_study::plan::{MapDraws, MapPoint, MapPointError, Plan, Variant};
use rpcgauge_study::record::TrialOutcome;
use rpcgauge_study::run::Run;
use rpcgauge_study::settings::{ConnectionUse, Target};

use super::map::{self, RATES, ROUND_TRIPS_NS, Way, Ways};
use crate::error::ReportError;
use crate::findings::Findings;
use crate::findings::map::{
    CheckedPoint, CheckedTime, MapCell, MapCheck, MapErrors, MappedConnection,
};

/// After this many draws, no further point is found whose two fastest ways are close.
const MAX_DRAWS: usize = 100_000;

/// Points with a computed time of more than this are not measured: calls take their time.
const MAX_CALL_NS: f64 = 1.2e8;

/// Two ways are close if one takes at most this many times as long as the other.
const CLOSE: f64 = 1.1;

/// Why a map cannot be checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotChecked {
    /// There is no map, or more than one.
    #[error(
        "the report has no map, which needs one sweep of several sizes with at least two ways over TCP, called by \
         rpcgauge's own client"
    )]
    NoMap,
    /// Longer messages are made from the original one.
    #[error("the sizes do not include 1, the message itself")]
    NotUnscaled,
    /// Calls over a network are too few to warm up a compiler.
    #[error(
        "calls over networks are too few to warm up its stacks, which have just-in-time compilers"
    )]
    NeedsWarmUp,
    /// The points cannot be measured.
    #[error(transparent)]
    Points(#[from] MapPointError),
}

impl Findings {
    /// A plan that checks the map of a run with this plan at `count` random points: half of them anywhere, and half where
    /// the computed times of the two fastest ways differ by at most 10%, as far as there are such points.
    ///
    /// # Errors
    /// [`NotChecked`]
    pub fn plan_of_map_check(&self, plan: &Plan, count: usize) -> Result<Plan, NotChecked> {
        let (_, rows) = self.mapped(plan).ok_or(NotChecked::NoMap)?;
        let rows = checkable(plan, rows)?;
        plan.at_points(&points(plan, &rows, count)?)
            .map_err(NotChecked::from)
    }

    /// The place of the only sweep that has a map, and its ways to call.
    fn mapped(&self, plan: &Plan) -> Option<(usize, Ways<'_>)> {
        let sweeps = self.sweeps.iter().enumerate();
        let mut mapped = sweeps.filter(|(_, sweep)| sweep.map.is_some());
        let (Some((place, sweep)), None) = (mapped.next(), mapped.next()) else {
            return None;
        };
        let ways = map::ways(plan, &self.variants, &self.decisions, sweep)?;
        Some((place, ways))
    }

    /// Adds the check of the map of a run with this plan.
    pub(super) fn add_map_check(&mut self, plan: &Plan, check: &Run) -> Result<(), ReportError> {
        let measured = Self::from_run(check)?;
        let Some((place, rows)) = self.mapped(plan) else {
            return Ok(());
        };
        let checked = compare(&rows, check, &measured);
        if let Some(map) = &mut self.sweeps[place].map {
            map.check = Some(checked);
        }
        Ok(())
    }
}

/// The ways whose stacks need no warm-up.
fn checkable<'f>(plan: &Plan, mut rows: Ways<'f>) -> Result<Ways<'f>, NotChecked> {
    let needs_warm_up = |way: &Way<'_>| {
        let variant = plan.variant(way.variant);
        let stacks = variant
            .into_iter()
            .flat_map(|variant| variant.settings.target.stacks());
        let mut needs = stacks.filter_map(|stack| plan.stack_needs.get(stack));
        needs.any(|needs| needs.warm_up_calls > 0)
    };
    for ways in rows.values_mut() {
        ways.retain(|way| !needs_warm_up(way));
    }
    rows.retain(|_, ways| ways.len() > 1);
    if rows.len() > 1 {
        Ok(rows)
    } else {
        Err(NotChecked::NeedsWarmUp)
    }
}

fn points(plan: &Plan, rows: &Ways<'_>, count: usize) -> Result<Vec<MapPoint>, NotChecked> {
    let (Some((smallest, first)), Some((largest, _))) =
        (rows.first_key_value(), rows.last_key_value())
    else {
        return Err(NotChecked::NoMap);
    };
    let is_scaled = |way: &Way<'_>| {
        plan.variant(way.variant)
            .is_some_and(|one| one.scale > Some(1))
    };
    if first.iter().any(is_scaled) {
        return Err(NotChecked::NotUnscaled);
    }
    let original = |series: &str| {
        let way = first.iter().find(|way| way.series == series)?;
        Some((series.to_owned(), way.variant.to_owned()))
    };
    let rates = [RATES[0], RATES[RATES.len() - 1]];
    let mut draws = MapDraws::new(plan.seed, [*smallest, *largest], rates, ROUND_TRIPS_NS);
    let (mut anywhere, mut close) = (Vec::new(), Vec::new());
    for mut point in draws.by_ref().take(MAX_DRAWS) {
        let Some(cell) = computed(rows, &point) else {
            continue;
        };
        let ways = cell.times.iter();
        point.ways = ways.filter_map(|time| original(&time.series)).collect();
        let is_too_slow = cell.times.iter().any(|time| time.ns > MAX_CALL_NS);
        if point.ways.len() < 2 || is_too_slow {
            continue;
        }
        if anywhere.len() < count.div_ceil(2) {
            anywhere.push(point);
        } else if close.len() < count / 2 {
            close.extend(is_close(&cell).then_some(point));
        } else {
            break;
        }
    }
    anywhere.append(&mut close);
    Ok(anywhere)
}

fn computed(rows: &Ways<'_>, point: &MapPoint) -> Option<MapCell> {
    let network = Network::new(&point.network.terms).ok()?;
    let connection = connection(point.new_connection);
    map::cell(&map::at(rows, point.size), &network, connection)
}

/// Points are measured over connections that are kept, or opened for each call.
fn connection(is_new: bool) -> MappedConnection {
    if is_new {
        MappedConnection::New
    } else {
        MappedConnection::Kept
    }
}

/// Compares the computed times with the measured ones of each point.
fn compare(rows: &Ways<'_>, run: &Run, measured: &Findings) -> MapCheck {
    let mut groups: BTreeMap<&str, Vec<&Variant>> = BTreeMap::new();
    for variant in &run.plan.variants {
        let group = variant.group.as_deref().unwrap_or_default();
        groups.entry(group).or_default().push(variant);
    }
    let mut check = MapCheck {
        seed: run.plan.seed,
        points: Vec::new(),
        not_held: 0,
        not_measured: 0,
        errors: None,
    };
    for variants in groups.values() {
        match checked(rows, variants, run, measured) {
            Ok(point) => check.points.push(point),
            Err(LeftOut::NotHeld) => check.not_held += 1,
            Err(LeftOut::NotMeasured) => check.not_measured += 1,
        }
    }
    check.errors = errors(&check.points);
    check
}

/// Why a point is left out.
enum LeftOut {
    /// The network was not held.
    NotHeld,
    /// A way was not measured, or some of its calls failed.
    NotMeasured,
}

fn checked(
    rows: &Ways<'_>,
    variants: &[&Variant],
    run: &Run,
    measured: &Findings,
) -> Result<CheckedPoint, LeftOut> {
    let mut times = BTreeMap::new();
    for variant in variants {
        let way = variant.way_at_point().ok_or(LeftOut::NotMeasured)?;
        times.insert(way, median(variant, run, measured)?);
    }
    point(rows, variants, &times).ok_or(LeftOut::NotMeasured)
}

/// A point at which the ways took these times.
fn point(
    rows: &Ways<'_>,
    variants: &[&Variant],
    times: &BTreeMap<&str, f64>,
) -> Option<CheckedPoint> {
    let first = variants.first()?;
    let Target::Call(call) = &first.settings.target else {
        return None;
    };
    let size = first.settings.target.clone().take_size()?;
    let size = size.or(first.scale)?;
    let terms = &call.link.as_ref()?.terms;
    let network = Network::new(terms).ok()?;
    let connection = connection(call.options.connection == ConnectionUse::PerCall);
    let mut ways = map::at(rows, size);
    ways.retain(|way| times.contains_key(way.series));
    let cell = map::cell(&ways, &network, connection)?;
    let fastest = times.values().copied().reduce(f64::min)?;
    Some(CheckedPoint {
        size,
        bits_per_second: network.bits_per_second()?,
        round_trip_ns: terms.round_trip().as_nanos() as u64,
        connection,
        regret: times.get(&*cell.choice)? / fastest - 1.0,
        is_close: is_close(&cell),
        times: cell
            .times
            .into_iter()
            .filter_map(|time| {
                Some(CheckedTime {
                    measured_ns: *times.get(&*time.series)?,
                    computed_ns: time.ns,
                    series: time.series,
                })
            })
            .collect(),
        choice: cell.choice,
    })
}

/// The measured median of a way at a point, ns.
fn median(variant: &Variant, run: &Run, measured: &Findings) -> Result<f64, LeftOut> {
    let mut trials = run.trials.iter();
    let trial = trials.find(|trial| trial.variant == variant.name);
    let Some(TrialOutcome::Measured(figures)) = trial.map(|trial| &trial.outcome) else {
        return Err(LeftOut::NotMeasured);
    };
    let link = figures.link.as_ref().ok_or(LeftOut::NotMeasured)?;
    if !link.is_held_for_most() {
        return Err(LeftOut::NotHeld);
    }
    let median = || {
        let placement = *run.plan.placements.first()?;
        let cell = measured.figures(&variant.name, placement)?;
        Some(cell.latency.as_ref()?.p50_ns)
    };
    let has_failed = figures.calls.failed_total() > 0;
    median().filter(|_| !has_failed).ok_or(LeftOut::NotMeasured)
}

/// Whether the computed times of the two fastest ways are close.
fn is_close(cell: &MapCell) -> bool {
    let mut times: Vec<f64> = cell.times.iter().map(|time| time.ns).collect();
    times.sort_by(f64::total_cmp);
    matches!(times[..], [first, second, ..] if second <= first * CLOSE)
}

fn errors(points: &[CheckedPoint]) -> Option<MapErrors> {
    let times = points.iter().flat_map(|point| &point.times);
    let mut errors: Vec<f64> = times
        .map(|time| time.computed_ns / time.measured_ns - 1.0)
        .collect();
    errors.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let quantile = |part: f64| {
        let rank = (part * errors.len() as f64).ceil() as usize;
        errors.get(rank.saturating_sub(1)).map(|error| error.abs())
    };
    let regrets = points.iter().map(|point| point.regret);
    Some(MapErrors {
        times: errors.len(),
        median: quantile(0.5)?,
        p95: quantile(0.95)?,
        worst: *errors.last()?,
        right: points.iter().filter(|point| point.is_right()).count(),
        worst_regret: regrets.reduce(f64::max)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(choice: &str, times: [(&str, f64, f64); 2]) -> CheckedPoint {
        let fastest = times[0].2.min(times[1].2);
        let chosen = times
            .iter()
            .find(|(series, ..)| *series == choice)
            .unwrap()
            .2;
        CheckedPoint {
            size: 1,
            bits_per_second: 1_000_000,
            round_trip_ns: 1_000_000,
            connection: MappedConnection::Kept,
            is_close: false,
            choice: choice.to_owned(),
            regret: chosen / fastest - 1.0,
            times: times
                .map(|(series, computed_ns, measured_ns)| CheckedTime {
                    series: series.to_owned(),
                    computed_ns,
                    measured_ns,
                })
                .to_vec(),
        }
    }

    #[test]
    fn errors_are_relative_to_what_was_measured() {
        let points = [
            point("grpc", [("grpc", 102.0, 100.0), ("rest", 198.0, 200.0)]),
            point("rest", [("grpc", 90.0, 100.0), ("rest", 95.0, 104.0)]),
            point("rest", [("grpc", 100.0, 80.0), ("rest", 100.0, 100.0)]),
        ];
        let errors = errors(&points).unwrap();
        assert_eq!((errors.times, errors.right), (6, 2));
        // 0, 1, 2, 8.7, 10 and 25%.
        assert!((errors.median - 0.02).abs() < 1e-9, "{errors:?}");
        assert!((errors.p95 - 0.25).abs() < 1e-9, "{errors:?}");
        assert!((errors.worst - 0.25).abs() < 1e-9, "{errors:?}");
        assert!((errors.worst_regret - 0.25).abs() < 1e-9, "{errors:?}");
        assert_eq!(super::errors(&[]), None);
    }

    #[test]
    fn a_way_between_two_sizes_has_a_part_of_both() {
        let way = |latency: f64, bytes: u64| Way {
            series: "grpc",
            variant: "grpc",
            calls: crate::evaluate::network::Computable::of("grpc", latency, bytes),
            departures: 1,
            response_bytes: None,
        };
        let rows = Ways::from([(1, vec![way(1e5, 1_000)]), (11, vec![way(2e5, 11_000)])]);
        let network = Network::unqueued(1_000_000_000, 0);
        let time = |size: u32| {
            let ways = map::at(&rows, size);
            let time = ways[0]
                .calls
                .time(&network, rpcgauge_model::Connection::Kept);
            time.unwrap()
        };
        let [first, middle, last] = [1, 6, 11].map(time);
        // Headers of packets are the only part that is not linear.
        assert!((middle / f64::midpoint(first, last) - 1.0).abs() < 0.01);
        assert!(
            map::at(&rows, 12).is_empty(),
            "larger than what was measured"
        );
    }
}
