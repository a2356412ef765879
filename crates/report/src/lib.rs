//! The meaning of a run: findings and verdicts as terminal text, HTML, JSON, Markdown and CSV.
//!
//! ```text
//! Plan, Environment, Records ─► Findings ─┬─► document ─┬─► terminal
//!                               numbers   │   a tree    ├─► html      report.html
//!                                         │             └─► markdown  report.md
//!                                         ├─► csv       trials.csv
//!                                         └─► json      report.json
//! Findings ─► gate and advice, Findings of two runs ─► diff, and AppRun ─► app::AppFindings ─► the same document tree
//! and renderers
//! ```
//!
//! [`Findings`] consist of numbers and enums, which `evaluate` computes. `document` decides what a report states about
//! them, for all formats; `words` provides its sentences, and `metric` the names and units of metrics. Renderers only
//! draw the tree. Text from a server is always escaped where it is written ([`escape`]).

pub mod advice;
pub mod app;
mod closing;
pub mod csv;
pub mod diff;
mod document;
mod error;
pub mod escape;
mod evaluate;
mod failures;
pub mod files;
pub mod findings;
pub mod gate;
pub mod html;
pub mod json;
pub mod markdown;
mod metric;
pub mod terminal;
pub mod units;
mod words;

pub use closing::closing;
pub use document::Document;
pub use error::ReportError;
pub use evaluate::{NotChecked, PlannedSearch};
pub use findings::Findings;
pub use gate::{Allowed, Gate};
pub use terminal::Style;

/// Groups values by key, in the order of the keys' first occurrence.
fn by_key<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut all: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => all.push((key, vec![value])),
        }
    }
    all
}

/// The distinct values, in the order of their first occurrence.
fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let all = by_key(values.into_iter().map(|value| (value, ())));
    all.into_iter().map(|(value, _)| value).collect()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod fixture;

// The fixture is also compiled outside this crate, so it refers to this crate by this name.
#[cfg(test)]
extern crate self as rpcgauge_report;
