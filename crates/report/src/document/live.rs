//! What was measured of live services: results, objectives, ramps and searches.

use rpcgauge_study::record::{CLIENT_BOUND_SHARE, FailureKind};

use super::{Answer, Block, Column, Item, Section, Shown, Table, Text};
use crate::findings::capacity::{CapacityFindings, CapacityTrial};
use crate::findings::objective::ObjectiveOutcome;
use crate::findings::{
    BytesPerCall, Cell, Distribution, Figures, Findings, StepFindings, VariantFindings,
};
use crate::units::{self, none};
use crate::words;

/// What no figure of a load holds: requests are encoded before they are due, or on another thread, and a
/// call ends with the last byte of its response.
pub(super) const LEFT_OUT: &str = "the client's own encoding of requests and decoding of responses";

/// One section of facts a service.
pub(super) fn results(findings: &Findings) -> Vec<Section> {
    let several = findings.live().count() > 1;
    let cells = findings.live().flat_map(|variant| {
        let measured = variant.measured();
        measured.map(move |(cell, figures)| (variant, cell, figures))
    });
    let section = |(variant, cell, figures): (&VariantFindings, &Cell, &Figures)| {
        let mut blocks = vec![Block::Facts(facts(variant, figures))];
        let cautions = cell.cautions.iter();
        blocks.extend(cautions.map(|caution| {
            let clause = words::caution::clause(caution, false);
            Block::Note(words::capital(&clause) + ".")
        }));
        Section {
            id: "result",
            title: match several {
                true => format!("Target {}", variant.name),
                false => "Result".to_owned(),
            },
            shown: Shown::Always,
            blocks,
        }
    };
    cells.map(section).collect()
}

/// What is said of a live service: a label and a text each.
fn facts(variant: &VariantFindings, figures: &Figures) -> Vec<(String, Text)> {
    let mut facts: Vec<(&str, Text)> = vec![
        ("called", Text::from(&variant.how.called)),
        ("how", Text::from(&variant.how.line)),
        ("calls", calls(figures).into()),
        ("rate", rate(figures).into()),
    ];
    let of_whom = match figures.calls.answered == figures.calls.started {
        true => "",
        false => "; of those answered",
    };
    let mut distribution = |label, of: &Option<Distribution>, behind: &str| {
        facts.extend(of.as_ref().map(|d| (label, (times(d) + behind).into())));
    };
    distribution("latency", &figures.latency, of_whom);
    distribution("of failed", &figures.failed_latency, "");
    distribution("send delay", &figures.send_delay, "");
    facts.extend(errors(figures).into_iter().map(|text| ("errors", text)));
    facts.extend([
        ("bytes", bytes(figures).into()),
        ("connections", connections(variant, figures).into()),
        ("client", client(figures).into()),
        ("checked", checked(figures).into()),
        ("left out", LEFT_OUT.into()),
    ]);
    let named = facts.into_iter();
    named
        .map(|(label, text)| (label.to_owned(), text))
        .collect()
}

fn calls(figures: &Figures) -> String {
    let calls = &figures.calls;
    let never_sent = match calls.never_sent {
        0 => String::new(),
        calls => format!(" ({} of them never sent)", units::count(calls)),
    };
    let mut text = format!(
        "{} started{never_sent}: {} answered, {} failed",
        units::count(calls.started),
        units::count(calls.answered),
        units::count(calls.failed_total()),
    );
    if calls.abandoned > 0 {
        text += &format!(", {} open at the end", units::count(calls.abandoned));
    }
    if calls.answered_after_retry > 0 {
        let after = units::count(calls.answered_after_retry);
        text += &format!("; {after} answered after a retry");
    }
    if calls.answered_late > 0 {
        let late = units::count(calls.answered_late);
        text += &format!("; {late} answered when no more were due");
    }
    text
}

fn rate(figures: &Figures) -> String {
    let seconds = figures.elapsed_ns as f64 / 1e9;
    let sent = figures
        .calls
        .started
        .saturating_sub(figures.calls.never_sent);
    let sent = match seconds > 0.0 {
        true => units::number(sent as f64 / seconds),
        false => none(),
    };
    format!(
        "sent {sent}/s, answered {}/s, in {}",
        units::number(figures.goodput),
        units::time(figures.elapsed_ns as f64)
    )
}

fn times(of: &Distribution) -> String {
    let known = [
        ("p50", Some(of.p50_ns)),
        ("p90", of.p90_ns),
        ("p95", of.p95_ns),
        ("p99", of.p99_ns),
        ("p99.9", of.p999_ns),
        ("max", Some(of.max_ns)),
    ];
    let shown = known.into_iter().filter_map(|(name, ns)| {
        let time = units::time(ns? as f64);
        Some(format!("{name} {time}"))
    });
    let mut shown: Vec<String> = shown.collect();
    shown.push(format!("mean {}", units::time(of.mean_ns)));
    shown.join(", ")
}

/// Each kind of failure, the most frequent first, with its most frequent text, and of how many where
/// not all have it.
fn errors(figures: &Figures) -> Vec<Text> {
    let mut kinds: Vec<(&FailureKind, &u64)> = figures.calls.failed.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let line = |(kind, count): (&FailureKind, &u64)| {
        let text = Text::from(format!("{} × {kind}", units::count(*count)));
        match figures.errors.iter().find(|error| error.kind == *kind) {
            Some(error) if error.count < *count => text
                .and(format!(", {} of them: ", units::count(error.count)))
                .and_foreign(&error.text),
            Some(error) => text.and(": ").and_foreign(&error.text),
            None => text,
        }
    };
    kinds.into_iter().map(line).collect()
}

fn bytes(figures: &Figures) -> String {
    let size = |of: fn(&BytesPerCall) -> f64| {
        let bytes = figures.bytes.as_ref();
        bytes.map_or_else(none, |bytes| units::size(of(bytes)))
    };
    format!(
        "{} sent and {} received a call",
        size(|bytes| bytes.sent.total()),
        size(|bytes| bytes.received.total())
    )
}

fn connections(variant: &VariantFindings, figures: &Figures) -> String {
    let connections = &figures.connections;
    let at_start = connections.fewest_at_start.map_or_else(none, units::count);
    let mut text = format!(
        "{at_start} at the start, {} opened later",
        connections.opened.map_or_else(none, units::count)
    );
    let tls = variant.how.service.as_ref().and_then(|it| it.verified);
    if tls.is_some() && connections.opened > Some(0) {
        text += &format!(
            " ({} of them with a resumed TLS session)",
            units::count(connections.tls_resumed)
        );
    }
    if connections.failed > 0 {
        let has = |kind| figures.errors.iter().any(|error| error.kind == kind);
        let cause = match (has(FailureKind::OutOfFiles), has(FailureKind::OutOfPorts)) {
            (true, _) => ", since this machine is out of files: raise `ulimit -n`",
            (_, true) => ", since this machine is out of local ports",
            _ => "",
        };
        let failed = units::count(connections.failed);
        text += &format!(", {failed} attempts failed{cause}");
    }
    text
}

fn client(figures: &Figures) -> String {
    let bound = match figures.client_share > Some(CLIENT_BOUND_SHARE) {
        true => ": so much that the figures are this client's, not the service's",
        false => "",
    };
    format!(
        "{} of CPU a call, {} of memory at most, {} of a core{bound}",
        figures
            .cpu
            .client
            .map_or_else(none, |cpu| units::time(cpu.total_ns)),
        units::size(figures.memory.client_peak as f64),
        figures.client_share.map_or_else(none, units::percent),
    )
}

/// How responses were checked: there is no message to hold them against.
fn checked(figures: &Figures) -> String {
    let answered = units::count(figures.calls.answered);
    format!("{answered} responses, by their status and headers; their messages are not decoded")
}

/// Each objective with what became of it.
pub(super) fn objectives(findings: &Findings) -> Option<Section> {
    let several = findings.live().count() > 1;
    let item = |found: &crate::findings::objective::ObjectiveFindings| {
        let of = match several {
            true => format!("{}: ", found.variant),
            false => String::new(),
        };
        let outcome = words::objective::objective(found);
        Item {
            sign: Some(match found.outcome {
                ObjectiveOutcome::Reached => ('✓', Answer::Better),
                ObjectiveOutcome::Missed => ('✗', Answer::Worse),
                ObjectiveOutcome::TooFewCalls { .. } => ('?', Answer::Open),
            }),
            ..Item::plain(
                Text::from(of)
                    .and(found.objective.to_string())
                    .and(format!(" {outcome}")),
            )
        }
    };
    (!findings.objectives.is_empty()).then(|| Section {
        id: "objectives",
        title: "Objectives".to_owned(),
        shown: Shown::Always,
        blocks: vec![Block::List(findings.objectives.iter().map(item).collect())],
    })
}

/// The tables that stand beside a live service's figures: a search, then ramps.
pub(super) fn listings(findings: &Findings) -> Vec<Section> {
    let cells = findings.variants.iter().flat_map(VariantFindings::measured);
    let figures = cells.map(|(_, figures)| figures);
    let ramps = figures.filter(|figures| !figures.steps.is_empty());
    findings
        .capacity
        .iter()
        .map(capacity)
        .chain(ramps.map(ramp))
        .collect()
}

/// The columns of a ramp's steps.
const STEP_COLUMNS: [Column; 10] = [
    Column::number("step", 0),
    Column::number("at", 6),
    Column::number("asked/s", 0),
    Column::number("sent/s", 3),
    Column::number("answered/s", 0),
    Column::number("unanswered", 2),
    Column::number("p50", 1),
    Column::number("p99", 0),
    Column::number("max", 5),
    Column::number("delay p99", 4),
];

const STEP_NOTE: &str = "Each row is of the calls that were due in it, whenever they were answered. A \
     percentile stands only where a call lies beyond it. Delay: how long after it was due a call \
     was sent.";

fn ramp(figures: &Figures) -> Section {
    let table = Table {
        columns: STEP_COLUMNS.to_vec(),
        rows: (1..).zip(&figures.steps).map(step).collect(),
        notes: vec![STEP_NOTE.to_owned()],
        ..Table::default()
    };
    Section {
        id: "ramp",
        title: "Ramp".to_owned(),
        shown: Shown::Always,
        blocks: vec![Block::Table(table)],
    }
}

/// The columns of a search's trials.
const TRIAL_COLUMNS: [Column; 9] = [
    Column::number("asked/s", 0),
    Column::number("sent/s", 5),
    Column::number("answered/s", 3),
    Column::number("unanswered", 4),
    Column::number("p50", 2),
    Column::number("p99", 0),
    Column::number("delay p99", 1),
    Column::number("client share", 2),
    Column::text("outcome", 0),
];

const TRIAL_NOTE: &str = "Every trial, in the order they ran. A rate counts as held when every objective \
     held in three trials and missed in one at most, as missed when one missed in two. Delay: how long \
     after it was due a call was sent. Client share: of its core.";

fn capacity(found: &CapacityFindings) -> Section {
    let sentences = words::capacity::sentences(found).into_iter().enumerate();
    let mut blocks: Vec<Block> = sentences
        .map(|(index, sentence)| {
            Block::Paragraph(match index {
                0 => Text::strong(sentence),
                _ => sentence.into(),
            })
        })
        .collect();
    blocks.push(Block::Table(Table {
        columns: TRIAL_COLUMNS.to_vec(),
        rows: found.trials.iter().map(trial).collect(),
        notes: vec![TRIAL_NOTE.to_owned()],
        ..Table::default()
    }));
    Section {
        id: "capacity",
        title: "Capacity".to_owned(),
        shown: Shown::Always,
        blocks,
    }
}

/// A time of whole nanoseconds, or a dash where there is none.
pub(super) fn time(ns: Option<u64>) -> String {
    ns.map_or_else(none, |ns| units::time(ns as f64))
}

fn trial(trial: &CapacityTrial) -> Vec<String> {
    vec![
        units::rate(trial.rate),
        units::number(trial.sent_rate),
        units::number(trial.goodput),
        units::count(trial.started.saturating_sub(trial.answered)),
        time(trial.latency_p50_ns),
        time(trial.latency_p99_ns),
        time(trial.send_delay_p99_ns),
        trial.client_share.map_or_else(none, units::percent),
        words::capacity::outcome(trial),
    ]
}

fn step((number, step): (usize, &StepFindings)) -> Vec<String> {
    let seconds = step.lasted_ns as f64 / 1e9;
    let a_second = |calls: u64| match step.started {
        0 => none(),
        _ => units::number(calls as f64 / seconds),
    };
    let latency = step.latency.as_ref();
    let at = match step.start_ns {
        0 => "0 s".to_owned(),
        ns => units::round_time(ns as f64),
    };
    vec![
        number.to_string(),
        at,
        asked(step),
        a_second(step.sent),
        a_second(step.answered),
        units::count(step.started.saturating_sub(step.answered)),
        time(latency.map(|l| l.p50_ns)),
        time(latency.and_then(|l| l.p99_ns)),
        time(latency.map(|l| l.max_ns)),
        time(step.send_delay.as_ref().and_then(|d| d.p99_ns)),
    ]
}

/// The rate of a step: `400`, or `400–500` where it changes.
fn asked(step: &StepFindings) -> String {
    if step.from == step.to {
        return units::number(step.from);
    }
    format!("{}–{}", units::number(step.from), units::number(step.to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_put_on_the_calls_that_had_it_alone() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let cell = &findings.variants[0].cells[0];
        let mut figures = cell.figures.as_deref().unwrap().clone();
        let lines = |figures: &Figures| errors(figures).iter().map(Text::words).collect::<Vec<_>>();
        assert_eq!(
            lines(&figures),
            ["3 × http-503: status 503", "1 × deadline"]
        );
        figures.errors[0].count = 2;
        assert_eq!(lines(&figures)[0], "3 × http-503, 2 of them: status 503");
    }

    #[test]
    fn attempts_that_failed_for_want_of_files_say_so() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let variant = &findings.variants[0];
        let mut figures = variant.cells[0].figures.as_deref().unwrap().clone();
        figures.connections.failed = 7;
        assert!(connections(variant, &figures).ends_with(", 7 attempts failed"));
        figures.errors[0].kind = FailureKind::OutOfFiles;
        assert!(connections(variant, &figures).contains("7 attempts failed, since"));
    }
}
