//! The records of a run: one JSON line per trial, and the environment that it ran in.
//!
//! The lab writes these records and the report reads them; they are the only interface between the two.

mod check;
mod environment;
mod events;
mod provenance;
mod worker;

pub use rpcgauge_contract::{EventKind, RuntimeEvent};
pub use rpcgauge_trial::{
    Bytes, BytesByClass, Calibration, Calls, CodeKind, Cold, Concurrency, Cpu, CpuTimes,
    DirectionCounts, Disturbed, Ending, ErrorSample, FailureKind, Fault, Histogram, LateCalls,
    LatencyCounts, Lateness, LinkCounts, MAX_SLOW, Memory, MessageFigures, MixFigures, Payload,
    Slices, SlowCall, Stage, Stalls, Startup, Step, StreamForm, Threads, Timeline, TimelineSlice,
    TrialFigures, Warmup, Watched,
};
use serde::{Deserialize, Serialize};

pub use self::environment::{Environment, IdleOutcome};
pub use self::events::{EventsRecord, MAX_EVENTS};
pub use self::provenance::{
    Build, Difference, InvocationRecord, Provenance, StackRecord, SubjectsRecord,
};
pub use self::worker::WorkerRecord;
use crate::plan::TrialSpec;
use crate::settings::{Idle, Placement, Timing, Transport};

/// The version of the run directory's schema that this program writes.
pub const SCHEMA: u32 = 5;

/// A line of `trials.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// An invocation has begun.
    Invocation(Box<InvocationRecord>),
    /// The subjects of a variant are ready.
    Subjects(SubjectsRecord),
    /// A trial has ended: it was measured, or it failed.
    Trial(Box<TrialRecord>),
    /// The floor of a block.
    Floor(FloorRecord),
    /// The events of a runtime during measured trials.
    Events(EventsRecord),
    /// Processes that variants were to share could not be started, so each variant has its own in the whole run.
    OwnProcesses {
        /// The variants' indices in the plan.
        variants: Vec<u32>,
        /// Why the processes could not be started, on one line.
        reason: String,
    },
    /// An interrupted invocation begins again, and its records before this line are ignored: a block compares only
    /// what was measured within seconds, in the same processes.
    Restart {
        /// Its number, from 0.
        invocation: u32,
    },
}

/// One completed or failed trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// The trial as planned.
    pub trial: TrialSpec,
    /// The variant's name, so that a line can be understood on its own.
    pub variant: String,
    /// What was timed.
    pub timing: Timing,
    /// Whether idle states were actually disabled.
    pub idle: Idle,
    /// When it started, milliseconds since the Unix epoch.
    pub started_at_ms: u64,
    /// Calls per second, if the plan leaves the rate to a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// How it ended.
    pub outcome: TrialOutcome,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum TrialOutcome {
    /// It ran to completion.
    Measured(Box<TrialFigures>),
    /// It could not be measured.
    Failed {
        /// One line: what, where, and what to do.
        reason: String,
        /// What is at fault.
        fault: Fault,
        /// The requests that were sent before it failed, as in [`TrialFigures::requests_sent`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requests_sent: Option<u64>,
        /// The last lines of the subject's log, if it has any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        log: String,
    },
}

/// A client that uses more than this share of its core is "client-bound": the trial says nothing about the server.
pub const CLIENT_BOUND_SHARE: f64 = 0.8;

impl TrialRecord {
    /// The number of all requests sent for it, measured or not; `None` if unknown.
    pub fn requests_sent(&self) -> Option<u64> {
        match &self.outcome {
            TrialOutcome::Measured(measured) => measured.requests_sent,
            TrialOutcome::Failed { requests_sent, .. } => *requests_sent,
        }
    }

    /// When the measured part of this trial began, milliseconds since the Unix epoch. In records without that time,
    /// it is the start of the trial plus the warm-up.
    pub fn measured_from_ms(&self, measured: &TrialFigures) -> u64 {
        let after_warmup = || {
            let warmup_ms = measured.warmup.elapsed_ns / 1_000_000;
            self.started_at_ms.saturating_add(warmup_ms)
        };
        measured.measured_from_ms.unwrap_or_else(after_warmup)
    }
}

/// The floor of one block: a latency that no client could beat on this machine at that time. A report merges the floors
/// of all blocks (docs/method.md).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FloorRecord {
    /// The invocation, from 0.
    pub invocation: u32,
    /// The block in that invocation, from 0.
    #[serde(default)]
    pub block: u32,
    /// Where the two bare loops ran.
    pub placement: Placement,
    /// Whether idle states were actually disabled.
    pub idle: Idle,
    /// The transport of the bytes.
    pub transport: Transport,
    /// The name of the link that the bytes went over; absent for loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Bytes of each request.
    pub request_bytes: u64,
    /// Bytes of each response.
    pub response_bytes: u64,
    /// Round-trip times of the bare loops, ns.
    pub latency: Histogram,
    /// The calling loop's CPU time, ns per call.
    pub client_cpu_ns: f64,
    /// The variants that this is the floor of.
    pub variants: Vec<String>,
}
