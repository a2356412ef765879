//! The words of each metric.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Operation;

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

/// What a variant does: a server or a client its calls, a codec its operation.
pub(super) fn verb(metric: Metric, operation: Option<Operation>) -> &'static str {
    match metric {
        Metric::LatencyP50 | Metric::LatencyMean | Metric::LatencyP99 => match operation {
            None => "answers",
            Some(Operation::Encode) => "encodes",
            Some(Operation::Decode) => "decodes",
        },
        Metric::RequestTime => "gets its request to the handler",
        Metric::ResponseTime => "gets its answer back",
        Metric::DecodeTime => "decodes its answer",
        Metric::Goodput => "completes",
        Metric::ResponseBytes => "has answers",
        Metric::CallBytes => "moves",
        Metric::ClientCpu | Metric::ServerCpu => "takes",
    }
}

/// The words for the better and the worse side of a metric.
pub(super) fn sides(metric: Metric) -> (&'static str, &'static str) {
    match metric {
        Metric::LatencyP50
        | Metric::LatencyMean
        | Metric::LatencyP99
        | Metric::RequestTime
        | Metric::ResponseTime
        | Metric::DecodeTime => ("faster", "slower"),
        Metric::Goodput => ("more calls a second", "fewer calls a second"),
        Metric::ResponseBytes => ("smaller", "larger"),
        Metric::CallBytes => ("fewer bytes a call", "more bytes a call"),
        Metric::ClientCpu => ("less client CPU", "more client CPU"),
        Metric::ServerCpu => ("less server CPU", "more server CPU"),
    }
}

/// What stands behind two figures of a metric.
pub(super) fn unit_phrase(metric: Metric, operation: Option<Operation>) -> &'static str {
    match metric {
        Metric::LatencyP50 if operation.is_some() => "a message (p50)",
        Metric::LatencyMean if operation.is_some() => "a message (mean)",
        Metric::LatencyP99 if operation.is_some() => "a message (p99)",
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
