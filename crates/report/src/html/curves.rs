//! Latency by percentile, on an axis that gives each further nine of the tail the same room.

use rpcgauge_study::settings::Timing;
use serde::Serialize;

use super::plot::{self, Axis, Tick, per_cent};
use crate::findings::Distribution;
use crate::questions::Group;
use crate::units::{self, NONE};

/// A plot with at most this many curves; a larger group has several.
const MOST_CURVES: usize = 8;

/// Points of a curve for each factor of ten of the tail.
const POINTS_A_DECADE: f64 = 24.0;

/// A plot of the curves of some variants.
#[derive(Debug, Serialize)]
pub(crate) struct CurvesView {
    title: String,
    curves: Vec<Curve>,
    x: Vec<Tick>,
    y: Vec<Tick>,
}

/// One variant's curve.
#[derive(Debug, Serialize)]
pub(crate) struct Curve {
    name: String,
    /// Which colour and dash.
    series: usize,
    path: String,
    p50: String,
    p99: String,
}

/// The plots of all groups.
pub(crate) fn views(groups: &[Group<'_>]) -> Vec<CurvesView> {
    let mut views = Vec::new();
    for group in groups {
        for timing in [Timing::Stages, Timing::Load] {
            let curves: Vec<(&str, &Distribution)> = group
                .members
                .iter()
                .filter(|(variant, _)| variant.timing == timing)
                .filter_map(|(v, cell)| {
                    Some((&*v.name, cell.figures.as_deref()?.latency.as_ref()?))
                })
                .collect();
            for some in curves.chunks(MOST_CURVES) {
                views.push(view(title(group.title.as_deref(), timing), some));
            }
        }
    }
    views
}

fn title(group: Option<&str>, timing: Timing) -> String {
    let timing = match timing {
        Timing::Stages => "one call after the other",
        Timing::Load => "under load",
    };
    group.map_or_else(|| timing.to_owned(), |group| format!("{group}, {timing}"))
}

fn view(title: String, curves: &[(&str, &Distribution)]) -> CurvesView {
    let nines = curves.iter().map(|(_, l)| tail(l)).fold(1.0, f64::max);
    let low = curves
        .iter()
        .map(|(_, l)| l.min_ns as f64)
        .fold(f64::INFINITY, f64::min);
    let high = curves
        .iter()
        .map(|(_, l)| l.max_ns as f64)
        .fold(0.0, f64::max);
    let axis = Axis::over(low, high);
    let curve = |(series, (name, latency)): (usize, &(&str, &Distribution))| Curve {
        name: (*name).to_owned(),
        series,
        path: path(latency, nines, axis),
        p50: units::time(latency.p50_ns as f64),
        p99: latency
            .p99_ns
            .map_or_else(|| NONE.to_owned(), |ns| units::time(ns as f64)),
    };
    CurvesView {
        title,
        curves: curves.iter().enumerate().map(curve).collect(),
        x: percentiles(nines),
        y: times(axis),
    }
}

/// How many factors of ten of its tail a distribution shows: each call is one part of `count`.
fn tail(latency: &Distribution) -> f64 {
    (latency.count.max(1) as f64).log10().max(0.301)
}

fn path(latency: &Distribution, nines: f64, axis: Axis) -> String {
    let end = tail(latency);
    let histogram = latency.histogram.unpack();
    let steps = (end * POINTS_A_DECADE).ceil() as u32;
    let points = (0..=steps).map(|step| {
        let x = end * f64::from(step) / f64::from(steps.max(1));
        let quantile = 1.0 - 10_f64.powf(-x);
        let ns = histogram.value_at_quantile(quantile);
        plot::point(x / nines, axis.place(ns as f64))
    });
    plot::path(points)
}

fn percentiles(nines: f64) -> Vec<Tick> {
    let known = [
        (2_f64.log10(), "50%"),
        (1.0, "90%"),
        (2.0, "99%"),
        (3.0, "99.9%"),
        (4.0, "99.99%"),
        (5.0, "99.999%"),
        (6.0, "99.9999%"),
        (7.0, "99.99999%"),
    ];
    let shown = known.into_iter().filter(|(x, _)| *x <= nines);
    shown
        .map(|(x, label)| Tick {
            at: per_cent(x / nines),
            label: label.to_owned(),
        })
        .collect()
}

/// Labels of a time axis, each with its unit.
pub(crate) fn times(axis: Axis) -> Vec<Tick> {
    let label = |ns: f64| {
        if ns == 0.0 {
            "0".to_owned()
        } else {
            units::round_time(ns)
        }
    };
    let tick = |ns: f64| Tick {
        at: per_cent(axis.place(ns)),
        label: label(ns),
    };
    axis.ticks().into_iter().map(tick).collect()
}
