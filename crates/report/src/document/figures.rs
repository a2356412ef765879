//! The tables of figures and of stages, and how each variant calls.

use rpcgauge_study::record::Stage;
use rpcgauge_study::settings::{Placement, Timing};

use super::groups::{self, Group, measured, members};
use super::live::{LEFT_OUT, time};
use super::{Block, Column, MOST_IN_TEXTS, Section, Shown, Table, Text};
use crate::findings::{Cell, Figures, Findings, StageFindings, VariantFindings};
use crate::units;
use crate::words::{self, Labels};

/// A column of figures: its head, and what stands in it.
type Figure = (Column, fn(&Figures) -> Option<String>);

/// The rank of a column that only the page shows.
const PAGE: u8 = MOST_IN_TEXTS + 1;

/// The column of how late calls were sent, and its rank where calls are due at a rate: their latency has
/// it within it.
const DELAY: &str = "delay p99";
const DELAY_RANK_AT_A_RATE: u8 = 1;

const RATE: &str = "calls/s";

/// The figures, from left to right.
const FIGURES: [Figure; 23] = [
    (Column::number("p50", 0), |f| latency(f, |l| Some(l.p50_ns))),
    (Column::number("p90", 8), |f| latency(f, |l| l.p90_ns)),
    (Column::number("p95", PAGE), |f| latency(f, |l| l.p95_ns)),
    (Column::number("p99", 1), |f| latency(f, |l| l.p99_ns)),
    (Column::number("p99.9", 9), |f| latency(f, |l| l.p999_ns)),
    (Column::number("max", 10), |f| {
        latency(f, |l| Some(l.max_ns))
    }),
    (Column::number("mean", PAGE), |f| {
        Some(units::time(f.latency.as_ref()?.mean_ns))
    }),
    (Column::number("delay p50", PAGE), |f| {
        delay(f, |d| Some(d.p50_ns))
    }),
    (Column::number(DELAY, 11), |f| delay(f, |d| d.p99_ns)),
    (Column::number("delay max", PAGE), |f| {
        delay(f, |d| Some(d.max_ns))
    }),
    (Column::number(RATE, 2), |f| Some(units::number(f.goodput))),
    (Column::number("answered", PAGE), |f| {
        Some(units::count(f.calls.answered))
    }),
    (Column::number("failed", PAGE), |f| {
        Some(units::count(f.calls.failed_total()))
    }),
    (Column::number("bytes/call", 4), |f| {
        Some(units::size(f.bytes?.total()))
    }),
    (Column::number("client CPU", 5), |f| {
        Some(units::time(f.cpu.client?.total_ns))
    }),
    (Column::number("client share", 12), |f| {
        f.client_share.map(units::percent)
    }),
    (Column::number("server CPU", 6), |f| {
        Some(units::time(f.cpu.server?.total_ns))
    }),
    (Column::number("floor", PAGE), |f| {
        Some(units::time(f.floor.as_ref()?.round_trip_ns as f64))
    }),
    (Column::number(KERNEL, 7), |f| {
        Some(units::percent(f.floor.as_ref()?.share?))
    }),
    (Column::number("opened", PAGE), |f| {
        f.connections.opened.map(units::count)
    }),
    (Column::number("peaks", PAGE), |f| {
        let server = f
            .memory
            .server_peak
            .map(|bytes| format!(" + {}", units::size(bytes as f64)));
        Some(units::size(f.memory.client_peak as f64) + &server.unwrap_or_default())
    }),
    (Column::number("threads", PAGE), |f| {
        let server = f.threads.server.map(|server| format!(" + {server}"));
        Some(f.threads.client.to_string() + &server.unwrap_or_default())
    }),
    (Column::text("code", MOST_IN_TEXTS), |f| {
        Some(words::code_names(&f.code))
    }),
];

const KERNEL: &str = "kernel";

fn latency(
    figures: &Figures,
    of: fn(&crate::findings::Distribution) -> Option<u64>,
) -> Option<String> {
    Some(time(Some(of(figures.latency.as_ref()?)?)))
}

fn delay(
    figures: &Figures,
    of: fn(&crate::findings::Distribution) -> Option<u64>,
) -> Option<String> {
    Some(time(Some(of(figures.send_delay.as_ref()?)?)))
}

/// The figures of some groups. A column that no variant has is left out.
pub(super) fn table(groups: &[Group<'_>]) -> Table {
    let members = || members(groups);
    let is_codec = |variant: &VariantFindings| variant.how.is_codec();
    let all_codecs = members().all(|(variant, _)| is_codec(variant));
    let at_a_rate = members().any(|(variant, _)| variant.how.is_at_a_rate());
    let shown: Vec<Figure> = FIGURES
        .into_iter()
        .filter(|(column, figure)| {
            column.rank <= 2
                || members().any(|(_, cell)| cell.figures.as_deref().and_then(figure).is_some())
        })
        .collect();
    let column = |(column, _): &Figure| match column.title {
        DELAY if at_a_rate => Column::number(DELAY, DELAY_RANK_AT_A_RATE),
        RATE if all_codecs => Column::number("messages/s", column.rank),
        _ => column.clone(),
    };
    let row = |(variant, cell): (&VariantFindings, &Cell)| {
        let figures = cell.figures.as_deref();
        let cells = shown
            .iter()
            .map(|(_, figure)| figures.and_then(figure).unwrap_or_else(units::none));
        [variant.name.clone()].into_iter().chain(cells).collect()
    };
    let cautions: Vec<Labels> = members()
        .map(|(_, cell)| Labels::of(&cell.cautions))
        .collect();
    let letters: String = cautions.iter().map(|labels| &*labels.letters).collect();
    let columns: Vec<Column> = [Column::text("variant", 0)]
        .into_iter()
        .chain(shown.iter().map(column))
        .collect();
    let mut notes = Vec::new();
    let mut explain = |title: &str, meaning: &str| {
        let has = columns.iter().any(|column| column.title == title);
        notes.extend(has.then(|| format!("{title}: {meaning}")));
    };
    explain(DELAY, "how long after they were due calls were sent");
    explain(
        KERNEL,
        "how much of the median call two bare loops take at least for the same bytes (the floor)",
    );
    if !all_codecs && members().any(|(variant, _)| is_codec(variant)) {
        notes.push("calls/s of a codec: messages a second".to_owned());
    }
    let is_load = |v: &VariantFindings| v.timing == Timing::Load && !v.is_live();
    if members().any(|(variant, _)| is_load(variant)) {
        notes.push(format!("the figures under load leave out {LEFT_OUT}"));
    }
    let mut breaks = Vec::new();
    let mut so_far = 0;
    for group in groups {
        breaks.extend((so_far > 0).then_some(so_far));
        so_far += group.members.len();
    }
    Table {
        rows: members().map(row).collect(),
        columns,
        cautions,
        breaks,
        legend: words::caution::legend(&letters),
        notes,
    }
}

/// The figures under each placement, for texts.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let mut sections = Vec::new();
    for placement in &findings.study.placements {
        // What is a part of calls stands with these.
        let variants = findings.variants.iter();
        let variants = variants.filter(|variant| !findings.is_part(variant));
        let groups = groups::groups(findings, variants, *placement);
        if groups.is_empty() {
            continue;
        }
        let mut blocks = vec![Block::Table(table(&groups))];
        blocks.extend(client(&groups).map(Block::Note));
        blocks.extend(spikes(&groups).map(Block::Note));
        sections.push(Section {
            id: "figures",
            title: format!("Figures {}", words::on(*placement)),
            shown: Shown::InTexts,
            blocks,
        });
    }
    // How to read them is said once, below the last.
    let (mut legend, mut notes) = (Vec::new(), Vec::new());
    let mut tables = sections
        .iter_mut()
        .filter_map(|section| match section.blocks.first_mut() {
            Some(Block::Table(table)) => Some(table),
            _ => None,
        });
    let mut last = None;
    for table in &mut tables {
        merge(&mut legend, std::mem::take(&mut table.legend));
        merge(&mut notes, std::mem::take(&mut table.notes));
        last = Some(table);
    }
    if let Some(table) = last {
        (table.legend, table.notes) = (legend, notes);
    }
    sections
}

/// Adds the lines that are not there yet.
fn merge(known: &mut Vec<String>, more: Vec<String>) {
    for line in more {
        if !known.contains(&line) {
            known.push(line);
        }
    }
}

/// What the instrument itself took, and how late it was, in every report: the columns of both may have no
/// room.
fn client(groups: &[Group<'_>]) -> Option<String> {
    let shares = measured(groups).filter_map(|(v, f)| Some((f.client_share_max?, &v.name)));
    let (share, busiest) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let mut text = format!(
        "rpcgauge's own client used up to {} of its core ({busiest})",
        units::percent(share)
    );
    let delays = measured(groups).filter_map(|(variant, figures)| {
        let name = &variant.name;
        let delay = figures.send_delay.as_ref()?;
        // Too few calls for a percentile have a longest one still.
        Some(match delay.p99_ns {
            Some(ns) => (ns, "99% of its calls", name),
            None => (delay.max_ns, "its calls", name),
        })
    });
    if let Some((delay, calls, latest)) = delays.max_by_key(|(ns, ..)| *ns) {
        text += &format!(
            " and sent {calls} within {} of when they were due ({latest})",
            units::time(delay as f64)
        );
    }
    Some(text + ".")
}

/// How many spikes there were, and the highest.
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
        units::time(highest as f64),
        variant.name,
    ))
}

/// The stages of all variants that were timed by stages, mean and median; none without any.
pub(super) fn stages(groups: &[Group<'_>]) -> Option<Table> {
    let staged: Vec<(&str, &[StageFindings])> = measured(groups)
        .map(|(variant, figures)| (&*variant.name, &*figures.stages))
        .filter(|(_, stages)| !stages.is_empty())
        .collect();
    let has = |stage: &Stage| {
        let mut all = staged.iter().flat_map(|(_, stages)| stages.iter());
        all.any(|found| found.stage == *stage)
    };
    let used: Vec<Stage> = Stage::ALL.into_iter().filter(has).collect();
    let cell = |stages: &[StageFindings], stage: Stage| {
        let found = stages.iter().find(|s| s.stage == stage);
        found.map_or_else(units::none, |s| {
            format!(
                "{} ({})",
                units::time(s.mean_ns),
                units::time(s.p50_ns as f64)
            )
        })
    };
    let row = |(name, stages): &(&str, &[StageFindings])| {
        let cells = used.iter().map(|stage| cell(stages, *stage));
        [(*name).to_owned()].into_iter().chain(cells).collect()
    };
    let columns = used
        .iter()
        .map(|stage| Column::number(stage_name(*stage), PAGE));
    (!staged.is_empty()).then(|| Table {
        rows: staged.iter().map(row).collect(),
        columns: [Column::text("variant", 0)]
            .into_iter()
            .chain(columns)
            .collect(),
        notes: vec!["Mean (median) of each stage, over the calls that had it.".to_owned()],
        ..Table::default()
    })
}

/// The spans that overlap the client's stages.
pub(super) const SPANS: [Stage; 3] = [Stage::RequestTime, Stage::HandlerTime, Stage::ResponseTime];

/// A stage's name.
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

/// How each of some variants calls.
pub(super) fn how(variants: &[&VariantFindings]) -> Vec<(String, Text)> {
    let how = variants.iter().map(|variant| {
        let how = &variant.how;
        let line = format!("{}; {}", how.line, how.called);
        (variant.name.clone(), line.into())
    });
    how.collect()
}

/// The placements that some variants were planned under.
pub(super) fn placements(findings: &Findings, variants: &[&VariantFindings]) -> Vec<Placement> {
    let all = findings.study.placements.iter().copied();
    all.filter(|place| {
        variants
            .iter()
            .any(|variant| variant.cell(*place).is_some())
    })
    .collect()
}
