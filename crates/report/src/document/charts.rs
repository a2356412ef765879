//! The charts of some variants: where the time goes, latency by percentile, timelines, bytes and CPU.

use rpcgauge_study::record::Stage;
use rpcgauge_study::settings::Timing;

use super::chart::{Axis, Bar, Bars, Chart, Line, Named, Part, Plot, Scale, Size, Tick, Weight};
use super::figures::{self, SPANS, stage_name};
use super::groups::{self, Group};
use super::live::time;
use super::{Block, Column, Section, Shown, Table};
use crate::findings::timeline::{Bin, Spike, TimelineFindings};
use crate::findings::{
    Cell, CpuSide, Distribution, Figures, Findings, TrafficPerCall, VariantFindings,
};
use crate::units;
use crate::words::{self, Labels};

/// Charts and tables of some variants, placement by placement.
pub(super) fn of_group(findings: &Findings, variants: &[&VariantFindings]) -> Vec<Block> {
    let placements = figures::placements(findings, variants);
    let several = placements.len() > 1;
    let mut blocks = Vec::new();
    for (index, placement) in placements.into_iter().enumerate() {
        let groups = groups::groups(findings, variants.iter().copied(), placement);
        let measured = has_figures(&groups);
        if several && measured {
            blocks.push(Block::Heading(words::capital(words::on(placement))));
        }
        let own = |weight| if index == 0 { weight } else { Weight::Further };
        if measured {
            blocks.extend(stages(&groups, own(Weight::Bars)).map(Block::Chart));
            blocks.extend(figures::stages(&groups).map(Block::Table));
            blocks.extend(plots(&groups, own).map(Block::Chart));
        }
        blocks.push(Block::Table(figures::table(&groups)));
    }
    blocks.push(Block::Facts(figures::how(variants)));
    blocks
}

/// The charts of a load of one service, which stand by themselves.
pub(super) fn of_load(findings: &Findings) -> Option<Section> {
    let placement = *findings.study.placements.first()?;
    let groups = groups::groups(findings, &findings.variants, placement);
    let blocks: Vec<Block> = plots(&groups, |weight| weight).map(Block::Chart).collect();
    (has_figures(&groups) && !blocks.is_empty()).then(|| Section {
        id: "charts",
        title: "Charts".to_owned(),
        shown: Shown::Always,
        blocks,
    })
}

fn has_figures(groups: &[Group<'_>]) -> bool {
    let mut members = groups.iter().flat_map(|group| &group.members);
    members.any(|(_, cell)| cell.figures.is_some())
}

fn plots(groups: &[Group<'_>], weight: impl Fn(Weight) -> Weight) -> impl Iterator<Item = Chart> {
    let all = [
        curves(groups, weight(Weight::Curves)),
        timelines(groups, weight(Weight::Timelines)),
        bytes(groups, weight(Weight::Bars)),
        cpu(groups, weight(Weight::Bars)),
    ];
    all.into_iter().flatten()
}

/// Bars shorter than this part of the longest would hardly be seen: they get a scale of their own.
const SHORTEST: f64 = 0.08;

/// Stacked bars of each group; none without a bar. `all` are the parts that there can be, in the order in
/// which the key names them.
fn bars(
    groups: &[Group<'_>],
    show: fn(f64) -> String,
    all: impl IntoIterator<Item = Named>,
    bar: impl Fn(&Figures) -> Option<Bar>,
) -> Option<Bars> {
    let drawn = |(variant, cell): &(&VariantFindings, &Cell)| {
        let bar = bar(cell.figures.as_deref()?)?;
        Some(Bar {
            name: variant.name.clone(),
            cautions: Labels::of(&cell.cautions).main,
            ..bar
        })
    };
    let mut scales = Vec::new();
    for Group { title, members } in groups {
        let mut left: Vec<(usize, Bar)> = members
            .iter()
            .filter_map(drawn)
            .filter(|bar| bar.length() > 0.0)
            .enumerate()
            .collect();
        let mut bands: Vec<(usize, Scale)> = Vec::new();
        while let Some(most) = left.iter().map(|(_, bar)| bar.length()).reduce(f64::max) {
            let (together, shorter): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|(_, bar)| bar.length() >= most * SHORTEST);
            left = shorter;
            let first = together.first().map_or(0, |(place, _)| *place);
            let scale = Scale {
                title: title.clone(),
                full: most,
                width: show(most),
                bars: together.into_iter().map(|(_, bar)| bar).collect(),
            };
            bands.push((first, scale));
        }
        // In the study's order, not that of size.
        bands.sort_by_key(|(place, _)| *place);
        scales.extend(bands.into_iter().map(|(_, scale)| scale));
    }
    let has = |named: &Named| {
        let mut bars = scales.iter().flat_map(|scale: &Scale| &scale.bars);
        bars.any(|bar| {
            bar.parts
                .iter()
                .chain(&bar.spans)
                .any(|part| part.named == *named)
        })
    };
    let key = all.into_iter().filter(has).collect();
    (!scales.is_empty()).then_some(Bars { key, scales })
}

fn part(named: Named, size: f64, show: fn(f64) -> String) -> Option<Part> {
    (size > 0.0).then(|| Part {
        named,
        size,
        value: show(size),
    })
}

/// A stage's class and name.
fn stage_named(stage: Stage) -> Named {
    let class = match stage {
        Stage::RequestTime => "request",
        Stage::HandlerTime => "handler",
        Stage::ResponseTime => "response",
        own => stage_name(own),
    };
    (class, stage_name(stage))
}

/// The part of a call that no stage accounts for.
const BETWEEN: Named = ("between", "between stages");

/// Where the time goes: a bar for each variant that was timed by stages.
fn stages(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let bar = |figures: &Figures| {
        let parts = |is_own: bool| {
            let stages = figures.stages.iter();
            let stages = stages.filter(move |s| Stage::CLIENT.contains(&s.stage) == is_own);
            stages.filter_map(|s| part(stage_named(s.stage), s.per_call_ns, units::time))
        };
        let between = figures.between_stages_ns;
        let between = between.and_then(|ns| part(BETWEEN, ns, units::time));
        let floor = figures.floor.as_ref();
        // The share is of the median call, and the bar that of the mean one.
        let detail = floor
            .and_then(|f| Some((f.round_trip_ns, f.share?)))
            .map(|(ns, share)| {
                format!(
                    "floor {}, {} of the median call{}",
                    units::time(ns as f64),
                    units::percent(share),
                    figures.latency.as_ref().map_or_else(String::new, |l| {
                        format!(" ({})", units::time(l.p50_ns as f64))
                    })
                )
            });
        (!figures.stages.is_empty()).then(|| Bar {
            parts: parts(true).chain(between).collect(),
            spans: parts(false).collect(),
            total: figures
                .latency
                .as_ref()
                .map_or_else(String::new, |l| units::time(l.mean_ns)),
            floor: floor.map(|f| f.round_trip_ns as f64),
            detail: detail.unwrap_or_default(),
            ..Bar::default()
        })
    };
    let own = Stage::CLIENT.map(stage_named).into_iter().chain([BETWEEN]);
    let bars = bars(groups, units::time, own.chain(SPANS.map(stage_named)), bar)?;
    Some(Chart {
        weight,
        title: "Where the time goes".to_owned(),
        intro: "The mean call, stage by stage; a stage that only some calls had, such as connecting, \
                counts by how many had it. Below it, thinner: request time, handler time, response time. \
                The dashed mark is the floor: the median round trip of two bare loops with the same bytes."
            .to_owned(),
        bars: Some(bars),
        plots: Vec::new(),
    })
}

const SENT: [Named; 3] = [
    ("sent-headers", "sent headers"),
    ("sent-bodies", "sent bodies"),
    ("sent-overhead", "sent overhead"),
];
const RECEIVED: [Named; 3] = [
    ("got-headers", "received headers"),
    ("got-bodies", "received bodies"),
    ("got-overhead", "received overhead"),
];

/// Bytes a call on the connections, by direction and kind.
fn bytes(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let known = |size: Option<f64>| size.map_or_else(|| units::NONE.to_owned(), units::size);
    let parts = |traffic: &TrafficPerCall, names: [Named; 3]| {
        let sizes = [traffic.headers, traffic.bodies, traffic.overhead];
        let named = names.into_iter().zip(sizes);
        named
            .filter_map(|(named, size)| part(named, size, units::size))
            .collect::<Vec<_>>()
    };
    let bar = |figures: &Figures| {
        let bytes = figures.bytes?;
        let payload = &figures.payload;
        let plain = payload
            .response
            .filter(|size| payload.response_compressed.is_some_and(|sent| sent < *size));
        let compressed = plain.map_or_else(String::new, |size| {
            format!(", {} before compression", units::size(size))
        });
        let marks = match bytes.received.marks {
            0.0 => String::new(),
            marks => format!("; handler marks apart, {}", units::size(marks)),
        };
        let mut all = parts(&bytes.sent, SENT);
        all.extend(parts(&bytes.received, RECEIVED));
        Some(Bar {
            parts: all,
            total: units::size(bytes.total()),
            detail: format!(
                "request {}, response {}{compressed}{marks}",
                known(payload.request_compressed),
                known(payload.response_compressed),
            ),
            ..Bar::default()
        })
    };
    let bars = bars(groups, units::size, SENT.into_iter().chain(RECEIVED), bar)?;
    let subjects = match any_subject(groups) {
        true => {
            " The handler marks, which a server adds to its headers only where stages are timed, are \
                 left out."
        }
        false => "",
    };
    Some(Chart {
        weight,
        title: "Bytes a call".to_owned(),
        intro: format!(
            "On the connection, both directions. Overhead is frames, chunking, message prefixes and the \
             connection's set-up.{subjects}"
        ),
        bars: Some(bars),
        plots: Vec::new(),
    })
}

fn any_subject(groups: &[Group<'_>]) -> bool {
    let mut members = groups.iter().flat_map(|group| &group.members);
    members.any(|(variant, _)| !variant.is_live())
}

/// Whether nothing is called: codecs make and read messages.
fn is_of_codecs(groups: &[Group<'_>]) -> bool {
    let mut members = groups.iter().flat_map(|group| &group.members);
    members.all(|(variant, _)| variant.how.is_codec())
}

/// One side's user, system and unsplit time.
const CLIENT_CPU: [Named; 3] = [
    ("client-user", "client, user"),
    ("client-system", "client, system"),
    ("client-unsplit", "client, user or system"),
];
const SERVER_CPU: [Named; 3] = [
    ("server-user", "server, user"),
    ("server-system", "server, system"),
    ("server-unsplit", "server, user or system"),
];

/// CPU a call, by side and mode.
fn cpu(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let parts = |side: Option<CpuSide>, names: [Named; 3]| {
        let times = side.map(|side| [side.user_ns, side.system_ns, side.unsplit_ns]);
        let named = names.into_iter().zip(times.unwrap_or_default());
        named
            .filter_map(|(named, ns)| part(named, ns?, units::time))
            .collect::<Vec<_>>()
    };
    let total = |side: Option<CpuSide>| {
        side.map_or_else(|| units::NONE.to_owned(), |side| units::time(side.total_ns))
    };
    let bar = |figures: &Figures| {
        let (client, server) = (figures.cpu.client, figures.cpu.server);
        let bare = figures.floor.as_ref().map_or_else(String::new, |floor| {
            format!("bare loop {}; ", units::time(floor.client_cpu_ns))
        });
        let share = figures.client_share;
        let share = share.map_or_else(|| units::NONE.to_owned(), units::percent);
        let mut all = parts(client, CLIENT_CPU);
        all.extend(parts(server, SERVER_CPU));
        Some(Bar {
            parts: all,
            total: match server {
                Some(_) => format!("{} + {}", total(client), total(server)),
                None => total(client),
            },
            detail: format!("{bare}client at {share} of its core"),
            ..Bar::default()
        })
    };
    let bars = bars(
        groups,
        units::time,
        CLIENT_CPU.into_iter().chain(SERVER_CPU),
        bar,
    )?;
    let subjects = match any_subject(groups) {
        true => {
            " and of the server's process. The server's split into user and system is the kernel's \
                 estimate, and of a trial that took less than one of its ticks there is none. Bare loop: \
                 the client's CPU of the floor."
        }
        false => ".",
    };
    Some(Chart {
        weight,
        title: match is_of_codecs(groups) {
            true => "CPU a message".to_owned(),
            false => "CPU a call".to_owned(),
        },
        intro: format!("Processor time of the client's measuring thread{subjects}"),
        bars: Some(bars),
        plots: Vec::new(),
    })
}

/// A plot has at most this many curves; a larger group has several.
const SERIES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// Points of a curve for each factor of ten of the tail.
const POINTS_A_DECADE: f64 = 24.0;

/// Latency by percentile, on an axis that gives each further nine of the tail the same room.
fn curves(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
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
    (!plots.is_empty()).then(|| Chart {
        weight,
        title: "Latency".to_owned(),
        intro:
            "How long the slowest calls take. To the right, each further nine of the tail has the \
                same room."
                .to_owned(),
        bars: None,
        plots,
    })
}

fn curve(
    group: Option<&str>,
    timing: Timing,
    curves: &[(&VariantFindings, &Distribution)],
) -> Plot {
    let is_codec = curves.iter().all(|(variant, _)| variant.how.is_codec());
    let timing = match timing {
        Timing::Stages if is_codec => "one message after the other",
        Timing::Stages => "one call after the other",
        Timing::Load => "under load",
    };
    let title = group.map_or_else(|| timing.to_owned(), |group| format!("{group}, {timing}"));
    let ns = |of: fn(&Distribution) -> u64| curves.iter().map(move |(_, l)| of(l) as f64);
    let nines = curves.iter().map(|(_, l)| tail(l)).fold(1.0, f64::max);
    let low = ns(|l| l.min_ns).fold(f64::INFINITY, f64::min);
    let axis = Axis::over(low, ns(|l| l.max_ns).fold(0.0, f64::max));
    let line =
        |((variant, latency), class): (&(&VariantFindings, &Distribution), &'static str)| Line {
            name: variant.name.clone(),
            class,
            points: percentile_points(latency, nines, axis),
            figures: vec![units::time(latency.p50_ns as f64), time(latency.p99_ns)],
        };
    Plot {
        label: format!("Latency by percentile, {title}; the figures are in the table of figures"),
        title,
        size: Size::Half,
        x: percentiles(nines),
        y: axis.times(),
        lines: curves.iter().zip(SERIES).map(line).collect(),
        trials: Vec::new(),
        spikes: Vec::new(),
        heads: vec!["p50", "p99"],
        below: String::new(),
        table: None,
    }
}

/// How many factors of ten of its tail a distribution shows: each call is one part of `count`.
fn tail(latency: &Distribution) -> f64 {
    (latency.count.max(1) as f64).log10().max(0.301)
}

fn percentile_points(latency: &Distribution, nines: f64, axis: Axis) -> Vec<(f64, f64)> {
    let end = tail(latency);
    let histogram = latency.histogram.unpack();
    let steps = (end * POINTS_A_DECADE).ceil() as u32;
    let point = |step: u32| {
        let x = end * f64::from(step) / f64::from(steps.max(1));
        let ns = histogram.value_at_quantile(1.0 - 10_f64.powf(-x));
        (x / nines, axis.place(ns as f64))
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

/// With more trials than this, the lines between them would hide the rest.
const MOST_BOUNDARIES: usize = 60;

/// The trials of each variant one after the other, with their spikes.
fn timelines(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let members: Vec<_> = groups.iter().flat_map(|group| &group.members).collect();
    let size = match members.len() {
        1 => Size::Whole,
        2 => Size::Half,
        _ => Size::Small,
    };
    let plots: Vec<Plot> = members
        .into_iter()
        .filter_map(|(v, cell)| timeline(&v.name, &cell.figures.as_deref()?.timeline, size))
        .collect();
    (!plots.is_empty()).then(|| Chart {
        weight,
        title: "Timeline".to_owned(),
        intro:
            "All trials of a variant one after the other, over the measured time: the mean (blue) and \
                the longest (grey) of each moment; spikes are marked above."
                .to_owned(),
        bars: None,
        plots,
    })
}

fn timeline(name: &str, timeline: &TimelineFindings, size: Size) -> Option<Plot> {
    let last = timeline.bins.last()?;
    let end = last.start_ns.saturating_add(last.length_ns).max(1) as f64;
    let low = timeline
        .bins
        .iter()
        .filter_map(|bin| bin.mean_ns)
        .reduce(f64::min)?;
    let high = timeline.bins.iter().map(|bin| bin.max_ns).max()? as f64;
    let axis = Axis::over(low, high);
    let middle = |start: u64, length: u64| ((start as f64 + length as f64 / 2.0) / end).min(1.0);
    let line = |class: &'static str, value: fn(&Bin) -> Option<f64>| Line {
        name: String::new(),
        class,
        points: timeline
            .bins
            .iter()
            .filter_map(|bin| Some((middle(bin.start_ns, bin.length_ns), axis.place(value(bin)?))))
            .collect(),
        figures: Vec::new(),
    };
    let starts = timeline.trial_starts_ns.iter().skip(1);
    let starts = starts.filter(|_| timeline.trial_starts_ns.len() <= MOST_BOUNDARIES);
    let summary = summary(timeline);
    Some(Plot {
        title: name.to_owned(),
        label: format!("Timeline of {name}: {summary}"),
        size,
        x: Axis::Linear { high: end }.times(),
        y: axis.times(),
        lines: vec![
            line("longest", |bin| {
                (bin.max_ns > 0).then_some(bin.max_ns as f64)
            }),
            line("mean", |bin| bin.mean_ns),
        ],
        trials: starts.map(|start| *start as f64 / end).collect(),
        spikes: timeline
            .spikes
            .iter()
            .map(|spike| middle(spike.start_ns, spike.length_ns))
            .collect(),
        heads: Vec::new(),
        below: summary,
        table: (!timeline.spikes.is_empty()).then(|| ("Spikes", spikes(&timeline.spikes))),
    })
}

/// How many trials there were, and what was found in them.
fn summary(timeline: &TimelineFindings) -> String {
    let trials = timeline.trial_starts_ns.len() as u64;
    let searched = trials - timeline.trials_not_searched.min(trials);
    let all = units::counted(trials, "trial");
    let mut text = match timeline.spikes_found {
        _ if searched == 0 => format!("{all}, too short to be searched for spikes"),
        0 => format!("{all}; no spikes"),
        found => format!("{all}; {}", units::counted(found, "spike")),
    };
    let listed = timeline.spikes.len() as u64;
    if listed < timeline.spikes_found {
        text += &format!(", the {listed} highest marked");
    }
    if searched > 0 && searched < trials {
        text += &format!(", {} too short to be searched", trials - searched);
    }
    let failed: u64 = timeline
        .bins
        .iter()
        .map(|bin| bin.failed)
        .fold(0, u64::saturating_add);
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
            units::time(spike.offset_ns as f64),
            units::time(spike.max_ns as f64),
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
            "3 trials; no spikes, 1 too short to be searched"
        );
        assert_eq!(said(3, 0, 0), "3 trials; no spikes");
        assert!(said(3, 0, 5).starts_with("3 trials; 5 spikes"));
    }

    #[test]
    fn a_load_has_its_timeline_over_seconds_and_as_wide_as_the_page() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let blocks = of_load(&findings).expect("it was measured").blocks;
        let plots = blocks.iter().flat_map(|block| match block {
            Block::Chart(chart) => &chart.plots[..],
            _ => &[],
        });
        let plots: Vec<&Plot> = plots.filter(|plot| plot.size == Size::Whole).collect();
        assert_eq!(plots.len(), 1);
        assert!(plots[0].x.iter().any(|tick| tick.label.ends_with(" ms")));
    }
}
