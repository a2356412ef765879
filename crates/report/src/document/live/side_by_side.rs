//! Two live services side by side.

use super::super::{Block, Column, Section, Shown, Table, Text, with_head};
use super::result::errors;
use super::{Called, LEFT_OUT, notes};
use crate::findings::{Distribution, Figures, MessageFindings};
use crate::units::{self, none};

/// What two services were called with, then a table with a column for each.
pub(super) fn section(both: [&Called<'_>; 2]) -> Section {
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
    // Percentiles over the many rates of a ramp mean little.
    let is_level = figures.iter().all(|figures| figures.steps.is_empty());
    type Times = fn(&Figures) -> &Option<Distribution>;
    let time_of = |label: &str, times: Times, of: &dyn Fn(&Distribution) -> Option<f64>| {
        line(label, &|figures| {
            let times = times(figures).as_ref().filter(|_| is_level);
            Some(units::time(of(times?)?))
        })
    };
    let time = |label, of| time_of(label, |figures| &figures.latency, of);
    let message = |label: &str, of: &dyn Fn(&MessageFindings) -> Option<f64>| {
        line(label, &|figures| {
            Some(units::time(of(figures.messages.as_deref()?)?))
        })
    };
    let p50 = |times: &Option<Distribution>| Some(times.as_ref()?.p50_ns);
    let service: Times = |figures| &figures.service_time;
    let first_byte: Times = |figures| &figures.first_byte;
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
        line("messages/s received", &|figures| {
            let messages = figures.messages.as_deref()?;
            Some(units::number(messages.received_per_second))
        }),
        message("first message p50", &|messages| p50(&messages.first)),
        message("gap p50", &|messages| p50(&messages.gap)),
        message("message p50", &|messages| p50(&messages.latency)),
        message("message p99", &|messages| messages.latency.as_ref()?.p99_ns),
        line("unmatched messages", &|figures| {
            let unmatched = figures.messages.as_deref()?.unmatched;
            Some(unmatched).filter(|n| *n > 0).map(units::count)
        }),
        line("without a response", &|figures| {
            let unanswered = figures.messages.as_deref()?.unanswered;
            Some(unanswered).filter(|n| *n > 0).map(units::count)
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
        time_of("send delay p99", |figures| &figures.send_delay, &|times| {
            times.p99_ns
        }),
        time_of("service time p50", service, &|times| Some(times.p50_ns)),
        time_of("service time p99", service, &|times| times.p99_ns),
        time_of("first byte p50", first_byte, &|times| Some(times.p50_ns)),
        time_of("first byte p99", first_byte, &|times| times.p99_ns),
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
