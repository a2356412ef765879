//! A live service's figures, and what it had to reach, in words.

use rpcgauge_study::objective::{Measure, Objective};
use rpcgauge_study::record::CLIENT_BOUND_SHARE;
use rpcgauge_study::settings::{Placement, Timing};

use crate::findings::objective::{ObjectiveFindings, ObjectiveOutcome};
use crate::findings::{BytesPerCall, Cell, Distribution, Figures, Findings, VariantFindings};
use crate::units;

/// What no figure of a load holds: requests are encoded before they are due, or on another thread, and a
/// call ends with the last byte of its answer.
const LEFT_OUT: &str = "the client's own encoding of requests and decoding of answers";

/// What is said of the figures under a placement where some of a study's were timed as load.
pub(crate) fn left_out(findings: &Findings, placement: Placement) -> Option<String> {
    let mut variants = findings.variants.iter();
    let is_load = |v: &VariantFindings| v.timing == Timing::Load && !v.is_live();
    let timed_so = variants.any(|v| is_load(v) && v.cell(placement).is_some());
    timed_so.then(|| format!("The figures under load leave out {LEFT_OUT}."))
}

/// What is said of a live service: a label and a line each.
pub(crate) fn facts(variant: &VariantFindings, cell: &Cell) -> Vec<(&'static str, String)> {
    let Some(figures) = cell.figures.as_deref() else {
        return Vec::new();
    };
    let mut facts = vec![("called", called(variant))];
    facts.extend(ending(cell).map(|text| ("ended", text)));
    facts.extend(drift(cell).map(|text| ("warm-up", text)));
    facts.push(("calls", calls(figures)));
    facts.push(("rate", rate(variant, figures)));
    let all_answered = figures.calls.answered == figures.calls.started;
    let of_whom = if all_answered {
        ""
    } else {
        "; of those answered"
    };
    let latency = figures.latency.as_ref();
    facts.extend(latency.map(|d| ("latency", times(d) + of_whom)));
    let failed = figures.failed_latency.as_ref();
    facts.extend(failed.map(|d| ("of failed", times(d))));
    facts.extend(
        figures
            .send_delay
            .as_ref()
            .map(|d| ("send delay", times(d))),
    );
    facts.extend(errors(figures).into_iter().map(|text| ("errors", text)));
    facts.push(("bytes", bytes(figures)));
    facts.push(("connections", connections(variant, figures)));
    facts.push(("client", client(figures)));
    facts.push(("left out", LEFT_OUT.to_owned()));
    facts
}

fn called(variant: &VariantFindings) -> String {
    let how = &variant.how;
    let kept = match how.connections {
        1 => how.connection.clone(),
        many => format!("{}, {many} at a time", how.connection),
    };
    let tls = how.tls.as_ref().map(|tls| format!(" over {tls}"));
    format!(
        "{}, by {}{}; {kept}; a call fails after {}",
        how.call(),
        how.http,
        tls.unwrap_or_default(),
        units::time(how.deadline_ms as f64 * 1e6)
    )
}

fn ending(cell: &Cell) -> Option<String> {
    let trials = &cell.trials;
    if trials.interrupted > 0 {
        return Some("interrupted; the figures are those of the part before".to_owned());
    }
    (trials.gave_up > 0).then(|| {
        "early: nothing but failures came for so long that more would tell nothing new".to_owned()
    })
}

fn drift(cell: &Cell) -> Option<String> {
    let trials = &cell.trials;
    let some = match trials.measured {
        1 => String::new(),
        measured => format!(" in {} of {measured} trials", trials.unsettled),
    };
    (trials.unsettled > 0).then(|| format!("latency had not settled when measuring began{some}"))
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
    if calls.retried > 0 {
        let times = if calls.retried == 1 { "time" } else { "times" };
        text += &format!(
            "; calls that were not processed were sent again {} {times}, {} of them with an answer then",
            units::count(calls.retried),
            units::count(calls.answered_after_retry)
        );
    }
    text
}

fn rate(variant: &VariantFindings, figures: &Figures) -> String {
    let seconds = figures.elapsed_ns as f64 / 1e9;
    let sent = figures
        .calls
        .started
        .saturating_sub(figures.calls.never_sent);
    let sent = match seconds > 0.0 {
        true => units::number(sent as f64 / seconds),
        false => units::NONE.to_owned(),
    };
    format!(
        "{}{}; sent {sent}/s, answered {}/s, in {}",
        variant.how.schedule,
        fewer_in_flight(figures).unwrap_or_default(),
        units::number(figures.goodput),
        units::time(figures.elapsed_ns as f64)
    )
}

/// That a closed loop did not have as many calls in flight as it asks for, in one trial at least.
fn fewer_in_flight(figures: &Figures) -> Option<String> {
    let in_flight = figures.in_flight.filter(|i| i.reached < i.asked)?;
    let reached = units::count(in_flight.reached);
    Some(format!(", of which a trial reached only {reached}"))
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

/// Each kind of failure, the most frequent first, with what was said most often, and of how many where
/// not of all.
fn errors(figures: &Figures) -> Vec<String> {
    let mut kinds: Vec<(&String, &u64)> = figures.calls.failed.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let line = |(kind, count): (&String, &u64)| {
        let said = figures.errors.iter().find(|error| error.kind == *kind);
        let said = said.map(|error| match error.count < *count {
            true => format!(", {} of them: {}", units::count(error.count), error.text),
            false => format!(": {}", error.text),
        });
        format!(
            "{} × {kind}{}",
            units::count(*count),
            said.unwrap_or_default()
        )
    };
    kinds.into_iter().map(line).collect()
}

fn bytes(figures: &Figures) -> String {
    let size = |of: fn(&BytesPerCall) -> f64| {
        let bytes = figures.bytes.as_ref();
        bytes.map_or_else(none, |bytes| units::size(of(bytes)))
    };
    let mut text = format!(
        "{} sent and {} received a call",
        size(|bytes| bytes.sent.total()),
        size(|bytes| bytes.received.total())
    );
    if figures.uncompressed_answers > 0 {
        text += &format!(
            "; {} answers came without the compression asked for",
            units::count(figures.uncompressed_answers)
        );
    }
    text
}

fn connections(variant: &VariantFindings, figures: &Figures) -> String {
    let connections = &figures.connections;
    let at_start = connections.fewest_at_start.map_or_else(none, units::count);
    let mut text = format!(
        "{at_start} at the start, {} opened later",
        connections.opened.map_or_else(none, units::count)
    );
    if variant.how.tls.is_some() && connections.opened > Some(0) {
        text += &format!(
            " ({} of them with a resumed TLS session)",
            units::count(connections.tls_resumed)
        );
    }
    if connections.failed > 0 {
        let said = |kind| figures.errors.iter().any(|error| error.kind == kind);
        let cause = match (said("out-of-files"), said("out-of-ports")) {
            (true, _) => ", since this machine is out of files: raise `ulimit -n`",
            (_, true) => ", since this machine is out of local ports",
            _ => "",
        };
        let failed = units::count(connections.failed);
        text += &format!(", {failed} attempts failed{cause}");
    }
    text
}

/// What is shown of a figure that is not known.
fn none() -> String {
    units::NONE.to_owned()
}

fn client(figures: &Figures) -> String {
    let bound = match figures.client_share > Some(CLIENT_BOUND_SHARE) {
        true => ": so much that the figures are this client's, not the service's",
        false => "",
    };
    let late = match figures.bodies_late {
        0 => String::new(),
        late => format!(
            "; {} calls began late, since their messages were not made in time",
            units::count(late)
        ),
    };
    format!(
        "{} of CPU a call, {} of memory at most, {} of a core{bound}{late}",
        figures
            .cpu
            .client
            .map_or_else(none, |cpu| units::time(cpu.total_ns)),
        units::size(figures.memory.client_peak as f64),
        figures.client_share.map_or_else(none, units::percent),
    )
}

/// An objective's figure, with more digits where it would look like the bound that it is not.
pub(crate) fn measured(objective: &Objective, figure: f64) -> String {
    let bound = objective.bound;
    let plain = |value: f64| match objective.measure {
        Measure::Percentile(_) | Measure::Mean | Measure::Max => units::time(value),
        Measure::Errors => units::percent(value),
        Measure::Goodput => format!("{}/s", units::number(value)),
    };
    if figure == bound || plain(figure) != plain(bound) {
        return plain(figure);
    }
    match objective.measure {
        Measure::Percentile(_) | Measure::Mean | Measure::Max => units::time_beside(figure, bound),
        Measure::Errors => units::percent_beside(figure, bound),
        Measure::Goodput => format!("{}/s", units::number_beside(figure, bound)),
    }
}

/// What became of an objective, behind its own text.
pub(crate) fn objective(found: &ObjectiveFindings) -> String {
    let place = found
        .step
        .map_or_else(String::new, |step| format!(" in step {}", step + 1));
    let figure = found
        .figure
        .map(|figure| measured(&found.objective, figure));
    let figure = figure.unwrap_or_default();
    match found.outcome {
        ObjectiveOutcome::Reached => match place.is_empty() {
            true => format!("reached, with {figure}"),
            false => format!("reached in every step, with {figure} at worst{place}"),
        },
        ObjectiveOutcome::Missed => match found.unanswered {
            Some(share) => {
                let share = units::percent(share);
                format!("missed{place}: {share} of the calls were never answered")
            }
            None => format!("missed{place}, with {figure}"),
        },
        ObjectiveOutcome::TooFewCalls { calls, needed } => format!(
            "not shown{place}: {} calls tell nothing of it, at least {} do",
            units::count(calls),
            units::count(needed)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_put_on_the_calls_that_had_it_alone() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let cell = &findings.variants[0].cells[0];
        let mut figures = cell.figures.as_deref().unwrap().clone();
        assert_eq!(
            errors(&figures),
            ["3 × http-503: status 503", "1 × deadline"]
        );
        figures.errors[0].count = 2;
        let line = "3 × http-503, 2 of them: status 503";
        assert_eq!(errors(&figures)[0], line);
    }

    #[test]
    fn attempts_that_failed_for_want_of_files_say_so() {
        let findings = crate::fixture::findings(&crate::fixture::live());
        let variant = &findings.variants[0];
        let mut figures = variant.cells[0].figures.as_deref().unwrap().clone();
        figures.connections.failed = 7;
        assert!(connections(variant, &figures).ends_with(", 7 attempts failed"));
        figures.errors[0].kind = "out-of-files".to_owned();
        assert!(connections(variant, &figures).contains("7 attempts failed, since"));
    }

    #[test]
    fn a_figure_does_not_look_like_a_bound_that_it_is_not() {
        let table = [
            ("p99<20ms", 20_037_631.0, "20.04 ms"),
            ("p99<20ms", 19_996_671.0, "19.997 ms"),
            ("p99<20ms", 20_000_000.0, "20.0 ms"),
            ("p99<20ms", 21_000_000.0, "21.0 ms"),
            ("max<1s", 999_800_000.0, "0.9998 s"),
            ("errors<0.01%", 0.000_5, "0.05%"),
            ("errors<0.01%", 0.000_05, "0.005%"),
            ("errors<0.1%", 0.000_5, "< 0.1%"),
            ("errors<0.1%", 0.001_04, "0.104%"),
            ("errors<=0", 0.000_2, "< 0.1%"),
            ("errors<10%", 0.099_6, "9.96%"),
            ("errors<10%", 0.099_4, "9.9%"),
            ("goodput>500", 499.8, "499.8/s"),
            ("goodput>500", 480.0, "480/s"),
        ];
        for (objective, figure, shown) in table {
            let objective: Objective = objective.parse().unwrap();
            assert_eq!(measured(&objective, figure), shown, "{objective}");
        }
    }
}
