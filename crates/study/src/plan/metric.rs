//! The metrics that pairs and claims compare, with what a study needs to know about each.
//!
//! `report/src/metric.rs` defines which figure of a record a metric is, and its words in a report.

use rpcgauge_trial::StreamForm;
use serde::{Deserialize, Serialize};

use crate::words::{Named as _, words};

/// A figure of a trial that pairs and claims compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Median latency, ns.
    LatencyP50,
    /// Mean latency, ns.
    LatencyMean,
    /// 99th percentile of latency, ns.
    LatencyP99,
    /// Mean request time, from the start of encoding until the handler has the message, ns.
    RequestTime,
    /// Mean response time, from the end of the handler until the client has decoded the message, ns.
    ResponseTime,
    /// Mean time to decode the response, ns.
    DecodeTime,
    /// Successful calls per second. Higher is better.
    Goodput,
    /// Bytes of the response's body, as sent.
    ResponseBytes,
    /// All bytes of a call on the connection, in both directions, except the handler marks.
    CallBytes,
    /// CPU time of the client, ns per call.
    ClientCpu,
    /// CPU time of the server, ns per call.
    ServerCpu,
    /// Latency of the first call after a start, ns.
    FirstCall,
    /// Mean latency of the first `cold-calls` calls after a start, ns.
    FirstCalls,
    /// CPU time of client and server, ns per call.
    Cpu,
    /// Peak resident memory of the server's process, bytes. Variants in one process have no figure.
    ServerMemory,
    /// Mean time to the first message of a response, ns. Of a unary call, it is the latency.
    FirstMessage,
    /// Mean latency of each message of a bidirectional stream, ns. Of a unary call, it is the latency.
    MessageLatency,
    /// CPU time of client and server, ns per message of the streaming side. Of a unary call, it is that per call.
    MessageCpu,
    /// Peak resident memory of the process of a stack's client or codec, bytes. Variants in one process have no figure.
    ClientMemory,
}

/// Which calls or operations have a figure for a metric.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    /// Calls, and the operations of a codec.
    All,
    /// Calls.
    Calls,
    /// Calls after a start, if they are timed.
    ColdCalls,
    /// Calls that are timed in stages.
    Stages,
    /// Calls of rpcgauge's own client.
    Engine,
}

// In display order. New metrics come last, so that their columns do too.
words! { Metric, "metric":
    "latency-p50" => LatencyP50,
    "latency-mean" => LatencyMean,
    "latency-p99" => LatencyP99,
    "request-time" => RequestTime,
    "response-time" => ResponseTime,
    "decode-time" => DecodeTime,
    "goodput" => Goodput,
    "response-bytes" => ResponseBytes,
    "call-bytes" => CallBytes,
    "client-cpu" => ClientCpu,
    "server-cpu" => ServerCpu,
    "first-call" => FirstCall,
    "first-calls" => FirstCalls,
    "cpu" => Cpu,
    "server-memory" => ServerMemory,
    "first-message" => FirstMessage,
    "message-latency" => MessageLatency,
    "message-cpu" => MessageCpu,
    "client-memory" => ClientMemory,
}

impl Metric {
    /// What has a figure for the metric, and the beginning of a pair's default question. The question ends with "with A
    /// than with B?".
    fn row(self) -> (Has, &'static str) {
        match self {
            Self::LatencyP50 => (Has::All, "Is a call faster"),
            Self::LatencyMean => (Has::All, "Is a call faster on average"),
            Self::LatencyP99 => (Has::All, "Are the slowest calls faster"),
            Self::RequestTime => (Has::Stages, "Does the request reach the handler sooner"),
            Self::ResponseTime => (Has::Stages, "Does the response reach the client sooner"),
            Self::DecodeTime => (Has::Stages, "Is the response decoded faster"),
            Self::Goodput => (Has::All, "Are there more calls per second"),
            Self::ResponseBytes => (Has::Calls, "Is the response smaller"),
            Self::CallBytes => (Has::Engine, "Are there fewer bytes per call"),
            Self::ClientCpu => (Has::All, "Does the client use less CPU"),
            Self::ServerCpu => (Has::Calls, "Does the server use less CPU"),
            Self::FirstCall => (Has::ColdCalls, "Is the first call after a start faster"),
            Self::FirstCalls => (Has::ColdCalls, "Are the first calls after a start faster"),
            Self::Cpu => (Has::Calls, "Do client and server use less CPU"),
            Self::ServerMemory => (Has::Calls, "Does the server use less memory"),
            Self::FirstMessage => (Has::Calls, "Does the first message arrive sooner"),
            Self::MessageLatency => (Has::Calls, "Is a message responded to faster"),
            Self::MessageCpu => (Has::Calls, "Do client and server use less CPU per message"),
            Self::ClientMemory => (Has::Calls, "Does the client use less memory"),
        }
    }

    /// Every metric, in display order.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.iter().map(|(_, metric)| *metric)
    }

    /// Whether a larger figure is better.
    pub fn higher_is_better(self) -> bool {
        self == Self::Goodput
    }

    /// Whether only calls have the figure, not the operations of a codec.
    pub fn is_of_a_call(self) -> bool {
        self.row().0 != Has::All
    }

    /// Whether only trials with stage stamps have the figure.
    pub fn needs_stages(self) -> bool {
        self.row().0 == Has::Stages
    }

    /// Whether the figure is about the messages of streams. For unary calls, another metric says the same.
    pub fn is_of_messages(self) -> bool {
        matches!(
            self,
            Self::FirstMessage | Self::MessageLatency | Self::MessageCpu
        )
    }

    /// Whether calls that stream in this form have the figure.
    pub fn is_of_stream(self, form: StreamForm) -> bool {
        match self {
            Self::FirstMessage => form.server_streams(),
            Self::MessageLatency => form == StreamForm::Bidirectional,
            _ => true,
        }
    }

    /// Whether only variants with `cold-calls` have the figure.
    pub fn needs_cold_calls(self) -> bool {
        self.row().0 == Has::ColdCalls
    }

    /// Whether only rpcgauge's own client counts it.
    pub(crate) fn is_of_the_engine(self) -> bool {
        self.row().0 == Has::Engine
    }

    /// The default question of a pair.
    pub(crate) fn question(self, of: &str, against: &str, is_codec: bool) -> String {
        let mut asks = self.row().1.to_owned();
        if is_codec {
            for (call, codec) in [
                ("a call ", "an operation "),
                ("calls per second", "messages per second"),
                ("calls", "operations"),
                ("the client", "the codec"),
            ] {
                asks = asks.replace(call, codec);
            }
        }
        format!("{asks} with {of} than with {against}?")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_of_codecs_is_not_of_calls() {
        let question = |metric: Metric| metric.question("a", "b", true);
        let faster = "Is an operation faster with a than with b?";
        assert_eq!(question(Metric::LatencyP50), faster);
        for metric in Metric::all().filter(|metric| !metric.is_of_a_call()) {
            let asks = question(metric);
            assert!(!asks.contains("call") && !asks.contains("client"), "{asks}");
        }
    }
}
