//! The table of metrics: how each is computed from a record, and its words in a report.
//!
//! The name of a metric in a study, its direction and its question are in `study/src/plan/metric.rs`.

use rpcgauge_stats::Better;
use rpcgauge_study::histogram::{RESOLUTION, Times, Unit};
use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::{Cpu, Histogram, Stage, StreamForm, TrialFigures};
use rpcgauge_study::settings::{Operation, Timing};
use rpcgauge_study::words::Named as _;

use crate::findings::{Figures, MessageFindings, supported};
use crate::units;

/// The row of a metric in the table.
pub(crate) struct Row {
    metric: Metric,
    /// The metric's name in a heading.
    pub(crate) name: &'static str,
    /// Determines how the metric is judged, its unit, and its words for better and worse.
    pub(crate) kind: Kind,
    /// The verb before a ratio, as in `responds` 2× faster.
    verb: &'static str,
    /// The words after two figures.
    phrase: &'static str,
    of_trial: fn(&UnpackedTrial<'_>) -> Option<f64>,
    of_cell: fn(&Figures) -> Option<f64>,
}

/// A trial with its unpacked latency, which is `None` if no call succeeded.
pub(crate) struct UnpackedTrial<'a> {
    measured: &'a TrialFigures,
    latency: Option<Times>,
}

impl<'a> UnpackedTrial<'a> {
    pub(crate) fn of(measured: &'a TrialFigures) -> Self {
        Self {
            measured,
            latency: filled(&measured.latency),
        }
    }

    /// The figure of a metric.
    pub(crate) fn figure(&self, metric: Metric) -> Option<f64> {
        (row(metric).of_trial)(self)
    }
}

/// Kinds of metrics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A quantile of the latency of the calls that succeeded, ns.
    Quantile(f64),
    /// The mean of a time of the calls that succeeded, ns: their latency or a span of it.
    Mean {
        /// Whether the time is the latency.
        is_latency: bool,
    },
    /// Successful calls per second.
    Goodput,
    /// Bytes, which are counted and independent of the machine, with the words for fewer and more.
    Bytes([&'static str; 2]),
    /// CPU time per call, ns, with the words for less and more.
    Cpu([&'static str; 2]),
    /// Memory of a process, bytes. The texts are for less and more of it.
    Memory([&'static str; 2]),
}

/// All metrics, in the order of the CSV columns. New metrics must be added at the end.
static TABLE: [Row; Metric::NAMES.len()] = [
    Row {
        metric: Metric::LatencyP50,
        name: "p50 latency",
        kind: Kind::Quantile(0.5),
        verb: "responds",
        phrase: "per call (p50)",
        of_trial: |trial| Some(trial.latency.as_ref()?.quantile(0.5)),
        of_cell: |cell| Some(cell.latency.as_ref()?.p50_ns),
    },
    Row {
        metric: Metric::LatencyMean,
        name: "mean latency",
        kind: Kind::Mean { is_latency: true },
        verb: "responds",
        phrase: "per call (mean)",
        of_trial: |trial| Some(trial.latency.as_ref()?.mean()),
        of_cell: |cell| Some(cell.latency.as_ref()?.mean_ns),
    },
    Row {
        metric: Metric::LatencyP99,
        name: "p99 latency",
        kind: Kind::Quantile(0.99),
        verb: "responds",
        phrase: "per call (p99)",
        of_trial: |trial| supported(trial.latency.as_ref()?, 0.99),
        of_cell: |cell| cell.latency.as_ref()?.p99_ns,
    },
    Row {
        metric: Metric::RequestTime,
        name: "request time",
        kind: SPAN,
        verb: "gets its request to the handler",
        phrase: "request time (mean)",
        of_trial: |trial| span(trial, Stage::RequestTime),
        of_cell: |cell| span_of(cell, Stage::RequestTime),
    },
    Row {
        metric: Metric::ResponseTime,
        name: "response time",
        kind: SPAN,
        verb: "gets its response back",
        phrase: "response time (mean)",
        of_trial: |trial| span(trial, Stage::ResponseTime),
        of_cell: |cell| span_of(cell, Stage::ResponseTime),
    },
    Row {
        metric: Metric::DecodeTime,
        name: "decode time",
        kind: SPAN,
        verb: "decodes its response",
        phrase: "to decode a response (mean)",
        of_trial: |trial| span(trial, Stage::Decode),
        of_cell: |cell| span_of(cell, Stage::Decode),
    },
    Row {
        metric: Metric::Goodput,
        name: "goodput",
        kind: Kind::Goodput,
        verb: "completes",
        phrase: "calls/s",
        of_trial: |trial| {
            let calls = &trial.measured.calls;
            goodput(
                calls.answered - calls.answered_late,
                trial.measured.elapsed_ns,
            )
        },
        of_cell: |cell| Some(cell.goodput),
    },
    Row {
        metric: Metric::ResponseBytes,
        name: "response size",
        kind: Kind::Bytes(["smaller", "larger"]),
        verb: "has responses",
        phrase: "per response",
        of_trial: |trial| {
            let measured = trial.measured;
            measured
                .payload
                .response_compressed
                .filter(|_| measured.calls.answered > 0)
        },
        of_cell: |cell| {
            cell.payload
                .response_compressed
                .filter(|_| cell.calls.answered > 0)
        },
    },
    Row {
        metric: Metric::CallBytes,
        name: "bytes per call",
        kind: Kind::Bytes(["fewer bytes per call", "more bytes per call"]),
        verb: "moves",
        phrase: "per call",
        of_trial: |trial| {
            let (measured, bytes) = (trial.measured, trial.measured.bytes?);
            let sent = per_call(measured.calls_of_sent_bytes(), bytes.sent.of_call())?;
            let received = bytes.received.of_call();
            Some(sent + per_call(measured.calls_of_received_bytes(), received)?)
        },
        of_cell: |cell| Some(cell.bytes?.total()),
    },
    Row {
        metric: Metric::ClientCpu,
        name: "client CPU",
        kind: Kind::Cpu(["less client CPU", "more client CPU"]),
        verb: "takes",
        phrase: "of client CPU per call",
        of_trial: |trial| cpu(trial, trial.measured.cpu.client),
        of_cell: |cell| Some(cell.cpu.client?.total_ns),
    },
    Row {
        metric: Metric::ServerCpu,
        name: "server CPU",
        kind: Kind::Cpu(["less server CPU", "more server CPU"]),
        verb: "takes",
        phrase: "of server CPU per call",
        of_trial: |trial| cpu(trial, trial.measured.cpu.server),
        of_cell: |cell| Some(cell.cpu.server?.total_ns),
    },
    Row {
        metric: Metric::FirstCall,
        name: "first call",
        kind: SPAN,
        verb: "completes its first call",
        phrase: "the first call after a start",
        of_trial: |trial| Some(trial.measured.startup.cold?.first_ns as f64),
        of_cell: |cell| Some(cell.startup.cold?.first_ns as f64),
    },
    Row {
        metric: Metric::FirstCalls,
        name: "first calls",
        kind: SPAN,
        verb: "completes its first calls",
        phrase: "the first calls after a start (mean)",
        of_trial: |trial| Some(trial.measured.startup.cold?.mean_ns as f64),
        of_cell: |cell| Some(cell.startup.cold?.mean_ns as f64),
    },
    Row {
        metric: Metric::Cpu,
        name: "CPU",
        kind: Kind::Cpu(["less CPU", "more CPU"]),
        verb: "takes",
        phrase: "of CPU per call",
        of_trial: |trial| {
            let both = &trial.measured.cpu;
            Some(cpu(trial, both.client)? + cpu(trial, both.server)?)
        },
        of_cell: |cell| cell.cpu.both_ns(),
    },
    Row {
        metric: Metric::ServerMemory,
        name: "server memory",
        kind: Kind::Memory(["less server memory", "more server memory"]),
        verb: "takes",
        phrase: "of server memory (peak)",
        of_trial: |trial| Some(trial.measured.memory.server_peak? as f64),
        of_cell: |cell| Some(cell.memory.server_peak.filter(|_| !cell.shared_process)? as f64),
    },
    Row {
        metric: Metric::FirstMessage,
        name: "first message",
        kind: SPAN,
        verb: "delivers its first message",
        phrase: "to the first message (mean)",
        of_trial: |trial| match &trial.measured.messages {
            Some(messages) => Some(filled(&messages.first)?.mean()),
            None => Some(trial.latency.as_ref()?.mean()),
        },
        of_cell: |cell| match &cell.messages {
            Some(messages) => Some(messages.first.as_ref()?.mean_ns),
            None => Some(cell.latency.as_ref()?.mean_ns),
        },
    },
    Row {
        metric: Metric::MessageLatency,
        name: "message latency",
        kind: SPAN,
        verb: "responds to a message",
        phrase: "per message (mean)",
        of_trial: |trial| match &trial.measured.messages {
            Some(messages) if messages.unpaired > 0 || messages.paired == 0 => None,
            Some(messages) => Some(filled(messages.latency.as_ref()?)?.mean()),
            None => Some(trial.latency.as_ref()?.mean()),
        },
        of_cell: |cell| match &cell.messages {
            Some(messages) => Some(messages.latency.as_ref()?.mean_ns),
            None => Some(cell.latency.as_ref()?.mean_ns),
        },
    },
    Row {
        metric: Metric::MessageCpu,
        name: "CPU per message",
        kind: Kind::Cpu(["less CPU per message", "more CPU per message"]),
        verb: "takes",
        phrase: "of CPU per message",
        of_trial: |trial| {
            let measured = trial.measured;
            let calls = measured.sent_calls();
            let messages = measured.messages.as_deref();
            let messages = messages.map_or(calls, |all| {
                of_streaming_side(all.form, all.sent, all.received)
            });
            let both = &measured.cpu;
            let per_call = cpu(trial, both.client)? + cpu(trial, both.server)?;
            (messages > 0).then(|| per_call * calls as f64 / messages as f64)
        },
        of_cell: |cell| {
            let calls = cell.calls.sent();
            let messages = cell.messages.as_deref().map_or(calls, streamed);
            let per_call = cell.cpu.both_ns()?;
            (messages > 0).then(|| per_call * calls as f64 / messages as f64)
        },
    },
    Row {
        metric: Metric::ClientMemory,
        name: "client memory",
        kind: Kind::Memory(["less client memory", "more client memory"]),
        verb: "takes",
        phrase: "of client memory (peak)",
        // rpcgauge's own client has no start, and its memory holds the figures of the run.
        of_trial: |trial| {
            let measured = trial.measured;
            let _ = measured.startup.client_ns?;
            Some(measured.memory.client_peak as f64)
        },
        of_cell: |cell| {
            let _ = cell.startup.client_ns.filter(|_| !cell.shared_process)?;
            Some(cell.memory.client_peak as f64)
        },
    },
];

/// How many messages the streaming side sent; the client, if both stream.
pub(crate) fn streamed(messages: &MessageFindings) -> u64 {
    of_streaming_side(messages.form, messages.sent, messages.received)
}

fn of_streaming_side(form: StreamForm, sent: u64, received: u64) -> u64 {
    if form.client_streams() {
        sent
    } else {
        received
    }
}

const SPAN: Kind = Kind::Mean { is_latency: false };

/// The unpacked histogram; `None` if it is empty.
pub(crate) fn filled(histogram: &Histogram) -> Option<Times> {
    Some(histogram.unpack()).filter(|unpacked| !unpacked.is_empty())
}

/// The median of a histogram, ns; `None` if it is empty.
pub(crate) fn median_ns(histogram: &Histogram) -> Option<f64> {
    Some(filled(histogram)?.quantile(0.5))
}

fn span(trial: &UnpackedTrial<'_>, stage: Stage) -> Option<f64> {
    Some(filled(trial.measured.stages.get(&stage)?)?.mean())
}

fn span_of(cell: &Figures, stage: Stage) -> Option<f64> {
    let found = cell.stages.iter().find(|found| found.stage == stage);
    found.map(|found| found.mean_ns)
}

fn cpu(trial: &UnpackedTrial<'_>, side: Option<Cpu>) -> Option<f64> {
    // The link's thread does part of the receiver's work.
    let side = side.filter(|_| trial.measured.link.is_none());
    per_call(trial.measured.sent_calls(), side?.total_ns)
}

/// A trial's sum divided by its number of calls; `None` without calls.
pub(crate) fn per_call(calls: u64, amount: u64) -> Option<f64> {
    (calls > 0).then(|| amount as f64 / calls as f64)
}

/// Successful calls per second.
pub(crate) fn goodput(answered: u64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| answered as f64 * 1e9 / elapsed_ns as f64)
}

// Each metric has a row at the index of its value.
const _: () = {
    let mut place = 0;
    while place < TABLE.len() {
        assert!(TABLE[place].metric as usize == place);
        place += 1;
    }
};

/// The row of a metric.
pub(crate) fn row(metric: Metric) -> &'static Row {
    &TABLE[metric as usize]
}

/// The figure of a metric over all trials of a cell.
pub(crate) fn of_cell(metric: Metric, cell: &Figures) -> Option<f64> {
    (row(metric).of_cell)(cell)
}

/// The smallest relative difference that a cell's figure can show, since clocks and histograms have discrete steps.
pub(crate) fn resolution(metric: Metric, cell: &Figures) -> f64 {
    let unit = cell.latency.as_ref().map(|l| l.histogram.unit());
    let (unit, value) = (unit.unwrap_or(Unit::Ns), of_cell(metric, cell));
    match (row(metric).kind, value) {
        (Kind::Quantile(_), Some(value)) if value > 0.0 => unit.resolution(value),
        // Each recorded value stands for all values up to half a step around it.
        (Kind::Mean { .. }, Some(_)) => RESOLUTION / 2.0,
        (Kind::Quantile(_) | Kind::Mean { .. }, _) => 0.0,
        (Kind::Goodput | Kind::Bytes(_) | Kind::Cpu(_) | Kind::Memory(_), _) => 0.0,
    }
}

/// Which direction of a metric is better.
pub(crate) fn better(metric: Metric) -> Better {
    if metric.higher_is_better() {
        Better::Higher
    } else {
        Better::Lower
    }
}

/// Whether a metric is counted, and therefore independent of the machine.
pub(crate) fn is_counted(metric: Metric) -> bool {
    match row(metric).kind {
        Kind::Bytes(_) => true,
        Kind::Quantile(_) | Kind::Mean { .. } | Kind::Goodput | Kind::Cpu(_) | Kind::Memory(_) => {
            false
        }
    }
}

/// Whether a metric depends on the speed of the machine.
pub(crate) fn depends_on_speed(metric: Metric) -> bool {
    match row(metric).kind {
        Kind::Bytes(_) | Kind::Memory(_) => false,
        Kind::Quantile(_) | Kind::Mean { .. } | Kind::Goodput | Kind::Cpu(_) => true,
    }
}

/// Whether a metric is a figure of the latency.
pub(crate) fn is_latency(metric: Metric) -> bool {
    match row(metric).kind {
        Kind::Quantile(_) => true,
        Kind::Mean { is_latency } => {
            is_latency || matches!(metric, Metric::FirstMessage | Metric::MessageLatency)
        }
        Kind::Goodput | Kind::Bytes(_) | Kind::Cpu(_) | Kind::Memory(_) => false,
    }
}

/// Whether a metric would be attributed to the server even if a saturated client determined it. This is false for
/// stage trials, which also measure the client's work, and for bytes, CPU time and memory, which a saturated client does
/// not change.
pub(crate) fn is_about_server(metric: Metric, timing: Timing) -> bool {
    timing == Timing::Load && (is_latency(metric) || metric == Metric::Goodput)
}

impl Row {
    /// The verb for a variant: the metric's own, or for the latency of a codec its operation.
    pub(crate) fn verb(&self, operation: Option<Operation>) -> &'static str {
        let is_latency = matches!(
            self.kind,
            Kind::Quantile(_) | Kind::Mean { is_latency: true }
        );
        match operation.filter(|_| is_latency) {
            Some(Operation::Encode) => "encodes",
            Some(Operation::Decode) => "decodes",
            None => self.verb,
        }
    }

    /// The words after two figures. For a codec, they are about messages instead of calls.
    pub(crate) fn phrase(&self, operation: Option<Operation>) -> String {
        match operation {
            None => self.phrase.to_owned(),
            Some(_) => self
                .phrase
                .replace("calls", "messages")
                .replace("per call", "per message"),
        }
    }

    /// The words for the better and the worse of two variants. For a codec, they are about messages.
    pub(crate) fn sides(&self, operation: Option<Operation>) -> [&'static str; 2] {
        match self.kind {
            Kind::Quantile(_) | Kind::Mean { .. } => ["faster", "slower"],
            Kind::Goodput if operation.is_some() => {
                ["more messages per second", "fewer messages per second"]
            }
            Kind::Goodput => ["more calls per second", "fewer calls per second"],
            Kind::Bytes(words) | Kind::Cpu(words) | Kind::Memory(words) => words,
        }
    }

    /// The words for a change of one variant for the better or for the worse.
    pub(crate) fn changes(&self) -> [&'static str; 2] {
        match self.kind {
            Kind::Quantile(_) | Kind::Mean { .. } => ["faster", "slower"],
            Kind::Goodput => ["higher", "lower"],
            Kind::Bytes(_) => ["smaller", "larger"],
            Kind::Cpu(_) | Kind::Memory(_) => ["less", "more"],
        }
    }

    /// A figure with its unit, if it has one.
    pub(crate) fn value(&self, value: f64) -> String {
        match self.kind {
            Kind::Goodput => units::number(value),
            Kind::Bytes(_) | Kind::Memory(_) => units::size(value),
            Kind::Quantile(_) | Kind::Mean { .. } | Kind::Cpu(_) => units::time(value),
        }
    }

    /// A round figure on an axis.
    pub(crate) fn round_value(&self, value: f64) -> String {
        match self.kind {
            Kind::Goodput => units::about(value),
            Kind::Bytes(_) | Kind::Memory(_) => units::round_size(value),
            Kind::Quantile(_) | Kind::Mean { .. } | Kind::Cpu(_) => units::round_time(value),
        }
    }

    /// The suffix of a column's name for the figure's unit.
    pub(crate) fn suffix(&self) -> &'static str {
        match self.kind {
            Kind::Goodput => "_per_s",
            Kind::Bytes(_) => "",
            Kind::Memory(_) => "_bytes",
            Kind::Quantile(_) | Kind::Mean { .. } | Kind::Cpu(_) => "_ns",
        }
    }
}
