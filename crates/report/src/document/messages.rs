//! The tables of the messages of streams.

use rpcgauge_study::plan::Metric;

use super::groups::{self, Group, measured};
use super::{Column, Figure, Section, Table, number, row};
use crate::findings::{Distribution, Figures, Findings, MessageFindings};
use crate::metric;
use crate::units;

const FIGURES: [Figure<Figures>; 9] = [
    (Column::text("stream", 1), |f| {
        Some(f.messages.as_ref()?.form.title().to_owned())
    }),
    number("messages/call", 4, |f| {
        let messages = metric::streamed(f.messages.as_ref()?);
        Some(units::number(metric::per_call(f.calls.sent(), messages)?))
    }),
    number("messages/s", 0, |f| {
        let messages = f.messages.as_ref()?;
        let sent = messages.form.client_streams();
        Some(units::number(if sent {
            messages.sent_per_second
        } else {
            messages.received_per_second
        }))
    }),
    number("first p50", 2, |f| {
        time(f, |m| &m.first, |d| Some(d.p50_ns))
    }),
    number("first p99", 6, |f| time(f, |m| &m.first, |d| d.p99_ns)),
    number("gap p99", 7, |f| time(f, |m| &m.gap, |d| d.p99_ns)),
    number("message p50", 3, |f| {
        time(f, |m| &m.latency, |d| Some(d.p50_ns))
    }),
    number("message p99", 8, |f| time(f, |m| &m.latency, |d| d.p99_ns)),
    number("CPU/message", 5, |f| {
        Some(units::time(metric::of_cell(Metric::MessageCpu, f)?))
    }),
];

/// The messages of all variants whose calls stream, placement by placement. Those of a live service are in its results.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    groups::tables(findings, "messages", "Messages", table)
}

fn table(groups: &[Group<'_>]) -> Option<Table> {
    let mut table = Table::of_figures(Column::text("variant", 0), &FIGURES);
    for group in groups {
        let members = measured(std::slice::from_ref(group));
        let streaming =
            members.filter(|(variant, figures)| figures.messages.is_some() && !variant.is_live());
        table.add_group(
            streaming.map(|(variant, figures)| row(variant.name.clone(), &FIGURES, Some(figures))),
        );
    }
    table.notes.push(HOW_TO_READ.to_owned());
    (!table.rows.is_empty()).then_some(table)
}

const HOW_TO_READ: &str = "messages: those of the streaming side, the client if both stream; first: from when a call was \
    due to its first message; gap: between two messages; message: from when a message was due to the response with the same \
    number; CPU: of client and server.";

fn time(
    figures: &Figures,
    of: fn(&MessageFindings) -> &Option<Distribution>,
    figure: fn(&Distribution) -> Option<f64>,
) -> Option<String> {
    let distribution = of(figures.messages.as_ref()?);
    figure(distribution.as_ref()?).map(units::time)
}
