//! Errors in making a report from a run directory.

use std::io;
use std::path::PathBuf;

use rpcgauge_study::system::sentence;

/// Why a report cannot be made. Each message states what failed, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A record does not belong to a trial of the plan.
    #[error(
        "trial {index} ({variant}) is not in the plan, which has {planned} trials: \
         the run directory contains records of another run; run the study again"
    )]
    NotInPlan {
        /// The record's trial.
        index: u32,
        /// The variant that the record names.
        variant: String,
        /// How many trials the plan has.
        planned: usize,
    },
    /// A pair or claim names a variant that is not in the plan.
    #[error(
        "{place} names the variant {variant:?}, which the plan does not have: \
         the run directory's plan is damaged; run the study again"
    )]
    UnknownVariant {
        /// Which pair or claim.
        place: String,
        /// The unknown name.
        variant: String,
    },
    /// Two trials of a plan measure the same thing in the same block.
    #[error(
        "trials {first} and {second} both measure {variant} in the same block: \
         the run directory's plan is damaged; run the study again"
    )]
    TwiceInBlock {
        /// The first trial.
        first: u32,
        /// The second trial.
        second: u32,
        /// The variant that both measure.
        variant: String,
    },
    /// A trial's histograms cannot be merged.
    #[error("a histogram of {variant} cannot be merged ({problem}): run the study again")]
    Histogram {
        /// The variant.
        variant: String,
        /// Why it cannot be merged.
        problem: String,
    },
    /// The findings cannot be written as JSON.
    #[error("cannot write this as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {}; check the folder's permissions and free space", path.display(), sentence(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}
