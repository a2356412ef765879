//! The types of what a run of a study of an application means: what its `report.json` holds.
//!
//! Times are nanoseconds, sizes bytes, unless a name says otherwise.

use rpcgauge_stats::SizeMatch;
use rpcgauge_study::app::{AppMetric, AppPlan, Configuration, JvmRecord, StartRecord};
use rpcgauge_study::record::{Environment, Fault};
use rpcgauge_study::run::{RunInfo, Writing};
use serde::Serialize;

use crate::findings::verdict::{ClaimOutcome, PlacementVerdict};

/// What a run of a study of an application means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppFindings {
    /// The version of this schema.
    pub schema: u32,
    /// The run directory's own note.
    pub run: RunInfo,
    /// What was to be done.
    pub plan: AppPlan,
    /// The machine; absent where the run ended before its first record.
    pub environment: Option<Environment>,
    /// The starts of the services.
    pub starts: Vec<StartRecord>,
    /// Slices that were measured.
    pub measured: u64,
    /// Present where the run continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Writing>,
    /// What weakens these findings, one line each.
    pub warnings: Vec<String>,
    /// The verdicts, the A/A pair's last.
    pub comparisons: Vec<AppComparison>,
    /// The published figures, and what became of them.
    pub claims: Vec<AppClaimFindings>,
    /// What was measured of each variant, over all its slices.
    pub variants: Vec<AppVariantFindings>,
    /// Slices that failed.
    pub failures: Vec<FailedSlice>,
    /// Each measured slice, in the order in which they ended.
    pub slices: Vec<SliceRow>,
}

/// Two variants compared in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppComparison {
    /// What the study asks.
    pub question: String,
    /// The one.
    pub of: String,
    /// The other.
    pub against: String,
    /// The metric.
    pub metric: AppMetric,
    /// The request; `None` for all requests together.
    pub request: Option<String>,
    /// Whether it compares one configuration with itself.
    pub a_a: bool,
    /// What was found.
    pub verdict: PlacementVerdict,
}

/// A published ratio, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppClaimFindings {
    /// Where it was published.
    pub source: String,
    /// The published ratio.
    pub ratio: f64,
    /// The comparison that it is about.
    #[serde(flatten)]
    pub comparison: AppComparison,
    /// The outcome.
    pub claim: ClaimOutcome,
    /// How the measured size compares with the published one.
    pub size: Option<SizeMatch>,
}

/// What was measured of a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppVariantFindings {
    /// Its name.
    pub name: String,
    /// A value for each setting.
    pub configuration: Configuration,
    /// The variant that it repeats.
    pub repeats: Option<String>,
    /// Slices that were measured.
    pub slices: u64,
    /// How long these were together, with what requests at a rate took to end after them: what CPU is of.
    pub seconds: f64,
    /// All requests together; then each, by its name.
    pub requests: Vec<RequestFigures>,
    /// The application's own metrics.
    pub inside: Vec<InsideFigures>,
    /// Its processes, and those that all variants share.
    pub processes: Vec<ProcessFigures>,
    /// Processor time of all processes for a request.
    pub cpu_per_request_ns: Option<f64>,
    /// The part of a core that the load generator used.
    pub load_generator_share: f64,
    /// Where the time of each request goes.
    pub bars: Vec<RequestBar>,
}

/// What users saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestFigures {
    /// The request's name; none of all together.
    pub name: Option<String>,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The first failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Requests that succeeded, a second.
    pub per_second: f64,
    /// Response times of those that succeeded.
    pub mean_ns: Option<f64>,
    /// The median.
    pub p50_ns: Option<f64>,
    /// The 90th percentile.
    pub p90_ns: Option<f64>,
    /// The 99th percentile.
    pub p99_ns: Option<f64>,
}

/// One of the application's metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InsideFigures {
    /// Its name.
    pub name: String,
    /// How a report calls it.
    pub title: String,
    /// Its mean, ns or bytes.
    pub mean: Option<f64>,
    /// How often it was counted.
    pub count: f64,
    /// How often for each request that it happens in.
    pub per_request: Option<f64>,
}

/// What a process took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessFigures {
    /// Its name.
    pub name: String,
    /// Whether all variants share it.
    pub is_shared: bool,
    /// The part of a core that it used while the variant had load.
    pub cores: Option<f64>,
    /// The most that it held.
    pub memory_bytes: Option<u64>,
    /// What its JVM did meanwhile; absent where it is none. Of its heap the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jvm: Option<JvmRecord>,
}

/// Where the time of a request goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestBar {
    /// The request's name.
    pub request: String,
    /// The mean response time as users see it.
    pub mean_ns: f64,
    /// Its parts, a part's own parts after it.
    pub parts: Vec<TimePart>,
}

/// A part of a request's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimePart {
    /// The metric; none for what no metric explains of the part above it.
    pub metric: Option<String>,
    /// How a report calls it.
    pub title: String,
    /// How deep it lies: 0 is a part of the request.
    pub depth: usize,
    /// Its time for a request.
    pub ns: f64,
    /// The same without its parts: what the bar shows.
    pub own_ns: f64,
}

/// A slice that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedSlice {
    /// Which.
    pub invocation: u32,
    /// Which block.
    pub block: u32,
    /// Of which variant.
    pub variant: String,
    /// Why.
    pub reason: String,
    /// Whose fault it was.
    pub fault: Fault,
    /// The last lines of a log.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub log: String,
}

/// One request of a measured slice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SliceRow {
    /// Which invocation.
    pub invocation: u32,
    /// Which block.
    pub block: u32,
    /// Of which variant.
    pub variant: String,
    /// What users saw; all requests together first.
    pub requests: Vec<RequestFigures>,
}

impl AppFindings {
    pub(super) fn slices_csv(&self) -> String {
        let mut text = String::from(
            "invocation,block,variant,request,succeeded,failed,per_second,mean_ns,p50_ns,p90_ns,p99_ns\n",
        );
        for slice in &self.slices {
            for one in &slice.requests {
                let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
                let name = one.name.as_deref().unwrap_or("all requests");
                let cells = [
                    slice.invocation.to_string(),
                    slice.block.to_string(),
                    slice.variant.clone(),
                    crate::escape::csv(name),
                    one.succeeded.to_string(),
                    one.failed.to_string(),
                    one.per_second.to_string(),
                    number(one.mean_ns),
                    number(one.p50_ns),
                    number(one.p90_ns),
                    number(one.p99_ns),
                ];
                text += &cells.join(",");
                text.push('\n');
            }
        }
        text
    }
}
