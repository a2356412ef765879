//! What a client or codec is asked after its ready line, and what it answers.

use std::time::Duration;

use rpcgauge_trial::is_default;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::line::wrong_answer;
use super::{ContractError, Failed, Record};

/// The shortest that a call or batch is, ns: its two times are read from the clock.
const MIN_RECORD_NS: u64 = 20;

/// No call over a socket takes less than this, ns: its system calls alone take more.
const MIN_CALL_NS: u64 = 1_000;

/// By how much CPU time may be longer than the slice, per core: some runtimes count it in ticks of 10 ms.
const CPU_TOLERANCE: Duration = Duration::from_millis(20);

/// One line to a client or codec that is ready. It answers each by one [`Answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Which of its parts is asked; 0 where it has only one.
    pub part: usize,
    /// What it is asked to do.
    pub asked: Asked,
}

/// What a client or codec is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Prove it right: a client makes its first call, a codec its operation.
    Verify,
    /// Make a slice of calls.
    Slice(SliceAsk),
}

/// A slice of calls, or of a codec's batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "SliceLine", into = "SliceLine")]
pub struct SliceAsk {
    /// Calls (batches) made first and not recorded.
    pub skip: u64,
    /// What ends the calls that are recorded.
    pub until: Until,
    /// Operations of a codec's batch; none for a client.
    pub batch: Option<u32>,
}

/// What ends a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// A number of calls (batches).
    Calls(u64),
    /// A time, in whole microseconds. Calls (batches) begun within it are finished, and at least
    /// one is made.
    Time(Duration),
}

/// A slice as it stands in its line.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct SliceLine {
    /// Calls (batches) made first and not recorded.
    skip: u64,
    /// How many calls (batches) are recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    /// For how long calls (batches) are begun and recorded, at least one of them, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_us: Option<u64>,
    /// Operations of a codec's batch; absent for a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<u32>,
}

impl TryFrom<SliceLine> for SliceAsk {
    type Error = &'static str;

    fn try_from(line: SliceLine) -> Result<Self, Self::Error> {
        let until = match (line.calls, line.time_us) {
            (Some(0), None) => return Err("a slice has 1 call or more"),
            (Some(calls), None) => Until::Calls(calls),
            (None, Some(us)) => Until::Time(Duration::from_micros(us)),
            _ => return Err("a slice ends by \"calls\" or by \"time_us\", by one of the two"),
        };
        match line.batch {
            Some(0) => Err("a batch has 1 operation or more"),
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

/// What a client or codec answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// What came of its first call, or of its operation.
    Verified(Verified),
    /// The slice is done, and its records are in the file.
    Slice(SliceDone),
    /// It cannot continue; it ends after this line.
    Failed(Failed),
}

/// What came of a client's first call, or of a codec's operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verified {
    /// The message that was decoded, in the proto3 JSON mapping.
    Message(JsonText),
    /// The message that was decoded, as protobuf bytes in base64.
    Protobuf(String),
    /// The bytes that were made, as base64 (RFC 4648, section 4).
    Bytes(String),
}

// Kept as text: it may be many megabytes, and a tree of it would take longer to make than the message itself.
/// One JSON value as it was written: a message in the proto3 JSON mapping.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(with = "serde_json::Value")
)]
#[serde(transparent)]
pub struct JsonText(pub(super) Box<RawValue>);

impl JsonText {
    /// Takes text that is one JSON value. Line feeds, which in JSON are white space, would end the line.
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

/// A slice that was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SliceDone {
    /// Records that were appended: one for each call (batch) that was not skipped.
    pub records: u64,
    /// The process's CPU time from the first recorded call's begin to the last one's end, ns, where
    /// it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// The first failed call's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Connections that were lost since the slice before, and opened again before the first
    /// recorded call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reopened: u64,
}

/// What bounds the slices of a client or codec.
#[derive(Debug, Clone, Copy)]
pub struct SliceBounds {
    /// Calls in flight at the same time; 1 for a codec.
    pub in_flight: u32,
    /// Connections that it holds at the same time; 0 for a codec.
    pub connections: u32,
    /// Cores that its process may use.
    pub cores: u32,
}

impl SliceBounds {
    /// Checks what a subject says of a slice for which it was waited so long.
    ///
    /// # Errors
    /// It says more than a slice can have.
    pub fn check(
        &self,
        ask: &SliceAsk,
        took: Duration,
        done: &SliceDone,
    ) -> Result<(), ContractError> {
        let most = self.max_records(ask);
        if done.records > most {
            return Err(wrong_answer(&format!(
                "it reports {} records, and the slice has at most {most}",
                done.records
            )));
        }
        if done.reopened > u64::from(self.connections) {
            return Err(wrong_answer(&format!(
                "it reports {} reopened connections, and has at most {}",
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
    /// A call or batch took less time than it can, more calls are in flight than it may have, or no call
    /// has the error that it reports.
    pub fn check_records(&self, done: &SliceDone, records: &[Record]) -> Result<(), ContractError> {
        if done.error.is_some() && !records.iter().any(|record| record.failed) {
            return Err(wrong_answer(
                "it reports an error, and none of its records is of a failed call",
            ));
        }
        let shortest = |record: &Record| match (self.is_codec(), record.operations) {
            (false, _) if !record.failed => MIN_CALL_NS,
            (_, 2..) => MIN_RECORD_NS,
            _ => 0,
        };
        let is_short = |record: &&Record| record.end - record.begin < shortest(record);
        if let Some(record) = records.iter().find(is_short) {
            let (took, least) = (record.end - record.begin, shortest(record));
            return Err(wrong_answer(&if self.is_codec() {
                format!(
                    "it reports {} operations that took {took} ns together",
                    record.operations
                )
            } else {
                format!("it reports a call that took {took} ns, and none takes less than {least}")
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
                    "its records have {in_flight} calls in flight at a time, and it may have {}",
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
