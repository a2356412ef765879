//! The metrics that pairs and claims compare: one table of what a study needs to know of each.
//!
//! Where a metric comes from in a record, and its words in a report, are in `report/src/metric.rs`.

use serde::{Deserialize, Serialize};

use crate::words::Word;

/// A figure of one trial that pairs and claims compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Median latency, ns.
    LatencyP50,
    /// Mean latency, ns.
    LatencyMean,
    /// 99th percentile of latency, ns.
    LatencyP99,
    /// Mean request time: start of encoding until the handler has the message, ns.
    RequestTime,
    /// Mean response time: the handler's end until the client has decoded, ns.
    ResponseTime,
    /// Mean time to decode the response, ns.
    DecodeTime,
    /// Successful calls a second. Higher is better.
    Goodput,
    /// Bytes of the response's body, as carried.
    ResponseBytes,
    /// All bytes of a call on the connection, both directions, but the handler marks.
    CallBytes,
    /// CPU of the client, ns a call.
    ClientCpu,
    /// CPU of the server, ns a call.
    ServerCpu,
    /// Latency of the first call after a start, ns.
    FirstCall,
    /// Mean latency of the first calls after a start, as many as `cold-calls` says, ns.
    FirstCalls,
}

/// What a study knows of a metric.
struct Row {
    metric: Metric,
    word: &'static str,
    /// The question of a pair that asks none of its own, before "with A than with B?".
    question: &'static str,
    higher_is_better: bool,
    has: Has,
}

/// What has a metric.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    /// Calls, and what a codec does.
    All,
    /// Calls.
    Calls,
    /// Calls after a start that is looked at.
    ColdCalls,
    /// Calls that are timed in stages.
    Stages,
}

/// Every metric, in the order in which they are shown. A new one stands last: so do its columns.
const TABLE: [Row; 13] = [
    row(
        Metric::LatencyP50,
        "latency-p50",
        Has::All,
        "Is a call faster",
    ),
    row(
        Metric::LatencyMean,
        "latency-mean",
        Has::All,
        "Is a call faster on average",
    ),
    row(
        Metric::LatencyP99,
        "latency-p99",
        Has::All,
        "Are the slowest calls faster",
    ),
    row(
        Metric::RequestTime,
        "request-time",
        Has::Stages,
        "Is the request sooner with the handler",
    ),
    row(
        Metric::ResponseTime,
        "response-time",
        Has::Stages,
        "Is the response sooner with the client",
    ),
    row(
        Metric::DecodeTime,
        "decode-time",
        Has::Stages,
        "Is the response decoded faster",
    ),
    Row {
        higher_is_better: true,
        ..row(
            Metric::Goodput,
            "goodput",
            Has::All,
            "Are there more calls a second",
        )
    },
    row(
        Metric::ResponseBytes,
        "response-bytes",
        Has::Calls,
        "Is the response smaller",
    ),
    row(
        Metric::CallBytes,
        "call-bytes",
        Has::Calls,
        "Are there fewer bytes a call",
    ),
    row(
        Metric::ClientCpu,
        "client-cpu",
        Has::All,
        "Does the client use less CPU",
    ),
    row(
        Metric::ServerCpu,
        "server-cpu",
        Has::Calls,
        "Does the server use less CPU",
    ),
    row(
        Metric::FirstCall,
        "first-call",
        Has::ColdCalls,
        "Is the first call after a start faster",
    ),
    row(
        Metric::FirstCalls,
        "first-calls",
        Has::ColdCalls,
        "Are the first calls after a start faster",
    ),
];

const fn row(metric: Metric, word: &'static str, has: Has, question: &'static str) -> Row {
    Row {
        metric,
        word,
        question,
        higher_is_better: false,
        has,
    }
}

impl Word for Metric {
    const WHAT: &'static str = "metric";
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("", Self::LatencyP50); TABLE.len()];
        let mut index = 0;
        while index < TABLE.len() {
            words[index] = (TABLE[index].word, TABLE[index].metric);
            index += 1;
        }
        words
    };
}

impl Metric {
    fn row(self) -> &'static Row {
        // A test walks through all of them.
        TABLE
            .iter()
            .find(|row| row.metric == self)
            .unwrap_or(&TABLE[0])
    }

    /// Every metric, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.metric)
    }

    /// Whether a larger figure is the better one.
    pub fn higher_is_better(self) -> bool {
        self.row().higher_is_better
    }

    /// Whether a codec, which calls nothing, has no such figure.
    pub fn is_of_a_call(self) -> bool {
        self.row().has != Has::All
    }

    /// Whether only trials with stage stamps have the figure.
    pub fn needs_stages(self) -> bool {
        self.row().has == Has::Stages
    }

    /// Whether only variants with `cold-calls` have the figure.
    pub fn needs_cold_calls(self) -> bool {
        self.row().has == Has::ColdCalls
    }

    /// The question of a pair that asks none of its own.
    pub(crate) fn question(self, of: &str, against: &str) -> String {
        format!("{} with {of} than with {against}?", self.row().question)
    }
}
