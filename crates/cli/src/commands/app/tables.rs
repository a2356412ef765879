//! Formats the output of `app up` and `app load`: addresses, and the results of a load.

use std::collections::BTreeMap;
use std::path::Path;

use rpcgauge_lab::TrialFailure;
use rpcgauge_lab::app::{Application, Set};
use rpcgauge_report::app::{mean, of_rate};
use rpcgauge_report::units;
use rpcgauge_study::app::{App, AppLoad, SliceFigures};

/// All addresses, the values kept by checks, and commands to try.
pub(super) fn addresses(
    application: &Application<'_>,
    kept: &BTreeMap<String, String>,
    logs: &Path,
) -> Result<String, TrialFailure> {
    let app = application.app();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let sets = application.sets().iter();
    let services = sets.clone().flat_map(|set| &set.services);
    for running in application.backing().iter().chain(services) {
        for port in running.ports.keys() {
            let address = running.address(port);
            let is_entry = (&running.name, port) == (&app.entry.service, &app.entry.port);
            let at = if is_entry {
                format!("http://{address}  the entry")
            } else {
                address.to_string()
            };
            rows.push(vec![running.name.clone(), port.clone(), at]);
        }
    }
    let single = |name: &str, text: String| vec![name.to_owned(), String::new(), text];
    rows.push(single("logs", logs.display().to_string()));
    rows.extend(kept.iter().map(|(name, value)| single(name, value.clone())));
    for set in sets {
        for tried in &app.tries {
            rows.push(single("try", set.text(tried, kept)?));
        }
    }
    Ok(aligned("  ", &rows, |text, width| {
        format!("{text:<width$}")
    }))
}

/// The results of a load: its requests, and the application's own metrics.
pub(super) fn of_load(app: &App, set: &Set, taken: &SliceFigures, load: &AppLoad) -> String {
    let mut text = format!(
        "{load}, {:.1} s, {}; the load generator used {:.0}% of a core\n",
        taken.seconds,
        set.configuration,
        100.0 * taken.load_generator_cpu_seconds / taken.spent_seconds()
    );
    text += &figures(&requests(taken));
    for one in taken.requests.iter().filter(|one| one.failures > 0) {
        text += &format!("{}: the first failure: {}\n", one.name, one.error);
    }
    for caution in of_rate(&[taken]) {
        text += &format!("! {caution}\n");
    }
    if taken.task_errors > 0 {
        text += &format!(
            "{} tasks of the locustfile failed: {}\n",
            taken.task_errors, taken.task_error
        );
    }
    for rows in [inside(app, taken), processes(taken)] {
        if rows.len() > 1 {
            text += &format!("\n{}", figures(&rows));
        }
    }
    text
}

fn requests(taken: &SliceFigures) -> Vec<Vec<String>> {
    let mut rows = vec![head(&[
        "request",
        "requests",
        "failed",
        "per second",
        "mean",
        "p50",
        "p90",
        "p99",
        "max",
    ])];
    for one in &taken.requests {
        let times = one.times.unpack();
        let time = |ns: f64| {
            if times.is_empty() {
                none()
            } else {
                units::time(ns)
            }
        };
        let count = times.len();
        rows.push(vec![
            one.name.clone(),
            (count + one.failures).to_string(),
            one.failures.to_string(),
            units::rate(taken.answered(Some(&one.name)) as f64 / taken.seconds),
            time(1e3 * one.sum_us / count.max(1) as f64),
            time(times.quantile(0.5)),
            time(times.quantile(0.9)),
            time(times.quantile(0.99)),
            time(times.max()),
        ]);
    }
    rows
}

fn inside(app: &App, taken: &SliceFigures) -> Vec<Vec<String>> {
    let mut rows = vec![head(&["within", "per second", "mean"])];
    for metric in &app.metrics {
        if let Some(told) = taken.metrics.get(&metric.name) {
            rows.push(vec![
                metric.title.clone(),
                units::rate(told.count / taken.spent_seconds()),
                mean(metric.unit, told).unwrap_or_else(none),
            ]);
        }
    }
    rows
}

fn processes(taken: &SliceFigures) -> Vec<Vec<String>> {
    let mut rows = vec![head(&["process", "cores", "memory"])];
    rows.extend(taken.processes.iter().map(|one| {
        let cores = |ns: u64| units::number(ns as f64 / 1e9 / taken.spent_seconds());
        let memory = |bytes: u64| units::size(bytes as f64);
        vec![
            one.name.clone(),
            one.cpu_ns.map_or_else(none, cores),
            one.memory_bytes.map_or_else(none, memory),
        ]
    }));
    rows
}

fn none() -> String {
    units::NONE.to_owned()
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A table whose rows consist of a name and figures.
fn figures(rows: &[Vec<String>]) -> String {
    aligned("", rows, |text, width| format!("{text:>width$}"))
}

/// One line per row. The first column is left-aligned; `cell` formats the others.
fn aligned(indent: &str, rows: &[Vec<String>], cell: impl Fn(&str, usize) -> String) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let others = row.iter().zip(&widths).skip(1);
        let others: String = others
            .map(|(text, width)| format!("  {}", cell(text, *width)))
            .collect();
        let line = format!("{indent}{:<1$}{others}", row[0], widths[0]);
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}
