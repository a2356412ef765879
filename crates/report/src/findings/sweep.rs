//! Sweeps: variants that differ only in the size of their message, and the sizes at which another variant becomes
//! the better one.

use std::collections::BTreeMap;

use rpcgauge_stats::Direction;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;
use serde::Serialize;

use super::map::MapFindings;
use super::verdict::Outcome;

/// Variants of one group of a study that exchange the same message in several sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sweep {
    /// The study's key whose values are the sizes: `n` or `scale`.
    pub sized_by: &'static str,
    /// The ways to call.
    pub series: Vec<Series>,
    /// Pairs of the series, compared at several sizes.
    pub crossings: Vec<Crossing>,
    /// Which series to use over other networks; absent unless two series made unary calls over TCP on loopback, one at a
    /// time over connections that are kept, at two sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<MapFindings>,
}

/// One way to call, at its sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Series {
    /// The part that its variants' names share.
    pub name: String,
    /// Its variants, by size.
    pub variants: BTreeMap<u32, String>,
}

/// Two ways to call, compared at several sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Crossing {
    /// The question, without the size.
    pub question: String,
    /// The series that the verdicts are about.
    pub of: String,
    /// The series that it is compared with.
    pub against: String,
    /// The metric that is compared.
    pub metric: Metric,
    /// The pairs, by size.
    pub pairs: BTreeMap<u32, String>,
    /// The findings under each placement that has several sizes, the study's own first.
    pub placements: Vec<Swept>,
}

/// The comparison of two ways to call under a placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Swept {
    /// Where client and server ran.
    pub placement: Placement,
    /// The outcome.
    pub outcome: SweptOutcome,
    /// The sizes at which the verdict turns, in ascending order.
    pub turns: Vec<Turn>,
    /// The verdicts by size; neighbouring sizes with the same verdict are one stretch.
    pub stretches: Vec<Stretch>,
}

/// The combined verdict of all sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SweptOutcome {
    /// The verdict turns, at one size or at several.
    Crosses,
    /// Every size is resolved, and the verdict does not turn.
    NoCrossing,
    /// The verdict does not turn between the resolved sizes, but other sizes are not resolved.
    NotResolved,
}

/// A size at which the verdict turns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Turn {
    /// The size at which both cost the same.
    pub size: f64,
    /// Its interval.
    pub interval: [f64; 2],
    /// The nearest resolved sizes below and above, whose verdicts have opposite directions.
    pub between: [u32; 2],
}

/// Neighbouring sizes with the same verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stretch {
    /// The smallest size.
    pub from: u32,
    /// The largest size.
    pub to: u32,
    /// The verdict at these sizes.
    pub verdict: SizeVerdict,
}

/// A verdict at a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SizeVerdict {
    /// `of` is better.
    Faster,
    /// `of` is worse.
    Slower,
    /// The whole interval lies inside the margin.
    NoDifference,
    /// The figures are inconclusive, or there are none.
    NotResolved,
}

impl SizeVerdict {
    pub(crate) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Faster => Self::Faster,
            Outcome::Slower => Self::Slower,
            Outcome::NoDifference => Self::NoDifference,
            Outcome::NotResolved { .. } | Outcome::NoVerdict { .. } => Self::NotResolved,
        }
    }

    pub(crate) fn direction(self) -> Option<Direction> {
        match self {
            Self::Faster => Some(Direction::Faster),
            Self::Slower => Some(Direction::Slower),
            Self::NoDifference | Self::NotResolved => None,
        }
    }
}

impl Swept {
    /// The stretches to mention in addition to the turns: those without a direction that are not within a turn.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Stretch> {
        let is_within = |turn: &Turn, stretch: &Stretch| {
            turn.between[0] < stretch.from && stretch.to < turn.between[1]
        };
        let open = self
            .stretches
            .iter()
            .filter(|stretch| stretch.verdict.direction().is_none());
        open.filter(move |stretch| !self.turns.iter().any(|turn| is_within(turn, stretch)))
    }
}
