//! Saturation of the cores and of the resources that requests wait for within the application.

use rpcgauge_study::app::Metric;

use super::super::findings::{AppFindings, AppVariantFindings, ProcessFigures, RequestFigures};
use super::{beside_each_other, measured, or_none};
use crate::document::{Block, Column, Section, Shown, Table, with_head};
use crate::units;
use crate::words;

/// The utilization above which the machine's cores are saturated: queues grow before all cores are fully used.
const SATURATED: f64 = 0.9;

/// The number of cores in use at which a process may be limited by a single thread.
const ABOUT_A_CORE: std::ops::RangeInclusive<f64> = 0.9..=1.05;

/// A wait is left out if it is at most this share of the mean response time of its requests.
const MIN_WAIT: f64 = 0.05;

/// The maximum number of processes to name after their sum.
const MAX_NAMED: usize = 3;

/// The cores in use, and long waits.
pub(super) fn section(findings: &AppFindings) -> Section {
    let own = measured(findings).filter(|variant| variant.repeats.is_none());
    let cores = findings
        .environment
        .as_ref()
        .map(|environment| environment.cores);
    let cpu = own.clone().filter_map(|variant| cpu(variant, cores?));
    let waits = findings.plan.metrics.iter().filter(|metric| metric.wait);
    let waits = waits.filter_map(|metric| Some(("Waiting".to_owned(), wait(metric, own.clone())?)));
    let facts: Vec<(String, String)> = cpu.chain(waits).collect();
    let blocks = (!facts.is_empty()).then(|| Block::facts(facts));
    Section::new("saturation", "Saturation", Shown::Always, blocks)
}

/// The number of cores that all processes used together; `None` if it is unknown for one of them.
fn all_cores(variant: &AppVariantFindings) -> Option<f64> {
    let of_services: Option<f64> = variant.processes.iter().map(|one| one.cores).sum();
    Some(of_services? + variant.load_generator_share)
}

/// `1.91 of 2 cores in use, saturated (gateway 0.52, user 0.48, post 0.33)`.
fn cpu(variant: &AppVariantFindings, cores: u32) -> Option<(String, String)> {
    let used = all_cores(variant)?;
    let mut most: Vec<&ProcessFigures> = variant.processes.iter().collect();
    most.sort_by(|one, other| {
        other
            .cores
            .partial_cmp(&one.cores)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let named = most.iter().take(MAX_NAMED);
    let named = named.map(|one| format!("{} {}", one.name, or_none(one.cores, units::number)));
    let is_full = used > f64::from(cores) * SATURATED;
    let alone = most
        .iter()
        .find(|one| one.cores.is_some_and(|cores| ABOUT_A_CORE.contains(&cores)));
    let alone = alone.filter(|_| !is_full && cores > 1).map(|one| {
        format!(
            "; {} uses a whole core, which is its limit if it runs on one thread",
            one.name
        )
    });
    let text = format!(
        "{} of {} in use{} ({}){}",
        units::number(used),
        units::counted(u64::from(cores), "core"),
        if is_full { ", saturated" } else { "" },
        words::joined(named, ", "),
        alone.unwrap_or_default()
    );
    Some((format!("CPU, {}", variant.name), text))
}

/// The mean wait of each variant, if it is more than [`MIN_WAIT`] of a response time.
fn wait<'a>(
    metric: &Metric,
    variants: impl Iterator<Item = &'a AppVariantFindings> + Clone,
) -> Option<String> {
    let mean = |variant: &AppVariantFindings| {
        let found = variant.inside.iter().find(|one| one.name == metric.name);
        found.and_then(|one| one.mean)
    };
    let share = |variant: &AppVariantFindings| {
        Some(mean(variant)? / response_time(variant, &metric.requests)?)
    };
    let is_long = variants
        .clone()
        .filter_map(share)
        .any(|share| share > MIN_WAIT);
    let each =
        variants.map(|variant| format!("{} {}", variant.name, or_none(mean(variant), units::time)));
    is_long.then(|| format!("{}: {} each time", metric.title, words::joined(each, ", ")))
}

/// The mean response time of the requests of these names, or of all requests if there are no names.
fn response_time(variant: &AppVariantFindings, names: &[String]) -> Option<f64> {
    let is_it = |one: &&RequestFigures| match &one.name {
        Some(name) => names.contains(name),
        None => names.is_empty(),
    };
    let found = variant.requests.iter().filter(is_it);
    let (sum_ns, count) = found.fold((0.0, 0), |(sum_ns, count), one| {
        let of_one = one.mean_ns.map_or(0.0, |ns| ns * one.succeeded as f64);
        (sum_ns + of_one, count + one.succeeded)
    });
    (count > 0).then(|| sum_ns / count as f64)
}

/// The CPU time and memory of each process.
pub(super) fn processes(findings: &AppFindings) -> Section {
    type Cell = fn(&ProcessFigures) -> String;
    let cores: Cell = |one| or_none(one.cores, units::number);
    let memory: Cell = |one| or_none(one.memory_bytes.map(|bytes| bytes as f64), units::size);
    let first = measured(findings).next();
    let table = |head: &'static str, cell: Cell| {
        let mut table = beside_each_other(findings, head);
        for process in first.into_iter().flat_map(|variant| &variant.processes) {
            let is_it = |one: &&ProcessFigures| one.name == process.name;
            let cells = measured(findings).map(|variant| {
                let found = variant.processes.iter().find(is_it);
                found.map_or_else(units::none, cell)
            });
            let shared = if process.is_shared { " (shared)" } else { "" };
            table
                .rows
                .push(with_head(format!("{}{shared}", process.name), cells));
        }
        table
    };
    let mut used = table("cores used by", cores);
    let generator = measured(findings).map(|one| units::number(one.load_generator_share));
    used.rows
        .push(with_head("load generator".to_owned(), generator));
    let together = measured(findings).map(|one| or_none(all_cores(one), units::number));
    used.rows.push(with_head("together".to_owned(), together));
    let mut held = table("memory of", memory);
    held.notes.push(
        "Measured while the variant was under load; a process that all variants share is included for each. Memory is \
         the maximum at the end of a slice"
            .to_owned(),
    );
    let tables = first.map(|_| [used, held, jvms(findings)]);
    let tables = tables.into_iter().flatten();
    let blocks = tables
        .filter(|table| !table.rows.is_empty())
        .map(Block::Table);
    Section::new("processes", "CPU and memory", Shown::InFiles, blocks)
}

fn jvms(findings: &AppFindings) -> Table {
    let mut table = Table {
        columns: vec![
            Column::text("variant", 0),
            Column::text("JVM", 0),
            Column::number("collections", 1),
            Column::number("collecting", 0),
            Column::number("stopped", 0),
            Column::number("compilations", 1),
            Column::number("compiling", 0),
            Column::number("heap", 2),
        ],
        notes: vec![
            "From the JVMs' own counters, while the variant was under load: garbage collections, all stops including \
             collections, and the work of the compilers, as shares of the time. The heap is the maximum at the end of \
             a slice, as of the last collection."
                .to_owned(),
        ],
        ..Table::default()
    };
    for variant in &findings.variants {
        let share = |ns: u64| units::percent(ns as f64 / 1e9 / variant.seconds);
        let told = variant.processes.iter();
        let told = told.filter_map(|process| Some((&process.name, process.jvm?)));
        table.add_group(told.map(|(name, jvm)| {
            vec![
                variant.name.clone(),
                name.clone(),
                units::count(jvm.collections),
                share(jvm.collecting_ns),
                share(jvm.stopped_ns),
                units::count(jvm.compilations),
                share(jvm.compiling_ns),
                units::size(jvm.heap_bytes as f64),
            ]
        }));
    }
    table
}
