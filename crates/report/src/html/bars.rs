//! Stacked bars: where the time goes, bytes a call, CPU a call.

use rpcgauge_study::record::Stage;
use serde::Serialize;

use super::plot::per_cent;
use crate::findings::{Figures, TrafficPerCall};
use crate::questions::{self, Group};
use crate::units::{self, NONE, Scale};

/// The bars of one group of variants, on one scale.
#[derive(Debug, Serialize)]
pub(crate) struct BarsView {
    /// The group's name, where the study has groups.
    group: Option<String>,
    rows: Vec<BarRow>,
}

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

/// A stage's class and name.
pub(crate) fn stage_name(stage: Stage) -> (&'static str, &'static str) {
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
pub(crate) fn stages(groups: &[Group<'_>]) -> Vec<BarsView> {
    let staged = |f: &Figures| !f.stages.is_empty();
    views(groups, staged, Scale::times, |figures, scale, most| {
        let own = figures.stages.iter().filter(|s| Stage::CLIENT.contains(&s.stage));
        let mut parts: Vec<Part> = own
            .map(|s| {
                let (class, name) = stage_name(s.stage);
                (class, name, s.mean_ns)
            })
            .collect();
        parts.extend(figures.between_stages_ns.map(|ns| ("between", "between stages", ns)));
        let spans = figures.stages.iter().filter(|s| !Stage::CLIENT.contains(&s.stage));
        let spans: Vec<Part> = spans
            .map(|s| {
                let (class, name) = stage_name(s.stage);
                (class, name, s.mean_ns)
            })
            .collect();
        let floor = figures.floor.as_ref();
        let share = floor.and_then(|f| f.share).map(|share| {
            format!("the kernel's share {}", units::percent(share))
        });
        BarRow {
            segments: segments(&parts, scale, most),
            spans: segments(&spans, scale, most),
            total: figures.latency.as_ref().map_or_else(String::new, |l| scale.with_unit(l.mean_ns)),
            floor: floor.map(|f| per_cent((f.p50_ns as f64 / most).min(1.0))),
            detail: share.unwrap_or_default(),
            ..BarRow::named()
        }
    })
}

/// Bytes a call on the connections, by direction and kind.
pub(crate) fn bytes(groups: &[Group<'_>]) -> Vec<BarsView> {
    views(groups, |f| f.bytes.total() > 0.0, Scale::sizes, |figures, scale, most| {
        let (sent, received) = (&figures.bytes.sent, &figures.bytes.received);
        let mut parts = traffic(sent, ["sent-headers", "sent-bodies", "sent-overhead"], SENT);
        parts.extend(traffic(received, ["got-headers", "got-bodies", "got-overhead"], RECEIVED));
        let payload = &figures.payload;
        let compressed = if payload.response_compressed < payload.response {
            format!(", {} before compression", units::size(payload.response))
        } else {
            String::new()
        };
        BarRow {
            segments: segments(&parts, scale, most),
            total: scale.with_unit(figures.bytes.total()),
            detail: format!(
                "request {}, answer {}{compressed}",
                units::size(payload.request_compressed),
                units::size(payload.response_compressed),
            ),
            ..BarRow::named()
        }
    })
}

const SENT: [&str; 3] = ["sent headers", "sent bodies", "sent overhead"];
const RECEIVED: [&str; 3] = ["received headers", "received bodies", "received overhead"];

fn traffic(
    traffic: &TrafficPerCall,
    classes: [&'static str; 3],
    names: [&'static str; 3],
) -> Vec<Part> {
    let sizes = [traffic.headers, traffic.bodies, traffic.overhead];
    (0..3).map(|n| (classes[n], names[n], sizes[n])).collect()
}

/// CPU a call, by side and mode.
pub(crate) fn cpu(groups: &[Group<'_>]) -> Vec<BarsView> {
    let used = |f: &Figures| f.cpu.client.total_ns + f.cpu.server.total_ns > 0.0;
    views(groups, used, Scale::times, |figures, scale, most| {
        let (client, server) = (&figures.cpu.client, &figures.cpu.server);
        let parts = [
            ("client-user", "client, user", client.user_ns),
            ("client-system", "client, system", client.system_ns),
            ("server-user", "server, user", server.user_ns),
            ("server-system", "server, system", server.system_ns),
        ];
        let (memory, share) = (&figures.memory, figures.client_share);
        BarRow {
            segments: segments(&parts, scale, most),
            total: format!(
                "{} + {}",
                scale.number(client.total_ns),
                scale.with_unit(server.total_ns)
            ),
            detail: format!(
                "client used {} of its core; peaks {} client, {} server",
                units::percent(share),
                units::size(memory.client_peak as f64),
                units::size(memory.server_peak as f64),
            ),
            ..BarRow::named()
        }
    })
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
/// it is called twice, first to learn how long the longest is.
fn views(
    groups: &[Group<'_>],
    shown: impl Fn(&Figures) -> bool,
    scale: fn(Vec<f64>) -> Scale,
    row: impl Fn(&Figures, &Scale, f64) -> BarRow,
) -> Vec<BarsView> {
    let mut views = Vec::new();
    for (group, members) in groups {
        let figures: Vec<_> = members
            .iter()
            .filter_map(|(variant, cell)| Some((*variant, *cell, cell.figures.as_deref()?)))
            .filter(|(_, _, figures)| shown(figures))
            .collect();
        // At a scale of 100, per cent are the values themselves.
        let plain = scale(vec![1.0]);
        let totals: Vec<f64> = figures.iter().map(|(.., f)| row(f, &plain, 1.0).extent() / 100.0).collect();
        let most = totals.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            continue;
        }
        let scale = scale(totals);
        let rows = figures.iter().map(|(variant, cell, figures)| BarRow {
            name: variant.name.clone(),
            marks: questions::mark_names(cell),
            ..row(figures, &scale, most)
        });
        views.push(BarsView { group: group.map(str::to_owned), rows: rows.collect() });
    }
    views
}

fn segments(parts: &[Part], scale: &Scale, most: f64) -> Vec<Segment> {
    let shown = parts.iter().filter(|(.., size)| *size > 0.0);
    shown
        .map(|&(class, name, size)| Segment {
            class,
            name,
            width: per_cent(size / most),
            value: scale.with_unit(size),
        })
        .collect()
}
