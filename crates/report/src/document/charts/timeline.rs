//! Timelines: the consecutive trials of each variant, with their spikes.

use rpcgauge_stats::median;
use rpcgauge_study::record::EventKind;

use super::super::chart::{self, Axis, Chart, Line, Named, Plot, Size, Weight};
use super::super::groups::{self, Group, measured};
use super::super::{Column, Table};
use super::{heat_map, load};
use crate::findings::Figures;
use crate::findings::spikes::SpikeCauses;
use crate::findings::timeline::{Bin, HeatColumn, Spike, TimelineFindings};
use crate::{units, words};

/// With more trials than this, lines between them would hide everything else, so none are drawn.
const MAX_BOUNDARIES: usize = 60;

/// A line ends where no call succeeded for more than this part of the timeline, as in a pause.
const MAX_GAP: f64 = 0.05;

/// A pause is also longer than this many times the usual distance of points, since few calls are always far apart.
const MAX_SPACING: f64 = 4.0;

/// A timeline for each variant.
pub(super) fn chart(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let size = match groups::members(groups).count() {
        1 => Size::Whole,
        2 => Size::Half,
        _ => Size::Small,
    };
    let plots = measured(groups).flat_map(|(variant, figures)| {
        let is_load = size == Size::Whole && variant.how.service.is_some();
        let above = is_load.then(|| load::plots(&variant.name, figures));
        let latency = timeline(&variant.name, figures, size);
        above.into_iter().flatten().chain(latency)
    });
    let maps = measured(groups)
        .filter_map(|(variant, figures)| heat_map::plot(&variant.name, &figures.timeline, size));
    let mut all = measured(groups);
    let have_keys = all.all(|(_, figures)| has_key(size, &figures.timeline));
    let intro = if have_keys { WITH_KEYS } else { WITHOUT_KEYS };
    Chart::new(weight, "Timeline", intro, None, plots.chain(maps).collect())
}

/// Whether a plot names its lines: on the page's whole width, and if there are more than two.
fn has_key(size: Size, timeline: &TimelineFindings) -> bool {
    size == Size::Whole || timeline.heat_map.is_some()
}

const WITH_KEYS: &str = "All trials end to end. Each call counts at the time when it was due. Spikes of the latency are \
     marked above it.";

const WITHOUT_KEYS: &str = "Latency over the measured time, with all trials of a variant end to end: the mean (blue) and the \
     maximum (grey) at each moment; spikes are marked above.";

/// A percentile over time, with its line.
type Percentile = (Named, fn(&HeatColumn) -> Option<f64>);

const PERCENTILES: [Percentile; 3] = [
    (chart::named("s4", "p50"), |column| column.p50_ns),
    (chart::named("s2", "p90"), |column| column.p90_ns),
    (chart::named("s1", "p99"), |column| column.p99_ns),
];

/// The end of a timeline, ns; `None` if it is empty.
pub(super) fn end(timeline: &TimelineFindings) -> Option<f64> {
    let last = timeline.bins.last()?;
    Some(last.start_ns.saturating_add(last.length_ns).max(1) as f64)
}

/// The positions at which trials start, except for the first; none if there are too many.
pub(super) fn trial_starts(timeline: &TimelineFindings, end: f64) -> Vec<f64> {
    let starts = timeline.trial_starts_ns.iter().skip(1);
    let starts = starts.filter(|_| timeline.trial_starts_ns.len() <= MAX_BOUNDARIES);
    starts.map(|start| *start as f64 / end).collect()
}

/// The latency of a variant over time: percentiles if they are known, and otherwise the mean.
fn timeline(name: &str, figures: &Figures, size: Size) -> Option<Plot> {
    let timeline = &figures.timeline;
    let end = end(timeline)?;
    let bins = || timeline.bins.iter();
    let columns = timeline.heat_map.iter().flat_map(|map| &map.columns);
    let lows = columns.clone().filter_map(|column| column.p50_ns);
    let low = lows
        .chain(bins().filter_map(|bin| bin.mean_ns))
        .reduce(f64::min)?;
    let high = bins().map(|bin| bin.max_ns).max()? as f64;
    let axis = Axis::over(low, high);
    let middle = |start: u64, length: u64| ((start as f64 + length as f64 / 2.0) / end).min(1.0);
    let has_key = has_key(size, timeline);
    let line = |(class, name): &Named, points: Vec<(f64, f64)>| {
        let named = (*class, if has_key { name.clone() } else { "".into() });
        Line::parts(&named, between_pauses(&points).map(<[_]>::to_vec))
    };
    let of_bins = |named: Named, value: fn(&Bin) -> Option<f64>| {
        let place = |bin: &Bin| {
            let at = middle(bin.start_ns, bin.length_ns);
            Some((at, axis.place(value(bin)?)))
        };
        line(&named, bins().filter_map(place).collect())
    };
    let of_columns = |(named, value): &Percentile| {
        let place = |column: &HeatColumn| {
            let at = middle(column.start_ns, column.length_ns);
            Some((at, axis.place(value(column)?)))
        };
        line(named, columns.clone().filter_map(place).collect())
    };
    let longest = chart::named("longest", "maximum");
    let lines = match timeline.heat_map {
        Some(_) => {
            // Over the same columns as the percentiles, which it never falls below.
            let place = |column: &HeatColumn| {
                let end = column.start_ns.saturating_add(column.length_ns);
                let own = bins().filter(|bin| (column.start_ns..end).contains(&bin.start_ns));
                let longest = own.map(|bin| bin.max_ns).max().filter(|ns| *ns > 0)?;
                let at = middle(column.start_ns, column.length_ns);
                Some((at, axis.place(longest as f64)))
            };
            let mut lines = line(&longest, columns.clone().filter_map(place).collect());
            lines.extend(PERCENTILES.iter().rev().flat_map(of_columns));
            lines
        }
        None => {
            let mut lines = of_bins(longest, |bin| (bin.max_ns > 0).then_some(bin.max_ns as f64));
            lines.extend(of_bins(chart::named("mean", "mean"), |bin| bin.mean_ns));
            lines
        }
    };
    let summary = summary(timeline);
    let spiked = timeline.spikes.iter();
    let causes = timeline.causes.as_ref();
    Some(Plot {
        title: if size == Size::Whole { "Latency" } else { name }.to_owned(),
        label: format!("Timeline of {name}: {summary}"),
        size,
        x: Axis::Linear { high: end }.times(),
        y: axis.times(),
        lines,
        trials: trial_starts(timeline, end),
        spikes: spiked
            .map(|spike| middle(spike.start_ns, spike.length_ns))
            .collect(),
        marks: causes.map_or_else(Vec::new, |causes| marks(causes, end)),
        below: summary,
        table: (!timeline.spikes.is_empty()).then(|| ("Spikes", spikes(&timeline.spikes))),
        ..Plot::default()
    })
}

/// The points of a line, divided at pauses.
fn between_pauses(points: &[(f64, f64)]) -> impl Iterator<Item = &[(f64, f64)]> {
    let gaps = points.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let usual = median(&gaps.collect::<Vec<_>>()).unwrap_or(0.0);
    let most = MAX_GAP.max(MAX_SPACING * usual);
    points.chunk_by(move |(one, _), (next, _)| next - one <= most)
}

fn named(kind: EventKind) -> Named {
    let class = match kind {
        EventKind::GcPause => "m0",
        EventKind::Safepoint => "m1",
        EventKind::Deoptimization => "m2",
        EventKind::Compilation => "m3",
    };
    chart::named(class, words::spikes::event(kind))
}

/// The runtimes' events by kind, at their positions in a timeline that ends at `end`.
fn marks(causes: &SpikeCauses, end: f64) -> Vec<(Named, Vec<[f64; 2]>)> {
    let mut marks: Vec<(Named, Vec<[f64; 2]>)> = Vec::new();
    for event in &causes.events {
        let from = event.start_ns as f64 / end;
        let to = from + event.length_ns as f64 / end;
        let place = [from, to].map(|place| place.min(1.0));
        let named = named(event.kind);
        match marks.last_mut().filter(|(last, _)| *last == named) {
            Some((_, places)) => places.push(place),
            None => marks.push((named, vec![place])),
        }
    }
    marks
}

/// The number of trials, spikes, causes and failed calls, in words.
fn summary(timeline: &TimelineFindings) -> String {
    let trials = timeline.trial_starts_ns.len() as u64;
    let searched = trials - timeline.trials_not_searched.min(trials);
    let all = units::counted(trials, "trial");
    let mut text = match timeline.spikes_found {
        _ if searched == 0 => format!("{all}, too short to be searched for spikes"),
        0 => format!("{all}; no single spikes"),
        found => format!("{all}; {}", units::counted(found, "spike")),
    };
    let listed = timeline.spikes.len() as u64;
    if listed < timeline.spikes_found {
        text += &format!(", the {listed} highest marked");
    }
    if searched > 0 && searched < trials {
        text += &format!(", {} too short to be searched", trials - searched);
    }
    let failed = timeline.bins.iter().map(|bin| bin.failed);
    let failed = failed.fold(0, u64::saturating_add);
    if let Some(causes) = &timeline.causes {
        text += &format!("; {}", words::spikes::explained(causes));
    }
    if failed > 0 {
        text += &format!("; {} calls failed", units::count(failed));
    }
    text
}

fn spikes(spikes: &[Spike]) -> Table {
    let row = |spike: &Spike| {
        vec![
            spike.trial.to_string(),
            units::wall_clock_to_ms(spike.at_ms),
            units::ns(spike.offset_ns),
            units::ns(spike.max_ns),
            format!("{}×", units::ratio(spike.factor)),
        ]
    };
    let heads = [
        "trial",
        "at, UTC",
        "into the trial",
        "longest call",
        "× usual",
    ];
    Table {
        columns: heads.map(|title| Column::number(title, 0)).to_vec(),
        rows: spikes.iter().map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points that are this far apart, from 0.
    fn points(gaps: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
        let mut at = 0.0;
        let next = gaps.into_iter().map(|gap| {
            at += gap;
            (at, 0.5)
        });
        std::iter::once((0.0, 0.5)).chain(next).collect()
    }

    #[test]
    fn few_calls_are_one_line_and_a_pause_divides_it() {
        let parts = |gaps: Vec<f64>| -> Vec<usize> {
            between_pauses(&points(gaps)).map(<[_]>::len).collect()
        };
        assert_eq!(parts(vec![0.1; 9]), [10], "10 calls at 1 per second");
        assert_eq!(parts(vec![0.05, 0.05, 0.05, 0.7, 0.05, 0.05]), [4, 3]);
        let dense = || vec![0.004; 99];
        assert_eq!(parts([dense(), vec![0.2], dense()].concat()), [100, 100]);
        assert_eq!(parts([dense(), vec![0.04], dense()].concat()), [200]);
        assert_eq!(parts([dense(), vec![0.2, 0.3]].concat()), [100, 1, 1]);
        assert_eq!(parts(Vec::new()), [1], "a single call");
    }

    #[test]
    fn each_of_ten_calls_is_on_the_same_line() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let cell = &findings.variants[0].cells[0];
        let mut figures = cell.figures.as_deref().unwrap().clone();
        // 1 call per second for 10 s, in 100 bins.
        let bin = |n: u64| Bin {
            start_ns: n * 100_000_000,
            length_ns: 100_000_000,
            due_ns: 100_000_000,
            answered: u64::from(n.is_multiple_of(10)),
            mean_ns: n.is_multiple_of(10).then_some(1e6),
            max_ns: if n.is_multiple_of(10) { 1_000_000 } else { 0 },
            ..Bin::default()
        };
        figures.timeline.bins = (0..100).map(bin).collect();
        figures.timeline.heat_map = None;
        let plot = timeline("target", &figures, Size::Half).unwrap();
        let lines: Vec<(&str, usize)> = plot
            .lines
            .iter()
            .map(|line| (line.class, line.points.len()))
            .collect();
        assert_eq!(lines, [("longest", 10), ("mean", 10)]);
    }

    #[test]
    fn what_was_too_short_to_be_searched_is_not_said_to_have_no_spikes() {
        let said = |trials: u64, not_searched: u64, spikes_found: u64| {
            summary(&TimelineFindings {
                trial_starts_ns: (0..trials).collect(),
                trials_not_searched: not_searched,
                spikes_found,
                ..TimelineFindings::default()
            })
        };
        assert_eq!(
            said(1, 1, 0),
            "1 trial, too short to be searched for spikes"
        );
        assert_eq!(
            said(3, 3, 0),
            "3 trials, too short to be searched for spikes"
        );
        assert_eq!(
            said(3, 1, 0),
            "3 trials; no single spikes, 1 too short to be searched"
        );
        assert_eq!(said(3, 0, 0), "3 trials; no single spikes");
        assert!(said(3, 0, 5).starts_with("3 trials; 5 spikes"));
    }
}
