//! Requests to a client or codec after its ready line, and its answers.

use std::time::Duration;

use rpcgauge_trial::is_default;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::line::wrong_answer;
use super::{ContractError, Failed, Record};

/// Minimum duration of a call or batch, in ns: reading the clock twice takes this long.
const MIN_RECORD_NS: u64 = 20;

/// Minimum duration of a call over a socket, in ns: its system calls alone take longer.
const MIN_CALL_NS: u64 = 1_000;

/// How far CPU time may exceed the slice's duration, per core: some runtimes measure it in 10 ms
/// ticks.
const CPU_TOLERANCE: Duration = Duration::from_millis(20);

/// One line to a client or codec that is ready. It answers each line with one [`Answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The part that the line is for; 0 if there is only one.
    pub part: usize,
    /// What the part must do.
    pub asked: Asked,
}

/// A request to a client or codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Show that it works: a client makes its first call, a codec runs its operation once.
    Verify,
    /// Run a slice of calls.
    Slice(SliceAsk),
}

/// A slice of calls, or of a codec's batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "SliceLine", into = "SliceLine")]
pub struct SliceAsk {
    /// Calls (or batches) to make first, without recording them.
    pub skip: u64,
    /// When to stop recording.
    pub until: Until,
    /// Operations per batch of a codec; `None` for a client.
    pub batch: Option<u32>,
}

/// When a slice ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After this many calls (or batches).
    Calls(u64),
    /// After this time, in whole microseconds. Calls (or batches) begun within it are finished, and
    /// at least one is made.
    Time(Duration),
}

/// A slice as it appears in a line.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct SliceLine {
    /// Calls (or batches) to make first, without recording them.
    skip: u64,
    /// Number of calls (or batches) to record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    /// How long to begin and record calls (or batches), in microseconds. At least one is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_us: Option<u64>,
    /// Operations per batch of a codec; absent for a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<u32>,
}

impl TryFrom<SliceLine> for SliceAsk {
    type Error = &'static str;

    fn try_from(line: SliceLine) -> Result<Self, Self::Error> {
        let until = match (line.calls, line.time_us) {
            (Some(0), None) => return Err("a slice must have at least 1 call"),
            (Some(calls), None) => Until::Calls(calls),
            (None, Some(us)) => Until::Time(Duration::from_micros(us)),
            _ => return Err("a slice must have exactly one of \"calls\" and \"time_us\""),
        };
        match line.batch {
            Some(0) => Err("a batch must have at least 1 operation"),
            batch => Ok(Self {
                skip: line.skip,
                until,
                batch,
            }),
        }
    }
}

impl From<SliceAsk> for SliceLine {
    fn from(slice: SliceAsk) -> Self {
        let (calls, time) = match slice.until {
            Until::Calls(calls) => (Some(calls), None),
            Until::Time(time) => (None, Some(time)),
        };
        Self {
            skip: slice.skip,
            calls,
            time_us: time.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX)),
            batch: slice.batch,
        }
    }
}

/// A client's or codec's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The result of its first call or operation.
    Verified(Verified),
    /// The slice is done, and its records are in the file.
    Slice(SliceDone),
    /// It cannot continue. It exits after this line.
    Failed(Failed),
}

/// The result of a client's first call or of a codec's operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verified {
    /// The decoded message, in the proto3 JSON mapping.
    Message(JsonText),
    /// The decoded message, as base64-encoded protobuf bytes.
    Protobuf(String),
    /// The encoded bytes, as base64 (RFC 4648, section 4).
    Bytes(String),
    /// The decoded messages of a stream in order, each as `message` or `protobuf`.
    Stream(Vec<Verified>),
}

// Kept as text: it may be many megabytes, and building a tree would take longer than building the
// message itself.
/// A JSON value exactly as it was written: a message in the proto3 JSON mapping.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(with = "serde_json::Value")
)]
#[serde(transparent)]
pub struct JsonText(pub(super) Box<RawValue>);

impl JsonText {
    /// Accepts text that is one JSON value. Replaces line feeds, which are only white space in
    /// JSON, because they would end the line.
    pub fn new(text: String) -> Result<Self, serde_json::Error> {
        let text = if text.contains('\n') {
            text.replace('\n', " ")
        } else {
            text
        };
        RawValue::from_string(text).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// A completed slice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SliceDone {
    /// Number of records appended: one for each call (or batch) that was not skipped.
    pub records: u64,
    /// The process's CPU time from the start of the first recorded call to the end of the last, in
    /// ns, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Why the first failed call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Connections lost since the previous slice and reopened before the first recorded call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reopened: u64,
}

/// Bounds on the slices of a client or codec.
#[derive(Debug, Clone, Copy)]
pub struct SliceBounds {
    /// Calls in flight at the same time; 1 for a codec.
    pub in_flight: u32,
    /// Connections open at the same time; 0 for a codec.
    pub connections: u32,
    /// Cores that the process may use.
    pub cores: u32,
    /// The resolution of its clock, ns: how much shorter than it was a call or batch may appear.
    pub clock_ns: u32,
}

impl SliceBounds {
    /// Checks what a subject reports about a slice that took `took`.
    ///
    /// # Errors
    /// It reports more than the slice can have.
    pub fn check(
        &self,
        ask: &SliceAsk,
        took: Duration,
        done: &SliceDone,
    ) -> Result<(), ContractError> {
        let most = self.max_records(ask);
        if done.records > most {
            return Err(wrong_answer(&format!(
                "it reports {} records for a slice of at most {most}",
                done.records
            )));
        }
        if done.reopened > u64::from(self.connections) {
            return Err(wrong_answer(&format!(
                "it reports {} reopened connections but has at most {}",
                done.reopened, self.connections
            )));
        }
        let cpu = Duration::from_nanos(done.cpu_ns.unwrap_or(0));
        if cpu
            > took
                .saturating_add(CPU_TOLERANCE)
                .saturating_mul(self.cores)
        {
            return Err(wrong_answer(&format!(
                "it reports {} s of CPU time for a slice of {} s on {} cores",
                cpu.as_secs_f64(),
                took.as_secs_f64(),
                self.cores
            )));
        }
        Ok(())
    }

    /// Checks the records of a slice.
    ///
    /// # Errors
    /// A call or batch is shorter than possible, more calls are in flight than allowed, or the
    /// slice reports an error but no call failed.
    pub fn check_records(&self, done: &SliceDone, records: &[Record]) -> Result<(), ContractError> {
        if done.error.is_some() && !records.iter().any(|record| record.failed) {
            return Err(wrong_answer(
                "it reports an error, but no record is of a failed call",
            ));
        }
        let shortest = |record: &Record| {
            let shortest = match (self.is_codec(), record.operations) {
                (false, _) if !record.failed => MIN_CALL_NS,
                (_, 2..) => MIN_RECORD_NS,
                _ => 0,
            };
            shortest.saturating_sub(self.clock_ns.into())
        };
        let is_short = |record: &&Record| record.end - record.begin < shortest(record);
        if let Some(record) = records.iter().find(is_short) {
            let (took, least) = (record.end - record.begin, shortest(record));
            return Err(wrong_answer(&if self.is_codec() {
                format!(
                    "it reports {} operations that took {took} ns in total",
                    record.operations
                )
            } else {
                format!("it reports a call that took {took} ns, but the minimum is {least} ns")
            }));
        }
        let mut begins: Vec<u64> = records.iter().map(|record| record.begin).collect();
        let mut ends: Vec<u64> = records.iter().map(|record| record.end).collect();
        begins.sort_unstable();
        ends.sort_unstable();
        let mut ended = 0;
        for (before, begin) in begins.iter().enumerate() {
            ended += ends[ended..].iter().take_while(|end| *end <= begin).count();
            let in_flight = (before + 1).saturating_sub(ended);
            if in_flight > self.in_flight as usize {
                return Err(wrong_answer(&format!(
                    "its records have {in_flight} calls in flight at the same time; at most {} are allowed",
                    self.in_flight
                )));
            }
        }
        Ok(())
    }

    fn is_codec(&self) -> bool {
        self.connections == 0
    }

    fn max_records(&self, ask: &SliceAsk) -> u64 {
        match ask.until {
            Until::Calls(calls) => calls,
            Until::Time(time) => {
                let at_once = u128::from(self.cores.min(self.in_flight));
                let begun = time.as_nanos() * at_once / u128::from(MIN_RECORD_NS);
                let all = begun + u128::from(self.in_flight);
                u64::try_from(all).unwrap_or(u64::MAX)
            }
        }
    }
}
