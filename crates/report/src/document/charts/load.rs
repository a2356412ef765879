//! A load of one service over time: its rate and its failures. They stand above its latency and share its time axis.

use super::super::chart::{Axis, Line, Plot, Size, Tick, named};
use super::{steps, timeline};
use crate::findings::timeline::Bin;
use crate::findings::{Figures, StepFindings};
use crate::units;

/// The minimum number of calls behind a point, on average: with fewer, whole calls per bin would look like a rate that
/// varies.
const CALLS_A_POINT: u64 = 40;

/// The minimum number of points, even if there are few calls.
const MIN_POINTS: usize = 20;

/// The plots of the rate and of failures; without failures only the first.
pub(super) fn plots(name: &str, figures: &Figures) -> Vec<Plot> {
    let Some(end) = timeline::end(&figures.timeline) else {
        return Vec::new();
    };
    [rate(name, figures, end), failures(name, figures, end)]
        .into_iter()
        .flatten()
        .collect()
}

/// Calls per second: the target, what succeeded, and for a ramp what succeeded within each step.
fn rate(name: &str, figures: &Figures, end: f64) -> Option<Plot> {
    let points = points(&figures.timeline.bins);
    let target = target(figures, end);
    let goodput = |step: &StepFindings| (step.lasted_ns > 0).then_some(step.goodput);
    let highest = [
        points.iter().map(|point| point.answered).reduce(f64::max),
        target.iter().map(|(_, rate)| *rate).reduce(f64::max),
        steps::reached(figures).filter_map(goodput).reduce(f64::max),
    ];
    let high = highest.into_iter().flatten().reduce(f64::max)?.max(1.0);
    let y = Axis::Linear { high: high * 1.08 };
    let target = target.into_iter().map(|(at, rate)| (at, y.place(rate)));
    let answered = points.iter();
    let answered = answered.map(|point| (point.middle_ns / end, y.place(point.answered)));
    let mut lines = Line::parts(&named("target", "target"), [target.collect()]);
    let due = named("mean", "succeeded, at the time when due");
    lines.extend(Line::parts(&due, [answered.collect()]));
    let within = named("s1", "succeeded within the step, whenever due");
    lines.extend(steps::levels(figures, &within, y, end, goodput));
    let title = "Calls per second";
    Some(Plot {
        title: title.to_owned(),
        label: format!(
            "{title} to {name} over time: {} succeeded per second on average",
            units::number(figures.goodput)
        ),
        lines,
        y: y.labels(units::rate),
        ..strip(figures, end)
    })
}

/// Failed calls per second, at the time when they were due; `None` without any.
fn failures(name: &str, figures: &Figures, end: f64) -> Option<Plot> {
    let bins = &figures.timeline.bins;
    let points = points(bins);
    let high = points.iter().map(|point| point.failed).reduce(f64::max)?;
    let failed = bins.iter().map(|bin| bin.failed);
    let failed = failed.fold(0, u64::saturating_add);
    if failed == 0 || high == 0.0 {
        return None;
    }
    let y = Axis::Linear { high: high * 1.08 };
    let place = |point: &Point| (point.middle_ns / end, y.place(point.failed));
    let title = "Failures per second";
    Some(Plot {
        title: title.to_owned(),
        label: format!(
            "{title} of {name} over time: {} at most, {} in total",
            units::number(high),
            units::counted(failed, "failed call")
        ),
        lines: Line::parts(&named("failing", ""), [points.iter().map(place).collect()]),
        y: y.labels(units::rate),
        ..strip(figures, end)
    })
}

/// A plot above another one that labels their time axis.
fn strip(figures: &Figures, end: f64) -> Plot {
    let unlabelled = |tick: Tick| Tick {
        label: String::new(),
        ..tick
    };
    let x = Axis::Linear { high: end }.times().into_iter();
    Plot {
        size: Size::Strip,
        x: x.map(unlabelled).collect(),
        trials: timeline::trial_starts(&figures.timeline, end),
        ..Plot::default()
    }
}

/// The target rate over time; empty in a closed loop.
fn target(figures: &Figures, end: f64) -> Vec<(f64, f64)> {
    let last = figures.timeline.bins.iter().rfind(|bin| bin.due_ns > 0);
    let due = last.map_or(0, |bin| bin.start_ns.saturating_add(bin.due_ns));
    let due = (due as f64).min(end);
    let of_step = |step: &StepFindings| {
        let [from, to] = steps::ends(step);
        // A load can end before its ramp.
        let part = ((due - from) / (to - from)).clamp(0.0, 1.0);
        let rate = step.from + (step.to - step.from) * part;
        [(from / end, step.from), (to.min(due) / end, rate)]
    };
    match figures.target_rate {
        Some(rate) => vec![(0.0, rate), (due / end, rate)],
        None => {
            let begun = steps::reached(figures).filter(|step| steps::ends(step)[0] < due);
            begun.flat_map(of_step).collect()
        }
    }
}

/// The calls of neighbouring bins, per second.
struct Point {
    middle_ns: f64,
    answered: f64,
    failed: f64,
}

/// As many bins to a point as are needed for [`CALLS_A_POINT`].
fn points(bins: &[Bin]) -> Vec<Point> {
    let calls = bins
        .iter()
        .map(|bin| bin.answered.saturating_add(bin.failed));
    let calls = calls.fold(0, u64::saturating_add).max(1);
    let enough = (CALLS_A_POINT * bins.len() as u64).div_ceil(calls);
    let most = (bins.len() / MIN_POINTS).max(1);
    let together = usize::try_from(enough).unwrap_or(most).clamp(1, most);
    let point = |bins: &[Bin]| {
        let sum = |of: fn(&Bin) -> u64| bins.iter().map(|bin| of(bin) as f64).sum::<f64>();
        let due_ns = sum(|bin| bin.due_ns);
        let per_second = |calls: f64| calls / (due_ns / 1e9);
        (due_ns > 0.0).then(|| Point {
            middle_ns: bins[0].start_ns as f64 + due_ns / 2.0,
            answered: per_second(sum(|bin| bin.answered)),
            failed: per_second(sum(|bin| bin.failed)),
        })
    };
    bins.chunks(together).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A bin of a second in which calls were due for `due_ns`.
    fn bin(second: u64, due_ns: u64, answered: u64, failed: u64) -> Bin {
        Bin {
            start_ns: second * SECOND,
            length_ns: SECOND,
            due_ns,
            answered,
            failed,
            ..Bin::default()
        }
    }

    fn load(bins: Vec<Bin>) -> Figures {
        let mut findings = crate::fixture::findings(&crate::fixture::live());
        let mut figures = *findings.variants[0].cells[0].figures.take().unwrap();
        figures.timeline.bins = bins;
        figures
    }

    #[test]
    fn the_end_of_a_load_is_no_dip() {
        let steady = (0..40).map(|second| bin(second, SECOND, 100, 0));
        let end = [bin(40, SECOND / 4, 25, 0), bin(41, 0, 0, 0)];
        let points = points(&steady.chain(end).collect::<Vec<_>>());
        assert_eq!(points.len(), 41, "none after the last call was due");
        assert!(points.iter().all(|point| point.answered == 100.0));
        assert_eq!(points[40].middle_ns, 40.125e9);
    }

    #[test]
    fn a_point_has_enough_calls_to_show_a_rate() {
        // 2.5 calls per second, evenly spaced: bins have two calls or three.
        let bins: Vec<Bin> = (0..200).map(|n| bin(n, SECOND, 2 + n % 2, 0)).collect();
        let points = points(&bins);
        assert_eq!(points.len(), 20, "no fewer");
        assert!(points.iter().all(|point| point.answered == 2.5));
    }

    #[test]
    fn failures_have_a_plot_if_there_are_any() {
        let titles = |figures: &Figures| {
            let plots = plots("target", figures).into_iter();
            plots.map(|plot| plot.title).collect::<Vec<_>>()
        };
        let mut bins = vec![bin(0, SECOND, 100, 0), bin(1, SECOND, 90, 0)];
        assert_eq!(titles(&load(bins.clone())), ["Calls per second"]);
        bins[1].failed = 10;
        assert_eq!(
            titles(&load(bins)),
            ["Calls per second", "Failures per second"]
        );
    }

    #[test]
    fn a_rate_has_its_target_for_as_long_as_calls_were_due() {
        let bins = vec![bin(0, SECOND, 500, 0), bin(1, 0, 0, 0)];
        let mut figures = load(bins);
        assert_eq!(figures.target_rate, Some(500.0));
        assert_eq!(target(&figures, 2e9), [(0.0, 500.0), (0.5, 500.0)]);
        figures.target_rate = None;
        assert_eq!(target(&figures, 2e9), [], "a closed loop has none");
        figures.timeline.bins[0].answered = 60;
        let labels = rate("target", &figures, 2e9).unwrap().y.into_iter();
        let labels: Vec<String> = labels.map(|tick| tick.label).collect();
        assert_eq!(labels, ["0", "20", "40", "60"]);
    }

    #[test]
    fn a_ramp_has_what_succeeded_in_each_step_and_no_percentile_in_a_pause() {
        let findings = crate::fixture::findings(&crate::fixture::ramp());
        let (_, figures) = findings.variants[0].measured().next().unwrap();
        let y = Axis::Linear { high: 1e9 };
        let p50 = named("s4", "p50");
        let lines = steps::levels(figures, &p50, y, 8e9, |s| Some(s.latency.as_ref()?.p50_ns));
        let names: Vec<&str> = lines.iter().map(|line| &*line.name).collect();
        assert_eq!(names, ["p50", ""], "the pause is between them");
        let ends = lines.iter().map(|line| line.points.last().unwrap().0);
        assert_eq!(ends.collect::<Vec<_>>(), [0.5, 1.0]);
        let rate = rate("target", figures, 8e9).unwrap();
        let within = |line: &&Line| line.name.starts_with("succeeded within the step");
        let within = rate.lines.iter().find(within).unwrap();
        assert_eq!(within.points.len(), 8, "two for each step");
        assert_eq!(within.points[4].1, 0.0, "in the pause");
    }

    #[test]
    fn a_slope_that_was_cut_short_keeps_its_slope() {
        let findings = crate::fixture::findings(&crate::fixture::ramp());
        let (_, figures) = findings.variants[0].measured().next().unwrap();
        let mut figures = figures.clone();
        figures.steps.truncate(1);
        (figures.steps[0].from, figures.steps[0].to) = (0.0, 100.0);
        figures.target_rate = None;
        figures.timeline.bins = (0..4).map(|n| bin(n, SECOND, 50, 0)).collect();
        assert_eq!(target(&figures, 1e9), [(0.0, 0.0), (1.0, 50.0)]);
        assert_eq!(target(&figures, 4e9), [(0.0, 0.0), (0.5, 100.0)]);
        // The last call was due after 1 s, but it took until 4 s.
        figures.timeline.bins = vec![bin(0, SECOND, 50, 0), bin(1, 0, 0, 0)];
        assert_eq!(target(&figures, 4e9), [(0.0, 0.0), (0.25, 50.0)]);
    }
}
