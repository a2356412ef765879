//! Reads metrics in Prometheus's text format: every sample, or the sum and count of each metric named in `app.toml`.

use std::collections::BTreeMap;
use std::time::Duration;

use rpcgauge_load::Fetch;
use rpcgauge_study::app::{Metric, MetricsAt, SumCount};
use rpcgauge_study::record::Fault;

use super::process::Running;
use crate::error::{TrialFailure, TrialResult};

/// The time limit for a service to respond with its metrics.
const LIMIT: Duration = Duration::from_secs(10);

/// A sample, without its timestamp.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'t> {
    /// The metric's name, with its suffix.
    pub name: &'t str,
    /// The labels in their order, each a name and a value.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

/// Every sample in a text of metrics. Lines that are not samples are skipped.
pub fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (name, rest) = line.split_at(line.find(['{', ' ', '\t'])?);
        let (labels, value) = labels_and_value(rest)?;
        Some(Sample {
            name,
            labels,
            value,
        })
    })
}

/// Reads the metrics of one service. Metrics that it does not expose are omitted.
pub(super) fn read<'m>(
    service: &Running,
    at: &MetricsAt,
    metrics: impl Iterator<Item = &'m Metric>,
) -> TrialResult<BTreeMap<String, SumCount>> {
    let fetched = Fetch::get(service.address(&at.port), &at.path).send(LIMIT);
    let wrong = |what: String| {
        let reason = format!("{}: no metrics at {}: {what}", service.title, at.path);
        service.explain(TrialFailure::new(Fault::Subject, reason))
    };
    let fetched = fetched.map_err(|error| wrong(error.to_string()))?;
    if fetched.status != 200 {
        return Err(wrong(format!("the status is {}", fetched.status)));
    }
    let text = String::from_utf8_lossy(&fetched.body);
    let metrics = metrics.filter_map(|metric| Some((metric.name.clone(), find(&text, metric)?)));
    Ok(metrics.collect())
}

/// The sum and count of a metric, added up over all series that have its labels.
fn find(text: &str, metric: &Metric) -> Option<SumCount> {
    let sum_of = |ending: &str| {
        let series = text.lines().filter_map(|line| {
            let rest = line.strip_prefix(&metric.metric)?.strip_prefix(ending)?;
            let (labels, value) = labels_and_value(rest)?;
            let is_asked = metric
                .labels
                .iter()
                .all(|asked| labels.contains(&(asked.0.clone(), asked.1.clone())));
            is_asked.then_some(value)
        });
        let values: Vec<f64> = series.filter(|value| value.is_finite()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>())
    };
    Some(SumCount {
        sum: sum_of("_sum")?,
        count: sum_of("_count")?,
    })
}

/// Parses a sample's labels and value from the text after the metric's name.
fn labels_and_value(rest: &str) -> Option<(Vec<(String, String)>, f64)> {
    let mut labels = Vec::new();
    let Some(mut rest) = rest.strip_prefix('{') else {
        return rest
            .starts_with([' ', '\t'])
            .then(|| Some((labels, value(rest)?)))?;
    };
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, value(after)?));
        }
        let (name, after) = rest.split_once("=\"")?;
        let mut text = String::new();
        let mut chars = after.char_indices();
        loop {
            match chars.next()? {
                (at, '"') => {
                    rest = &after[at + 1..];
                    break;
                }
                (_, '\\') => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    other => text.push(other),
                },
                (_, other) => text.push(other),
            }
        }
        labels.push((name.trim().to_owned(), text));
    }
}

/// The value, which a timestamp may follow.
fn value(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::app::MetricUnit;

    use super::*;

    const TEXT: &str = r#"# HELP call_seconds_sum odd
# TYPE call_seconds summary
call_seconds_count{uri="/a",status="200"} 3
call_seconds_sum{uri="/a",status="200"} 0.5 1700000000000
call_seconds_count{uri="/b \"{x}\" \\",status="200",} 4
call_seconds_sum{uri="/b \"{x}\" \\",status="200",} 1e-1
call_seconds_max{uri="/a"} 9
other_call_seconds_sum 7
call_seconds_sum_total 7
plain_sum NaN
plain_sum 2
plain_count 1
only_sum 1
"#;

    fn found(metric: &str, labels: &[(&str, &str)]) -> Option<(f64, f64)> {
        let labels = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let metric = Metric {
            name: String::new(),
            title: String::new(),
            service: String::new(),
            metric: metric.to_owned(),
            labels: labels.collect(),
            unit: MetricUnit::Seconds,
            more_is_better: false,
            optional: false,
            wait: false,
            requests: Vec::new(),
            part_of: Vec::new(),
        };
        find(TEXT, &metric).map(|found| (found.sum, found.count))
    }

    #[test]
    fn series_with_the_labels_that_are_asked_for_are_added_up() {
        assert_eq!(found("call_seconds", &[]), Some((0.6, 7.0)));
        assert_eq!(found("call_seconds", &[("uri", "/a")]), Some((0.5, 3.0)));
        assert_eq!(
            found("call_seconds", &[("uri", "/b \"{x}\" \\")]),
            Some((0.1, 4.0))
        );
        assert_eq!(found("plain", &[]), Some((2.0, 1.0)));
    }

    #[test]
    fn every_sample_has_its_name_labels_and_value() {
        let all: Vec<Sample> = samples(TEXT).collect();
        assert_eq!(all.len(), TEXT.lines().count() - 2, "{all:?}");
        let labels = [("uri", "/b \"{x}\" \\"), ("status", "200")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(all[3].name, "call_seconds_sum");
        assert_eq!((&all[3].labels[..], all[3].value), (&labels[..], 0.1));
    }

    #[test]
    fn what_is_not_there_whole_is_not_found() {
        assert_eq!(found("call_seconds", &[("uri", "/c")]), None);
        assert_eq!(found("only", &[]), None);
        assert_eq!(found("call", &[]), None);
    }
}
