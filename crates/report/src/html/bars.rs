//! Stacked bars: where the time goes, bytes a call, CPU a call.

use std::collections::BTreeSet;

use rpcgauge_study::record::Stage;
use serde::Serialize;

use super::plot::per_cent;
use crate::findings::{Cell, CpuSide, Figures, TrafficPerCall, VariantFindings};
use crate::marks;
use crate::questions::Group;
use crate::units::{self, NONE};

/// The bars of all groups, and what their colours mean.
#[derive(Debug, Default, Serialize)]
pub(crate) struct BarsView {
    /// Class and name of every part that one of the bars has.
    key: Vec<Named>,
    scales: Vec<ScaleView>,
}

impl BarsView {
    /// `all` are the parts that there can be, in the order in which they are told.
    fn of(scales: Vec<ScaleView>, all: impl IntoIterator<Item = Named>) -> Self {
        let drawn: BTreeSet<&str> = scales
            .iter()
            .flat_map(|scale| &scale.rows)
            .flat_map(|row| row.segments.iter().chain(&row.spans))
            .map(|segment| segment.class)
            .collect();
        let key = all.into_iter().filter(|(class, _)| drawn.contains(class));
        Self {
            key: key.collect(),
            scales,
        }
    }
}

/// The bars of one group of variants, on one scale.
#[derive(Debug, Serialize)]
pub(crate) struct ScaleView {
    /// The group's name, where the study has groups.
    group: Option<String>,
    /// What the whole width stands for.
    width: String,
    rows: Vec<BarRow>,
}

/// Bars shorter than this part of the longest would hardly be seen: they get a scale of their own.
const SHORTEST: f64 = 0.08;

/// One variant's bar.
#[derive(Debug, Serialize)]
pub(crate) struct BarRow {
    name: String,
    marks: String,
    segments: Vec<Segment>,
    /// The whole bar, in words.
    total: String,
    /// What stands below it.
    detail: String,
    /// Where the floor is, per cent of the scale.
    floor: Option<f64>,
    /// A second, thinner bar of spans that overlap the first one's.
    spans: Vec<Segment>,
}

/// A part of a bar.
#[derive(Debug, Serialize)]
pub(crate) struct Segment {
    class: &'static str,
    name: &'static str,
    /// Width in per cent of the scale.
    width: f64,
    value: String,
}

/// What a bar consists of: class, name and size of each part.
type Part = (&'static str, &'static str, f64);

/// A part's class and name.
type Named = (&'static str, &'static str);

/// A stage's class and name.
pub(crate) fn stage_name(stage: Stage) -> Named {
    match stage {
        Stage::Connect => ("connect", "connect"),
        Stage::Encode => ("encode", "encode"),
        Stage::Compress => ("compress", "compress"),
        Stage::Send => ("send", "send"),
        Stage::Wait => ("wait", "wait"),
        Stage::Receive => ("receive", "receive"),
        Stage::Decompress => ("decompress", "decompress"),
        Stage::Decode => ("decode", "decode"),
        Stage::RequestTime => ("request", "request time"),
        Stage::HandlerTime => ("handler", "handler time"),
        Stage::ResponseTime => ("response", "response time"),
    }
}

/// Where the time goes: a bar for each variant that was timed by stages.
pub(crate) fn stages(groups: &[Group<'_>]) -> BarsView {
    let staged = |f: &Figures| !f.stages.is_empty();
    let scales = scales(groups, staged, units::time, |figures, most| {
        let own = figures
            .stages
            .iter()
            .filter(|s| Stage::CLIENT.contains(&s.stage));
        let mut parts: Vec<Part> = own
            .map(|s| {
                let (class, name) = stage_name(s.stage);
                (class, name, s.per_call_ns)
            })
            .collect();
        parts.extend(
            figures
                .between_stages_ns
                .map(|ns| (BETWEEN.0, BETWEEN.1, ns)),
        );
        let spans = figures
            .stages
            .iter()
            .filter(|s| !Stage::CLIENT.contains(&s.stage));
        let spans: Vec<Part> = spans
            .map(|s| {
                let (class, name) = stage_name(s.stage);
                (class, name, s.per_call_ns)
            })
            .collect();
        let floor = figures.floor.as_ref();
        let share = floor
            .and_then(|f| Some((f.round_trip_ns, f.share?)))
            .map(|(ns, share)| {
                format!(
                    "floor {}, {} of the call",
                    units::time(ns as f64),
                    units::percent(share)
                )
            });
        BarRow {
            segments: segments(&parts, units::time, most),
            spans: segments(&spans, units::time, most),
            total: figures
                .latency
                .as_ref()
                .map_or_else(String::new, |l| units::time(l.mean_ns)),
            floor: floor.map(|f| per_cent((f.round_trip_ns as f64 / most).min(1.0))),
            detail: share.unwrap_or_default(),
            ..BarRow::named()
        }
    });
    let spans = [Stage::RequestTime, Stage::HandlerTime, Stage::ResponseTime];
    let own = Stage::CLIENT.map(stage_name).into_iter().chain([BETWEEN]);
    BarsView::of(scales, own.chain(spans.map(stage_name)))
}

/// The part of a call that no stage accounts for.
const BETWEEN: Named = ("between", "between stages");

/// Bytes a call on the connections, by direction and kind.
pub(crate) fn bytes(groups: &[Group<'_>]) -> BarsView {
    let scales = scales(
        groups,
        |f| f.bytes.is_some_and(|bytes| bytes.total() > 0.0),
        units::size,
        |figures, most| {
            // One without bytes has no row.
            let bytes = figures.bytes.unwrap_or_default();
            let (sent, received) = (&bytes.sent, &bytes.received);
            let mut parts = traffic(sent, SENT);
            parts.extend(traffic(received, RECEIVED));
            let payload = &figures.payload;
            let plain = payload
                .response
                .filter(|size| payload.response_compressed.is_some_and(|sent| sent < *size));
            let compressed = if let Some(size) = plain {
                format!(", {} before compression", units::size(size))
            } else {
                String::new()
            };
            let marks = match received.marks {
                0.0 => String::new(),
                marks => format!("; handler marks apart, {}", units::size(marks)),
            };
            BarRow {
                segments: segments(&parts, units::size, most),
                total: units::size(bytes.total()),
                detail: format!(
                    "request {}, answer {}{compressed}{marks}",
                    known(payload.request_compressed, units::size),
                    known(payload.response_compressed, units::size),
                ),
                ..BarRow::named()
            }
        },
    );
    BarsView::of(scales, SENT.into_iter().chain(RECEIVED))
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

fn traffic(traffic: &TrafficPerCall, names: [Named; 3]) -> Vec<Part> {
    let sizes = [traffic.headers, traffic.bodies, traffic.overhead];
    let named = names.into_iter().zip(sizes);
    named
        .map(|((class, name), size)| (class, name, size))
        .collect()
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

/// The parts of a side's processor time, which add up to its total.
fn side_parts(side: &CpuSide, names: [Named; 3]) -> impl Iterator<Item = Part> {
    let parts = [side.user_ns, side.system_ns, side.unsplit_ns];
    let named = names.into_iter().zip(parts);
    named.filter_map(|((class, name), ns)| Some((class, name, ns?)))
}

/// CPU a call, by side and mode.
pub(crate) fn cpu(groups: &[Group<'_>]) -> BarsView {
    let server_total = |f: &Figures| f.cpu.server.map_or(0.0, |server| server.total_ns);
    let client_total = |f: &Figures| f.cpu.client.map_or(0.0, |client| client.total_ns);
    let used = |f: &Figures| client_total(f) + server_total(f) > 0.0;
    let scales = scales(groups, used, units::time, |figures, most| {
        let parts: Vec<Part> = [
            (figures.cpu.client.as_ref(), CLIENT_CPU),
            (figures.cpu.server.as_ref(), SERVER_CPU),
        ]
        .into_iter()
        .filter_map(|(side, names)| Some((side?, names)))
        .flat_map(|(side, names)| side_parts(side, names))
        .collect();
        let client = known(
            figures.cpu.client.map(|client| client.total_ns),
            units::time,
        );
        let bare = figures.floor.as_ref().map_or_else(String::new, |floor| {
            format!("bare loop {}; ", units::time(floor.client_cpu_ns))
        });
        BarRow {
            segments: segments(&parts, units::time, most),
            total: match figures.cpu.server {
                Some(server) => format!("{} + {}", client, units::time(server.total_ns)),
                None => client,
            },
            detail: format!(
                "{bare}client at {} of its core",
                known(figures.client_share, units::percent)
            ),
            ..BarRow::named()
        }
    });
    BarsView::of(scales, CLIENT_CPU.into_iter().chain(SERVER_CPU))
}

/// A figure, or a dash where it is not known.
fn known(figure: Option<f64>, shown: fn(f64) -> String) -> String {
    figure.map_or_else(|| units::NONE.to_owned(), shown)
}

impl BarRow {
    fn named() -> Self {
        Self {
            name: String::new(),
            marks: String::new(),
            segments: Vec::new(),
            total: NONE.to_owned(),
            detail: String::new(),
            floor: None,
            spans: Vec::new(),
        }
    }

    /// The length of the whole bar.
    fn extent(&self) -> f64 {
        self.segments.iter().map(|s| s.width).sum()
    }
}

/// Bars for each group. `row` draws one on a scale of which the whole width is its last argument;
/// it is called twice, first to learn how long each is.
fn scales(
    groups: &[Group<'_>],
    shown: impl Fn(&Figures) -> bool,
    show: fn(f64) -> String,
    row: impl Fn(&Figures, f64) -> BarRow,
) -> Vec<ScaleView> {
    let mut scales = Vec::new();
    for Group { title, members } in groups {
        let mut left: Vec<(&VariantFindings, &Cell, &Figures, f64)> = members
            .iter()
            .filter_map(|(variant, cell)| Some((*variant, *cell, cell.figures.as_deref()?)))
            .filter(|(.., figures)| shown(figures))
            // At a whole width of 1, per cent are the values themselves.
            .map(|(v, c, figures)| (v, c, figures, row(figures, 1.0).extent() / 100.0))
            .filter(|(.., length)| *length > 0.0)
            .collect();
        let mut bands: Vec<(usize, ScaleView)> = Vec::new();
        while let Some(most) = left.iter().map(|(.., length)| *length).reduce(f64::max) {
            let (together, shorter): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|(.., length)| *length >= most * SHORTEST);
            left = shorter;
            let rows = together.iter().map(|(variant, cell, figures, _)| BarRow {
                name: variant.name.clone(),
                marks: marks::main(cell),
                ..row(figures, most)
            });
            let scale = ScaleView {
                group: title.clone(),
                width: show(most),
                rows: rows.collect(),
            };
            let first = together.first().map(|(variant, ..)| variant.name.as_str());
            let place = members
                .iter()
                .position(|(v, _)| Some(v.name.as_str()) == first);
            bands.push((place.unwrap_or(0), scale));
        }
        // In the study's order, not that of size.
        bands.sort_by_key(|(place, _)| *place);
        scales.extend(bands.into_iter().map(|(_, scale)| scale));
    }
    scales
}

fn segments(parts: &[Part], show: fn(f64) -> String, most: f64) -> Vec<Segment> {
    let shown = parts.iter().filter(|(.., size)| *size > 0.0);
    shown
        .map(|&(class, name, size)| Segment {
            class,
            name,
            width: per_cent(size / most),
            value: show(size),
        })
        .collect()
}
