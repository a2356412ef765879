//! The facts about one live service.

use rpcgauge_study::record::{CLIENT_BOUND_SHARE, FailureKind, StreamForm};

use super::super::{Block, Text};
use super::LEFT_OUT;
use crate::findings::{Distribution, Figures, MessageFindings, VariantFindings};
use crate::units::{self, none, ns};
use crate::words;

/// The facts about a live service, each a label and a text.
pub(super) fn facts(variant: &VariantFindings, figures: &Figures) -> Block {
    let mut facts: Vec<(&str, Text)> = vec![
        ("called", Text::from(&variant.how.called)),
        ("how", Text::from(&variant.how.line)),
        ("calls", calls(figures).into()),
        ("rate", rate(figures).into()),
    ];
    let messages = figures.messages.as_deref();
    facts.extend(messages.map(|messages| ("messages", self::messages(messages).into())));
    let of_whom = if figures.calls.answered == figures.calls.started {
        ""
    } else {
        "; of those that succeeded"
    };
    let mut distribution = |label, of: &Option<Distribution>, behind: &str| {
        facts.extend(of.as_ref().map(|d| (label, (times(d) + behind).into())));
    };
    // Percentiles over the many rates of a ramp mean little.
    if figures.steps.is_empty() {
        if let Some(messages) = messages {
            distribution("first message", &messages.first, "");
            distribution("gap", &messages.gap, "");
            distribution("message latency", &messages.latency, "");
        }
        distribution("latency", &figures.latency, of_whom);
        distribution("of failed", &figures.failed_latency, "");
        distribution("send delay", &figures.send_delay, "");
        distribution("service time", &figures.service_time, "");
        distribution("first byte", &figures.first_byte, "");
    }
    facts.extend(errors(figures).into_iter().map(|text| ("errors", text)));
    facts.extend([
        ("bytes", bytes(figures).into()),
        ("connections", connections(variant, figures).into()),
        ("client", client(variant, figures).into()),
        ("checked", checked(figures).into()),
        ("left out", LEFT_OUT.into()),
    ]);
    Block::facts(facts)
}

pub(in crate::document) fn calls(figures: &Figures) -> String {
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

pub(in crate::document) fn rate(figures: &Figures) -> String {
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

/// How many messages were sent and received, and which of their calls were not as expected.
fn messages(messages: &MessageFindings) -> String {
    let some = |count: u64, of: &str, what: &str| match count {
        0 => String::new(),
        count => format!("; {} {what}", units::counted(count, of)),
    };
    let sent = format!(
        "{}, {} sent ({}/s)",
        messages.form.title(),
        units::count(messages.sent),
        units::number(messages.sent_per_second),
    );
    let received = format!(
        ", {} received ({}/s)",
        units::count(messages.received),
        units::number(messages.received_per_second),
    );
    let received = if messages.form.server_streams() {
        received
    } else {
        String::new()
    };
    [
        sent,
        received,
        some(
            messages.ended_early,
            "call",
            "ended by the server before all messages were sent",
        ),
        some(
            messages.unpaired,
            "call",
            "without one message received for each sent, so messages have no latency",
        ),
        some(
            messages.unmatched,
            "received message",
            "without a matching sent message",
        ),
        some(
            messages.unanswered,
            "sent message",
            "without a response when the call ended",
        ),
        if messages.form == StreamForm::Bidirectional && messages.paired + messages.unpaired == 0 {
            "; no call was complete, so messages have no latency".to_owned()
        } else {
            String::new()
        },
    ]
    .concat()
}

pub(in crate::document) fn times(of: &Distribution) -> String {
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
pub(super) fn errors(figures: &Figures) -> Vec<Text> {
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
    let trials: u64 = variant.cells.iter().map(|cell| cell.trials.measured).sum();
    let or_more = if trials > 1 { " or more" } else { "" };
    let mut text = format!("{at_start}{or_more} at the start, {opened} opened later");
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

fn client(variant: &VariantFindings, figures: &Figures) -> String {
    let bound = if figures.client_share > Some(CLIENT_BOUND_SHARE) {
        ": too much, so the figures describe this client, not the service"
    } else {
        ""
    };
    let cpu = figures.cpu.client.map(|cpu| units::time(cpu.total_ns));
    let memory = units::size(figures.memory.client_peak as f64);
    let share = figures.client_share.map_or_else(none, units::percent);
    let cpu = cpu.unwrap_or_else(none);
    let threads = variant.how.settings.get("threads");
    let whose = threads.map(|threads| format!(" by the busiest of {threads} threads"));
    let whose = whose.unwrap_or_default();
    format!("{cpu} of CPU per call, {memory} of memory at most, {share} of a core{whose}{bound}")
}

/// How responses were checked. Without expectations, messages are not checked.
fn checked(figures: &Figures) -> String {
    let calls = &figures.calls;
    // These kinds are found in the content of a response whose status and headers are those of a success.
    let refused = [FailureKind::Check, FailureKind::Decompress];
    let refused = refused.iter().filter_map(|kind| calls.failed.get(kind));
    let responses = refused.fold(calls.answered, |sum, count| sum.saturating_add(*count));
    let messages = match figures.checked_responses {
        None => "their messages are not decoded".to_owned(),
        Some(count) => {
            let of = figures.messages.as_ref().map_or("", |_| " messages");
            format!("{}{of} by what is expected of them", units::count(count))
        }
    };
    let responses = units::count(responses);
    format!("{responses} responses, by their status and headers; {messages}")
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
    fn a_response_that_is_not_as_expected_is_one_that_was_checked() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let cell = &findings.variants[0].cells[0];
        let mut figures = cell.figures.as_deref().unwrap().clone();
        figures.calls.answered = 0;
        figures.calls.failed = [
            (FailureKind::Check, 50),
            (FailureKind::Decompress, 2),
            (FailureKind::Deadline, 4),
        ]
        .into();
        figures.checked_responses = Some(52);
        assert_eq!(
            checked(&figures),
            "52 responses, by their status and headers; 52 by what is expected of them"
        );
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
    fn the_busiest_thread_tells_whether_the_client_is_the_limit() {
        let mut findings = crate::fixture::findings(&crate::fixture::live());
        let variant = &mut findings.variants[0];
        let mut figures = variant.cells[0].figures.as_deref().unwrap().clone();
        figures.client_share = Some(0.85);
        assert!(client(variant, &figures).contains(", 85% of a core: too much, so"));
        let threads = ("threads".to_owned(), "2".to_owned());
        variant.how.settings.extend([threads]);
        let said = ", 85% of a core by the busiest of 2 threads: too much, so";
        assert!(client(variant, &figures).contains(said));
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
