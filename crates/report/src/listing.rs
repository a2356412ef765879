//! Tables that stand beside a live service's figures, alike in every report.

use crate::findings::capacity::{CapacityFindings, CapacityTrial};
use crate::findings::steps::StepFindings;
use crate::findings::{Figures, Findings};
use crate::terminal::Column;
use crate::units::{self, NONE};
use crate::words;

/// A table with its heading and a line that says how to read it. Its texts are this program's own.
pub(crate) struct Listing {
    pub(crate) heading: String,
    /// What it comes to.
    pub(crate) sentences: Vec<String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) note: &'static str,
}

/// All of them, in the order to show them.
pub(crate) fn all(findings: &Findings) -> Vec<Listing> {
    let searched = findings.capacity.iter().map(capacity);
    searched.chain(ramps(findings)).collect()
}

/// The columns of a ramp's steps.
const STEP_COLUMNS: [Column; 10] = [
    column("step", 0),
    column("at", 6),
    column("asked/s", 0),
    column("sent/s", 3),
    column("answered/s", 0),
    column("unanswered", 2),
    column("p50", 1),
    column("p99", 0),
    column("max", 5),
    column("delay p99", 4),
];

const STEP_NOTE: &str = "Each row is of the calls that were due in it, whenever they were answered. A \
     percentile stands only where a call lies beyond it. Delay: how long after it was due a call \
     was sent.";

const fn column(title: &'static str, rank: u8) -> Column {
    Column {
        title,
        rank,
        right: true,
    }
}

fn ramps(findings: &Findings) -> Vec<Listing> {
    let cells = findings.variants.iter().flat_map(|v| &v.cells);
    let figures = cells.filter_map(|cell| cell.figures.as_deref());
    let ramps = figures.filter(|figures| !figures.steps.is_empty());
    let listing = |figures: &Figures| Listing {
        heading: "Ramp".to_owned(),
        sentences: Vec::new(),
        columns: STEP_COLUMNS.to_vec(),
        rows: (1..).zip(&figures.steps).map(step).collect(),
        note: STEP_NOTE,
    };
    ramps.map(listing).collect()
}

/// The columns of a search's trials.
const TRIAL_COLUMNS: [Column; 9] = [
    column("asked/s", 0),
    column("sent/s", 5),
    column("answered/s", 3),
    column("unanswered", 4),
    column("p50", 2),
    column("p99", 0),
    column("delay p99", 1),
    column("client share", 2),
    Column {
        title: "outcome",
        rank: 0,
        right: false,
    },
];

const TRIAL_NOTE: &str = "Every trial, in the order they ran. A rate counts as held when every objective \
     held in three trials and missed in one at most, as missed when one missed in two. Delay: how long \
     after it was due a call was sent. Client share: of its core.";

fn capacity(found: &CapacityFindings) -> Listing {
    Listing {
        heading: "Capacity".to_owned(),
        sentences: words::capacity::sentences(found),
        columns: TRIAL_COLUMNS.to_vec(),
        rows: found.trials.iter().map(trial).collect(),
        note: TRIAL_NOTE,
    }
}

fn trial(trial: &CapacityTrial) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or_else(|| NONE.to_owned(), |ns| units::time(ns as f64));
    vec![
        units::rate(trial.rate),
        units::number(trial.sent_rate),
        units::number(trial.goodput),
        units::count(trial.started.saturating_sub(trial.answered)),
        time(trial.latency_p50_ns),
        time(trial.latency_p99_ns),
        time(trial.send_delay_p99_ns),
        trial
            .client_share
            .map_or_else(|| units::NONE.to_owned(), units::percent),
        words::capacity::outcome(trial),
    ]
}

fn step((number, step): (usize, &StepFindings)) -> Vec<String> {
    let seconds = step.lasted_ns as f64 / 1e9;
    let a_second = |calls: u64| match step.started {
        0 => NONE.to_owned(),
        _ => units::number(calls as f64 / seconds),
    };
    let time = |ns: Option<u64>| ns.map_or_else(|| NONE.to_owned(), |ns| units::time(ns as f64));
    let latency = step.latency.as_ref();
    let at = match step.start_ns {
        0 => "0 s".to_owned(),
        ns => units::round_time(ns as f64),
    };
    vec![
        number.to_string(),
        at,
        asked(step),
        a_second(step.sent),
        a_second(step.answered),
        units::count(step.started.saturating_sub(step.answered)),
        time(latency.map(|l| l.p50_ns)),
        time(latency.and_then(|l| l.p99_ns)),
        time(latency.map(|l| l.max_ns)),
        time(step.send_delay.as_ref().and_then(|d| d.p99_ns)),
    ]
}

/// The rate of a step: `400`, or `400–500` where it changes.
pub(crate) fn asked(step: &StepFindings) -> String {
    if step.from == step.to {
        return units::number(step.from);
    }
    format!("{}–{}", units::number(step.from), units::number(step.to))
}
