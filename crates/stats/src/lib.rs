//! Numbers in, numbers out: quantiles, bootstrap intervals, verdicts, warm-up detection.
//!
//! Nothing here reads a file, a clock or the environment: the same input always produces the same
//! output. `docs/method.md` explains the figures and the choice of methods.
//!
//! From recorded trials to a sentence in a report:
//!
//! ```text
//! block values ─► PairedRatios ─► compare ─► Estimate ─► judge (A/A guard) ─► Verdict ─► across_placements
//!                                               │                                ├────► check_claim
//!                                               │                                └────► crossings
//!                                               └────► smallest_difference, invocations_needed
//! ```
//!
//! ```
//! use rpcgauge_stats::{Better, Bootstrap, Outcome, Pair, PairedRatios, VerdictRule, compare, judge};
//!
//! // Microseconds per call, two blocks in each of three invocations. The first variant is about twice
//! // as fast throughout.
//! let pair = |of, against| Pair { of, against };
//! let ratios = PairedRatios::from_pairs(&[
//!     vec![pair(40.0, 80.0), pair(41.0, 81.0)],
//!     vec![pair(43.0, 85.0), pair(40.0, 81.0)],
//!     vec![pair(39.0, 79.0), pair(41.0, 80.0)],
//! ])?;
//! let estimate = compare(&ratios, &Bootstrap::default())?;
//! let verdict = judge(&estimate, &[], &VerdictRule::new(Better::Lower));
//! assert_eq!(verdict.outcome, Outcome::Faster);
//! # Ok::<(), rpcgauge_stats::StatsError>(())
//! ```
//!
//! [`WarmUp`] is separate: it receives latencies while a trial runs, and reports when they have
//! stopped drifting. [`CapacitySearch`] is separate too: it chooses the rate of a search's next
//! trial.

mod capacity;
mod claim;
mod compare;
mod crossing;
mod distribution;
mod error;
mod estimate;
mod paired;
mod placement;
mod power;
mod quantile;
mod rng;
mod runs;
mod share;
mod verdict;
mod warmup;

pub use capacity::{Bound, Bracket, CapacitySearch, SearchEnd, SearchStep, Tried, bracket};
pub use claim::{ClaimCheck, SizeMatch, check_claim};
pub use compare::{Bootstrap, compare};
pub use crossing::{AtSize, Crossing, crossings};
pub use error::StatsError;
pub use estimate::{Estimate, Interval};
pub use paired::{Pair, PairedRatios};
pub use placement::{Combined, across_placements};
pub use power::{More, invocations_needed, smallest_difference};
pub use quantile::{mad, median, quantile};
pub use rng::SplitMix64;
pub use runs::{InRuns, judge_changes};
pub use share::{Share, shares_differ};
pub use verdict::{Better, Direction, Outcome, Unresolved, Verdict, VerdictRule, judge};
pub use warmup::{Settling, WarmUp};
