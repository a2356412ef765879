//! The sections about live services: results, objectives, ramps and capacity searches.

use rpcgauge_study::objective::Measure;
use rpcgauge_study::record::{CLIENT_BOUND_SHARE, FailureKind};

use super::{
    Answer, Block, Column, Figure, Item, Section, Shown, Table, Text, number, row, with_head,
};
use crate::findings::capacity::{CapacityFindings, CapacityTrial};
use crate::findings::objective::{ObjectiveFindings, ObjectiveOutcome};
use crate::findings::{Cell, Distribution, Figures, Findings, StepFindings, VariantFindings};
use crate::units::{self, none, ns};
use crate::words;

/// The work that no figure of a load includes: requests are encoded before they are due or on another thread, and a
/// call ends with the last byte of its response.
pub(super) const LEFT_OUT: &str = "the client's own encoding of requests and decoding of responses";

/// A service with its figures.
type Called<'f> = (&'f VariantFindings, &'f Cell, &'f Figures);

/// One section of facts per service, or for two services one section with a column for each.
pub(super) fn results(findings: &Findings) -> Vec<Section> {
    let cells = findings.live().flat_map(|variant| {
        let measured = variant.measured();
        measured.map(move |(cell, figures)| (variant, cell, figures))
    });
    let cells: Vec<Called<'_>> = cells.collect();
    let section = |(variant, cell, figures): &Called<'_>, title: String| {
        let mut blocks = vec![facts(variant, figures)];
        blocks.extend(notes(cell, false));
        Section::new("result", title, Shown::Always, blocks)
    };
    match &cells[..] {
        [one] if findings.live().count() == 1 => vec![section(one, "Result".to_owned())],
        [one, other] => vec![side_by_side([one, other])],
        all => {
            let title = |(variant, ..): &Called<'_>| format!("Target {}", variant.name);
            all.iter().map(|one| section(one, title(one))).collect()
        }
    }
}

/// The cautions about a service.
fn notes(cell: &Cell, named: bool) -> impl Iterator<Item = Block> {
    let clauses = cell.cautions.iter();
    let clauses = clauses.map(move |caution| words::caution::clause(caution, named));
    clauses.map(|clause| Block::Note(words::capital(&clause) + "."))
}

/// What two services were called with, then a table with a column for each.
fn side_by_side(both: [&Called<'_>; 2]) -> Section {
    let called = both.map(|(variant, ..)| {
        let how = format!("{}; {}", variant.how.called, variant.how.line);
        (variant.name.clone(), Text::from(how))
    });
    let figures = both.map(|(.., figures)| *figures);
    let line = |label: &str, value: &dyn Fn(&Figures) -> Option<String>| {
        let values = figures.map(|figures| value(figures).unwrap_or_else(none));
        let has_any = values.iter().any(|value| *value != none());
        has_any.then(|| [&[label.to_owned()][..], &values].concat())
    };
    let time = |label: &str, of: &dyn Fn(&Distribution) -> Option<f64>| {
        line(label, &|figures| {
            let time = of(figures.latency.as_ref()?)?;
            Some(units::time(time))
        })
    };
    let rows = [
        line("calls", &|figures| {
            Some(units::count(figures.calls.started))
        }),
        line("failed", &|figures| {
            Some(units::count(figures.calls.failed_total()))
        }),
        line("never sent", &|figures| {
            Some(figures.calls.never_sent)
                .filter(|n| *n > 0)
                .map(units::count)
        }),
        line("retried", &|figures| {
            let retried = figures.calls.answered_after_retry;
            Some(retried).filter(|n| *n > 0).map(units::count)
        }),
        line("succeeded/s", &|figures| {
            Some(units::number(figures.goodput))
        }),
        time("p50", &|times| Some(times.p50_ns)),
        time("p90", &|times| times.p90_ns),
        time("p99", &|times| times.p99_ns),
        time("p99.9", &|times| times.p999_ns),
        time("max", &|times| Some(times.max_ns)),
        line("bytes sent", &|figures| {
            Some(units::size(figures.bytes?.sent.total()))
        }),
        line("bytes received", &|figures| {
            Some(units::size(figures.bytes?.received.total()))
        }),
        line("send delay p99", &|figures| {
            Some(units::time(figures.send_delay.as_ref()?.p99_ns?))
        }),
        line("client's core", &|figures| {
            Some(units::percent(figures.client_share?))
        }),
        line("client CPU", &|figures| {
            Some(units::time(figures.cpu.client?.total_ns))
        }),
        line("server CPU", &|figures| {
            Some(units::time(figures.cpu.server?.total_ns))
        }),
        line("server memory", &|figures| {
            Some(units::size(figures.memory.server_peak? as f64))
        }),
    ];
    let column = |(variant, ..): &Called<'_>| Column {
        title: variant.name.clone().into(),
        rank: 0,
        right: true,
    };
    let table = Table {
        columns: with_head(Column::text("", 0), both.map(column)),
        rows: rows.into_iter().flatten().collect(),
        notes: vec![
            "bytes and CPU are per call".to_owned(),
            format!("left out: {LEFT_OUT}"),
        ],
        ..Table::default()
    };
    let failed = both.map(|(variant, _, figures)| {
        let errors = errors(figures).into_iter();
        errors.map(|text| (format!("errors of {}", variant.name), text))
    });
    let failed: Vec<(String, Text)> = failed.into_iter().flatten().collect();
    let mut blocks = vec![Block::facts(called), Block::Table(table)];
    blocks.extend((!failed.is_empty()).then(|| Block::facts(failed)));
    blocks.extend(both.into_iter().flat_map(|(_, cell, _)| notes(cell, true)));
    Section::new("result", "Results", Shown::Always, blocks)
}

/// The facts about a live service, each a label and a text.
fn facts(variant: &VariantFindings, figures: &Figures) -> Block {
    let mut facts: Vec<(&str, Text)> = vec![
        ("called", Text::from(&variant.how.called)),
        ("how", Text::from(&variant.how.line)),
        ("calls", calls(figures).into()),
        ("rate", rate(figures).into()),
    ];
    let of_whom = if figures.calls.answered == figures.calls.started {
        ""
    } else {
        "; of those that succeeded"
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
    Block::facts(facts)
}

pub(super) fn calls(figures: &Figures) -> String {
    let calls = &figures.calls;
    let some = |count: u64, before: &str, after: &str| match count {
        0 => String::new(),
        count => format!("{before}{}{after}", units::count(count)),
    };
    [
        format!("{} started", units::count(calls.started)),
        some(calls.never_sent, " (", " of them never sent)"),
        format!(": {} succeeded", units::count(calls.answered)),
        format!(", {} failed", units::count(calls.failed_total())),
        some(calls.abandoned, ", ", " open at the end"),
        some(calls.answered_after_retry, "; ", " succeeded after a retry"),
        some(calls.sent_late, "; ", " sent after the load ended"),
        some(calls.answered_late, "; ", " succeeded after the load ended"),
    ]
    .concat()
}

pub(super) fn rate(figures: &Figures) -> String {
    let calls = &figures.calls;
    let sent = calls.sent_in_time();
    let sent = match figures.elapsed_ns {
        0 => none(),
        ns => units::number(sent as f64 / (ns as f64 / 1e9)),
    };
    format!(
        "sent {sent}/s, succeeded {}/s, in {}",
        units::number(figures.goodput),
        ns(figures.elapsed_ns)
    )
}

pub(super) fn times(of: &Distribution) -> String {
    let known = [
        ("p50", Some(of.p50_ns)),
        ("p90", of.p90_ns),
        ("p95", of.p95_ns),
        ("p99", of.p99_ns),
        ("p99.9", of.p999_ns),
        ("max", Some(of.max_ns)),
    ];
    let known = known
        .into_iter()
        .filter_map(|(name, time)| Some((name, units::time(time?))));
    let shown = known.chain([("mean", units::time(of.mean_ns))]);
    words::joined(shown.map(|(name, time)| format!("{name} {time}")), ", ")
}

/// The maximum number of kinds of failures to list. The failures of all other kinds are counted in one line.
const MAX_KINDS: usize = 10;

/// Each kind of failure, the most frequent first, with its most frequent text. The text has a count unless all
/// failures of the kind have it.
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
    let left_out = kinds.split_off(kinds.len().min(MAX_KINDS));
    let calls = left_out.iter().map(|(_, count)| **count).sum();
    let others = (!left_out.is_empty()).then(|| {
        let kinds = units::counted(left_out.len() as u64, "other kind");
        Text::from(format!(
            "and {} failures of {kinds} (see report.json)",
            units::count(calls)
        ))
    });
    kinds.into_iter().map(line).chain(others).collect()
}

fn bytes(figures: &Figures) -> String {
    let Some(bytes) = &figures.bytes else {
        return "none, since no call succeeded".to_owned();
    };
    let [sent, received] = [bytes.sent, bytes.received].map(|of| units::size(of.total()));
    let with_failed = match figures.calls.failed_total() {
        0 => "",
        _ => " (responses of failed calls included)",
    };
    format!("{sent} sent per call, {received} received per successful call{with_failed}")
}

fn connections(variant: &VariantFindings, figures: &Figures) -> String {
    let connections = &figures.connections;
    let [at_start, opened] = [connections.fewest_at_start, connections.opened]
        .map(|count| count.map_or_else(none, units::count));
    let mut text = format!("{at_start} or more at the start, {opened} opened later");
    let tls = variant.how.service.as_ref().and_then(|it| it.verified);
    if tls.is_some() && connections.opened > Some(0) {
        let resumed = units::count(connections.tls_resumed);
        text += &format!(" ({resumed} of them with a resumed TLS session)");
    }
    if connections.failed > 0 {
        let has = |kind| figures.errors.iter().any(|error| error.kind == kind);
        let cause = match (has(FailureKind::OutOfFiles), has(FailureKind::OutOfPorts)) {
            (true, _) => ", since this process is out of file descriptors: raise `ulimit -n`",
            (_, true) => ", since this machine is out of local ports",
            _ => "",
        };
        let failed = units::count(connections.failed);
        text += &format!(", {failed} attempts failed{cause}");
    }
    text
}

fn client(figures: &Figures) -> String {
    let bound = if figures.client_share > Some(CLIENT_BOUND_SHARE) {
        ": too much, so the figures describe this client, not the service"
    } else {
        ""
    };
    let cpu = figures.cpu.client.map(|cpu| units::time(cpu.total_ns));
    let memory = units::size(figures.memory.client_peak as f64);
    let share = figures.client_share.map_or_else(none, units::percent);
    let cpu = cpu.unwrap_or_else(none);
    format!("{cpu} of CPU per call, {memory} of memory at most, {share} of a core{bound}")
}

/// How responses were checked. Without expectations, messages are not checked.
fn checked(figures: &Figures) -> String {
    let answered = units::count(figures.calls.answered);
    let messages = match figures.checked_responses {
        None => "their messages are not decoded".to_owned(),
        Some(count) => format!("{} by what is expected of them", units::count(count)),
    };
    format!("{answered} responses, by their status and headers; {messages}")
}

/// Each objective with its outcome.
pub(super) fn objectives(findings: &Findings) -> Section {
    let several = findings.live().count() > 1;
    let item = |found: &ObjectiveFindings| {
        let sign = match found.outcome {
            ObjectiveOutcome::Reached => ('✓', Answer::Better),
            ObjectiveOutcome::Missed => ('✗', Answer::Worse),
            ObjectiveOutcome::TooFewCalls { .. } => ('?', Answer::Open),
        };
        let of = if several {
            format!("{}: ", found.variant)
        } else {
            String::new()
        };
        let outcome = words::objective::objective(found);
        let variant = findings.variants.iter().find(|v| v.name == found.variant);
        let figures = variant.and_then(|v| v.measured().next());
        let retried = match (found.objective.measure, figures) {
            (Measure::Errors, Some((_, figures))) => figures.calls.answered_after_retry,
            _ => 0,
        };
        let retried = match retried {
            0 => String::new(),
            calls => format!(
                "; {} succeeded only after a retry",
                units::counted(calls, "call")
            ),
        };
        Item {
            sign: Some(sign),
            text: format!("{of}{} {outcome}{retried}", found.objective).into(),
            ..Item::default()
        }
    };
    let list = Block::list(findings.objectives.iter().map(item));
    Section::new("objectives", "Objectives", Shown::Always, list)
}

/// The sections of capacity searches and ramps.
pub(super) fn listings(findings: &Findings) -> Vec<Section> {
    let cells = findings.variants.iter().flat_map(VariantFindings::measured);
    let figures = cells.map(|(_, figures)| figures);
    let ramps = figures.filter(|figures| !figures.steps.is_empty());
    let searches = findings.capacity.iter().map(capacity);
    searches.chain(ramps.map(ramp)).collect()
}

/// The columns after the step's number in the table of a ramp.
const STEP: [Figure<StepFindings>; 9] = [
    number("at", 6, |s| match s.start_ns {
        0 => Some("0 s".to_owned()),
        ns => Some(units::round_time(ns as f64)),
    }),
    number("target/s", 0, |s| Some(asked(s))),
    number("sent/s", 3, |s| per_second(s, s.sent)),
    number("succeeded/s", 0, |s| per_second(s, s.answered_within)),
    number("unsuccessful", 2, |s| {
        Some(units::count(s.started.saturating_sub(s.answered)))
    }),
    number("p50", 1, |s| Some(units::time(s.latency.as_ref()?.p50_ns))),
    number("p99", 0, |s| s.latency.as_ref()?.p99_ns.map(units::time)),
    number("max", 5, |s| Some(units::time(s.latency.as_ref()?.max_ns))),
    number("delay p99", 4, |s| {
        s.send_delay.as_ref()?.p99_ns.map(units::time)
    }),
];

const STEP_NOTE: &str = "Succeeded: the responses that arrived in the step. The other columns are about the calls \
     that were due in the step, whenever they were sent or finished. A percentile is given only if a call lies \
     beyond it. Delay: the time from when a call was due until it was sent.";

fn ramp(figures: &Figures) -> Section {
    let step = |(place, step): (usize, &StepFindings)| row(place.to_string(), &STEP, Some(step));
    let table = Table {
        rows: (1..).zip(&figures.steps).map(step).collect(),
        notes: vec![STEP_NOTE.to_owned()],
        ..Table::of_figures(Column::number("step", 0), &STEP)
    };
    Section::new("ramp", "Ramp", Shown::Always, [Block::Table(table)])
}

/// The columns after the target rate in the table of a search's trials.
const TRIAL: [Figure<CapacityTrial>; 8] = [
    number("sent/s", 5, |t| Some(units::number(t.sent_rate))),
    number("goodput", 3, |t| Some(units::number(t.goodput))),
    number("unsuccessful", 4, |t| {
        Some(units::count(t.started.saturating_sub(t.answered)))
    }),
    number("p50", 2, |t| t.latency_p50_ns.map(units::time)),
    number("p99", 0, |t| t.latency_p99_ns.map(units::time)),
    number("delay p99", 1, |t| t.send_delay_p99_ns.map(units::time)),
    number("client share", 2, |t| t.client_share.map(units::percent)),
    (Column::text("outcome", 0), |t| {
        Some(words::capacity::outcome(t))
    }),
];

const TRIAL_NOTE: &str = "All trials, in the order they ran. A rate counts as met if three trials met every \
     objective and at most one trial missed one, and as missed if two trials missed one. Delay: the time from when \
     a call was due until it was sent. Client share: of its core.";

fn capacity(found: &CapacityFindings) -> Section {
    let sentences = words::capacity::sentences(found).into_iter().enumerate();
    let paragraphs = sentences.map(|(index, sentence)| match index {
        0 => Block::Paragraph(Text::strong(sentence)),
        _ => Block::Paragraph(sentence.into()),
    });
    let trial = |trial: &CapacityTrial| row(units::rate(trial.rate), &TRIAL, Some(trial));
    let table = Block::Table(Table {
        rows: found.trials.iter().map(trial).collect(),
        notes: vec![TRIAL_NOTE.to_owned()],
        ..Table::of_figures(Column::number("target/s", 0), &TRIAL)
    });
    let blocks = paragraphs.chain([table]);
    Section::new("capacity", "Capacity", Shown::Always, blocks)
}

/// A step's number of calls as a rate; `None` if no calls were due in the step.
fn per_second(step: &StepFindings, calls: u64) -> Option<String> {
    let seconds = step.lasted_ns as f64 / 1e9;
    (step.started > 0 && seconds > 0.0).then(|| units::number(calls as f64 / seconds))
}

/// The target rate of a step: `400`, or `400–500` if it changes within the step.
fn asked(step: &StepFindings) -> String {
    if step.from == step.to {
        return units::number(step.from);
    }
    format!("{}–{}", units::number(step.from), units::number(step.to))
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::TrialOutcome;

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
    fn many_kinds_of_failures_are_counted_beyond_the_most_frequent() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let mut figures = findings.variants[0].cells[0]
            .figures
            .as_deref()
            .unwrap()
            .clone();
        figures.calls.failed = (500..600)
            .map(|status| (FailureKind::HttpStatus(status), 7))
            .collect();
        let lines = errors(&figures);
        assert_eq!(lines.len(), MAX_KINDS + 1);
        assert_eq!(
            lines[MAX_KINDS].words(),
            "and 630 failures of 90 other kinds (see report.json)"
        );
    }

    #[test]
    fn calls_that_were_answered_after_a_retry_stand_beside_the_errors() {
        let mut sample = crate::fixture::live();
        for record in &mut sample.trials {
            if let TrialOutcome::Measured(measured) = &mut record.outcome {
                (measured.calls.retried, measured.calls.answered_after_retry) = (3, 2);
            }
        }
        let Block::List(items) = &objectives(&crate::fixture::findings(&sample)).blocks[0] else {
            panic!("a list");
        };
        let retried = |item: &&Item| {
            item.text
                .words()
                .contains("; 2 calls succeeded only after a retry")
        };
        let retried: Vec<String> = items
            .iter()
            .filter(retried)
            .map(|item| item.text.words())
            .collect();
        assert_eq!(retried.len(), 1, "{retried:?}");
        assert!(retried[0].starts_with("errors<"), "{retried:?}");
    }

    #[test]
    fn bytes_say_whose_they_are() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let mut figures = findings.variants[0].cells[0]
            .figures
            .as_deref()
            .unwrap()
            .clone();
        let with_failed = "48 B sent per call, 54 B received per successful call";
        assert_eq!(
            bytes(&figures),
            format!("{with_failed} (responses of failed calls included)")
        );
        figures.calls.failed.clear();
        assert_eq!(bytes(&figures), with_failed);
        figures.bytes = None;
        assert_eq!(bytes(&figures), "none, since no call succeeded");
    }

    #[test]
    fn attempts_that_failed_without_file_descriptors_say_so() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let variant = &findings.variants[0];
        let mut figures = variant.cells[0].figures.as_deref().unwrap().clone();
        figures.connections.failed = 7;
        assert!(connections(variant, &figures).ends_with(", 7 attempts failed"));
        figures.errors[0].kind = FailureKind::OutOfFiles;
        assert!(connections(variant, &figures).contains("7 attempts failed, since"));
    }
}
