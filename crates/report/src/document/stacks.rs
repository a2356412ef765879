//! The tables of stacks: one for each role and message.

use rpcgauge_study::features::Role;
use rpcgauge_study::settings::REFERENCE;

use super::{Block, Column, Figure, Section, Shown, Table, number, row};
use crate::by_key;
use crate::findings::Findings;
use crate::findings::stacks::{StackFindings, StackVariant, Typical};
use crate::units;
use crate::words::{self, Labels};

const FIGURES: [Figure<StackFindings>; 8] = [
    number("p50", 0, |s| typical(s.latency_p50, units::time)),
    number("p99", 3, |s| typical(s.latency_p99, units::time)),
    number("calls/s", 1, |s| typical(s.goodput, units::number)),
    number("CPU per call", 4, |s| typical(s.cpu, units::time)),
    number("memory", 5, |s| bytes(s.peak_bytes)),
    number("threads", 7, |s| {
        s.threads.map(|threads| threads.to_string())
    }),
    number("start-up", 2, |s| typical(s.startup, units::time)),
    number("on disk", 6, |s| bytes(s.disk_bytes)),
];

pub(super) fn section(findings: &Findings) -> Section {
    let stacks = findings.stacks.iter();
    let tables = by_key(stacks.map(|stack| ((stack.role, &*stack.called), stack)));
    let mut blocks = Vec::new();
    for ((role, called), stacks) in tables {
        let title = match role {
            Role::Server => "Servers, called by rpcgauge's engine",
            Role::Client | Role::Codec => "Clients",
        };
        blocks.extend([
            Block::Heading(format!("{title}: {called}")),
            Block::Table(table(findings, &stacks)),
        ]);
    }
    // Only the last table has the notes and the legend.
    if let Some(Block::Table(last)) = blocks.last_mut() {
        last.notes = notes(findings);
        last.legend = legend(findings);
    }
    Section::new("stacks", "Stacks", Shown::Always, blocks)
}

fn table(findings: &Findings, stacks: &[&StackFindings]) -> Table {
    let named = |stack: &&StackFindings| {
        let name = [&*stack.stack, &*stack.way].join(" ");
        row(name.trim_end().to_owned(), &FIGURES, Some(stack))
    };
    Table {
        rows: stacks.iter().map(named).collect(),
        cautions: stacks.iter().map(|stack| labels(findings, stack)).collect(),
        ..Table::of_figures(Column::text("stack", 0), &FIGURES)
    }
}

/// The cautions about a stack's figures, which come from its two variants.
fn labels(findings: &Findings, stack: &StackFindings) -> Labels {
    let mut cautions = Vec::new();
    for StackVariant { variant, .. } in [&stack.few, &stack.many].into_iter().flatten() {
        let variant = findings.variant(variant);
        let cell = variant.and_then(|v| v.cell(*findings.study.placements.first()?));
        cautions.extend(cell.iter().flat_map(|cell| cell.cautions.clone()));
    }
    Labels::of(&cautions)
}

fn legend(findings: &Findings) -> Vec<String> {
    let stacks = findings.stacks.iter();
    let letters = stacks.map(|stack| labels(findings, stack).letters);
    words::caution::legend(&letters.collect::<String>())
}

fn notes(findings: &Findings) -> Vec<String> {
    let in_flight = |of: fn(&StackFindings) -> Option<&StackVariant>| {
        let numbers = findings.stacks.iter().filter_map(of);
        let most = numbers.map(|v| u64::from(v.in_flight)).max();
        units::counted(most.unwrap_or(1), "call")
    };
    let few = in_flight(|stack| stack.few.as_ref());
    let many = in_flight(|stack| stack.many.as_ref());
    let confidence = units::percent(findings.study.confidence);
    let has_reference = findings.stacks.iter().any(|stack| stack.stack == REFERENCE);
    let reference = if has_reference {
        format!(" (for {REFERENCE}: all of rpcgauge)")
    } else {
        String::new()
    };
    vec![
        format!(
            "p50 and p99 with {few} in flight; calls/s and CPU, the stack's own, with {many} in flight"
        ),
        "memory: the highest peak; threads: the maximum at a trial's end; start-up: until the process is ready".to_owned(),
        format!("on disk: what the stack needs to run, without its language's runtime{reference}"),
        format!("±: the {confidence} interval over fresh starts, rounded up"),
    ]
}

/// A figure with the half-width of its interval, as in `1.2 ms ±3%`.
fn typical(figure: Option<Typical>, shown: fn(f64) -> String) -> Option<String> {
    let Typical { value, interval } = figure?;
    let text = shown(value);
    Some(match interval {
        // Treated as symmetric on a logarithmic scale: the figure times and divided by one factor.
        Some([low, high]) => match ((high / low).sqrt() - 1.0) * 100.0 {
            percent if percent < 100.0 => format!("{text} ±{}%", percent.ceil().max(1.0)),
            _ => format!("{text} ±over 100%"),
        },
        None => text,
    })
}

fn bytes(bytes: Option<u64>) -> Option<String> {
    bytes.map(|bytes| units::size(bytes as f64))
}
