//! The records of a run of an application: one JSON line for each start and each slice.

use std::collections::BTreeMap;

use rpcgauge_trial::{Fault, is_default};
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::record::{Build, Environment};

/// A line of `trials.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum AppRecord {
    /// Sets of services of an invocation have started, and their responses are as expected.
    Start(Box<StartRecord>),
    /// A slice has ended: it was measured, or it failed.
    Slice(Box<SliceRecord>),
    /// An interrupted invocation begins again, and its records before this line are ignored.
    Restart {
        /// Its number, from 0.
        invocation: u32,
    },
}

/// A start of services.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartRecord {
    /// Its invocation, from 0.
    pub invocation: u32,
    /// When all services were ready and their responses had been checked, milliseconds since the Unix epoch.
    pub ready_at_ms: u64,
    /// The number of sets of services that run at the same time. If there is not enough memory for all of them, an
    /// invocation has one start per set.
    pub sets: usize,
    /// What the application was built from.
    pub build: Build,
    /// The load generator and its version.
    pub load_generator: String,
    /// The program and the machine; absent in a run by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
}

/// One slice of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// The invocation, from 0.
    pub invocation: u32,
    /// The block in that invocation, from 0.
    pub block: u32,
    /// The variant's name.
    pub variant: String,
    /// When counting began, milliseconds since the Unix epoch.
    pub started_at_ms: u64,
    /// How it ended.
    pub outcome: SliceOutcome,
}

/// How a slice ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum SliceOutcome {
    /// It ran to completion.
    Measured(Box<SliceFigures>),
    /// It could not be measured.
    Failed {
        /// One line: what, where, and what to do.
        reason: String,
        /// What is at fault.
        fault: Fault,
        /// The last lines of a log.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        log: String,
    },
}

/// The figures of a slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceFigures {
    /// The time in which requests were counted, seconds.
    pub seconds: f64,
    /// The results, by the name of the request.
    pub requests: Vec<RequestRecord>,
    /// The increase of each metric of the plan, by its name.
    #[serde(default)]
    pub metrics: BTreeMap<String, SumCount>,
    /// The resources that each process used.
    pub processes: Vec<ProcessRecord>,
    /// CPU time of the load generator, seconds.
    pub load_generator_cpu_seconds: f64,
    /// The number of tasks of the locustfile that failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub task_errors: u64,
    /// Why the first task failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task_error: String,
    /// Additional figures of requests at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_rate: Option<Box<AtRate>>,
}

/// Figures of requests at a rate. The requests of a slice are those that were due in it, whenever they ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AtRate {
    /// Requests that succeeded during the slice, including those that were due before it: the numerator of requests
    /// per second.
    pub answered: u64,
    /// The length of the slice and the time until its last request ended, seconds: the span of metrics and CPU time.
    pub spent_seconds: f64,
    /// How long after its due time each request was sent.
    pub send_delay: Histogram,
    /// Requests that are left out because rpcgauge itself was stalled when they were due.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stalled: u64,
}

impl SliceFigures {
    /// The number of requests with this name, or with any name if `None`, that succeeded during the slice.
    pub fn answered(&self, request: Option<&str>) -> u64 {
        match &self.at_rate {
            // At a rate all requests have the same name.
            Some(at_rate) => at_rate.answered,
            None => {
                let is_asked = |one: &&RequestRecord| request.is_none_or(|name| one.name == name);
                let asked = self.requests.iter().filter(is_asked);
                asked.map(|one| one.times.count()).sum()
            }
        }
    }

    /// The span of metrics and CPU time, seconds.
    pub fn spent_seconds(&self) -> f64 {
        match &self.at_rate {
            Some(at_rate) => at_rate.spent_seconds,
            None => self.seconds,
        }
    }
}

/// The requests with one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The name that the locustfile gives them.
    pub name: String,
    /// The method.
    pub method: String,
    /// The response times of the requests that succeeded.
    pub times: Histogram,
    /// The exact sum of the response times, µs.
    pub sum_us: f64,
    /// The number of requests that failed.
    pub failures: u64,
    /// Why the first failed request failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
}

/// A sum and its number of terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SumCount {
    /// The sum, in the metric's unit.
    pub sum: f64,
    /// The count.
    pub count: f64,
}

/// The resources that a process used in a slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its name in `app.toml`.
    pub name: String,
    /// Whether all configurations share it.
    pub is_shared: bool,
    /// CPU time, ns; absent if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Its memory at the end, bytes; absent if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The work of its JVMs; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jvm: Option<JvmRecord>,
}

/// The work of a process's JVMs besides running the application: garbage collection and compilation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JvmRecord {
    /// The number of garbage collections that stopped it.
    pub collections: u64,
    /// How long these collections took, ns.
    pub collecting_ns: u64,
    /// How long it was stopped, for collections and for other reasons, ns.
    pub stopped_ns: u64,
    /// The number of methods that were compiled.
    pub compilations: u64,
    /// How long its compilers worked, ns: elapsed time, including waits for a core. Compilers work while the
    /// application runs, on cores that it could use.
    pub compiling_ns: u64,
    /// The used size of its heap at the end, as of the last collection, bytes.
    pub heap_bytes: u64,
}

impl JvmRecord {
    /// The difference from an earlier reading; the heap's size is the current one.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            heap_bytes: self.heap_bytes,
            ..self.each(earlier, u64::saturating_sub)
        }
    }

    /// The sum of two records.
    pub fn and(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    fn each(&self, other: &Self, both: fn(u64, u64) -> u64) -> Self {
        Self {
            collections: both(self.collections, other.collections),
            collecting_ns: both(self.collecting_ns, other.collecting_ns),
            stopped_ns: both(self.stopped_ns, other.stopped_ns),
            compilations: both(self.compilations, other.compilations),
            compiling_ns: both(self.compiling_ns, other.compiling_ns),
            heap_bytes: both(self.heap_bytes, other.heap_bytes),
        }
    }
}
