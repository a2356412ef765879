//! Advice as a document: for each decision what to use, what it saves, where that turns, and the settings for it.

use std::collections::BTreeSet;

use rpcgauge_study::features::Role;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::words::Named as _;

use super::{Advice, Advised, AdvisedStack, NoAdvice, Saved, calls_per_month, core_hours};
use crate::document::{
    Block, Column, Document, Item, Section, Shown, Table, Text, cautions, facts, turns, with_head,
};
use crate::findings::Figures;
use crate::findings::decision::{Amount, Criterion, Decision, Prices, Undecided};
use crate::metric::row;
use crate::units;
use crate::words::{self, decision as said};

const CORE_HOURS: &str = " core-h";

/// Why a run has no advice.
pub(super) const NOTHING_COMPARED: &str = "no two of its variants make the same calls and are compared with each other, so \
    there is nothing to choose from; use a run of `rpcgauge compare` or of a study";

pub(super) fn of(advised: &Advised) -> Document {
    let findings = &advised.findings;
    let mut sections = Vec::new();
    let mut shown: Vec<&AdvisedStack> = Vec::new();
    for advice in &advised.advice {
        sections.push(section(advised, advice));
        for stack in &advice.stacks {
            // Several decisions can have the same settings.
            if !shown.contains(&stack) {
                sections.push(settings(stack));
                shown.push(stack);
            }
        }
    }
    let crossings = crossings(advised).into_iter();
    sections.push(Section::new(
        "sizes",
        "By the size of the message",
        Shown::Always,
        Block::list(crossings.map(|text| Item::plain(text.into()))),
    ));
    let open = advised.undecided.iter();
    let open = open.map(|one| Item::plain(undecided(one).into()));
    sections.push(Section::new(
        "undecided",
        "No advice",
        Shown::Always,
        Block::list(open),
    ));
    sections.retain(|section| !section.blocks.is_empty());
    Document {
        title: findings.study.name.clone(),
        question: findings.study.question.clone(),
        facts: facts(findings),
        cautions: cautions(findings),
        sections,
    }
}

/// What is called, and why there is no decision.
pub(super) fn undecided(NoAdvice { called, reason }: &NoAdvice) -> String {
    let why = match reason {
        Undecided::NotMeasured => "fewer than two variants have a latency",
        Undecided::NoCpu => "the CPU of some variants was not measured",
        Undecided::NoBytes => "the bytes of some variants were not counted",
        Undecided::Circle => {
            "each variant is beaten by another one, so the verdicts contradict each other"
        }
    };
    format!("{called}: {why}")
}

fn section(advised: &Advised, advice: &Advice) -> Section {
    let decision = &advice.decision;
    let place = match &advised.findings.study.placements[..] {
        [] | [_] => String::new(),
        [own, ..] => format!(" ({})", words::place(*own)),
    };
    let title = format!(
        "Advice for {}, by {}{place}",
        decision.called,
        by(decision.criterion)
    );
    let paragraph = |text: String| Block::Paragraph(text.into());
    let choice = said::under_each(decision, said::choice).into_iter();
    let blocks = [Block::Table(figures(advised, advice))]
        .into_iter()
        .chain(choice.map(paragraph))
        .chain(savings(advised, advice))
        .chain(turning_points(decision).into_iter().map(paragraph))
        .chain(said::beside(decision).into_iter().map(paragraph));
    Section::new("advice", title, Shown::Always, blocks)
}

/// A criterion's name in a title.
fn by(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::LatencyAndCpu => "latency and CPU",
        criterion => said::name(criterion),
    }
}

/// Where the choice changes, by the rate of the network.
fn turning_points(decision: &Decision) -> Vec<String> {
    let mut sentences: Vec<String> = turns(decision).collect();
    if !decision.networks.is_empty() && uses_responses(decision) {
        let not_computed = "The network rate at which the choice changes is not computed, because the clients of \
            stacks do not count headers.";
        sentences.push(not_computed.to_owned());
    }
    sentences
}

/// The sizes at which verdicts between decided ways turn.
fn crossings(advised: &Advised) -> Vec<String> {
    let decisions = advised.advice.iter().map(|advice| &advice.decision);
    let decided: BTreeSet<&String> = decisions.flat_map(|one| &one.variants).collect();
    let findings = &advised.findings;
    let mut sentences = Vec::new();
    for sweep in &findings.sweeps {
        let is_decided = |name: &str| {
            let mut series = sweep.series.iter().filter(|series| series.name == name);
            series.any(|one| one.variants.values().any(|name| decided.contains(name)))
        };
        let crossings = sweep.crossings.iter();
        let crossings = crossings.filter(|one| is_decided(&one.of) && is_decided(&one.against));
        sentences.extend(crossings.map(|one| {
            let found = words::crossing(findings, sweep, one);
            let metric = row(one.metric).name;
            format!("{} against {}, {metric}. {found}", one.of, one.against)
        }));
    }
    sentences
}

/// The figures of each variant.
fn figures(advised: &Advised, advice: &Advice) -> Table {
    let decision = &advice.decision;
    let own = decision.placements.first().map(|own| own.placement);
    let of_responses = uses_responses(decision);
    let month = calls_per_month(advised.rate);
    let prices = prices(decision.criterion);
    let mut columns = vec![
        Column::text("variant", 0),
        Column::number("p50", 0),
        Column::number("CPU/call", 1),
        Column::number(
            if of_responses {
                "response"
            } else {
                "bytes/call"
            },
            1,
        ),
        Column::number("CPU/month", 2),
        Column::number("bytes/month", 3),
    ];
    if prices.is_some() {
        columns.push(Column::number("price/month", 0));
    }
    let cells = |figures: &Figures| {
        let cpu = figures.cpu.both_ns();
        let bytes = if of_responses {
            figures.payload.response_compressed
        } else {
            figures.bytes.map(|bytes| bytes.total())
        };
        let mut cells = vec![
            figures
                .latency
                .as_ref()
                .map(|latency| units::time(latency.p50_ns)),
            cpu.map(units::time),
            bytes.map(units::size),
            cpu.map(|ns| hours(core_hours(ns * month))),
            bytes.map(|bytes| units::size(bytes * month)),
        ];
        if let Some(prices) = prices {
            cells.push(price(prices, cpu, bytes).map(|price| units::precise(price * month)));
        }
        cells
    };
    let mut table = Table {
        columns,
        ..Table::default()
    };
    table.add_group(decision.variants.iter().filter_map(|name| {
        let figures = advised.findings.figures(name, own?)?;
        let cells = cells(figures).into_iter();
        let cells = cells.map(|cell| cell.unwrap_or_else(units::none));
        Some(with_head(name.clone(), cells))
    }));
    let bodies = if of_responses {
        "; bytes: of the responses' bodies only"
    } else {
        ""
    };
    let prices = prices.map(|prices| {
        format!(
            "; prices: {} per core-hour, {} per GB",
            units::rate(prices.core_hour),
            units::rate(prices.gigabyte)
        )
    });
    table.notes = vec![format!(
        "CPU: of client and server together{bodies}; a month: 730 hours at {} calls per second{}",
        units::rate(advised.rate),
        prices.unwrap_or_default()
    )];
    table
}

/// The price of a call; `None` if what has a price is unknown.
fn price(prices: Prices, cpu: Option<f64>, bytes: Option<f64>) -> Option<f64> {
    let cpu = cpu.or((prices.core_hour == 0.0).then_some(0.0))?;
    let bytes = bytes.or((prices.gigabyte == 0.0).then_some(0.0))?;
    Some(prices.of_cpu(cpu) + prices.of_bytes(bytes))
}

/// What the choice saves against each other variant.
fn savings(advised: &Advised, advice: &Advice) -> Vec<Block> {
    let choice = advice.decision.choice();
    let Some(choice) = choice.filter(|_| !advice.savings.is_empty()) else {
        return Vec::new();
    };
    let has_price = prices(advice.decision.criterion).is_some();
    let mut columns = vec![
        Column::text("against", 0),
        Column::number("latency", 0),
        Column::number("CPU/month", 0),
        Column::number("bytes/month", 1),
        Column::number("CPU/million calls", 2),
        Column::number("bytes/million calls", 3),
    ];
    if has_price {
        columns.push(Column::number("price/month", 0));
        columns.push(Column::number("price/million calls", 4));
    }
    let row = |saved: &Saved| {
        let (million, month) = (&saved.per_million, &saved.per_month);
        let mut cells = vec![
            shown(saved.latency_ns, units::time, ""),
            shown(month.core_hours, units::precise, CORE_HOURS),
            shown(month.bytes, units::size, ""),
            shown(
                million.core_hours,
                |hours| units::precise(hours * 3600.0),
                " s",
            ),
            shown(million.bytes, units::size, ""),
        ];
        if has_price {
            cells.push(shown(month.price, units::precise, ""));
            cells.push(shown(million.price, units::precise, ""));
        }
        with_head(saved.against.clone(), cells)
    };
    let mut table = Table {
        columns,
        ..Table::default()
    };
    table.add_group(advice.savings.iter().map(row));
    table.notes = vec![format!(
        "brackets: from the {} interval of the ratio; brackets alone: not resolved; negative: an additional cost",
        units::percent(advised.findings.study.confidence)
    )];
    vec![
        Block::Heading(format!("What {choice} saves")),
        Block::Table(table),
    ]
}

/// An amount with its range: `54.7 µs [48.0 µs, 60.1 µs]`, or with a unit that all its numbers have in common: `54.7 s
/// [48.0, 60.1]`.
fn shown(amount: Option<Amount>, number: impl Fn(f64) -> String, unit: &str) -> String {
    let Some(amount) = amount else {
        return units::none();
    };
    let text = |value: f64| match number(value.abs()) {
        text if value < 0.0 => format!("-{text}"),
        text => text,
    };
    let value = text(amount.value);
    let range = amount.range.map(|range| range.map(text));
    match range {
        Some([low, high]) if !amount.resolved => format!("[{low}, {high}]{unit}"),
        Some([low, high]) if low != high => format!("{value}{unit} [{low}, {high}]"),
        None if !amount.resolved => units::none(),
        _ => value + unit,
    }
}

/// The settings of a stack, with code to paste.
fn settings(stack: &AdvisedStack) -> Section {
    let compression = match &*stack.compression {
        "none" => String::new(),
        compression => format!(", {compression}"),
    };
    let role = stack.role.as_str();
    let title = format!("Settings of {} as {role}{compression}", stack.stack);
    let other = match stack.role {
        Role::Client => "server: ",
        Role::Server | Role::Codec => "client: ",
    };
    let own = format!("{role}: ");
    let recommended = stack.recommended.iter();
    let recommended = recommended.filter(|text| !text.starts_with(other));
    let mut items: Vec<Item> = recommended
        .map(|text| Item::plain(Text::from(text.trim_start_matches(&own))))
        .collect();
    if !stack.without_snippet.is_empty() {
        let settings = stack.without_snippet.join(", ");
        items.push(Item::plain(
            format!("no code is available with {settings}").into(),
        ));
    }
    let code = stack.snippet.iter().flat_map(|snippet| {
        [
            Block::Heading(snippet.file.clone()),
            // A page shows a tab as one space.
            Block::Code(snippet.code.replace('\t', "    ")),
        ]
    });
    let blocks = Block::list(items).into_iter().chain(code);
    Section::new("settings", title, Shown::Always, blocks)
}

fn prices(criterion: Criterion) -> Option<Prices> {
    match criterion {
        Criterion::Price(prices) => Some(prices),
        _ => None,
    }
}

/// Whether the bytes are only those of responses, because clients do not count the others.
fn uses_responses(decision: &Decision) -> bool {
    let own = decision.placements.first();
    own.is_some_and(|own| own.best(Metric::CallBytes).is_none())
}

fn hours(hours: f64) -> String {
    units::precise(hours) + CORE_HOURS
}
