//! Stacked bars: where the time goes, bytes and CPU.

use rpcgauge_study::record::Stage;

use super::super::chart::{Bar, Bars, Chart, Named, Part, Scale, Weight, named};
use super::super::figures::{SPANS, stage_name};
use super::super::groups::{Group, Member, members};
use crate::by_key;
use crate::findings::{CpuSide, Figures, TrafficPerCall};
use crate::units;
use crate::words::{self, Labels};

/// Bars shorter than this share of the longest would hardly be visible, so they get their own scale.
const MIN_SHARE: f64 = 0.08;

/// Stacked bars of each group; `None` without bars. `all` are the possible parts, in the order of the key.
fn bars(
    groups: &[Group<'_>],
    show: fn(f64) -> String,
    all: impl IntoIterator<Item = Named>,
    bar: impl Fn(&Figures) -> Option<Bar>,
) -> Option<Bars> {
    let drawn = |(variant, cell): &Member<'_>| {
        let bar = bar(cell.figures.as_deref()?)?;
        Some(Bar {
            name: variant.name.clone(),
            cautions: Labels::of(&cell.cautions).main,
            ..bar
        })
    };
    let mut scales = Vec::new();
    for Group { title, members } in groups {
        let bars = members.iter().filter_map(drawn);
        let bars: Vec<Bar> = bars.filter(|bar| bar.length() > 0.0).collect();
        // The longest bar of each scale.
        let mut longest: Vec<f64> = bars.iter().map(Bar::length).collect();
        longest.sort_by(|one, other| other.total_cmp(one));
        longest.dedup_by(|shorter, long| *shorter >= *long * MIN_SHARE);
        let full = |bar: &Bar| longest.iter().copied().rfind(|long| bar.length() <= *long);
        // The scales keep the study's order instead of being sorted by size.
        let of_scales = by_key(bars.into_iter().filter_map(|bar| Some((full(&bar)?, bar))));
        scales.extend(of_scales.into_iter().map(|(full, bars)| Scale {
            title: title.clone(),
            full,
            width: show(full),
            bars,
        }));
    }
    let has = |named: &Named| {
        let bars = scales.iter().flat_map(|scale: &Scale| &scale.bars);
        let mut parts = bars.flat_map(|bar| bar.parts.iter().chain(&bar.spans));
        parts.any(|part| part.named == *named)
    };
    let key = all.into_iter().filter(has).collect();
    (!scales.is_empty()).then_some(Bars { key, scales })
}

/// The parts that have a size.
fn parts(
    sizes: impl IntoIterator<Item = (Named, Option<f64>)>,
    show: fn(f64) -> String,
) -> Vec<Part> {
    let has_size = |(named, size): (Named, Option<f64>)| {
        let size = size.filter(|size| *size > 0.0)?;
        let value = show(size);
        Some(Part {
            named,
            size,
            value,
            label: String::new(),
        })
    };
    sizes.into_iter().filter_map(has_size).collect()
}

fn stage_named(stage: Stage) -> Named {
    let class = match stage {
        Stage::RequestTime => "request",
        Stage::HandlerTime => "handler",
        Stage::ResponseTime => "response",
        own => stage_name(own),
    };
    named(class, stage_name(stage))
}

/// The part of a call that no stage accounts for.
const BETWEEN: Named = named("between", "between stages");

/// Where the time goes: a bar for each variant that was timed by stages.
pub(super) fn stages(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let bar = |figures: &Figures| {
        let of_stages = |is_own: bool| {
            let stages = figures.stages.iter();
            let stages = stages.filter(move |s| Stage::CLIENT.contains(&s.stage) == is_own);
            stages.map(|s| (stage_named(s.stage), Some(s.per_call_ns)))
        };
        let between = [(BETWEEN, figures.between_stages_ns)];
        let (floor, latency) = (figures.floor.as_ref(), figures.latency.as_ref());
        let median = latency.map(|l| format!(" ({})", units::time(l.p50_ns)));
        // The bar is the mean call, but the share is of the median call, so the text names the median.
        let detail = floor.and_then(|floor| {
            Some(format!(
                "floor {}, {} of the median call{}",
                units::time(floor.round_trip_ns),
                units::percent(floor.share?),
                median.unwrap_or_default()
            ))
        });
        (!figures.stages.is_empty()).then(|| Bar {
            parts: parts(of_stages(true).chain(between), units::time),
            spans: parts(of_stages(false), units::time),
            total: latency.map_or_else(String::new, |l| units::time(l.mean_ns)),
            floor: floor.map(|f| f.round_trip_ns),
            detail: detail.unwrap_or_default(),
            ..Bar::default()
        })
    };
    let own = Stage::CLIENT.iter().copied().map(stage_named);
    let all = own.chain([BETWEEN]).chain(SPANS.map(stage_named));
    let bars = bars(groups, units::time, all, bar);
    let intro = "The mean call, stage by stage; a stage that only some calls had, such as connecting, \
                counts in proportion to them. Below it, thinner: request time, handler time, response time. \
                The dashed mark is the floor: the median round trip of two bare loops with the same bytes.";
    Chart::new(weight, "Where the time goes", intro, bars, Vec::new())
}

const SENT: [Named; 3] = [
    named("sent-headers", "sent headers"),
    named("sent-bodies", "sent bodies"),
    named("sent-overhead", "sent overhead"),
];
const RECEIVED: [Named; 3] = [
    named("got-headers", "received headers"),
    named("got-bodies", "received bodies"),
    named("got-overhead", "received overhead"),
];

/// Bytes per call on the connections, by direction and kind.
pub(super) fn bytes(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let known = |size: Option<f64>| size.map_or_else(units::none, units::size);
    let sizes = |of: &TrafficPerCall| [of.headers, of.bodies, of.overhead].map(Some);
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
            marks => format!("; plus handler marks, {}", units::size(marks)),
        };
        let sent = SENT.into_iter().zip(sizes(&bytes.sent));
        let received = RECEIVED.into_iter().zip(sizes(&bytes.received));
        Some(Bar {
            parts: parts(sent.chain(received), units::size),
            total: units::size(bytes.total()),
            detail: format!(
                "request {}, response {}{compressed}{marks}",
                known(payload.request_compressed),
                known(payload.response_compressed),
            ),
            ..Bar::default()
        })
    };
    let bars = bars(groups, units::size, SENT.into_iter().chain(RECEIVED), bar);
    let subjects = if any_subject(groups) {
        " The handler marks, which a server adds to its headers only where stages are timed, are \
             left out."
    } else {
        ""
    };
    let intro = format!(
        "On the connection, both directions. Overhead is frames, chunking, message prefixes and the \
         connection's set-up.{subjects}"
    );
    Chart::new(weight, "Bytes per call", intro, bars, Vec::new())
}

fn any_subject(groups: &[Group<'_>]) -> bool {
    members(groups).any(|(variant, _)| !variant.is_live())
}

/// One side's user, system and unsplit time.
const CLIENT_CPU: [Named; 3] = [
    named("client-user", "client, user"),
    named("client-system", "client, system"),
    named("client-unsplit", "client, user or system"),
];
const SERVER_CPU: [Named; 3] = [
    named("server-user", "server, user"),
    named("server-system", "server, system"),
    named("server-unsplit", "server, user or system"),
];

/// CPU per call, by side and mode.
pub(super) fn cpu(groups: &[Group<'_>], weight: Weight) -> Option<Chart> {
    let times = |side: Option<CpuSide>| {
        side.map_or([None; 3], |side| {
            [side.user_ns, side.system_ns, side.unsplit_ns]
        })
    };
    let shown = |side: CpuSide| units::time(side.total_ns);
    let total = |side: Option<CpuSide>| side.map_or_else(units::none, shown);
    let bar = |figures: &Figures| {
        let (client, server) = (figures.cpu.client, figures.cpu.server);
        let of_floor = figures.floor.as_ref().and_then(|floor| floor.client_cpu_ns);
        let bare = of_floor.map(|ns| format!("bare loop {}", units::time(ns)));
        let share = figures.client_share.map(units::percent);
        let share = share.map(|share| format!("client at {share} of its core"));
        let of_client = CLIENT_CPU.into_iter().zip(times(client));
        let of_server = SERVER_CPU.into_iter().zip(times(server));
        Some(Bar {
            parts: parts(of_client.chain(of_server), units::time),
            total: match server {
                Some(_) => format!("{} + {}", total(client), total(server)),
                None => total(client),
            },
            detail: words::joined(bare.into_iter().chain(share), "; "),
            ..Bar::default()
        })
    };
    let all = CLIENT_CPU.into_iter().chain(SERVER_CPU);
    let bars = bars(groups, units::time, all, bar);
    let subjects = if any_subject(groups) {
        " and of the server's process. The server's split into user and system is the kernel's \
                 estimate, and is missing for trials shorter than one kernel tick. Bare loop: the client CPU \
                 of the floor."
    } else {
        "."
    };
    // Codecs encode and decode messages without making calls.
    let title = if members(groups).all(|(variant, _)| variant.how.is_codec()) {
        "CPU per message"
    } else {
        "CPU per call"
    };
    let intro = format!("CPU time of the client's measuring thread{subjects}");
    Chart::new(weight, title, intro, bars, Vec::new())
}
