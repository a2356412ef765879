//! Splits the time of a request by the metrics of the services on its path.

use rpcgauge_study::app::{AppVariant, Metric};

use super::super::findings::{RequestBar, RequestFigures, TimePart};
use super::{Blocks, number_of, sum};

impl Blocks<'_> {
    /// Where the time of a request goes; `None` if no metric names it.
    pub(super) fn bar(
        &self,
        request: &RequestFigures,
        variant: &AppVariant,
        all: &[RequestFigures],
    ) -> Option<RequestBar> {
        let (name, mean_ns) = (request.name.as_ref()?, request.mean_ns?);
        let happens =
            |metric: &&Metric| metric.requests.contains(name) && metric.unit.ns().is_some();
        let metrics: Vec<&Metric> = self.plan.metrics.iter().filter(happens).collect();
        let time = |metric: &Metric| {
            let requests = number_of(all, &metric.requests) as f64;
            sum(self.of(&variant.name), &metric.name).sum * metric.unit.ns().unwrap_or(1.0)
                / requests
        };
        let mut parts = Vec::new();
        add_parts(&metrics, None, 0, mean_ns, &time, &mut parts);
        (!parts.is_empty()).then(|| RequestBar {
            request: name.clone(),
            mean_ns,
            parts,
        })
    }
}

/// Adds the parts of a whole: first the time that no metric explains, then each metric, followed by its own parts.
fn add_parts(
    metrics: &[&Metric],
    whole: Option<&str>,
    depth: usize,
    whole_ns: f64,
    time: &dyn Fn(&Metric) -> f64,
    parts: &mut Vec<TimePart>,
) {
    let is_part = |metric: &&&Metric| match whole {
        Some(whole) => metric.part_of.iter().any(|name| name == whole),
        None => metric.part_of.is_empty(),
    };
    let own: Vec<&&Metric> = metrics.iter().filter(is_part).collect();
    if own.is_empty() {
        return;
    }
    let explained: f64 = own.iter().map(|metric| time(metric)).sum();
    let rest = (whole_ns - explained).max(0.0);
    parts.push(TimePart {
        metric: None,
        title: match depth {
            0 => "outside the services".to_owned(),
            _ => "self time".to_owned(),
        },
        depth,
        ns: rest,
        own_ns: rest,
    });
    for metric in own {
        let ns = time(metric);
        let at = parts.len();
        parts.push(TimePart {
            metric: Some(metric.name.clone()),
            title: metric.title.clone(),
            depth,
            ns,
            own_ns: ns,
        });
        add_parts(metrics, Some(&metric.name), depth + 1, ns, time, parts);
        if parts.len() > at + 1 {
            // Its own parts cover all its time.
            parts[at].own_ns = 0.0;
        }
    }
}
