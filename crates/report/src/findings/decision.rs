//! The types of decisions in the findings: which of several ways to make the same calls to use.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;
use serde::Serialize;

use super::network::{NetworkFindings, PaysBelow};
use super::verdict::PlacementVerdict;

/// A decision among variants that make the same calls in different ways.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Decision {
    /// The group of the study that the variants belong to.
    pub group: Option<String>,
    /// Whether the study gives one of its pairs as a headline.
    pub headline: bool,
    /// What they call: a method, or a workload with its size.
    pub called: String,
    /// The variants, in the study's order.
    pub variants: Vec<String>,
    /// Variants that have no figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The decision under each placement under which all of them were measured; the first is the study's own.
    pub placements: Vec<PlacementDecision>,
    /// What this run does not show, although it could change the decision.
    pub not_shown: Vec<NotShown>,
    /// How long the calls would take over networks that the run does not have. Computed, not measured; empty unless
    /// at least two variants made unary calls over TCP on loopback, one at a time over connections that are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkFindings>,
    /// Where variants that move fewer bytes take less time than the choice. Computed, not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pays_below: Vec<PaysBelow>,
}

/// A decision under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacementDecision {
    /// Where client and server ran.
    pub placement: Placement,
    /// The best variant in latency, in CPU and in bytes, as far as all variants have these figures.
    pub best: Vec<Best>,
    /// The variant to use: the simplest of those that no other variant beats in latency or CPU. Absent if each variant
    /// is beaten by another one.
    pub choice: Option<String>,
    /// Whether the choice uses a Unix socket, so that client and server must run on one host.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_host: bool,
    /// The verdicts that show what the choice saves, or without a choice, what the variant with the shortest calls
    /// costs against the one that uses the least CPU.
    pub saving: Option<Saving>,
}

/// The best variant in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Best {
    /// The metric.
    pub metric: Metric,
    /// The variants that no other one beats, in the study's order.
    pub unbeaten: Vec<String>,
    /// The one of them with the best figure.
    pub variant: String,
}

/// The verdicts on one variant against another in latency, CPU and bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Saving {
    /// The variant that the verdicts are about.
    pub of: String,
    /// The variant that it is compared with: the one that most pairs of the study compare others with, or if that is
    /// `of`, the next best in latency.
    pub against: String,
    /// The verdict in each metric.
    pub verdicts: Vec<MetricVerdict>,
}

/// A verdict and its metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MetricVerdict {
    /// The metric.
    pub metric: Metric,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: PlacementVerdict,
}

/// Something that a run does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NotShown {
    /// All calls went over loopback.
    Network,
    /// There was one call in flight at a time.
    ManyCalls,
    /// rpcgauge's own client made all calls.
    YourClient,
    /// Handlers only return the response.
    YourHandler,
    /// Each call by WebSocket opens its connection, and the others reuse one.
    OpenWebSocket,
    /// The embedded server encoded and decoded some messages by dynamic code, which can rank encodings differently than
    /// generated code.
    GeneratedCode,
}

impl PlacementDecision {
    /// The best variant in a metric.
    pub(crate) fn best(&self, metric: Metric) -> Option<&Best> {
        self.best.iter().find(|best| best.metric == metric)
    }
}

impl Best {
    /// Whether no other variant beats this one.
    pub(crate) fn includes(&self, variant: &str) -> bool {
        self.unbeaten.iter().any(|one| one == variant)
    }
}
