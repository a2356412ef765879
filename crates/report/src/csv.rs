//! `trials.csv`: one row a trial of the plan that ended (RFC 4180, with a header).
//!
//! Columns are stable: new ones come at the end, none is renamed or removed within a schema.
//! Times are nanoseconds, sizes bytes; a figure that the trial does not have is empty.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::words::Word;

use crate::escape;
use crate::findings::trial::{TrialRow, field};
use crate::findings::{FailedTrial, Findings};
use crate::metric::row;

/// The columns before the metrics, and those behind them. The first metrics stand between; a metric that
/// came later stands last.
const BEFORE: [&str; 17] = [
    "trial",
    "variant",
    "invocation",
    "block",
    "placement",
    "idle",
    "timing",
    "outcome",
    "started_at_ms",
    "elapsed_ns",
    "settled",
    "client_bound",
    "client_share",
    "calls_started",
    "calls_answered",
    "calls_failed",
    "calls_abandoned",
];
const BEHIND: [&str; 17] = [
    REASON,
    "marks_bytes",
    "calls_never_begun",
    "warmup_failed",
    "connections_at_start",
    "connections_opened",
    "connects_failed",
    "uncompressed_answers",
    "errors_without_sample",
    "calls_retried",
    "calls_answered_after_retry",
    "bodies_late",
    "send_delay_p50_ns",
    "send_delay_p99_ns",
    "send_delay_max_ns",
    "rate_per_s",
    "calls_never_sent",
];
const FIRST_METRICS: usize = 11;

/// The column of why a trial failed.
const REASON: &str = "reason";

/// The header line's names.
#[must_use]
pub fn columns() -> Vec<String> {
    let metric = |metric| field(metric) + row(metric).suffix();
    let own = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let first = Metric::all().take(FIRST_METRICS).map(metric);
    let later = Metric::all().skip(FIRST_METRICS).map(metric);
    let before = own(&BEFORE).into_iter().chain(first);
    before.chain(own(&BEHIND)).chain(later).collect()
}

/// Writes the trials as CSV.
#[must_use]
pub fn render(findings: &Findings) -> String {
    let measured = findings.trials.iter().map(|row| (row.index, measured(row)));
    let failed = findings
        .failures
        .iter()
        .map(|trial| (trial.index, failed(trial)));
    let mut rows: Vec<(u32, Vec<String>)> = measured.chain(failed).collect();
    rows.sort_by_key(|(index, _)| *index);
    let mut csv = columns().join(",") + "\r\n";
    for (_, fields) in rows {
        csv += &fields.join(",");
        csv += "\r\n";
    }
    csv
}

fn measured(row: &TrialRow) -> Vec<String> {
    let mut fields = vec![
        row.index.to_string(),
        escape::csv(&row.variant),
        row.invocation.to_string(),
        row.block.to_string(),
        row.placement.word().to_owned(),
        row.idle.word().to_owned(),
        format!("{:?}", row.timing).to_lowercase(),
        "measured".to_owned(),
        row.started_at_ms.to_string(),
        row.elapsed_ns.to_string(),
        row.settled.to_string(),
        row.client_bound.to_string(),
        row.client_share
            .map_or_else(String::new, |share| share.to_string()),
        row.started.to_string(),
        row.answered.to_string(),
        row.failed.to_string(),
        row.abandoned.to_string(),
    ];
    let shown = |figure: Option<f64>| figure.map_or_else(String::new, |v| v.to_string());
    let metrics = Metric::all().take(FIRST_METRICS);
    fields.extend(metrics.map(|metric| shown(row.figures.get(metric))));
    fields.push(String::new());
    fields.push(shown(row.marks_bytes));
    fields.extend([
        row.never_begun.to_string(),
        row.warmup_failed.to_string(),
        row.connections_at_start
            .map_or_else(String::new, |count| count.to_string()),
        row.connections_opened
            .map_or_else(String::new, |opened| opened.to_string()),
        row.connects_failed.to_string(),
        row.uncompressed_answers.to_string(),
        row.errors_without_sample.to_string(),
        row.retried.to_string(),
        row.answered_after_retry.to_string(),
        row.bodies_late.to_string(),
    ]);
    let delay = row.send_delay;
    let delays = [
        delay.map(|d| d.p50_ns),
        delay.and_then(|d| d.p99_ns),
        delay.map(|d| d.max_ns),
    ];
    fields.extend(delays.map(|ns| ns.map_or_else(String::new, |ns| ns.to_string())));
    fields.push(shown(row.rate));
    fields.push(row.never_sent.to_string());
    let later = Metric::all().skip(FIRST_METRICS);
    fields.extend(later.map(|metric| shown(row.figures.get(metric))));
    fields
}

fn failed(trial: &FailedTrial) -> Vec<String> {
    let mut fields = vec![
        trial.index.to_string(),
        escape::csv(&trial.variant),
        trial.invocation.to_string(),
        trial.block.to_string(),
        trial.placement.word().to_owned(),
        String::new(),
        String::new(),
        "failed".to_owned(),
    ];
    let rest = columns().into_iter().skip(fields.len());
    fields.extend(rest.map(|name| match &*name {
        REASON => escape::csv(&trial.reason),
        _ => String::new(),
    }));
    fields
}
