//! The types of verdicts and claims in the findings.

use rpcgauge_stats as stats;
pub use rpcgauge_stats::{Combined, More, SizeMatch, Unresolved};
use rpcgauge_study::plan::{Metric, Published};
use rpcgauge_study::settings::{Operation, Placement, Timing};
use serde::Serialize;

use super::caution::{Caution, CautionKind};

/// A comparison of a pair of variants on one metric, under each placement that it was planned for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The verdict over all placements.
    pub verdict: OverallVerdict,
    /// The pair's name in the study.
    pub pair: String,
    /// The question it answers.
    pub question: String,
    /// The variant that the verdict is about.
    pub of: String,
    /// The variant that it is compared with.
    pub against: String,
    /// The metric that is compared.
    pub metric: Metric,
    /// The operation of `of`, if it is a codec.
    pub operation: Option<Operation>,
    /// Whether it was planned under every placement.
    pub headline: bool,
    /// Whether it is an A/A pair: a variant and its control.
    pub a_a: bool,
    /// Whether both variants are called in one server process, by one client process. Both then share the variation
    /// between process starts, which shows only in the interval over invocations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_process: bool,
    /// The verdict under each placement; the first is the study's own.
    pub placements: Vec<PlacementVerdict>,
    /// Whether the placements agree.
    pub combined: Combined,
}

/// A comparison of the latency of two live services during a ramp: each step has its own verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RampComparison {
    /// The pair's name in the study.
    pub pair: String,
    /// The question it answers.
    pub question: String,
    /// The variant that the verdicts are about.
    pub of: String,
    /// The variant that it is compared with.
    pub against: String,
    /// The metric that is compared.
    pub metric: Metric,
    /// The verdict on each step of the variants' `figures`, in the same order. A pause has no verdict (`no-verdict`).
    pub steps: Vec<PlacementVerdict>,
}

/// The verdict of a comparison over all placements. It can be unconfirmed: resolved under only some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OverallVerdict {
    /// `of` is better: faster, smaller, or with more calls per second.
    Faster,
    /// `of` is worse.
    Slower,
    /// The difference lies inside the margin.
    NoDifference,
    /// Placements have different resolved verdicts.
    DependsOnPlacement,
    /// The figures are inconclusive.
    NotResolved,
    /// There is no verdict under the study's own placement, and no resolved one under another.
    NoVerdict,
}

impl OverallVerdict {
    /// The first resolved verdict, unless placements have different ones; else the one under the study's own placement.
    pub(crate) fn of(combined: Combined, placements: &[PlacementVerdict]) -> Self {
        if combined == Combined::DependsOnPlacement {
            return Self::DependsOnPlacement;
        }
        let mut verdicts = placements.iter().map(|under| Self::from(under.outcome));
        let own = verdicts.clone().next();
        let resolved = verdicts.find(|one| !matches!(one, Self::NotResolved | Self::NoVerdict));
        resolved.or(own).unwrap_or(Self::NoVerdict)
    }
}

impl From<Outcome> for OverallVerdict {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Faster => Self::Faster,
            Outcome::Slower => Self::Slower,
            Outcome::NoDifference => Self::NoDifference,
            Outcome::NotResolved { .. } => Self::NotResolved,
            Outcome::NoVerdict { .. } => Self::NoVerdict,
        }
    }
}

/// A verdict under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacementVerdict {
    /// Where client and server ran.
    pub placement: Placement,
    /// How its calls were timed: stage by stage or under load.
    pub timing: Timing,
    /// The metric of `of`, over all its trials under this placement.
    pub of_value: Option<f64>,
    /// The metric of `against`, over all its trials under this placement.
    pub against_value: Option<f64>,
    /// The median of the blocks' ratios of/against, with its interval.
    pub estimate: Option<Estimate>,
    /// The outcome.
    pub outcome: Outcome,
    /// The blocks that it is based on, and the blocks that are left out.
    pub blocks: BlockCounts,
    /// The A/A pair that it is compared with.
    pub control: Option<Control>,
    /// The smallest ratio (above 1) that this comparison would resolve with 80% probability.
    pub smallest_difference: Option<f64>,
    /// The shares of calls that did not succeed, if they differ and affect the metric.
    pub unanswered: Option<Unanswered>,
    /// Cautions about it.
    pub cautions: Vec<Caution>,
}

/// A measured ratio of/against.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The median ratio over all blocks.
    pub ratio: f64,
    /// The interval's ends; absent with fewer than two invocations. For live services, the interval is over blocks
    /// instead, and absent with fewer than two blocks.
    pub interval: Option<[f64; 2]>,
    /// The confidence level of the interval.
    pub confidence: f64,
    /// The number of invocations that it is based on.
    pub invocations: u64,
    /// The number of blocks that it is based on.
    pub blocks: u64,
}

impl Estimate {
    /// The number of independent units of its interval: invocations, or blocks for live services.
    pub(crate) fn independent(&self) -> u64 {
        match (self.invocations, self.interval) {
            (1, Some(_)) => self.blocks,
            (invocations, _) => invocations,
        }
    }

    pub(crate) fn of(estimate: &stats::Estimate) -> Self {
        Self {
            ratio: estimate.ratio(),
            interval: estimate.ends(),
            confidence: estimate.confidence,
            invocations: estimate.invocations as u64,
            blocks: estimate.blocks as u64,
        }
    }
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Outcome {
    /// `of` is better: faster, smaller, or with more calls per second.
    Faster,
    /// `of` is worse.
    Slower,
    /// The whole interval lies inside the margin.
    NoDifference,
    /// The figures are inconclusive.
    NotResolved {
        /// Why not.
        reason: Unresolved,
        /// How much more measuring would probably resolve it.
        more: Option<More>,
    },
    /// There is no verdict.
    NoVerdict {
        /// Why not.
        reason: Withheld,
    },
}

/// Why a comparison has no verdict at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Withheld {
    /// No block has figures for both variants.
    NotMeasured,
    /// More than half of the blocks were unfit, and most of the unfit blocks were client-bound, so they show nothing
    /// about the server.
    ClientBound,
    /// More than half of the blocks were unfit, and in most of the unfit blocks the link was not held, so it was not
    /// the requested link.
    LinkNotHeld,
    /// The difference depends on how late calls were sent, or send delay is most of the latency.
    SendDelay,
    /// The two variants have different shares of unsuccessful calls, and counting these calls could change the
    /// verdict.
    Unanswered,
}

impl PlacementVerdict {
    /// Which of its two variants run on dynamic code.
    pub(crate) fn on_dynamic_code(&self) -> Vec<&str> {
        let dynamic = self.cautions.iter();
        let dynamic = dynamic.filter(|caution| caution.kind == CautionKind::DynamicCode);
        dynamic
            .filter_map(|caution| caution.variant.as_deref())
            .collect()
    }

    /// Whether it has a caution of this kind.
    pub(crate) fn has(&self, kind: CautionKind) -> bool {
        self.cautions.iter().any(|caution| caution.kind == kind)
    }
}

impl From<stats::Outcome> for Outcome {
    fn from(outcome: stats::Outcome) -> Self {
        match outcome {
            stats::Outcome::Faster => Self::Faster,
            stats::Outcome::Slower => Self::Slower,
            stats::Outcome::NoDifference => Self::NoDifference,
            stats::Outcome::NotResolved { reason, more } => Self::NotResolved { reason, more },
        }
    }
}

/// The blocks of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockCounts {
    /// Blocks that the plan has for both variants.
    pub planned: u64,
    /// Blocks that the estimate is based on.
    pub used: u64,
    /// Blocks in which the trial of either variant failed or did not run.
    pub missing: u64,
    /// Blocks in which either variant has no figure above 0 for the metric.
    pub no_value: u64,
    /// Blocks left out because either variant was client-bound.
    pub client_bound: u64,
    /// Blocks left out because the link of either variant was not held.
    #[serde(skip_serializing_if = "super::caution::is_zero")]
    pub link_not_held: u64,
}

/// The A/A pair that a verdict is compared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Control {
    /// The variant that was measured twice.
    pub of: String,
    /// The control, which repeats `of` under a second name.
    pub again: String,
    /// The ratio of again/of.
    pub estimate: Estimate,
}

/// The shares of calls that did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unanswered {
    /// The share of the variant that the verdict is about.
    pub of: f64,
    /// The share of the variant that it is compared with.
    pub against: f64,
}

/// The outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// The measurement shows the published direction, or no difference if none was published.
    Reproduced,
    /// The measurement differs from the claim, on the stacks that the claim is about.
    Contradicted,
    /// The measurement differs from the claim, but on other stacks.
    NotReproduced,
    /// The measurement is inconclusive.
    NotResolved,
}

/// A published figure, and whether this run reproduces it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimFindings {
    /// The claim's name in the study.
    pub name: String,
    /// Where it was published, and when.
    pub source: String,
    /// What was published, in the study's words.
    pub says: String,
    /// The variant that the claim is about.
    pub of: String,
    /// The variant that it was compared with.
    pub against: String,
    /// The metric that was compared.
    pub metric: Metric,
    /// The published figures.
    pub published: Published,
    /// The published ratio of/against; absent unless it is positive and finite.
    pub published_ratio: Option<f64>,
    /// The stacks that the publication measured, if rpcgauge has them.
    pub stacks: Vec<String>,
    /// The stacks that were measured here: servers, clients and codecs, `engine` for rpcgauge's own
    /// client and `reference` for its own server or codec.
    pub measured_stacks: Vec<String>,
    /// The measurement under each placement; the first is the study's own.
    pub placements: Vec<ClaimMeasured>,
    /// The outcome of the resolved placements if they agree, otherwise not resolved.
    pub outcome: ClaimOutcome,
    /// The resolved placements, if they agree but other placements are not resolved and so do not confirm the outcome.
    pub only_under: Vec<Placement>,
    /// Whether placements give different resolved outcomes.
    pub depends_on_placement: bool,
}

/// A claim under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimMeasured {
    /// The comparison that it is based on.
    #[serde(flatten)]
    pub verdict: PlacementVerdict,
    /// The outcome under this placement.
    pub claim: ClaimOutcome,
    /// How the measured size compares with the published one; absent if one of them has no size.
    pub size: Option<SizeMatch>,
}
