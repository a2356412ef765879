//! Latency by the rate of calls: over the steps of a ramp, or the trials of a search for the highest rate.

use rpcgauge_study::objective::{Measure, Objective};

use super::super::chart::{Axis, Chart, Line, Mark, Marks, Plot, Size, Weight};
use crate::findings::capacity::CapacityFindings;
use crate::findings::objective::{Checked, MissedObjective};
use crate::findings::{Figures, Findings};
use crate::{distinct, units, words};

const P50: Measure = Measure::Percentile(50.0);
const P90: Measure = Measure::Percentile(90.0);
const P99: Measure = Measure::Percentile(99.0);

/// Rates that differ by more than this factor are shown on a logarithmic axis.
const LOG_FROM: f64 = 2.0;

/// The classes of lines that have no class of their own.
const OTHERS: [&str; 4] = ["s3", "s5", "s6", "s7"];

/// A trial or a step, with its target rate.
struct Tried<'a> {
    /// The target that was called, if there are two.
    target: Option<&'a str>,
    rate: f64,
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
    checked: &'a Checked,
}

/// What a line shows.
#[derive(Clone, Copy, PartialEq)]
struct Series<'a> {
    target: Option<&'a str>,
    measure: Measure,
}

/// The trials of a search, with the rate that it found.
pub(in crate::document) fn of_search(found: &CapacityFindings) -> Option<Chart> {
    let tried = found.trials.iter().map(|trial| Tried {
        target: None,
        rate: trial.rate,
        p50_ns: trial.latency_p50_ns,
        p99_ns: trial.latency_p99_ns,
        checked: &trial.checked,
    });
    let held = found.held.map(|held| held.rate);
    let said = words::joined(words::capacity::sentences(found), " ");
    let by_rate = ByRate::of(tried.collect(), &found.objectives)?;
    by_rate.chart("trial", held, &said)
}

/// The steps of a ramp.
pub(in crate::document) fn of_ramp(figures: &Figures, objectives: &[Objective]) -> Option<Chart> {
    let tried = steps(None, figures).collect();
    ByRate::of(tried, objectives)?.chart("step", None, IN_TABLE)
}

/// The steps of the targets that are compared in a ramp.
pub(in crate::document) fn of_ramps(findings: &Findings) -> Option<Chart> {
    let tried = findings.live().flat_map(|variant| {
        let figures = variant.measured().map(|(_, figures)| figures);
        figures.flat_map(|figures| steps(Some(&variant.name), figures))
    });
    let objectives = findings.objectives.iter();
    let objectives = distinct(objectives.map(|found| found.objective.clone()));
    ByRate::of(tried.collect(), &objectives)?.chart("step", None, IN_TABLE)
}

const IN_TABLE: &str = "The figures are in the table of steps.";

fn steps<'a>(target: Option<&'a str>, figures: &'a Figures) -> impl Iterator<Item = Tried<'a>> {
    let steps = figures.steps.iter().filter(|step| step.started > 0);
    steps.map(move |step| Tried {
        target,
        rate: (step.from + step.to) / 2.0,
        p50_ns: step.latency.as_ref().map(|latency| latency.p50_ns),
        p99_ns: step.latency.as_ref().and_then(|latency| latency.p99_ns),
        checked: &step.checked,
    })
}

/// Trials or steps with their axes, by rate.
struct ByRate<'a> {
    tried: Vec<Tried<'a>>,
    objectives: &'a [Objective],
    /// The lines, each with its class.
    series: Vec<(Series<'a>, &'static str)>,
    x: Axis,
    y: Axis,
}

impl<'a> ByRate<'a> {
    /// `None` if there are less than two rates, or no latency.
    fn of(mut tried: Vec<Tried<'a>>, objectives: &'a [Objective]) -> Option<Self> {
        let targets = distinct(tried.iter().map(|tried| tried.target));
        tried.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let (lowest, highest) = (tried.first()?.rate, tried.last()?.rate);
        if lowest == highest {
            return None;
        }
        let asked = bounds(objectives).map(|objective| objective.measure);
        let measures = distinct([P50].into_iter().chain(asked).chain([P99]));
        let times = tried.iter().flat_map(|tried| {
            let times = measures.iter().filter_map(|it| tried.time(*it));
            times.filter(|ns| ns.is_finite())
        });
        let times = times.chain(bounds(objectives).map(|objective| objective.bound));
        let times: Vec<f64> = times.collect();
        let least = times.iter().copied().reduce(f64::min)?;
        let most = times.into_iter().fold(least, f64::max);
        let mut others = OTHERS.into_iter().cycle();
        let mut class = |series: Series<'_>| match series.measure {
            _ if series.target != targets[0] => others.next().unwrap_or_default(),
            P50 => "s4",
            P90 => "s2",
            P99 => "s1",
            _ => others.next().unwrap_or_default(),
        };
        let series = targets.iter().flat_map(|&target| {
            measures
                .iter()
                .map(move |&measure| Series { target, measure })
        });
        Some(Self {
            series: series.map(|series| (series, class(series))).collect(),
            tried,
            objectives,
            x: if highest / lowest > LOG_FROM {
                Axis::log(lowest, highest)
            } else {
                Axis::Linear {
                    high: highest * 1.08,
                }
            },
            y: Axis::over(least, most),
        })
    }

    fn chart(&self, each: &str, held: Option<f64>, said: &str) -> Option<Chart> {
        let title = "Latency over the target rate, in calls per second";
        let marks = self.marks();
        let intro = self.intro(each, &marks);
        let mut lines = self.medians();
        lines.extend(self.limits(held));
        let plot = Plot {
            title: title.to_owned(),
            label: format!("{title}. {said}"),
            size: Size::Whole,
            x: self.x.labels(units::rate),
            y: self.y.times(),
            lines,
            points: marks,
            ..Plot::default()
        };
        Chart::new(Weight::Curves, "Latency by rate", intro, None, vec![plot])
    }

    /// The trials or steps of a line.
    fn tried(&self, series: Series<'a>) -> impl Iterator<Item = &Tried<'a>> {
        let tried = self.tried.iter();
        tried.filter(move |tried| tried.target == series.target)
    }

    /// A line for each measure and target, through the medians at each rate.
    fn medians(&self) -> Vec<Line> {
        let line = |(series, class): &(Series<'a>, &'static str)| {
            let median = |same: &[&Tried<'_>]| {
                let times = same.iter();
                let times = times.filter_map(|it| it.time(series.measure));
                let ns = middle(times.collect())?;
                Some((self.x.place(same[0].rate), self.y.place(ns)))
            };
            let own: Vec<&Tried<'_>> = self.tried(*series).collect();
            let same = own.chunk_by(|one, other| one.rate == other.rate);
            let points = same.filter_map(median).collect();
            let name = match series.target {
                None => name(series.measure),
                Some(target) => format!("{target} {}", name(series.measure)),
            };
            Line::parts(&(class, name.into()), [points])
        };
        self.series.iter().flat_map(line).collect()
    }

    /// A horizontal line for each objective, and a vertical line at the rate that was found.
    fn limits(&self, held: Option<f64>) -> Vec<Line> {
        let bound = |objective: &Objective| {
            let y = self.y.place(objective.bound);
            let named = ("target", objective.to_string().into());
            Line::parts(&named, [vec![(0.0, y), (1.0, y)]])
        };
        let found = held.map(|rate| {
            let x = self.x.place(rate);
            let name = format!("highest rate that met them, {}/s", units::rate(rate));
            Line::parts(&("held", name.into()), [vec![(x, 0.0), (x, 1.0)]])
        });
        let bounds = bounds(self.objectives).flat_map(bound);
        bounds.chain(found.into_iter().flatten()).collect()
    }

    /// The figures of each trial or step, by its outcome.
    fn marks(&self) -> Vec<Marks> {
        let of_kind = |mark| {
            let at = self.series.iter().flat_map(|(series, class)| {
                let tried = self.tried(*series).filter(|tried| tried.mark() == mark);
                tried.filter_map(|tried| {
                    let ns = tried.time(series.measure)?;
                    Some((*class, (self.x.place(tried.rate), self.y.place(ns))))
                })
            });
            Marks {
                mark,
                name: match mark {
                    _ if self.objectives.is_empty() => "",
                    Mark::Dot => "met all objectives",
                    Mark::Cross => "missed an objective",
                    Mark::Ring => "too few calls to tell",
                },
                at: at.collect(),
            }
        };
        let kinds = [Mark::Dot, Mark::Cross, Mark::Ring].map(of_kind);
        let mut marks = Vec::from(kinds);
        marks.retain(|marks| !marks.at.is_empty());
        marks
    }

    fn intro(&self, each: &str, marks: &[Marks]) -> String {
        let covered = match bounds(self.objectives).next() {
            None => "Percentiles are of the calls that succeeded.",
            Some(_) => {
                "A percentile with an objective covers all calls that were due; the others cover those that \
                 succeeded."
            }
        };
        let mut at = marks.iter().flat_map(|marks| &marks.at);
        let upper = if at.any(|(_, (_, y))| *y == 1.0) {
            " A mark at the upper edge is a percentile that falls on a call that never succeeded."
        } else {
            ""
        };
        format!("Each mark is a {each}; lines connect the medians. {covered}{upper}")
    }
}

impl Tried<'_> {
    /// The figure of a measure, ns: what an objective with this measure was checked against, or else of the calls that
    /// succeeded. Infinite if it falls on a call that never succeeded.
    fn time(&self, measure: Measure) -> Option<f64> {
        let Checked { met, missed } = self.checked;
        let met = met.iter().find(|met| met.objective.measure == measure);
        let missed = missed
            .iter()
            .find(|missed| missed.objective.measure == measure);
        match (met, missed, measure) {
            (Some(met), ..) => Some(met.figure),
            (None, Some(missed), _) => {
                let is_lost = missed.unanswered.is_some();
                missed.figure.or(is_lost.then_some(f64::INFINITY))
            }
            (None, None, P50) => self.p50_ns,
            (None, None, P99) => self.p99_ns,
            (None, None, _) => None,
        }
    }

    fn mark(&self) -> Mark {
        let is_open =
            |missed: &MissedObjective| missed.figure.is_none() && missed.unanswered.is_none();
        match &self.checked.missed[..] {
            [] => Mark::Dot,
            missed if missed.iter().all(is_open) => Mark::Ring,
            _ => Mark::Cross,
        }
    }
}

/// The objectives of latency.
fn bounds(objectives: &[Objective]) -> impl Iterator<Item = &Objective> {
    let others = [Measure::Errors, Measure::Goodput];
    let objectives = objectives.iter();
    objectives.filter(move |objective| !others.contains(&objective.measure))
}

fn name(measure: Measure) -> String {
    match measure {
        Measure::Percentile(percentile) => format!("p{percentile}"),
        Measure::Max => "maximum".to_owned(),
        _ => "mean".to_owned(),
    }
}

/// The median, which may be infinite; `None` without values.
fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    Some((values[(values.len() - 1) / 2] + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Sample, capacity, findings, ramp};

    fn plot(chart: Option<Chart>) -> Plot {
        let mut plots = chart.expect("several rates").plots;
        assert_eq!(plots.len(), 1);
        plots.remove(0)
    }

    fn names(plot: &Plot) -> Vec<&str> {
        plot.lines.iter().map(|line| &*line.name).collect()
    }

    /// The meaning and number of the marks of each kind.
    fn marks(plot: &Plot) -> Vec<(Mark, &str, usize)> {
        let marks = plot.points.iter();
        let marks = marks.map(|marks| (marks.mark, marks.name, marks.at.len()));
        marks.collect()
    }

    fn of_ramp_of(sample: &Sample) -> Option<Chart> {
        let findings = findings(sample);
        let (_, figures) = findings.variants[0].measured().next().unwrap();
        of_ramp(figures, &sample.plan.objectives)
    }

    #[test]
    fn a_search_has_its_trials_by_outcome_its_objective_and_its_rate() {
        let found = findings(&capacity()).capacity.unwrap();
        let plot = plot(of_search(&found));
        let rate = units::rate(found.held.unwrap().rate);
        let held = format!("highest rate that met them, {rate}/s");
        assert_eq!(names(&plot), ["p50", "p99", "p99<20ms", &held]);
        let met = found.trials.iter().filter(|trial| trial.held).count();
        let missed = found.trials.len() - met;
        assert!(met > 0 && missed > 0);
        assert_eq!(
            marks(&plot),
            [
                (Mark::Dot, "met all objectives", met * 2),
                (Mark::Cross, "missed an objective", missed * 2),
            ]
        );
        let [_, p99, bound, _] = &plot.lines[..] else {
            panic!("four lines")
        };
        let (lowest, highest) = (p99.points[0].1, p99.points.last().unwrap().1);
        assert!(lowest < bound.points[0].1 && bound.points[0].1 < highest);
        assert!(
            plot.label.contains("calls/s the service meets p99<20ms"),
            "{}",
            plot.label
        );
    }

    #[test]
    fn a_percentile_on_a_call_that_never_succeeded_is_at_the_upper_edge() {
        let plot = plot(of_ramp_of(&ramp()));
        assert_eq!(names(&plot), ["p50", "p99", "p50<5ms", "p99<5ms"]);
        let last = |line: &Line| line.points.last().unwrap().1;
        assert!(last(&plot.lines[0]) < 1.0, "half of the calls succeeded");
        assert_eq!(last(&plot.lines[1]), 1.0);
        assert_eq!(
            marks(&plot),
            [
                (Mark::Dot, "met all objectives", 4),
                (Mark::Cross, "missed an objective", 2),
            ],
            "not in the pause"
        );
    }

    #[test]
    fn what_the_calls_are_too_few_for_is_neither_met_nor_missed() {
        let mut sample = ramp();
        sample.plan.objectives = vec!["p99.9<10s".parse().unwrap()];
        let plot = plot(of_ramp_of(&sample));
        assert_eq!(names(&plot), ["p50", "p99", "p99.9<10s"]);
        assert_eq!(marks(&plot), [(Mark::Ring, "too few calls to tell", 6)]);
    }

    #[test]
    fn without_objectives_no_mark_has_a_meaning() {
        let mut sample = ramp();
        sample.plan.objectives.clear();
        let plot = plot(of_ramp_of(&sample));
        assert_eq!(names(&plot), ["p50", "p99"]);
        assert_eq!(marks(&plot), [(Mark::Dot, "", 6)]);
    }

    #[test]
    fn a_single_rate_has_no_chart() {
        let findings = findings(&ramp());
        let (_, figures) = findings.variants[0].measured().next().unwrap();
        let mut figures = figures.clone();
        figures.steps.truncate(1);
        assert!(of_ramp(&figures, &[]).is_none());
    }
}
