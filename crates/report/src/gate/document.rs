//! The outcome of a gate as a document: a sentence, and a line per metric.

use super::{Gate, GateVerdict, GatedCall, GatedMetric};
use crate::distinct;
use crate::document::{
    Block, Column, Document, Item, Section, Shown, Table, Text, cautions, machine,
};
use crate::findings::Findings;
use crate::findings::verdict::Outcome;
use crate::metric::row;
use crate::units;
use crate::words::{self, About};

pub(super) fn of(gate: &Gate, findings: &Findings) -> Document {
    let starts = if gate.running {
        "of these two running processes, without fresh starts: two processes of one program can differ by several percent"
            .to_owned()
    } else {
        format!(
            "over {} of each",
            units::counted(gate.starts, "fresh start")
        )
    };
    Document {
        title: match gate.verdict {
            GateVerdict::Passed => "PASSED".to_owned(),
            GateVerdict::Failed => "FAILED".to_owned(),
            GateVerdict::NotJudged => "NOT JUDGED".to_owned(),
        },
        question: summary(gate),
        facts: vec![starts, allowed(gate)],
        cautions: cautions(findings),
        sections: gate
            .calls
            .iter()
            .map(section)
            .chain([compared(gate, findings)])
            .collect(),
    }
}

/// What was compared, when and where, so that the files of a gate can be traced.
fn compared(gate: &Gate, findings: &Findings) -> Section {
    let command = |name: &String| {
        let service = findings.variant(name)?.how.service.as_ref()?;
        Some(Text::foreign(service.command.clone()?))
    };
    let first = gate.calls.first();
    let old = first.and_then(|call| command(&call.old));
    let new = first.and_then(|call| command(&call.new));
    let started = findings.progress.started_at_ms;
    let started = started.map(|ms| Text::from(units::wall_clock(ms) + " UTC"));
    let machine = findings.environment.as_ref().map(machine);
    let facts = [
        ("old", old),
        ("new", new),
        ("measured", started),
        ("machine", machine.map(Text::from)),
        ("whole report", Some("report.html".into())),
    ];
    let facts = facts
        .into_iter()
        .filter_map(|(label, text)| Some((label, text?)));
    Section::new(
        "compared",
        "Compared",
        Shown::InFiles,
        [Block::facts(facts)],
    )
}

/// The outcome as a sentence.
fn summary(gate: &Gate) -> String {
    let metrics = || gate.calls.iter().flat_map(|call| &call.metrics);
    let names = |is: &dyn Fn(&GatedMetric) -> bool| {
        let found = metrics().filter(|metric| metric.allowed.is_some() && is(metric));
        distinct(found.map(|metric| row(metric.metric).name)).join(", ")
    };
    match gate.verdict {
        GateVerdict::Passed => {
            let open =
                names(&|metric| matches!(metric.comparison.outcome, Outcome::NotResolved { .. }));
            let open = match &*open {
                "" => String::new(),
                open => format!("; not resolved: {open}"),
            };
            format!("nothing is shown to be worse by more than is allowed{open}")
        }
        GateVerdict::Failed => words::joined(gate.calls.iter().flat_map(failures), "; "),
        GateVerdict::NotJudged if gate.interrupted => "the run was interrupted".to_owned(),
        GateVerdict::NotJudged if gate.calls.iter().any(|call| !call.not_measured.is_empty()) => {
            let mut reasons = gate.calls.iter().flat_map(|call| &call.not_measured);
            match reasons.next() {
                Some(reason) => format!("not every start could be measured: {reason}"),
                None => "not every start could be measured".to_owned(),
            }
        }
        GateVerdict::NotJudged => {
            let open = names(&|metric| metric.verdict == GateVerdict::NotJudged);
            format!("there is no verdict on {open}")
        }
    }
}

/// What failed, each in a clause.
fn failures(call: &GatedCall) -> Vec<String> {
    let metrics = call
        .metrics
        .iter()
        .filter(|metric| metric.verdict == GateVerdict::Failed);
    let mut all: Vec<String> = metrics
        .map(|metric| {
            let found = found(call, metric);
            let allowed = metric
                .allowed
                .map(words::margin_percent)
                .unwrap_or_default();
            format!("{}: {}, {allowed} allowed", row(metric.metric).name, found)
        })
        .collect();
    if call.failures.verdict == GateVerdict::Failed {
        let [old, new] = [call.failures.old, call.failures.new].map(share);
        all.push(format!("{new} of the calls failed, {old} before"));
    }
    all
}

fn section(call: &GatedCall) -> Section {
    let columns = [
        Column::text("", 0),
        Column::number("old", 0),
        Column::number("new", 0),
        Column::text("new is", 0),
        Column::text("", 0),
    ];
    let mut rows: Vec<Vec<String>> = call
        .metrics
        .iter()
        .map(|metric| line(call, metric))
        .collect();
    let failures = &call.failures;
    let allowed = format!("+{}", words::margin_percent(failures.allowed));
    rows.push(vec![
        "failed calls".to_owned(),
        share(failures.old),
        share(failures.new),
        String::new(),
        outcome(failures.verdict, false, Some(allowed)),
    ]);
    let table = Table {
        columns: columns.to_vec(),
        rows,
        ..Table::default()
    };
    let not_measured = call.not_measured.iter();
    let not_measured = not_measured.map(|reason| Item::plain(Text::foreign(reason.clone())));
    let blocks = [Block::Table(table)]
        .into_iter()
        .chain(Block::list(not_measured));
    Section::new("call", call.called.clone(), Shown::Always, blocks)
}

fn line(call: &GatedCall, metric: &GatedMetric) -> Vec<String> {
    let row = row(metric.metric);
    let comparison = &metric.comparison;
    let value = |value: Option<f64>| value.map_or_else(units::none, |value| row.value(value));
    let is_open = matches!(comparison.outcome, Outcome::NotResolved { .. });
    let found = match comparison.outcome {
        _ if metric.has_too_few_calls() => "too few calls".to_owned(),
        _ => found(call, metric),
    };
    let allowed = metric.allowed.map(words::margin_percent);
    vec![
        row.name.to_owned(),
        value(comparison.against_value),
        value(comparison.of_value),
        found,
        outcome(metric.verdict, is_open, allowed),
    ]
}

/// The outcome in a row: `passed`, `not resolved`, `FAILED (over 5%)`.
fn outcome(verdict: GateVerdict, is_open: bool, allowed: Option<String>) -> String {
    match (verdict, allowed) {
        (_, None) => "off".to_owned(),
        (GateVerdict::Passed, _) if is_open => "not resolved".to_owned(),
        (GateVerdict::Passed, _) => "passed".to_owned(),
        (GateVerdict::NotJudged, _) => "not judged".to_owned(),
        (GateVerdict::Failed, Some(allowed)) => format!("FAILED (over {allowed})"),
    }
}

/// What is allowed, for each metric if that differs.
fn allowed(gate: &Gate) -> String {
    let metrics = gate.calls.iter().flat_map(|call| &call.metrics);
    let metrics: Vec<&GatedMetric> = metrics.collect();
    let words = |metric: &&GatedMetric| {
        let allowed = metric.allowed.map(words::margin_percent);
        allowed.unwrap_or_else(|| "any".to_owned())
    };
    let shares = distinct(metrics.iter().map(words));
    match &shares[..] {
        [one] => format!("allowed: {one}"),
        _ => {
            let named = metrics
                .iter()
                .map(|metric| format!("{} {}", row(metric.metric).name, words(metric)));
            format!("allowed: {}", distinct(named).join(", "))
        }
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(units::none, units::percent)
}

/// The ratio without the metric's name, which is at the head of its row: `1.12× more [1.08, 1.16]`.
fn found(call: &GatedCall, metric: &GatedMetric) -> String {
    let found = words::brief(about(call, metric), &metric.comparison).text();
    found.replace(&format!(" {}", row(metric.metric).name), "")
}

fn about<'a>(call: &'a GatedCall, metric: &GatedMetric) -> About<'a> {
    About {
        of: &call.new,
        against: &call.old,
        metric: metric.metric,
        operation: None,
        one_process: false,
        said: None,
    }
}
