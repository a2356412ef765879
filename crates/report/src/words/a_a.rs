//! The A/A pair in words: the difference between two measurements of the same thing.

use super::About;
use super::ratio::Found;
use super::reason::WORTHLESS;
use super::verdict::{NOT_MEASURED, without};
use crate::findings::verdict::{Estimate, PlacementVerdict};
use crate::units;

/// The A/A pair's own line.
pub(crate) fn a_a(about: About<'_>, verdict: &PlacementVerdict) -> String {
    let (of, against, name) = (about.of, about.against, about.name());
    let Some(estimate) = &verdict.estimate else {
        let why = match &*without(verdict) {
            NOT_MEASURED => "were not both measured".to_owned(),
            other => format!("have no ratio in {name}: {other}"),
        };
        return format!("A/A check missing: {of} and {against} {why}");
    };
    let found = Found::of(about, estimate).text();
    let (outcome, means) = a_a_outcome(estimate);
    let means = means.map_or_else(String::new, |means| format!("; {means}"));
    let process = if about.one_process {
        " in one process"
    } else {
        ""
    };
    format!(
        "A/A check {outcome}: {of} against {against} in {name}, {found} (the same thing measured \
         twice{process}){means}"
    )
}

/// An A/A check in as few words as possible, to append to the name of its metric.
pub(crate) fn a_a_brief(verdict: &PlacementVerdict) -> String {
    let Some(estimate) = &verdict.estimate else {
        return match &*without(verdict) {
            NOT_MEASURED => "missing".to_owned(),
            other => format!("missing, {other}"),
        };
    };
    match a_a_outcome(estimate) {
        (FAILS, Some(means)) => {
            format!("{FAILS} (measured twice, it differs from itself), {means}")
        }
        (outcome, Some(means)) => format!("{outcome}, {means}"),
        (outcome, None) => format!("{outcome}, without an interval"),
    }
}

/// The outcome of a check whose interval does not contain 1.
const FAILS: &str = "fails";

/// An A/A interval that reaches beyond this factor is not reassuring, even if it includes 1, since most real
/// differences are smaller.
const LOOSE: f64 = 1.5;

/// The outcome of an A/A check, and what it means for other comparisons: only differences that lie beyond its
/// interval, on either side, are resolved (`stats::judge`).
fn a_a_outcome(estimate: &Estimate) -> (&'static str, Option<String>) {
    let Some([low, high]) = estimate.interval else {
        return ("inconclusive", None);
    };
    let farthest = high.max(1.0 / low);
    let unseen = units::difference(farthest);
    if farthest > WORTHLESS {
        return ("inconclusive", Some(too_little(estimate)));
    }
    let outcome = if !(low..=high).contains(&1.0) {
        FAILS
    } else if farthest > LOOSE {
        "too wide"
    } else {
        "passes"
    };
    let means = format!("differences below {unseen} are not resolved");
    (outcome, Some(means))
}

/// With fewer invocations than this, an interval is wide for that reason alone (docs/method.md).
const FEW_INVOCATIONS: u64 = 4;

/// Why an A/A pair shows nothing.
fn too_little(estimate: &Estimate) -> String {
    if estimate.independent() >= FEW_INVOCATIONS {
        return "so noisy that hardly any difference can be resolved".to_owned();
    }
    let (blocks, runs) = (estimate.blocks, estimate.invocations);
    // Only a run against running services can have an interval over one invocation.
    if runs == 1 {
        return format!("too few blocks ({blocks})");
    }
    let (blocks, runs) = (
        units::counted(blocks, "block"),
        units::counted(runs, "invocation"),
    );
    format!("too few blocks ({blocks} in {runs})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_shows_little_is_no_good_news() {
        let outcome = |interval, invocations| {
            let (outcome, means) = a_a_outcome(&Estimate {
                ratio: 1.0,
                interval: Some(interval),
                confidence: 0.95,
                invocations,
                blocks: 2 * invocations,
            });
            format!("{outcome}, {}", means.unwrap())
        };
        let table = [
            (
                [0.95, 1.05],
                8,
                "passes, differences below 5.3% are not resolved",
            ),
            (
                [0.25, 2.56],
                8,
                "too wide, differences below 4.00× are not resolved",
            ),
            (
                [0.1, 16.0],
                8,
                "inconclusive, so noisy that hardly any difference can be resolved",
            ),
            (
                [1e-9, 1e9],
                2,
                "inconclusive, too few blocks (4 blocks in 2 invocations)",
            ),
            (
                [1.01, 1.10],
                8,
                "fails, differences below 10% are not resolved",
            ),
            (
                [0.93, 1.01],
                8,
                "passes, differences below 7.5% are not resolved",
            ),
        ];
        for (interval, invocations, expected) in table {
            assert_eq!(outcome(interval, invocations), expected);
        }
    }
}
