//! The types of the findings of a study of an application, which are the content of its `report.json`.
//!
//! Times are in nanoseconds and sizes in bytes, unless a name indicates otherwise.

use rpcgauge_stats::SizeMatch;
use rpcgauge_study::app::{AppMetric, AppPlan, Configuration, JvmRecord, StartRecord};
use rpcgauge_study::record::{Environment, Fault};
use rpcgauge_study::run::{RunInfo, Writing};
use serde::Serialize;

use crate::findings::verdict::{ClaimOutcome, PlacementVerdict};

/// The findings of a run of a study of an application.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppFindings {
    /// The version of this schema.
    pub schema: u32,
    /// The version, study, seed and kind of the run.
    pub run: RunInfo,
    /// The plan.
    pub plan: AppPlan,
    /// The machine; absent if the run ended before its first record.
    pub environment: Option<Environment>,
    /// The starts of the services.
    pub starts: Vec<StartRecord>,
    /// The number of measured slices.
    pub measured: u64,
    /// The process that is writing the run; absent once the run has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Writing>,
    /// Warnings about these findings, one line each.
    pub warnings: Vec<String>,
    /// The verdicts, with those of the A/A pair last.
    pub comparisons: Vec<AppComparison>,
    /// The published figures, and whether this run reproduces them.
    pub claims: Vec<AppClaimFindings>,
    /// The figures of each variant over all its slices.
    pub variants: Vec<AppVariantFindings>,
    /// Slices that failed.
    pub failures: Vec<FailedSlice>,
    /// The measured slices, in the order they ended.
    pub slices: Vec<SliceRow>,
}

/// A comparison of two variants on one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppComparison {
    /// The question it answers.
    pub question: String,
    /// The variant that the verdict is about.
    pub of: String,
    /// The variant that it is compared with.
    pub against: String,
    /// The metric.
    pub metric: AppMetric,
    /// The request; `None` for all requests together.
    pub request: Option<String>,
    /// Whether it compares one configuration with itself.
    pub a_a: bool,
    /// The verdict.
    pub verdict: PlacementVerdict,
}

/// A published ratio, and whether this run reproduces it.
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

/// The figures of a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppVariantFindings {
    /// Its name.
    pub name: String,
    /// A value for each setting.
    pub configuration: Configuration,
    /// The variant that it repeats.
    pub repeats: Option<String>,
    /// The number of its measured slices.
    pub slices: u64,
    /// The total time of these slices, including the time after them until all requests at a rate ended. CPU shares
    /// are relative to this time.
    pub seconds: f64,
    /// The figures of all requests together, then of each request, by its name.
    pub requests: Vec<RequestFigures>,
    /// The application's own metrics.
    pub inside: Vec<InsideFigures>,
    /// Its processes, and the processes that all variants share.
    pub processes: Vec<ProcessFigures>,
    /// CPU time of all processes per successful request.
    pub cpu_per_request_ns: Option<f64>,
    /// The share of a core that the load generator used.
    pub load_generator_share: f64,
    /// Where the time of each request goes.
    pub bars: Vec<RequestBar>,
}

/// The figures of one request, or of all requests together, as users see them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestFigures {
    /// The request's name; `None` for all requests together.
    pub name: Option<String>,
    /// Requests that succeeded.
    pub succeeded: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The first failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Requests that succeeded, per second.
    pub per_second: f64,
    /// The mean response time of successful requests.
    pub mean_ns: Option<f64>,
    /// The median response time of successful requests.
    pub p50_ns: Option<f64>,
    /// The 90th percentile of the response time of successful requests.
    pub p90_ns: Option<f64>,
    /// The 99th percentile of the response time of successful requests; absent with fewer than 100.
    pub p99_ns: Option<f64>,
}

/// One of the application's metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InsideFigures {
    /// Its name.
    pub name: String,
    /// Its title in a report.
    pub title: String,
    /// Its mean: ns, bytes or a number.
    pub mean: Option<f64>,
    /// The number of observations.
    pub count: f64,
    /// Observations per request, over the requests in which it occurs.
    pub per_request: Option<f64>,
}

/// The resources that a process used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessFigures {
    /// Its name.
    pub name: String,
    /// Whether all variants share it.
    pub is_shared: bool,
    /// The number of cores that it used while the variant was under load.
    pub cores: Option<f64>,
    /// Its maximum memory.
    pub memory_bytes: Option<u64>,
    /// The work of its JVM during that time, and the maximum of its heap; absent if it is not a JVM.
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
    /// The parts of that time; each is followed by its own parts.
    pub parts: Vec<TimePart>,
}

/// A part of a request's time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimePart {
    /// The metric; `None` for the time of the enclosing part that no metric explains.
    pub metric: Option<String>,
    /// Its title in a report.
    pub title: String,
    /// Its nesting depth: 0 is a part of the request itself.
    pub depth: usize,
    /// Its time per request.
    pub ns: f64,
    /// Its time without the time of its own parts, which is what the bar shows.
    pub own_ns: f64,
}

/// A slice that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedSlice {
    /// The invocation (fresh start), from 0.
    pub invocation: u32,
    /// The block within the invocation, from 0.
    pub block: u32,
    /// The variant.
    pub variant: String,
    /// Why it failed.
    pub reason: String,
    /// What caused the failure.
    pub fault: Fault,
    /// The last lines of a log.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub log: String,
}

/// One measured slice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SliceRow {
    /// The invocation (fresh start), from 0.
    pub invocation: u32,
    /// The block within the invocation, from 0.
    pub block: u32,
    /// The variant.
    pub variant: String,
    /// The figures of all requests together, then of each.
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
