//! Where a request's time goes: for each request, a bar for each variant and a table of the parts below.
//!
//! Each segment of a bar has a number, which is repeated in its row of the table.

use std::borrow::Cow;

use super::super::findings::{
    AppFindings, AppVariantFindings, RequestBar, RequestFigures, TimePart,
};
use crate::by_key;
use crate::document::{
    Bar, Bars, Block, Chart, Column, Part, Scale, Section, Shown, Table, Weight,
};
use crate::units;

/// Classes for the parts of bars, used in rotation so that neighbours differ.
const CLASSES: [&str; 7] = [
    "encode",
    "decode",
    "connect",
    "compress",
    "response",
    "decompress",
    "receive",
];
/// The class of the time outside the services.
const OUTSIDE: &str = "between";

/// If the parts add up to more than this many times the whole, they ran concurrently.
const OVERLAP: f64 = 1.005;

/// How to read the table.
const HOW_TO_READ: &str = "Means of all slices. An indented line is a part of the less indented line above it; self \
     time is the rest of that line: its own work, and waiting that no metric covers. Outside the services are the \
     network, the load generator, and waiting before the first handler.";

/// A variant and its bar.
type OfVariant<'a> = (&'a AppVariantFindings, &'a RequestBar);

/// Where a request's time goes.
pub(super) fn section(findings: &AppFindings) -> Section {
    // The control is left out.
    let variants = findings.variants.iter().filter(|one| one.repeats.is_none());
    let all = variants.flat_map(|variant| variant.bars.iter().map(move |bar| (variant, bar)));
    let all: Vec<OfVariant<'_>> = all.collect();
    // The most frequent request is first.
    let requests = by_key(all.iter().map(|(variant, bar)| {
        let is_it = |one: &&RequestFigures| one.name.as_ref() == Some(&bar.request);
        let count = variant
            .requests
            .iter()
            .find(is_it)
            .map_or(0, |one| one.succeeded);
        (bar.request.as_str(), count)
    }));
    let mut requests: Vec<(&str, u64)> = requests
        .into_iter()
        .map(|(name, counts)| (name, counts.into_iter().sum()))
        .collect();
    requests.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let blocks = requests.iter().flat_map(|(request, _)| {
        let of_request = all.iter().filter(|(_, bar)| bar.request == *request);
        let bars: Vec<OfVariant<'_>> = of_request.copied().collect();
        let chart = chart(request, &bars).map(Block::Chart);
        chart
            .into_iter()
            .chain([Block::Table(table(request, &bars))])
    });
    let mut metrics = findings.plan.metrics.iter();
    let of_several = if metrics.any(|metric| metric.requests.len() > 1) {
        " The time of a metric of several requests is a mean over all of them."
    } else {
        ""
    };
    let note = (!requests.is_empty()).then(|| Block::Note(format!("{HOW_TO_READ}{of_several}")));
    Section::new(
        "parts",
        "Where a request's time goes",
        Shown::Always,
        blocks.chain(note),
    )
}

/// For each part, the number and class of its segment in a bar; `None` if it consists of other parts.
fn numbered(parts: &[TimePart]) -> Vec<Option<(usize, &'static str)>> {
    let mut leaves = 0;
    let class = |leaf: usize, part: &TimePart| match (part.depth, &part.metric) {
        (0, None) => OUTSIDE,
        _ => CLASSES[leaf % CLASSES.len()],
    };
    let is_leaf = |place: usize| {
        let next = parts.get(place + 1);
        next.is_none_or(|next| next.depth <= parts[place].depth)
    };
    let mut number = |(place, part)| {
        is_leaf(place).then(|| {
            leaves += 1;
            (leaves, class(leaves, part))
        })
    };
    parts.iter().enumerate().map(&mut number).collect()
}

/// A part's title for use outside the table: self time is prefixed with the title of the enclosing part.
fn alone(parts: &[TimePart], place: usize) -> String {
    let part = &parts[place];
    let around = parts[..place].iter().rfind(|one| one.depth < part.depth);
    match around.filter(|_| part.metric.is_none()) {
        Some(around) => format!("{}, {}", around.title, part.title),
        None => part.title.clone(),
    }
}

/// The sum of a request's parts, which is longer than the request if some run concurrently.
fn whole(bar: &RequestBar) -> f64 {
    let parts = bar.parts.iter().map(|one| one.own_ns).sum();
    bar.mean_ns.max(parts)
}

fn chart(request: &str, bars: &[OfVariant<'_>]) -> Option<Chart> {
    let full = bars.iter().map(|(_, bar)| whole(bar)).fold(0.0, f64::max);
    let drawn = bars.iter().map(|(variant, bar)| {
        let numbers = numbered(&bar.parts);
        let parts = bar.parts.iter().zip(numbers).enumerate();
        let parts = parts.filter_map(|(place, (part, number))| {
            let (number, class) = number.filter(|_| part.own_ns > 0.0)?;
            Some(Part {
                named: (class, Cow::Owned(alone(&bar.parts, place))),
                size: part.own_ns,
                value: units::time(part.own_ns),
                label: number.to_string(),
            })
        });
        Bar {
            name: variant.name.clone(),
            parts: parts.collect(),
            total: units::time(bar.mean_ns),
            ..Bar::default()
        }
    });
    let scale = Scale {
        title: None,
        full,
        width: units::time(full),
        bars: drawn.collect(),
    };
    let bars = Bars {
        key: Vec::new(),
        scales: vec![scale],
    };
    Chart::new(Weight::Bars, request, "", Some(bars), Vec::new())
}

/// The parts as a table, with a column for each variant.
fn table(request: &str, bars: &[OfVariant<'_>]) -> Table {
    let column = |name: &str| Column {
        title: Cow::Owned(name.to_owned()),
        ..Column::number("", 0)
    };
    let head = Column {
        right: false,
        ..column(request)
    };
    let overlap = bars
        .iter()
        .filter(|(_, bar)| whole(bar) > bar.mean_ns * OVERLAP);
    let overlap = overlap.map(|(variant, bar)| {
        let together = units::time(whole(bar));
        format!(
            "Some parts of {} run at the same time: together they take {together}.",
            variant.name
        )
    });
    let names = bars.iter().map(|(variant, _)| column(&variant.name));
    let mut table = Table {
        columns: std::iter::once(head).chain(names).collect(),
        notes: overlap.collect(),
        ..Table::default()
    };
    let mut row = |title: String, class: &'static str, ns: &dyn Fn(&RequestBar) -> Option<f64>| {
        let cells = bars
            .iter()
            .map(|(_, bar)| ns(bar).map_or_else(units::none, units::time));
        table
            .rows
            .push(std::iter::once(title).chain(cells).collect());
        table.swatches.push(class);
    };
    row("response time".to_owned(), "", &|bar| Some(bar.mean_ns));
    let parts = bars.first().map_or(&[][..], |(_, bar)| &bar.parts);
    for (place, (part, number)) in parts.iter().zip(numbered(parts)).enumerate() {
        let number_shown = number.map_or_else(String::new, |(number, _)| format!("{number} "));
        let title = format!("{}{number_shown}{}", "│ ".repeat(part.depth), part.title);
        let class = number.map_or("", |(_, class)| class);
        row(title, class, &|bar| Some(bar.parts.get(place)?.ns));
    }
    table
}
