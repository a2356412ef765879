//! The words of each metric.

use rpcgauge_stats::Better;
use rpcgauge_study::plan::Metric;

use crate::findings::better;
use crate::findings::verdict::Estimate;
use crate::units::{self, Scale};

/// A metric's name in a heading.
pub(crate) fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::LatencyP50 => "p50 latency",
        Metric::LatencyMean => "mean latency",
        Metric::LatencyP99 => "p99 latency",
        Metric::RequestTime => "request time",
        Metric::ResponseTime => "response time",
        Metric::DecodeTime => "decode time",
        Metric::Goodput => "goodput",
        Metric::ResponseBytes => "answer size",
        Metric::CallBytes => "bytes a call",
        Metric::ClientCpu => "client CPU",
        Metric::ServerCpu => "server CPU",
    }
}

/// What a variant does, and the words for the better and the worse side of it.
pub(super) fn verb(metric: Metric) -> (&'static str, &'static str, &'static str) {
    match metric {
        Metric::LatencyP50 | Metric::LatencyMean | Metric::LatencyP99 => {
            ("answers", "faster", "slower")
        }
        Metric::RequestTime => ("gets its request to the handler", "faster", "slower"),
        Metric::ResponseTime => ("gets its answer back", "faster", "slower"),
        Metric::DecodeTime => ("decodes its answer", "faster", "slower"),
        Metric::Goodput => ("completes", "more calls a second", "fewer calls a second"),
        Metric::ResponseBytes => ("has answers", "smaller", "larger"),
        Metric::CallBytes => ("moves", "fewer bytes a call", "more bytes a call"),
        Metric::ClientCpu => ("takes", "less client CPU", "more client CPU"),
        Metric::ServerCpu => ("takes", "less server CPU", "more server CPU"),
    }
}

/// What stands behind two figures of a metric.
pub(super) fn unit_phrase(metric: Metric) -> &'static str {
    match metric {
        Metric::LatencyP50 => "a call (p50)",
        Metric::LatencyMean => "a call (mean)",
        Metric::LatencyP99 => "a call (p99)",
        Metric::RequestTime => "request time (mean)",
        Metric::ResponseTime => "response time (mean)",
        Metric::DecodeTime => "to decode an answer (mean)",
        Metric::Goodput => "calls/s",
        Metric::ResponseBytes => "an answer",
        Metric::CallBytes => "a call",
        Metric::ClientCpu => "of client CPU a call",
        Metric::ServerCpu => "of server CPU a call",
    }
}

/// Figures of a metric, written so that they can be compared.
pub(crate) fn values(metric: Metric, of: f64, against: f64) -> (String, String) {
    let scale = match metric {
        Metric::Goodput => return (units::number(of), units::number(against)),
        Metric::ResponseBytes | Metric::CallBytes => Scale::sizes([of, against]),
        _ => Scale::times([of, against]),
    };
    (scale.with_unit(of), scale.with_unit(against))
}

/// A ratio turned so that it is at least 1, its interval turned with it, and whether the better
/// side is meant.
pub(crate) struct Factor {
    pub(crate) value: f64,
    pub(crate) interval: Option<[f64; 2]>,
    pub(crate) is_better: bool,
}

impl Factor {
    pub(crate) fn of(metric: Metric, ratio: f64, interval: Option<[f64; 2]>) -> Self {
        let less = ratio < 1.0;
        let (value, interval) = if less {
            (
                1.0 / ratio,
                interval.map(|[low, high]| [1.0 / high, 1.0 / low]),
            )
        } else {
            (ratio, interval)
        };
        Self {
            value,
            interval,
            is_better: less == (better(metric) == Better::Lower),
        }
    }

    pub(super) fn estimated(metric: Metric, estimate: &Estimate) -> Self {
        Self::of(metric, estimate.ratio, estimate.interval)
    }

    pub(super) fn decimals(&self) -> usize {
        units::ratio_decimals(self.value)
    }
}

/// `2.31× faster`.
pub(crate) fn factor_phrase(metric: Metric, ratio: f64) -> String {
    let factor = Factor::of(metric, ratio, None);
    let (_, better, worse) = verb(metric);
    format!(
        "{}× {}",
        units::ratio(factor.value),
        if factor.is_better { better } else { worse }
    )
}

/// `is 1.12× slower`, of one variant before and after.
pub(crate) fn change_phrase(metric: Metric, ratio: f64) -> String {
    let (better, worse) = match metric {
        Metric::Goodput => ("higher", "lower"),
        Metric::ResponseBytes | Metric::CallBytes => ("smaller", "larger"),
        Metric::ClientCpu | Metric::ServerCpu => ("less", "more"),
        _ => ("faster", "slower"),
    };
    let factor = Factor::of(metric, ratio, None);
    format!(
        "{}× {}",
        units::ratio(factor.value),
        if factor.is_better { better } else { worse }
    )
}
