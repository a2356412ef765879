//! `trials.csv`: one row per trial of the plan that ended (RFC 4180, with a header).
//!
//! Columns are stable: new ones are added at the end, and none is renamed or removed within a schema. Times are in
//! nanoseconds and sizes in bytes. A figure that the trial lacks is empty.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::{DirectionCounts, LinkCounts};
use rpcgauge_study::settings::Placement;
use rpcgauge_study::words::Named;

use crate::escape;
use crate::findings::Findings;
use crate::findings::trial::{TrialRow, field};
use crate::metric::row;
use crate::words::joined;

/// The columns that every trial has.
const TRIAL: [&str; 7] = [
    "trial",
    "variant",
    "invocation",
    "block",
    "placement",
    "outcome",
    "reason",
];

/// A column of measured trials: its name and its value.
type Column = (&'static str, fn(&TrialRow) -> String);

/// The columns before the metrics.
const MEASURED: [Column; 27] = [
    ("idle", |t| t.idle.as_str().to_owned()),
    ("timing", |t| format!("{:?}", t.timing).to_lowercase()),
    ("started_at_ms", |t| t.started_at_ms.to_string()),
    ("elapsed_ns", |t| t.elapsed_ns.to_string()),
    ("settled", |t| t.settled.to_string()),
    ("client_bound", |t| t.client_bound.to_string()),
    ("client_share", |t| shown(t.client_share)),
    ("calls_started", |t| t.started.to_string()),
    ("calls_answered", |t| t.answered.to_string()),
    ("calls_failed", |t| t.failed.to_string()),
    ("calls_abandoned", |t| t.abandoned.to_string()),
    ("calls_never_begun", |t| t.never_begun.to_string()),
    ("calls_never_sent", |t| t.never_sent.to_string()),
    ("calls_retried", |t| t.retried.to_string()),
    ("calls_answered_after_retry", |t| {
        t.answered_after_retry.to_string()
    }),
    ("warmup_failed", |t| t.warmup_failed.to_string()),
    ("connections_at_start", |t| shown(t.connections_at_start)),
    ("connections_opened", |t| shown(t.connections_opened)),
    ("connects_failed", |t| t.connects_failed.to_string()),
    ("uncompressed_responses", |t| {
        t.uncompressed_responses.to_string()
    }),
    ("errors_without_sample", |t| {
        t.errors_without_sample.to_string()
    }),
    ("bodies_late", |t| t.bodies_late.to_string()),
    ("marks_bytes", |t| shown(t.marks_bytes)),
    ("send_delay_p50_ns", |t| {
        shown(t.send_delay.map(|d| d.p50_ns))
    }),
    ("send_delay_p99_ns", |t| {
        shown(t.send_delay.and_then(|d| d.p99_ns))
    }),
    ("send_delay_max_ns", |t| {
        shown(t.send_delay.map(|d| d.max_ns))
    }),
    ("rate_per_s", |t| shown(t.rate)),
];

/// The columns after the metrics: the figures of the link, with both directions together.
const LINK: [Column; 10] = [
    ("link_held", |t| shown(t.link.map(|_| !t.link_not_held))),
    ("link_round_trip_ns", |t| {
        of_link(t, |l| l.calibration.median_ns)
    }),
    ("link_lateness_p99_ns", |t| {
        of_link(t, |l| l.lateness.p99_ns)
    }),
    ("link_packets", |t| both_ways(t, |way| way.packets)),
    ("link_bytes", |t| both_ways(t, |way| way.bytes)),
    ("link_lost", |t| both_ways(t, |way| way.lost)),
    ("link_dropped", |t| both_ways(t, |way| way.dropped)),
    ("link_foreign_drops", |t| of_link(t, |l| l.foreign_drops)),
    ("link_retransmits", |t| of_link(t, |l| l.retransmits)),
    ("link_core_share", |t| {
        shown(t.link.and_then(|link| link.core_share()))
    }),
];

fn of_link(trial: &TrialRow, of: fn(&LinkCounts) -> u64) -> String {
    shown(trial.link.as_ref().map(of))
}

fn both_ways(trial: &TrialRow, of: fn(&DirectionCounts) -> u64) -> String {
    let sum = |link: &LinkCounts| of(&link.up).saturating_add(of(&link.down));
    shown(trial.link.as_ref().map(sum))
}

/// The names in the header line.
pub fn columns() -> Vec<String> {
    let [measured, link] = [&MEASURED[..], &LINK].map(|all| all.iter().map(|(name, _)| *name));
    let own = TRIAL.into_iter().chain(measured).map(str::to_owned);
    let metrics = Metric::all().map(|metric| field(metric) + row(metric).suffix());
    own.chain(metrics)
        .chain(["link".to_owned()])
        .chain(link.map(str::to_owned))
        .collect()
}

/// Renders the trials as CSV.
pub fn render(findings: &Findings) -> String {
    let measured = findings.trials.iter().map(|t| {
        let place = (t.index, &*t.variant, t.invocation, t.block, t.placement);
        let own = MEASURED.map(|(_, value)| value(t)).into_iter();
        let metrics = Metric::all().map(|metric| shown(t.figures.get(metric)));
        let how = findings.variant(&t.variant).map(|variant| &variant.how);
        let name = how.and_then(|how| how.settings.get("link"));
        let name = name.map_or_else(String::new, |name| escape::csv(name));
        let link = LINK.map(|(_, value)| value(t)).into_iter();
        (
            t.index,
            line(place, None, own.chain(metrics).chain([name]).chain(link)),
        )
    });
    let failed = findings.failures.iter().map(|t| {
        let place = (t.index, &*t.variant, t.invocation, t.block, t.placement);
        let nothing = vec![String::new(); columns().len() - TRIAL.len()].into_iter();
        (t.index, line(place, Some(&t.reason), nothing))
    });
    let mut rows: Vec<(u32, String)> = measured.chain(failed).collect();
    rows.sort_by_key(|(index, _)| *index);
    let header = columns().join(",") + "\r\n";
    header + &rows.into_iter().map(|(_, row)| row).collect::<String>()
}

/// The line of a trial; `reason` is why it failed, `None` if it was measured.
fn line(
    (index, variant, invocation, block, placement): (u32, &str, u32, u32, Placement),
    reason: Option<&String>,
    rest: impl Iterator<Item = String>,
) -> String {
    let outcome = if reason.is_some() {
        "failed"
    } else {
        "measured"
    };
    let own = [
        index.to_string(),
        escape::csv(variant),
        invocation.to_string(),
        block.to_string(),
        placement.as_str().to_owned(),
        outcome.to_owned(),
        reason.map_or_else(String::new, |reason| escape::csv(reason)),
    ];
    joined(own.into_iter().chain(rest), ",") + "\r\n"
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
