//! The trials of each variant one after the other, with their spikes.

use serde::Serialize;

use super::curves::times;
use super::plot::{self, Axis, Tick};
use crate::findings::timeline::{Spike, TimelineFindings};
use crate::questions::Group;
use crate::units;

/// With more trials than this, the lines between them would hide the rest.
const MOST_BOUNDARIES: usize = 60;

/// From where to where a spike's mark reaches, in the plot's coordinates: above its upper edge.
const SPIKE_MARK: [f64; 2] = [-6.0, -26.0];

/// A variant's timeline.
#[derive(Debug, Serialize)]
pub(crate) struct TimelineView {
    name: String,
    /// The mean of each bin, and the longest call.
    mean: String,
    longest: String,
    /// Lines where trials begin, and marks above the plot where spikes are.
    trials: String,
    spikes: String,
    y: Vec<Tick>,
    summary: String,
    listed: Vec<SpikeView>,
    /// Calls failed within it.
    failed: Option<String>,
}

/// A spike in words.
#[derive(Debug, Serialize)]
pub(crate) struct SpikeView {
    trial: u32,
    offset: String,
    at: String,
    longest: String,
    factor: String,
}

/// The timelines of all groups.
pub(crate) fn views(groups: &[Group<'_>]) -> Vec<TimelineView> {
    groups
        .iter()
        .flat_map(|group| &group.members)
        .filter_map(|(variant, cell)| {
            let timeline = &cell.figures.as_deref()?.timeline;
            view(&variant.name, timeline)
        })
        .collect()
}

fn view(name: &str, timeline: &TimelineFindings) -> Option<TimelineView> {
    let last = timeline.bins.last()?;
    let end = last.start_ns.saturating_add(last.length_ns).max(1) as f64;
    let means = || timeline.bins.iter().filter_map(|bin| bin.mean_ns);
    let low = means().fold(f64::INFINITY, f64::min);
    let high = timeline
        .bins
        .iter()
        .map(|bin| bin.max_ns as f64)
        .fold(0.0, f64::max);
    if !low.is_finite() {
        return None;
    }
    let axis = Axis::over(low, high);
    let middle = |start: u64, length: u64| (start as f64 + length as f64 / 2.0) / end;
    let line = |value: fn(&crate::findings::timeline::Bin) -> Option<f64>| {
        plot::path(timeline.bins.iter().filter_map(|bin| {
            let y = axis.place(value(bin)?);
            Some(plot::point(middle(bin.start_ns, bin.length_ns), y))
        }))
    };
    let failed: u64 = timeline
        .bins
        .iter()
        .map(|bin| bin.failed)
        .fold(0, u64::saturating_add);
    let starts = timeline.trial_starts_ns.iter().skip(1);
    Some(TimelineView {
        name: name.to_owned(),
        mean: line(|bin| bin.mean_ns),
        longest: line(|bin| (bin.max_ns > 0).then_some(bin.max_ns as f64)),
        trials: if timeline.trial_starts_ns.len() > MOST_BOUNDARIES {
            String::new()
        } else {
            plot::uprights(starts.map(|start| *start as f64 / end), plot::HEIGHT, 0.0)
        },
        spikes: plot::uprights(
            timeline
                .spikes
                .iter()
                .map(|spike| middle(spike.start_ns, spike.length_ns).min(1.0)),
            SPIKE_MARK[0],
            SPIKE_MARK[1],
        ),
        y: times(axis),
        summary: summary(timeline),
        listed: timeline.spikes.iter().map(spike).collect(),
        failed: (failed > 0).then(|| format!("{} calls failed", units::count(failed))),
    })
}

fn summary(timeline: &TimelineFindings) -> String {
    let trials = timeline.trial_starts_ns.len();
    let plural = if trials == 1 { "trial" } else { "trials" };
    let mut text = match timeline.spikes_found {
        0 => format!("{trials} {plural}; no spikes"),
        1 => format!("{trials} {plural}; 1 spike"),
        n => format!("{trials} {plural}; {} spikes", units::count(n)),
    };
    let listed = timeline.spikes.len() as u64;
    if listed < timeline.spikes_found {
        text += &format!(", the {listed} highest marked");
    }
    if timeline.trials_not_searched > 0 {
        text += &format!(
            ", {} too short to be searched",
            timeline.trials_not_searched
        );
    }
    text
}

fn spike(spike: &Spike) -> SpikeView {
    SpikeView {
        trial: spike.trial,
        offset: units::time(spike.offset_ns as f64),
        at: units::wall_clock_to_ms(spike.at_ms),
        longest: units::time(spike.max_ns as f64),
        factor: format!("{}×", units::ratio(spike.factor)),
    }
}
