//! Findings and reports of a study of an application.
//!
//! The verdicts are computed as in any study: paired by block, with an interval over fresh starts, and with the A/A
//! pair as the threshold. Each metric is treated like the most similar metric of a call (`like`).

mod diff;
mod document;
mod evaluate;
mod findings;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rpcgauge_stats::Better;
use rpcgauge_study::app::{
    AppMetric, AppPlan, Metric as AppOwnMetric, MetricUnit, StartRecord, SumCount,
};
use rpcgauge_study::plan::Metric;

pub use diff::AppDiff;
pub use evaluate::of_rate;
pub use findings::AppFindings;

use crate::document::Document;
use crate::error::ReportError;
use crate::files::write_texts;
use crate::{json, units};

/// The metric of a call that is most similar to an application's metric.
pub(crate) fn like(plan: &AppPlan, metric: &AppMetric) -> Metric {
    match metric {
        AppMetric::RequestsPerSecond => Metric::Goodput,
        AppMetric::ResponseMean => Metric::LatencyMean,
        AppMetric::ResponseP50 => Metric::LatencyP50,
        AppMetric::ResponseP99 => Metric::LatencyP99,
        AppMetric::Cpu => Metric::ServerCpu,
        AppMetric::Inside(name) => {
            match metric_of(plan, name).and_then(|metric| metric.unit.ns()) {
                Some(_) => Metric::LatencyMean,
                None => Metric::ResponseBytes,
            }
        }
    }
}

/// Which direction of a metric is better.
pub(crate) fn better(plan: &AppPlan, metric: &AppMetric) -> Better {
    let own = match metric {
        AppMetric::Inside(name) => metric_of(plan, name),
        _ => None,
    };
    match own.map(|metric| metric.more_is_better) {
        Some(true) => Better::Higher,
        Some(false) => Better::Lower,
        None => crate::metric::better(like(plan, metric)),
    }
}

/// The formatter for figures of a unit; times are ns.
fn shown(unit: MetricUnit) -> fn(f64) -> String {
    match unit {
        MetricUnit::Seconds | MetricUnit::Milliseconds | MetricUnit::Microseconds => units::time,
        MetricUnit::Bytes => units::size,
        MetricUnit::Number => units::number,
    }
}

/// The mean of a metric in `unit`, as a text; `None` without observations.
pub fn mean(unit: MetricUnit, told: &SumCount) -> Option<String> {
    let mean = told.sum / told.count * unit.ns().unwrap_or(1.0);
    (told.count > 0.0).then(|| shown(unit)(mean))
}

/// Whether memory was not sufficient for all sets of services at the same time.
fn is_one_by_one(plan: &AppPlan, starts: &[StartRecord]) -> bool {
    let sets = plan.variants.len();
    starts.iter().any(|start| start.sets < sets)
}

/// One of the application's own metrics.
pub(crate) fn metric_of<'a>(plan: &'a AppPlan, name: &str) -> Option<&'a AppOwnMetric> {
    plan.metrics.iter().find(|metric| metric.name == name)
}

impl AppFindings {
    /// The report of these findings.
    pub fn document(&self) -> Document {
        Document::of_app(self)
    }

    /// The findings as JSON.
    ///
    /// # Errors
    /// [`ReportError::Json`] if the findings cannot be serialized.
    pub fn json(&self) -> Result<String, ReportError> {
        json::line(self)
    }

    /// CSV with a row for each slice and request (RFC 4180, with a header).
    pub fn csv(&self) -> String {
        self.slices_csv()
    }

    /// Writes the four files of a report into a run directory, and returns their paths.
    ///
    /// # Errors
    /// As [`crate::files::write_all`].
    pub fn write_all(&self, directory: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let document = self.document();
        let texts = [
            self.json()?,
            document.html(),
            document.markdown(),
            self.csv(),
        ];
        write_texts(directory, texts)
    }
}
