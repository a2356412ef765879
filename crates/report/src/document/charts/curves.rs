//! Latency by percentile.

use rpcgauge_study::settings::Timing;

use super::super::chart::{Axis, Chart, Line, Plot, Tick, Weight};
use super::super::groups::Group;
use crate::findings::{Distribution, VariantFindings};
use crate::units;

/// The classes of a plot's curves. A group with more variants than classes has several plots.
pub(super) const SERIES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// The number of points of a curve per factor of ten of the tail.
const POINTS_A_DECADE: f64 = 24.0;

/// Latency by percentile, on an axis on which each further nine of the percentile has the same width.
pub(super) fn chart(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let mut plots = Vec::new();
    for group in groups {
        for timing in [Timing::Stages, Timing::Load] {
            let of_timing = group.members.iter().filter(|(v, _)| v.timing == timing);
            let curves: Vec<(&VariantFindings, &Distribution)> = of_timing
                .filter_map(|(v, cell)| Some((*v, cell.figures.as_deref()?.latency.as_ref()?)))
                .collect();
            for some in curves.chunks(SERIES.len()) {
                plots.push(curve(group.title.as_deref(), timing, some));
            }
        }
    }
    let intro = "Latency by percentile. To the right, each further nine of the percentile has the \
                 same width.";
    Chart::new(weight, "Latency", intro, None, plots)
}

fn curve(
    group: Option<&str>,
    timing: Timing,
    curves: &[(&VariantFindings, &Distribution)],
) -> Plot {
    let is_codec = curves.iter().all(|(variant, _)| variant.how.is_codec());
    let timing = match timing {
        Timing::Stages if is_codec => "one message at a time",
        Timing::Stages => "one call at a time",
        Timing::Load => "under load",
    };
    let title = group.map_or_else(|| timing.to_owned(), |group| format!("{group}, {timing}"));
    let ns = |of: fn(&Distribution) -> f64| curves.iter().map(move |(_, l)| of(l));
    let nines = curves.iter().map(|(_, l)| tail(l)).fold(1.0, f64::max);
    let low = ns(|l| l.min_ns).fold(f64::INFINITY, f64::min);
    let axis = Axis::over(low, ns(|l| l.max_ns).fold(0.0, f64::max));
    let line =
        |((variant, latency), class): (&(&VariantFindings, &Distribution), &'static str)| Line {
            name: variant.name.clone(),
            class,
            points: percentile_points(latency, nines, axis),
            figures: vec![
                units::time(latency.p50_ns),
                latency.p99_ns.map_or_else(units::none, units::time),
            ],
        };
    Plot {
        label: format!("Latency by percentile, {title}; the figures are in the table of figures"),
        title,
        x: percentiles(nines),
        y: axis.times(),
        lines: curves.iter().zip(SERIES).map(line).collect(),
        heads: vec!["p50", "p99"],
        ..Plot::default()
    }
}

/// The number of factors of ten of the tail that a distribution can show: its last call is 1/`count` of all.
fn tail(latency: &Distribution) -> f64 {
    (latency.count.max(1) as f64).log10().max(0.301)
}

fn percentile_points(latency: &Distribution, nines: f64, axis: Axis) -> Vec<(f64, f64)> {
    let end = tail(latency);
    let histogram = latency.histogram.unpack();
    let steps = (end * POINTS_A_DECADE).ceil() as u32;
    let point = |step: u32| {
        let x = end * f64::from(step) / f64::from(steps.max(1));
        let ns = histogram.quantile(1.0 - 10_f64.powf(-x));
        (x / nines, axis.place(ns))
    };
    (0..=steps).map(point).collect()
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
    let tick = |(x, label): (f64, &str)| Tick {
        at: x / nines,
        label: label.to_owned(),
    };
    shown.map(tick).collect()
}
