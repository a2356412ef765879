//! The tables of the page: figures, stages, environment, what failed.

use rpcgauge_study::record::{Environment, Fault, Stage};
use serde::Serialize;

use super::bars::stage_name;
use crate::failures::{Failure, Failures};
use crate::findings::{Distribution, Figures, Findings, StageFindings};
use crate::marks;
use crate::questions::Group;
use crate::units::{self, NONE};
use crate::words;

/// A row of the figures' table.
#[derive(Debug, Serialize)]
pub(crate) struct FigureRow {
    name: String,
    how: String,
    marks: String,
    /// Whether these are about a minority of its trials only.
    minor: bool,
    /// In the order of [`COLUMNS`].
    cells: Vec<String>,
}

/// The figures' columns, after the variant's name.
pub(crate) const COLUMNS: [&str; 20] = [
    "p50",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "max",
    "mean",
    "calls/s",
    "answered",
    "failed",
    "opened",
    "delay p50",
    "delay p99",
    "delay max",
    "floor",
    "kernel",
    "client share",
    "client peak",
    "server peak",
    "code",
];

/// The figures of all groups.
pub(crate) fn figures(groups: &[Group<'_>]) -> Vec<FigureRow> {
    let members = groups.iter().flat_map(|group| &group.members);
    members
        .map(|(variant, cell)| FigureRow {
            name: variant.name.clone(),
            how: variant.how.line.clone(),
            marks: marks::names(cell),
            minor: marks::main(cell).is_empty(),
            cells: cell
                .figures
                .as_deref()
                .map_or_else(|| vec![NONE.to_owned(); COLUMNS.len()], cells),
        })
        .collect()
}

fn cells(figures: &Figures) -> Vec<String> {
    let none = || NONE.to_owned();
    let time = |value: fn(&Distribution) -> Option<u64>| {
        let ns = figures.latency.as_ref().and_then(value);
        ns.map_or_else(none, |ns| units::time(ns as f64))
    };
    let delay = |value: fn(&Distribution) -> Option<u64>| {
        let ns = figures.send_delay.as_ref().and_then(value);
        ns.map_or_else(none, |ns| units::time(ns as f64))
    };
    let floor = figures.floor.as_ref();
    vec![
        time(|l| Some(l.p50_ns)),
        time(|l| l.p90_ns),
        time(|l| l.p95_ns),
        time(|l| l.p99_ns),
        time(|l| l.p999_ns),
        time(|l| Some(l.max_ns)),
        figures
            .latency
            .as_ref()
            .map_or_else(none, |l| units::time(l.mean_ns)),
        units::number(figures.goodput),
        units::count(figures.calls.answered),
        units::count(figures.calls.failed_total()),
        figures.connections.opened.map_or_else(none, units::count),
        delay(|d| Some(d.p50_ns)),
        delay(|d| d.p99_ns),
        delay(|d| Some(d.max_ns)),
        floor.map_or_else(none, |f| units::time(f.round_trip_ns as f64)),
        floor
            .and_then(|f| f.share)
            .map_or_else(none, units::percent),
        figures.client_share.map_or_else(none, units::percent),
        units::size(figures.memory.client_peak as f64),
        figures
            .memory
            .server_peak
            .map_or_else(none, |bytes| units::size(bytes as f64)),
        words::code_names(&figures.code),
    ]
}

/// The stages of the variants that were timed by stages: one row a variant, one column a stage.
#[derive(Debug, Serialize)]
pub(crate) struct StageTable {
    columns: Vec<&'static str>,
    rows: Vec<(String, Vec<String>)>,
}

/// The stages of all variants that were timed by stages, mean and median.
pub(crate) fn stages(groups: &[Group<'_>]) -> StageTable {
    let staged: Vec<(&str, &[StageFindings])> = groups
        .iter()
        .flat_map(|group| &group.members)
        .filter_map(|(variant, cell)| Some((&*variant.name, &*cell.figures.as_deref()?.stages)))
        .filter(|(_, stages)| !stages.is_empty())
        .collect();
    let spans = [Stage::RequestTime, Stage::HandlerTime, Stage::ResponseTime];
    let used: Vec<Stage> = Stage::CLIENT
        .into_iter()
        .chain(spans)
        .filter(|stage| {
            staged
                .iter()
                .any(|(_, stages)| stages.iter().any(|s| s.stage == *stage))
        })
        .collect();
    let cell = |stages: &[StageFindings], stage: &Stage| {
        let found = stages.iter().find(|s| s.stage == *stage);
        found.map_or_else(
            || NONE.to_owned(),
            |s| {
                format!(
                    "{} ({})",
                    units::time(s.mean_ns),
                    units::time(s.p50_ns as f64)
                )
            },
        )
    };
    let rows = staged.iter().map(|(name, stages)| {
        (
            (*name).to_owned(),
            used.iter().map(|stage| cell(stages, stage)).collect(),
        )
    });
    StageTable {
        rows: rows.collect(),
        columns: used.iter().map(|s| stage_name(*s).1).collect(),
    }
}

/// Trials that failed in the same way.
#[derive(Debug, Serialize)]
pub(crate) struct FailureView {
    title: String,
    reason: String,
    fault: &'static str,
    trials: String,
    log: String,
}

/// The failed trials; those of one variant with one reason together, with the first one's log.
pub(crate) fn failures(failures: &Failures<'_>) -> Vec<FailureView> {
    let view = |failure: &Failure<'_>| {
        let trial = failure.first;
        FailureView {
            title: format!("{} {}", trial.variant, words::on(trial.placement)),
            reason: trial.reason.clone(),
            fault: fault(trial.fault),
            trials: failure.numbers(),
            log: trial.log.clone(),
        }
    };
    failures.listed.iter().map(view).collect()
}

fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::User => "what was asked cannot be done",
        Fault::Instrument => "rpcgauge's own fault",
        Fault::Subject => "the stack under test",
        Fault::Machine => "the machine",
    }
}

/// What went amiss with a variant's calls and connections.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorView {
    name: String,
    mishaps: String,
    latency: Option<String>,
    samples: Vec<(String, String, String)>,
    others: Option<String>,
}

/// The failed calls and connections of all variants.
pub(crate) fn errors(findings: &Findings) -> Vec<ErrorView> {
    let cells = findings
        .variants
        .iter()
        .flat_map(|v| v.cells.iter().map(move |c| (v, c)));
    cells
        .filter_map(|(variant, cell)| {
            let figures = cell.figures.as_deref()?;
            Some(ErrorView {
                name: format!("{} {}", variant.name, words::on(cell.placement)),
                mishaps: words::mishaps(figures)?,
                latency: figures.failed_latency.as_ref().map(|l| {
                    let (p50, max) = (units::time(l.p50_ns as f64), units::time(l.max_ns as f64));
                    format!("failed calls took {p50} (p50), at most {max}")
                }),
                samples: figures
                    .errors
                    .iter()
                    .map(|e| (units::count(e.count), e.kind.clone(), e.text.clone()))
                    .collect(),
                others: words::other_errors(figures),
            })
        })
        .collect()
}

/// How far the machine moved a floor during the run: the one that it moved furthest, since floors
/// of other bytes and transports are not to be compared. None without two blocks of a floor.
pub(crate) fn floor_blocks(findings: &Findings) -> Option<(String, String)> {
    let cells = findings
        .variants
        .iter()
        .flat_map(|v| v.cells.iter().map(move |c| (v, c)));
    let floors = cells.filter_map(|(variant, cell)| {
        let floor = cell.figures.as_deref()?.floor.as_ref()?;
        let moved = floor.highest_round_trip_ns as f64 / floor.lowest_round_trip_ns.max(1) as f64;
        (floor.blocks > 1).then_some((moved, floor, variant, cell))
    });
    let (moved, floor, variant, cell) = floors.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let text = format!(
        "{} to {} ({}×) over {} blocks, of {} {}: the most of any floor",
        units::time(floor.lowest_round_trip_ns as f64),
        units::time(floor.highest_round_trip_ns as f64),
        units::ratio(moved),
        floor.blocks,
        variant.name,
        words::on(cell.placement),
    );
    Some(("Floor by block".to_owned(), text))
}

/// The environment, name by name; what makes it noisy is among the findings' warnings.
pub(crate) fn environment(environment: &Environment) -> Vec<(String, String)> {
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
    let idle = &environment.idle;
    let mut idle_text = if idle.asked == idle.got {
        idle.got.to_string()
    } else {
        format!("{} asked, {} got", idle.asked, idle.got)
    };
    if let Some(reason) = &idle.reason {
        idle_text += &format!(" ({reason})");
    }
    let mut rows = vec![
        ("rpcgauge".to_owned(), environment.rpcgauge.clone()),
        ("System".to_owned(), environment.system.clone()),
        ("Processor".to_owned(), environment.processor.clone()),
        ("Cores".to_owned(), environment.cores.to_string()),
        (
            "Memory".to_owned(),
            units::size(environment.memory_bytes as f64),
        ),
        (
            "Virtual machine".to_owned(),
            or_unknown(&environment.virtualization),
        ),
        (
            "Frequency governor".to_owned(),
            or_unknown(&environment.governor),
        ),
        ("Idle states".to_owned(), idle_text),
    ];
    for (subject, versions) in &environment.subjects {
        let versions: Vec<String> = versions
            .iter()
            .map(|(what, v)| format!("{what} {v}"))
            .collect();
        rows.push((format!("Subject {subject}"), versions.join(", ")));
    }
    rows
}
