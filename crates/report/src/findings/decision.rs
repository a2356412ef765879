//! The types of decisions in the findings: which of several ways to make the same calls to use.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;
use serde::Serialize;

use super::network::{NetworkFindings, Turn};
use super::verdict::{Outcome, PlacementVerdict};

/// What decides between variants.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Latency and CPU: no other variant beats the choice in either.
    LatencyAndCpu,
    /// The p50 latency.
    Latency,
    /// The CPU of client and server together.
    Cpu,
    /// The bytes of a call, or of a response where headers are not counted.
    Bytes,
    /// What CPU and bytes cost together.
    Price(Prices),
}

/// Prices in any one currency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Prices {
    /// The price of a core for an hour.
    pub core_hour: f64,
    /// The price of a gigabyte (10⁹ bytes) that is sent or received.
    pub gigabyte: f64,
}

impl Prices {
    /// The price of CPU time, given in ns.
    pub(crate) fn of_cpu(self, ns: f64) -> f64 {
        ns / 3.6e12 * self.core_hour
    }

    /// The price of bytes.
    pub(crate) fn of_bytes(self, bytes: f64) -> f64 {
        bytes / 1e9 * self.gigabyte
    }

    /// What is saved of both together, in the unit of the prices. What has no price may be unknown.
    pub(crate) fn saved(self, cpu: Option<Amount>, bytes: Option<Amount>) -> Option<Amount> {
        let priced = |amount: Option<Amount>, price: fn(Self, f64) -> f64, unit: f64| match unit {
            0.0 => Some(Amount::NOTHING),
            _ => Some(amount?.map(|value| price(self, value))),
        };
        let cpu = priced(cpu, Self::of_cpu, self.core_hour)?;
        let bytes = priced(bytes, Self::of_bytes, self.gigabyte)?;
        let range = cpu.range.zip(bytes.range);
        let range = range.map(|([low, high], bytes)| [low + bytes[0], high + bytes[1]]);
        Some(Amount {
            value: cpu.value + bytes.value,
            range,
            resolved: range.is_some_and(|[low, high]| low > 0.0 || high < 0.0 || low == high),
        })
    }
}

/// What a variant saves per call against another one, in the unit of a metric; negative if it takes more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Amount {
    /// The difference of the two figures.
    pub value: f64,
    /// The differences that the interval of the figures' ratio allows, and the value. If the ratio is not resolved, also
    /// those that the A/A pair shows, in either direction. Absent without an interval.
    pub range: Option<[f64; 2]>,
    /// Whether the ratio is resolved; for a price, whether its range excludes 0.
    pub resolved: bool,
}

impl Amount {
    const NOTHING: Self = Self {
        value: 0.0,
        range: Some([0.0; 2]),
        resolved: true,
    };

    /// What the first variant of a verdict saves against the second one; `None` without a verdict.
    pub(crate) fn saved(verdict: &PlacementVerdict) -> Option<Self> {
        let (of, against) = (verdict.of_value?, verdict.against_value?);
        let resolved = match verdict.outcome {
            Outcome::NoVerdict { .. } => return None,
            Outcome::NotResolved { .. } => false,
            Outcome::Faster | Outcome::Slower | Outcome::NoDifference => true,
        };
        let value = against - of;
        let saved = |interval: [f64; 2]| interval.map(|ratio| against * (1.0 - ratio));
        let range = verdict.estimate?.interval.map(|interval| {
            let ends = saved(interval);
            // The median ratio can differ from the ratio of the two figures.
            let mut all = vec![ends[0], ends[1], value];
            if !resolved {
                let is_one_sided =
                    ends.iter().all(|end| *end > 0.0) || ends.iter().all(|end| *end < 0.0);
                let control = verdict.control.as_ref();
                let control = control
                    .and_then(|control| control.estimate.interval)
                    .map(saved);
                // One variant measured twice differs as much, in either direction.
                let noise = control.into_iter().chain(is_one_sided.then_some(ends));
                all.extend(noise.flatten().flat_map(|end| [end, -end]));
            }
            [
                all.iter().copied().fold(f64::INFINITY, f64::min),
                all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ]
        });
        Some(Self {
            value,
            range,
            resolved,
        })
    }

    /// The same in another unit.
    pub(crate) fn map(self, unit: impl Fn(f64) -> f64) -> Self {
        Self {
            value: unit(self.value),
            range: self.range.map(|range| range.map(&unit)),
            ..self
        }
    }
}

/// Why there is no decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undecided {
    /// Fewer than two variants have a latency.
    NotMeasured,
    /// Not all variants have the CPU that the criterion needs.
    NoCpu,
    /// Not all variants have the bytes that the criterion needs.
    NoBytes,
    /// Each variant is beaten by another one.
    Circle,
}

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
    /// What decides.
    pub criterion: Criterion,
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
    /// Below which rates variants that move fewer bytes take less time than the choice. Computed, not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pays_below: Vec<Turn>,
    /// Above which rates variants that move more bytes take less time than the choice. Computed, not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pays_above: Vec<Turn>,
}

/// A decision under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacementDecision {
    /// Where client and server ran.
    pub placement: Placement,
    /// The best variant in latency, in CPU and in bytes, as far as all variants have these figures.
    pub best: Vec<Best>,
    /// The variant to use: the simplest of those that no other variant beats by the criterion. Absent if each variant
    /// is beaten by another one.
    pub choice: Option<String>,
    /// The other variants that no variant beats by the criterion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<String>,
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

impl Decision {
    /// The variant to use under the study's own placement.
    pub(crate) fn choice(&self) -> Option<&str> {
        self.placements.first()?.choice.as_deref()
    }
}

impl PlacementDecision {
    /// The best variant in a metric.
    pub(crate) fn best(&self, metric: Metric) -> Option<&Best> {
        self.best.iter().find(|best| best.metric == metric)
    }
}

impl Saving {
    /// The verdict on latency.
    pub(crate) fn of_latency(&self) -> Option<&PlacementVerdict> {
        self.of(Metric::LatencyP50)
    }

    /// The verdict on CPU.
    pub(crate) fn of_cpu(&self) -> Option<&PlacementVerdict> {
        self.of(Metric::Cpu)
    }

    /// The verdict on bytes: those of a call, or of a response if headers are not counted.
    pub(crate) fn of_bytes(&self) -> Option<&PlacementVerdict> {
        let of_call = self.of(Metric::CallBytes);
        of_call.or_else(|| self.of(Metric::ResponseBytes))
    }

    fn of(&self, metric: Metric) -> Option<&PlacementVerdict> {
        let mut verdicts = self.verdicts.iter();
        let verdict = verdicts.find(|verdict| verdict.metric == metric);
        verdict.map(|verdict| &verdict.verdict)
    }
}

impl Best {
    /// Whether no other variant beats this one.
    pub(crate) fn includes(&self, variant: &str) -> bool {
        self.unbeaten.iter().any(|one| one == variant)
    }
}
