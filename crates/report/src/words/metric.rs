//! The words of each metric.

use rpcgauge_study::plan::Metric;

use crate::units;

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

/// A figure of a metric, with its unit where it has one.
pub(crate) fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Goodput => units::number(value),
        Metric::ResponseBytes | Metric::CallBytes => units::size(value),
        _ => units::time(value),
    }
}
