//! The types of verdicts and claims, as they stand in the findings.

use rpcgauge_stats as stats;
pub use rpcgauge_stats::{Combined, More, SizeMatch, Unresolved};
use rpcgauge_study::plan::{Metric, Published};
use rpcgauge_study::settings::{Operation, Placement, Timing};
use serde::Serialize;

use super::caution::{Caution, CautionKind};

/// A pair of variants compared on one metric, under each placement it was planned for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The pair's name in the study.
    pub pair: String,
    /// What is asked.
    pub question: String,
    /// The variant that the verdict is about.
    pub of: String,
    /// The variant it is compared with.
    pub against: String,
    /// What is compared.
    pub metric: Metric,
    /// What `of` is timed at, where it is a codec.
    pub operation: Option<Operation>,
    /// Whether it was planned under every placement.
    pub headline: bool,
    /// Whether it compares a variant with itself under a second name.
    pub a_a: bool,
    /// The verdict under each placement; the first is the study's own.
    pub placements: Vec<PlacementVerdict>,
    /// The combined outcome.
    pub combined: Combined,
}

/// A verdict under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacementVerdict {
    /// Where client and server ran.
    pub placement: Placement,
    /// What was timed.
    pub timing: Timing,
    /// The metric of `of`, over all its trials there.
    pub of_value: Option<f64>,
    /// The metric of `against`, over all its trials there.
    pub against_value: Option<f64>,
    /// The median of the blocks' ratios of/against, with its interval.
    pub estimate: Option<Estimate>,
    /// The outcome.
    pub outcome: Outcome,
    /// The blocks it rests on, and those it does not.
    pub blocks: BlockCounts,
    /// The A/A pair that it is compared with.
    pub control: Option<Control>,
    /// The smallest ratio (above 1) that this comparison would resolve with 80% probability.
    pub smallest_difference: Option<f64>,
    /// For a latency: the shares of calls that did not succeed, where they differ.
    pub unanswered: Option<Unanswered>,
    /// What a reader must know beside it.
    pub cautions: Vec<Caution>,
}

/// A measured ratio of/against.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The median ratio over all blocks.
    pub ratio: f64,
    /// The interval's ends; absent with fewer than two invocations. Of services that were running
    /// before it is over the blocks.
    pub interval: Option<[f64; 2]>,
    /// The probability with which the interval is to hold the true ratio.
    pub confidence: f64,
    /// Invocations it rests on.
    pub invocations: u64,
    /// Blocks it rests on.
    pub blocks: u64,
}

impl Estimate {
    /// How many values its interval is over: invocations, or blocks where nothing is restarted.
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
    /// `of` is better: faster, smaller, or with a higher yield.
    Faster,
    /// `of` is worse.
    Slower,
    /// The whole interval lies inside the margin.
    NoDifference,
    /// The figures do not decide it.
    NotResolved {
        /// Why not.
        reason: Unresolved,
        /// How much more measuring would probably decide it.
        more: Option<More>,
    },
    /// There is nothing to judge.
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
    /// No block holds both variants' figures.
    NotMeasured,
    /// More than half of the blocks were unfit, most of these since they were client-bound: they say nothing of the
    /// server.
    ClientBound,
    /// More than half of the blocks were unfit, most of these since the link was not held: they are of another link
    /// than was asked for.
    LinkNotHeld,
    /// How late calls were sent decides the difference, or is most of what is compared.
    SendDelay,
    /// The two have different shares of unsuccessful calls, and counting these could change the
    /// verdict.
    Unanswered,
}

impl PlacementVerdict {
    /// The variants, of the two, that it rests on dynamic code of.
    pub(crate) fn on_dynamic_code(&self) -> Vec<&str> {
        let dynamic = self.cautions.iter();
        let dynamic = dynamic.filter(|caution| caution.kind == CautionKind::DynamicCode);
        dynamic
            .filter_map(|caution| caution.variant.as_deref())
            .collect()
    }

    /// Whether a caution stands beside it.
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
    /// Blocks the estimate rests on.
    pub used: u64,
    /// Blocks in which one of the two was not measured: failed, or not reached.
    pub missing: u64,
    /// Blocks in which one of the two has no figure above 0 for the metric.
    pub no_value: u64,
    /// Blocks left out because one of the two was client-bound.
    pub client_bound: u64,
    /// Blocks left out because the link of one of the two was not held.
    #[serde(skip_serializing_if = "super::caution::is_zero")]
    pub link_not_held: u64,
}

/// The A/A pair that a verdict is compared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Control {
    /// The variant that was measured twice.
    pub of: String,
    /// Its second name.
    pub again: String,
    /// How much the two differ.
    pub estimate: Estimate,
}

/// The shares of calls that did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unanswered {
    /// Of the variant that a verdict is about.
    pub of: f64,
    /// Of the one it is compared with.
    pub against: f64,
}

/// The outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// The direction, or that there is no difference, is as published.
    Reproduced,
    /// The measurement of the stacks that it is about says otherwise.
    Contradicted,
    /// The measurement says otherwise, of other stacks than those that it is about.
    NotReproduced,
    /// The measurement does not decide.
    NotResolved,
}

/// A published figure, and what became of it here.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimFindings {
    /// The claim's name in the study.
    pub name: String,
    /// Where it was published, and when.
    pub source: String,
    /// The published sentence.
    pub says: String,
    /// The variant the claim is about.
    pub of: String,
    /// The variant it was compared with.
    pub against: String,
    /// What was compared.
    pub metric: Metric,
    /// The published figures.
    pub published: Published,
    /// Their ratio of/against, where they have one.
    pub published_ratio: Option<f64>,
    /// The stacks that the publication measured, where rpcgauge has them.
    pub stacks: Vec<String>,
    /// The stacks that were measured here: servers, clients and codecs, `engine` for rpcgauge's own
    /// client and `reference` for its own server or codec.
    pub measured_stacks: Vec<String>,
    /// What was measured under each placement; the first is the study's own.
    pub placements: Vec<ClaimMeasured>,
    /// The outcome of the placements that are resolved, where these agree.
    pub outcome: ClaimOutcome,
    /// The placements that are resolved, where they agree and others are not resolved: the outcome is
    /// unconfirmed there.
    pub only_under: Vec<Placement>,
    /// Whether placements give different resolved outcomes.
    pub depends_on_placement: bool,
}

/// A claim under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimMeasured {
    /// The comparison it rests on.
    #[serde(flatten)]
    pub verdict: PlacementVerdict,
    /// The outcome there.
    pub claim: ClaimOutcome,
    /// How the measured size stands to the published one, where both have a size.
    pub size: Option<SizeMatch>,
}
