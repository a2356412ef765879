//! The tables of figures and of stages, and how each variant calls.

use rpcgauge_study::record::{Stage, Startup};
use rpcgauge_study::settings::{Placement, Timing};

use super::groups::{self, Group, Member, measured, members};
use super::live::LEFT_OUT;
use super::{Block, Column, Figure, MAX_IN_TEXTS, Section, Shown, Table, number, row, with_head};
use crate::distinct;
use crate::findings::{Distribution, Figures, Findings, StageFindings, VariantFindings};
use crate::units::{self, ns};
use crate::words::{self, Labels};

/// The rank of a column that only the page shows.
const PAGE: u8 = MAX_IN_TEXTS + 1;

/// The column of the send delay, and its higher rank if calls are due at a rate: their latency includes the delay.
const DELAY: &str = "delay p99";
const DELAY_RANK_AT_A_RATE: u8 = 1;

const RATE: &str = "calls/s";
const KERNEL: &str = "kernel";

/// The figures, from left to right.
const FIGURES: [Figure<Figures>; 28] = [
    number("p50", 0, |f| of(&f.latency, |l| Some(l.p50_ns))),
    number("p90", 8, |f| of(&f.latency, |l| l.p90_ns)),
    number("p95", PAGE, |f| of(&f.latency, |l| l.p95_ns)),
    number("p99", 1, |f| of(&f.latency, |l| l.p99_ns)),
    number("p99.9", 9, |f| of(&f.latency, |l| l.p999_ns)),
    number("max", 10, |f| of(&f.latency, |l| Some(l.max_ns))),
    number("mean", PAGE, |f| {
        Some(units::time(f.latency.as_ref()?.mean_ns))
    }),
    number("delay p50", PAGE, |f| of(&f.send_delay, |d| Some(d.p50_ns))),
    number(DELAY, 11, |f| of(&f.send_delay, |d| d.p99_ns)),
    number("delay max", PAGE, |f| of(&f.send_delay, |d| Some(d.max_ns))),
    number("service p50", PAGE, |f| {
        of(&f.service_time, |s| Some(s.p50_ns))
    }),
    number("service p99", PAGE, |f| of(&f.service_time, |s| s.p99_ns)),
    number("first byte p50", PAGE, |f| {
        of(&f.first_byte, |b| Some(b.p50_ns))
    }),
    number("first byte p99", PAGE, |f| of(&f.first_byte, |b| b.p99_ns)),
    number(RATE, 2, |f| Some(units::number(f.goodput))),
    number("succeeded", PAGE, |f| Some(units::count(f.calls.answered))),
    number("failed", PAGE, |f| {
        Some(units::count(f.calls.failed_total()))
    }),
    number("bytes/call", 4, |f| Some(units::size(f.bytes?.total()))),
    number("client CPU", 5, |f| {
        Some(units::time(f.cpu.client?.total_ns))
    }),
    number("client share", 12, |f| f.client_share.map(units::percent)),
    number("server CPU", 6, |f| {
        Some(units::time(f.cpu.server?.total_ns))
    }),
    number("floor", PAGE, |f| {
        Some(units::time(f.floor.as_ref()?.round_trip_ns))
    }),
    number(KERNEL, 7, |f| {
        Some(units::percent(f.floor.as_ref()?.share?))
    }),
    number("opened", PAGE, |f| f.connections.opened.map(units::count)),
    number("peaks", PAGE, |f| {
        let f = own_process(f)?;
        let server = f.memory.server_peak.map(|bytes| units::size(bytes as f64));
        Some(both_sides(units::size(f.memory.client_peak as f64), server))
    }),
    number("threads", PAGE, |f| {
        let f = own_process(f)?;
        let server = f.threads.server.map(|server| server.to_string());
        Some(both_sides(f.threads.client.to_string(), server))
    }),
    number("start-up", PAGE, |f| {
        let Startup {
            client_ns,
            server_ns,
            ..
        } = own_process(f)?.startup;
        let times: Vec<String> = [client_ns, server_ns]
            .into_iter()
            .flatten()
            .map(units::ns)
            .collect();
        (!times.is_empty()).then(|| times.join(" + "))
    }),
    (Column::text("code", MAX_IN_TEXTS), |f| {
        Some(words::code_names(&f.code))
    }),
];

fn of(times: &Option<Distribution>, figure: fn(&Distribution) -> Option<f64>) -> Option<String> {
    figure(times.as_ref()?).map(units::time)
}

/// The figures of a variant whose processes no other variant shares.
fn own_process(figures: &Figures) -> Option<&Figures> {
    Some(figures).filter(|figures| !figures.shared_process)
}

/// The client's figure, and the server's if known.
fn both_sides(client: String, server: Option<String>) -> String {
    words::joined([Some(client), server].into_iter().flatten(), " + ")
}

/// The figures of these groups. Columns without figures are left out, except for the most important ones.
pub(super) fn table(groups: &[Group<'_>]) -> Table {
    let members = || members(groups);
    let is_codec = |variant: &VariantFindings| variant.how.is_codec();
    let all_codecs = members().all(|(variant, _)| is_codec(variant));
    let at_a_rate = members().any(|(variant, _)| variant.how.is_at_a_rate());
    let is_shown = |(column, figure): &Figure<Figures>| {
        column.rank <= 2 || measured(groups).any(|(_, figures)| figure(figures).is_some())
    };
    let column = |column: Column| match &*column.title {
        DELAY if at_a_rate => Column::number(DELAY, DELAY_RANK_AT_A_RATE),
        RATE if all_codecs => Column::number("messages/s", column.rank),
        _ => column,
    };
    let shown = FIGURES.into_iter().filter(is_shown);
    let shown: Vec<Figure<Figures>> = shown.map(|(of, figure)| (column(of), figure)).collect();
    let mut table = Table::of_figures(Column::text("variant", 0), &shown);
    let cells =
        |(variant, cell): &Member<'_>| row(variant.name.clone(), &shown, cell.figures.as_deref());
    for group in groups {
        table.add_group(group.members.iter().map(cells));
    }
    let cautions = members().map(|(_, cell)| Labels::of(&cell.cautions));
    table.cautions = cautions.collect();
    let letters = table.cautions.iter().map(|labels| &*labels.letters);
    table.legend = words::caution::legend(&letters.collect::<String>());
    let has = |title| shown.iter().any(|(column, _)| column.title == title);
    // Clients of subjects encode and decode messages, and so does rpcgauge's own for streams and what is compared with
    // them, which has one call in flight.
    let is_load = |(variant, cell): &Member<'_>| {
        let figures = cell.figures.as_deref();
        let is_one = variant
            .how
            .settings
            .get("in-flight")
            .is_some_and(|calls| calls == "1");
        let leaves_out = |f: &Figures| f.client_share.is_some() && f.messages.is_none() && !is_one;
        variant.timing == Timing::Load && !variant.is_live() && figures.is_some_and(leaves_out)
    };
    let load = format!("the figures under load leave out {LEFT_OUT}");
    let notes = [
        (
            has(DELAY),
            "delay p99: the time from when calls were due until they were sent",
        ),
        (
            has(KERNEL),
            "kernel: the share of the median call that two bare loops take for the same bytes (the \
             floor)",
        ),
        (
            measured(groups).any(|(_, figures)| figures.link.is_some()),
            "over a link, the floor crosses the link too, so its share covers network and kernel",
        ),
        (
            !all_codecs && members().any(|(variant, _)| is_codec(variant)),
            "calls/s of a codec: messages per second",
        ),
        (members().any(|member| is_load(&member)), &*load),
    ];
    let notes = notes.into_iter().filter(|(is_said, _)| *is_said);
    table.notes = notes.map(|(_, note)| note.to_owned()).collect();
    table
}

/// The figures under each placement, for texts.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let (mut tables, mut legend, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for placement in &findings.study.placements {
        // Codecs that are only parts of calls are shown with the parts.
        let variants = findings.variants.iter();
        let variants = variants.filter(|variant| !findings.is_part(variant));
        let groups = groups::groups(findings, variants, *placement);
        if !groups.is_empty() {
            let mut table = table(&groups);
            legend.append(&mut table.legend);
            notes.append(&mut table.notes);
            tables.push((*placement, table, [client(&groups), spikes(&groups)]));
        }
    }
    // Only the last table has the notes and the legend.
    if let Some((_, last, _)) = tables.last_mut() {
        (last.legend, last.notes) = (distinct(legend), distinct(notes));
    }
    let sections = tables.into_iter().map(|(placement, table, said)| {
        let title = format!("Figures {}", words::on(placement));
        let said = said.into_iter().flatten().map(Block::Note);
        Section::new(
            "figures",
            title,
            Shown::InTexts,
            with_head(Block::Table(table), said),
        )
    });
    sections.collect()
}

/// The client's own CPU share and send delay as a sentence, so that every report shows them even if their columns
/// are dropped.
fn client(groups: &[Group<'_>]) -> Option<String> {
    let shares = measured(groups).filter_map(|(v, f)| Some((f.client_share_max?, &v.name)));
    let (share, busiest) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let share = units::percent(share);
    let mut text = format!("rpcgauge's own client used up to {share} of its core ({busiest})");
    let delays = measured(groups).filter_map(|(variant, figures)| {
        let name = &variant.name;
        let delay = figures.send_delay.as_ref()?;
        // With too few calls for a percentile, the maximum is shown.
        Some(match delay.p99_ns {
            Some(ns) => (ns, "99% of its calls", name),
            None => (delay.max_ns, "its calls", name),
        })
    });
    if let Some((delay, calls, latest)) = delays.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let delay = units::time(delay);
        text += &format!(" and sent {calls} within {delay} of when they were due ({latest})");
    }
    Some(text + ".")
}

/// The number of spikes, and the highest; `None` without spikes.
fn spikes(groups: &[Group<'_>]) -> Option<String> {
    let timelines = || measured(groups).map(|(variant, figures)| (variant, &figures.timeline));
    let found: u64 = timelines().map(|(_, t)| t.spikes_found).sum();
    let with = timelines().filter(|(_, t)| t.spikes_found > 0).count();
    let spikes = timelines().flat_map(|(v, t)| t.spikes.iter().map(move |s| (s.max_ns, v)));
    let (highest, variant) = spikes.max_by_key(|(ns, _)| *ns)?;
    Some(format!(
        "{} in {with} of {} variants, the highest of {} in {}; report.html shows when.",
        units::counted(found, "spike"),
        members(groups).count(),
        ns(highest),
        variant.name,
    ))
}

/// The mean and median of each stage, for all variants that were timed by stages; `None` if there are no such
/// variants.
pub(super) fn stages(groups: &[Group<'_>]) -> Option<Table> {
    let staged = measured(groups).filter(|(_, figures)| !figures.stages.is_empty());
    let staged: Vec<(&str, &[StageFindings])> = staged
        .map(|(variant, figures)| (&*variant.name, &*figures.stages))
        .collect();
    let of = |stages: &[StageFindings], stage: &Stage| {
        stages.iter().find(|found| found.stage == *stage).copied()
    };
    let used = Stage::ALL.into_iter();
    let used = used.filter(|stage| staged.iter().any(|(_, stages)| of(stages, stage).is_some()));
    let used: Vec<Stage> = used.collect();
    let cell = |found: StageFindings| {
        format!(
            "{} ({})",
            units::time(found.mean_ns),
            units::time(found.p50_ns)
        )
    };
    let row = |(name, stages): &(&str, &[StageFindings])| {
        let cells = used
            .iter()
            .map(|stage| of(stages, stage).map_or_else(units::none, cell));
        with_head((*name).to_owned(), cells)
    };
    let columns = used
        .iter()
        .map(|stage| Column::number(stage_name(*stage), PAGE));
    (!staged.is_empty()).then(|| Table {
        rows: staged.iter().map(row).collect(),
        columns: with_head(Column::text("variant", 0), columns),
        notes: vec!["Mean (median) of each stage, over the calls that had the stage.".to_owned()],
        ..Table::default()
    })
}

/// The spans that overlap the client's stages.
pub(super) const SPANS: [Stage; 3] = [Stage::RequestTime, Stage::HandlerTime, Stage::ResponseTime];

pub(super) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Connect => "connect",
        Stage::Encode => "encode",
        Stage::Compress => "compress",
        Stage::Send => "send",
        Stage::Wait => "wait",
        Stage::Receive => "receive",
        Stage::Decompress => "decompress",
        Stage::Decode => "decode",
        Stage::RequestTime => "request time",
        Stage::HandlerTime => "handler time",
        Stage::ResponseTime => "response time",
    }
}

pub(super) fn how(variants: &[&VariantFindings]) -> Block {
    Block::facts(variants.iter().map(|variant| {
        let how = &variant.how;
        (&variant.name, format!("{}; {}", how.line, how.called))
    }))
}

/// The placements under which at least one of these variants was planned.
pub(super) fn placements(findings: &Findings, variants: &[&VariantFindings]) -> Vec<Placement> {
    let all = findings.study.placements.iter().copied();
    let is_planned = |place: &Placement| variants.iter().any(|v| v.cell(*place).is_some());
    all.filter(is_planned).collect()
}
