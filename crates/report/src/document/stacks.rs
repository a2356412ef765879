//! The table of stacks: each message and role has one.

use rpcgauge_study::features::Role;
use rpcgauge_study::settings::REFERENCE;

use super::{Block, Column, Section, Shown, Table};
use crate::findings::Findings;
use crate::findings::stacks::{StackFindings, StackVariant, Typical};
use crate::units;
use crate::words::{self, Labels};

/// A column: its head, and what stands in it.
type Figure = (Column, fn(&StackFindings) -> Option<String>);

const FIGURES: [Figure; 8] = [
    (Column::number("p50", 0), |s| {
        typical(s.latency_p50, units::time)
    }),
    (Column::number("p99", 3), |s| {
        typical(s.latency_p99, units::time)
    }),
    (Column::number("calls/s", 1), |s| {
        typical(s.goodput, units::number)
    }),
    (Column::number("CPU a call", 4), |s| {
        typical(s.cpu, units::time)
    }),
    (Column::number("memory", 5), |s| bytes(s.peak_bytes)),
    (Column::number("threads", 7), |s| {
        s.threads.map(|threads| threads.to_string())
    }),
    (Column::number("start-up", 2), |s| {
        typical(s.startup, units::time)
    }),
    (Column::number("on disk", 6), |s| bytes(s.disk_bytes)),
];

/// The section; none where too few stacks were measured.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let mut tables: Vec<(Role, &str, Vec<&StackFindings>)> = Vec::new();
    for stack in &findings.stacks {
        let of = (stack.role, &*stack.called);
        match tables
            .iter_mut()
            .find(|(role, called, _)| (*role, *called) == of)
        {
            Some((.., stacks)) => stacks.push(stack),
            None => tables.push((of.0, of.1, vec![stack])),
        }
    }
    let last = tables.len().checked_sub(1)?;
    let blocks = tables
        .iter()
        .enumerate()
        .flat_map(|(index, (role, called, stacks))| {
            let title = match role {
                Role::Server => "Servers, called by rpcgauge's engine",
                Role::Client | Role::Codec => "Clients",
            };
            let mut table = table(findings, stacks);
            if index == last {
                table.notes = notes(findings);
                table.legend = legend(findings);
            }
            [
                Block::Heading(format!("{title}: {called}")),
                Block::Table(table),
            ]
        });
    Some(Section {
        id: "stacks",
        title: "Stacks".to_owned(),
        shown: Shown::Always,
        blocks: blocks.collect(),
    })
}

fn table(findings: &Findings, stacks: &[&StackFindings]) -> Table {
    let row = |stack: &&StackFindings| {
        let name = [&*stack.stack, &*stack.way].join(" ");
        let cells = FIGURES
            .iter()
            .map(|(_, figure)| figure(stack).unwrap_or_else(units::none));
        [name.trim_end().to_owned()]
            .into_iter()
            .chain(cells)
            .collect()
    };
    let columns = FIGURES.iter().map(|(column, _)| column.clone());
    Table {
        columns: [Column::text("stack", 0)]
            .into_iter()
            .chain(columns)
            .collect(),
        rows: stacks.iter().map(row).collect(),
        cautions: stacks.iter().map(|stack| labels(findings, stack)).collect(),
        ..Table::default()
    }
}

/// What must be known of a stack's figures: the cautions about both its variants.
fn labels(findings: &Findings, stack: &StackFindings) -> Labels {
    let mut cautions = Vec::new();
    for StackVariant { variant, .. } in [&stack.few, &stack.many].into_iter().flatten() {
        let variant = findings.variant(variant);
        let cell = variant.and_then(|v| v.cell(*findings.study.placements.first()?));
        cautions.extend(
            cell.into_iter()
                .flat_map(|cell| cell.cautions.iter().cloned()),
        );
    }
    Labels::of(&cautions)
}

fn legend(findings: &Findings) -> Vec<String> {
    let letters = findings
        .stacks
        .iter()
        .map(|stack| labels(findings, stack).letters);
    words::caution::legend(&letters.collect::<String>())
}

/// How to read the tables.
fn notes(findings: &Findings) -> Vec<String> {
    let in_flight = |of: fn(&StackFindings) -> Option<&StackVariant>| {
        let numbers = findings.stacks.iter().filter_map(of);
        units::counted(
            numbers.map(|v| u64::from(v.in_flight)).max().unwrap_or(1),
            "call",
        )
    };
    let few = in_flight(|stack| stack.few.as_ref());
    let many = in_flight(|stack| stack.many.as_ref());
    let confidence = units::percent(findings.study.confidence);
    let has_reference = findings.stacks.iter().any(|stack| stack.stack == REFERENCE);
    let reference = match has_reference {
        true => format!(" (for {REFERENCE}: all of rpcgauge)"),
        false => String::new(),
    };
    vec![
        format!(
            "p50 and p99 with {few} in flight; calls/s and CPU, the stack's own, with {many} in flight"
        ),
        "memory: the highest peak; threads: the most at a trial's end; start-up: until the process is ready".to_owned(),
        format!("on disk: what it needs to run, without its language's runtime{reference}"),
        format!("±: the {confidence} interval over fresh starts, rounded up"),
    ]
}

/// A figure with how far its interval reaches.
fn typical(figure: Option<Typical>, shown: fn(f64) -> String) -> Option<String> {
    let Typical { value, interval } = figure?;
    let text = shown(value);
    Some(match interval {
        // It is one of ratios: as far below, divided by it, as above.
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
