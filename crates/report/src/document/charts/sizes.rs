//! Plots of the cost of a call by the size of its message, with the sizes at which two lines cross.

use rpcgauge_stats::Better;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

use super::super::chart::{Axis, Chart, Line, Plot, Weight};
use super::super::{Column, Table};
use super::curves::SERIES;
use crate::distinct;
use crate::findings::sweep::{Crossing, Series, Sweep, Swept};
use crate::findings::{Findings, VariantFindings};
use crate::metric::{self, better, row};
use crate::units;
use crate::words;

/// The number of points of a line between two sizes, since a straight line is a curve on logarithmic axes.
const STEPS: u32 = 8;

/// A way to call, with its figures by size.
struct Curve<'a> {
    name: &'a str,
    figures: Vec<(f64, f64)>,
}

/// Plots for each metric in which these variants are compared at several sizes.
pub(super) fn chart(
    findings: &Findings,
    variants: &[&VariantFindings],
    placement: Placement,
    weight: Weight,
) -> Option<Chart> {
    let is_shown = |series: &Series| {
        let mut names = series.variants.values();
        names.any(|name| variants.iter().any(|variant| variant.name == *name))
    };
    let sweeps = findings.sweeps.iter();
    let sweeps = sweeps.filter(|sweep| sweep.series.iter().any(is_shown));
    let plots = sweeps.flat_map(|sweep| {
        let metrics = distinct(sweep.crossings.iter().map(|crossing| crossing.metric)).into_iter();
        metrics.flat_map(move |metric| plots(findings, sweep, metric, placement))
    });
    let intro = "The compared figures by the size of the message; both axes are logarithmic. Between two \
                 sizes a cost is drawn as a cost per call plus a cost per item. A vertical line marks \
                 where two lines cross, with its interval.";
    Chart::new(weight, "By size", intro, None, plots.collect())
}

/// The plots of a metric: several if there are more lines than colours.
fn plots(findings: &Findings, sweep: &Sweep, metric: Metric, placement: Placement) -> Vec<Plot> {
    let figure = |(size, name): (&u32, &String)| {
        let cell = findings.figures(name, placement)?;
        let figure = metric::of_cell(metric, cell).filter(|figure| *figure > 0.0)?;
        Some((f64::from(*size), figure))
    };
    let curves = sweep.series.iter().map(|series| Curve {
        name: &series.name,
        figures: series.variants.iter().filter_map(figure).collect(),
    });
    let curves: Vec<Curve<'_>> = curves.filter(|curve| curve.figures.len() > 1).collect();
    let plot = |curves: &[Curve<'_>]| plot(findings, sweep, metric, placement, curves);
    curves.chunks(SERIES.len()).map(plot).collect()
}

fn plot(
    findings: &Findings,
    sweep: &Sweep,
    metric: Metric,
    placement: Placement,
    curves: &[Curve<'_>],
) -> Plot {
    let (by, row) = (sweep.sized_by, row(metric));
    let axis = |of: fn(&(f64, f64)) -> f64| {
        let all = || curves.iter().flat_map(|curve| &curve.figures).map(of);
        Axis::log(
            all().fold(f64::INFINITY, f64::min),
            all().fold(0.0, f64::max),
        )
    };
    let (x, y) = (axis(|(size, _)| *size), axis(|(_, figure)| *figure));
    let is_drawn = |name: &String| curves.iter().any(|curve| curve.name == name);
    let crossings = sweep.crossings.iter().filter(|crossing| {
        crossing.metric == metric && is_drawn(&crossing.of) && is_drawn(&crossing.against)
    });
    let swept = crossings.filter_map(|crossing| {
        let mut all = crossing.placements.iter();
        Some((crossing, all.find(|swept| swept.placement == placement)?))
    });
    let swept: Vec<(&Crossing, &Swept)> = swept.collect();
    let said = swept.iter().map(|(crossing, swept)| {
        let names = [&crossing.of, &crossing.against];
        let [of, against] = names.map(|name| words::within_group(findings, sweep, name));
        let found = words::crossing_found(findings, sweep, crossing, swept);
        format!("{of} against {against}: {found}.")
    });
    let said = words::joined(said, " ");
    let turns = swept.iter().flat_map(|(_, swept)| &swept.turns);
    let drawn = turns.map(|turn| (x.place(turn.size), turn.interval.map(|end| x.place(end))));
    let line = |(curve, class): (&Curve<'_>, &'static str)| Line {
        name: words::within_group(findings, sweep, curve.name).to_owned(),
        class,
        points: points(metric, &curve.figures, x, y),
        figures: {
            let ends = [curve.figures.first(), curve.figures.last()];
            let ends = ends.into_iter().flatten();
            ends.map(|(_, figure)| row.value(*figure)).collect()
        },
    };
    let title = format!("{} by {by}", words::capital(row.name));
    Plot {
        label: format!("{title}. {said}"),
        title,
        x: x.labels(units::about),
        y: y.labels(|value| row.round_value(value)),
        lines: curves.iter().zip(SERIES).map(line).collect(),
        crossings: drawn.collect(),
        heads: vec!["smallest", "largest"],
        below: said,
        table: Some(("Figures", figures(findings, sweep, metric, curves))),
        ..Plot::default()
    }
}

/// The positions of a line's points. The line goes through its figures; between two figures it is a cost per call
/// plus a cost per item.
fn points(metric: Metric, figures: &[(f64, f64)], x: Axis, y: Axis) -> Vec<(f64, f64)> {
    // For calls per second, the cost is the time that each call takes.
    let cost = |figure: f64| match better(metric) {
        Better::Lower => figure,
        Better::Higher => 1.0 / figure,
    };
    let between = figures.windows(2).flat_map(|two| {
        let [(from, first), (to, second)] = [two[0], two[1]];
        let [a, b] = [first, second].map(cost);
        (0..STEPS).map(move |step| {
            let size = from * (to / from).powf(f64::from(step) / f64::from(STEPS));
            (size, cost(a + (b - a) * (size - from) / (to - from)))
        })
    });
    let all = between.chain(figures.last().copied());
    all.map(|(size, figure)| (x.place(size), y.place(figure)))
        .collect()
}

/// The figures of the lines.
fn figures(findings: &Findings, sweep: &Sweep, metric: Metric, curves: &[Curve<'_>]) -> Table {
    let mut table = Table {
        columns: vec![
            Column::text("", 0),
            Column::number(sweep.sized_by, 0),
            Column::number(row(metric).name, 0),
        ],
        ..Table::default()
    };
    for curve in curves {
        let name = words::within_group(findings, sweep, curve.name);
        table.add_group(curve.figures.iter().map(|(size, figure)| {
            let figure = row(metric).value(*figure);
            vec![name.to_owned(), units::about(*size), figure]
        }));
    }
    table
}
