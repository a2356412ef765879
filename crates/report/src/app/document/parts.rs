//! Where a request's time goes: a table and a chart.

use std::borrow::Cow;

use super::super::findings::{AppFindings, AppVariantFindings, RequestBar, TimePart};
use crate::document::{
    Bar, Bars, Block, Chart, Column, Part, Scale, Section, Shown, Table, Weight,
};
use crate::units;

/// Classes of the parts of bars, in turn; and that of what no metric explains.
const CLASSES: [&str; 8] = [
    "encode",
    "decode",
    "connect",
    "compress",
    "decompress",
    "send",
    "receive",
    "wait",
];
const REST: &str = "between";

/// The variants, without the second set of one.
fn variants(findings: &AppFindings) -> impl Iterator<Item = &AppVariantFindings> {
    findings
        .variants
        .iter()
        .filter(|variant| variant.repeats.is_none())
}

/// Where a request's time goes: a table and a chart.
pub(super) fn section(findings: &AppFindings) -> Section {
    let mut table = Table {
        columns: vec![
            Column::text("part of a request", 0),
            Column::text("variant", 0),
            Column::number("time", 0),
            Column::number("share", 1),
        ],
        notes: vec![
            "A part's time is all of it in the slices, divided by the number of requests; what stands under a part \
             is within it. The whole is the mean response time as users see it."
                .to_owned(),
        ],
        ..Table::default()
    };
    let mut metrics = findings.plan.metrics.iter();
    if metrics.any(|metric| metric.requests.len() > 1) {
        let note = "The time of a metric of several requests is a mean over all of them.";
        table.notes.push(note.to_owned());
    }
    let mut scales = Vec::new();
    let mut key = Vec::new();
    let all = || {
        variants(findings).flat_map(|variant| variant.bars.iter().map(move |bar| (variant, bar)))
    };
    let mut requests: Vec<&str> = all().map(|(_, bar)| bar.request.as_str()).collect();
    requests.dedup();
    requests.sort_unstable();
    requests.dedup();
    for request in requests {
        let of_request: Vec<_> = all().filter(|(_, bar)| bar.request == request).collect();
        let whole = of_request
            .iter()
            .map(|(variant, bar)| row_of(request, &variant.name, bar.mean_ns, bar.mean_ns));
        table.add_group(whole);
        let places = of_request
            .iter()
            .map(|(_, bar)| bar.parts.len())
            .max()
            .unwrap_or(0);
        for place in 0..places {
            let part = |(variant, bar): &(&AppVariantFindings, &RequestBar)| {
                let part = bar.parts.get(place)?;
                let title = format!("{}{}", "  ".repeat(part.depth + 1), part.title);
                Some(row_of(&title, &variant.name, part.ns, bar.mean_ns))
            };
            table.rows.extend(of_request.iter().filter_map(part));
        }
        let full = of_request
            .iter()
            .map(|(_, bar)| bar.mean_ns)
            .fold(0.0, f64::max);
        let bars = of_request
            .iter()
            .map(|(variant, bar)| drawn_bar(&variant.name, bar));
        let bars: Vec<Bar> = bars.collect();
        for part in bars.iter().flat_map(|bar| &bar.parts) {
            if !key.contains(&part.named) {
                key.push(part.named.clone());
            }
        }
        scales.push(Scale {
            title: Some(request.to_owned()),
            full,
            width: units::time(full),
            bars,
        });
    }
    if table.rows.is_empty() {
        return Section::new("parts", "", Shown::Always, []);
    }
    let chart = Chart::new(
        Weight::Bars,
        "From the gateway to the last service",
        "The mean response time of each request, split into what the services' own metrics say of it.",
        Some(Bars { key, scales }),
        Vec::new(),
    );
    let blocks = chart
        .map(Block::Chart)
        .into_iter()
        .chain([Block::Table(table)]);
    Section::new(
        "parts",
        "Where a request's time goes",
        Shown::Always,
        blocks,
    )
}

fn row_of(title: &str, variant: &str, ns: f64, whole_ns: f64) -> Vec<String> {
    vec![
        title.to_owned(),
        variant.to_owned(),
        units::time(ns),
        units::percent(ns / whole_ns),
    ]
}

fn drawn_bar(variant: &str, bar: &RequestBar) -> Bar {
    let class = |place: usize, part: &TimePart| match &part.metric {
        None => REST,
        Some(_) => CLASSES[place % CLASSES.len()],
    };
    let parts = bar
        .parts
        .iter()
        .enumerate()
        .filter(|(_, part)| part.own_ns > 0.0);
    let parts = parts.map(|(place, part)| Part {
        named: (class(place, part), Cow::Owned(part.title.clone())),
        size: part.own_ns,
        value: units::time(part.own_ns),
    });
    Bar {
        name: variant.to_owned(),
        parts: parts.collect(),
        total: units::time(bar.mean_ns),
        ..Bar::default()
    }
}
