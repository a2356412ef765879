//! What a run means: findings and verdicts as terminal text, HTML, JSON, Markdown and CSV.
//!
//! ```text
//! Plan, Environment, Records ─► Findings ─┬─► terminal
//!                                         ├─► html      report.html
//!                                         ├─► markdown  report.md
//!                                         ├─► csv       trials.csv
//!                                         └─► json      report.json ─► diff (two runs)
//! ```
//!
//! [`Findings`] holds everything that is said anywhere; the renderers choose and draw, and compute
//! nothing. Everything a server sent is escaped where it is written ([`escape`]).

mod error;
pub mod escape;
pub mod findings;
mod units;
mod words;

pub use error::ReportError;
pub use findings::Findings;
