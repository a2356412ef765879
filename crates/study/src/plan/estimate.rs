//! How long a plan takes, before anything has been measured.

use std::collections::BTreeSet;
use std::time::Duration;

use rpcgauge_message::{Compression, Encoding, WorkloadSpec};

use super::{Plan, Variant, callee_words};
use crate::ramp::{RampPart, time_ms};
use crate::settings::{Callee, ConnectionUse, Placement, Schedule, Settings, Stop};

/// From starting a subject until its answers are proved right: for each variant and placement of
/// an invocation.
pub const START: Duration = Duration::from_millis(30);
/// Around each trial: connecting, moving processes to their cores, writing the record.
pub const AROUND_TRIAL: Duration = Duration::from_millis(8);
/// One window of a floor where messages are small: for each placement and size of call of an
/// invocation.
pub const FLOOR: Duration = Duration::from_millis(44);
/// The fewest round trips of such a window, which decide its time where messages are large.
pub const FLOOR_ROUND_TRIPS: u32 = 167;
/// A warm-up is cut into a hundred slices, and usually over after about so many of them.
const USUAL_WARMUP_SLICES: f64 = 35.0;
const WARMUP_SLICES: f64 = 100.0;

/// Longer trials are estimated as this long, 10 years: a rate of next to nothing must not overflow
/// the sum.
const LONGEST_TRIAL_SECONDS: f64 = 315_360_000.0;

/// Guesses for a call that nothing is known of. They steer progress and budgets only; no figure
/// of a report rests on them.
mod guess {
    /// A call without payload over a kept connection, ns.
    pub(super) const CALL_NS: f64 = 40_000.0;
    /// Opening and closing a connection, ns.
    pub(super) const CONNECTION_NS: f64 = 120_000.0;
    /// Bytes of a call's messages as JSON, for each element of a workload.
    pub(super) const ECHO_BYTES: f64 = 2.0 * 23.0;
    pub(super) const LIST_BYTES: f64 = 187.0;
    pub(super) const RECORD_BYTES: f64 = 427.0;
    pub(super) const ID_BYTES: f64 = 5.0;
    pub(super) const SMALL_BYTES: f64 = 100.0;
    /// Encoding and decoding, ns for each byte of JSON.
    pub(super) const JSON_NS: f64 = 7.0;
    pub(super) const BINARY_NS: f64 = 3.5;
    pub(super) const GZIP_NS: f64 = 6.0;
    pub(super) const ZSTD_NS: f64 = 3.0;
    /// Moving bytes from one bare loop to the other, ns for each.
    pub(super) const MOVING_NS: f64 = 1.0;
    /// How much longer dynamic code takes than generated code.
    pub(super) const DYNAMIC: f64 = 4.0;
}

impl Plan {
    /// About how long the plan takes, as far as can be told before it runs: warm-ups as long as
    /// they usually are, calls at a guess.
    pub fn estimate(&self) -> Duration {
        self.estimate_with(|_| None)
    }

    /// As [`Plan::estimate`], with what is known of a call's latency, by variant.
    pub fn estimate_with(&self, known: impl Fn(&Variant) -> Option<Duration>) -> Duration {
        let each: Vec<Duration> = self
            .variants
            .iter()
            .map(|variant| {
                let call = known(variant).unwrap_or_else(|| guess_call(&variant.settings));
                trial_time(&variant.settings, self.warmup, call)
            })
            .collect();
        let trials: Duration = self
            .trials
            .iter()
            .filter_map(|trial| each.get(trial.variant as usize))
            .sum();
        let starts: BTreeSet<(u32, u32, Placement)> = self
            .trials
            .iter()
            .map(|trial| (trial.invocation, trial.variant, trial.placement))
            .collect();
        let windows: Vec<(String, Duration)> = self
            .variants
            .iter()
            .map(|variant| {
                (
                    size_of_call(&variant.settings),
                    floor_time(&variant.settings),
                )
            })
            .collect();
        let floors: BTreeSet<(u32, Placement, &(String, Duration))> = starts
            .iter()
            .filter_map(|(invocation, variant, placement)| {
                Some((*invocation, *placement, windows.get(*variant as usize)?))
            })
            .collect();
        let floors: Duration = floors.iter().map(|(_, _, (_, time))| *time).sum();
        trials + START * starts.len() as u32 + floors
    }
}

/// One trial with its warm-up and what is around it.
fn trial_time(settings: &Settings, warmup: Stop, call: Duration) -> Duration {
    let rate = match &settings.schedule {
        Schedule::Closed { in_flight } => {
            // On one core, calls in flight share it; more of them do not end sooner.
            f64::from((*in_flight).min(2)) / call.as_secs_f64().max(1e-6)
        }
        Schedule::Rate { per_second, .. } => *per_second,
        Schedule::Ramp { parts, .. } => {
            let calls: f64 = parts.iter().map(RampPart::calls).sum();
            calls / (time_ms(parts) as f64 / 1_000.0)
        }
    };
    let bounded = |stop: Stop| {
        let calls = stop.calls.map(|calls| calls as f64 / rate);
        let time = stop.time_ms.map(|ms| ms as f64 / 1_000.0);
        let seconds = match (calls, time) {
            (Some(calls), Some(time)) => calls.min(time),
            (calls, time) => calls.or(time).unwrap_or(0.0),
        };
        // The call that is under way at the bound is waited for.
        Duration::from_secs_f64(seconds.min(LONGEST_TRIAL_SECONDS)) + call
    };
    // A slice of the warm-up holds a call at least, so that slow calls take it to its bound.
    let slice = (bounded(warmup).as_secs_f64() / WARMUP_SLICES).max(call.as_secs_f64());
    let settled = Duration::from_secs_f64(slice * USUAL_WARMUP_SLICES);
    settled.min(bounded(warmup)) + bounded(settings.stop) + AROUND_TRIAL
}

/// One window of the floor under a call; a live service has none.
fn floor_time(settings: &Settings) -> Duration {
    if settings.callee.live().is_some() {
        return Duration::ZERO;
    }
    let round_trip_ns = guess_bytes(&settings.callee) * guess::MOVING_NS;
    FLOOR.max(Duration::from_nanos(round_trip_ns as u64).saturating_mul(FLOOR_ROUND_TRIPS))
}

/// What decides a call's bytes and what carries them: calls that are alike in it share a floor.
fn size_of_call(settings: &Settings) -> String {
    let Settings {
        protocol,
        http,
        encoding,
        transport,
        connection,
        ..
    } = settings;
    let compression = (settings.request_compression, settings.response_compression);
    let callee = callee_words(&settings.callee);
    format!(
        "{callee} {protocol:?} {http:?} {encoding:?} {transport:?} {connection:?} {compression:?}"
    )
}

/// A guess of one call's latency.
pub fn guess_call(settings: &Settings) -> Duration {
    let dynamic = match settings.callee.workload() {
        Some(WorkloadSpec::Own(_)) => guess::DYNAMIC,
        _ => 1.0,
    };
    let bytes = guess_bytes(&settings.callee) * dynamic;
    let encoding = match settings.encoding {
        Some(Encoding::Protobuf | Encoding::Msgpack | Encoding::Cbor) => guess::BINARY_NS,
        Some(Encoding::Json | Encoding::JsonProtoNames | Encoding::Hybrid) => guess::JSON_NS,
        None => 0.0,
    };
    let compressing = |compression: Compression| match compression {
        Compression::None => 0.0,
        Compression::Gzip { .. } => guess::GZIP_NS,
        Compression::Zstd { .. } => guess::ZSTD_NS,
    };
    // The answer is the larger message in all workloads but echo, where both are as large.
    let compression =
        compressing(settings.request_compression).max(compressing(settings.response_compression));
    let connection = match settings.connection {
        ConnectionUse::Reuse => 0.0,
        ConnectionUse::PerCall => guess::CONNECTION_NS,
    };
    let ns = guess::CALL_NS + connection + bytes * (encoding + compression);
    Duration::from_nanos(ns as u64)
}

/// A guess of the bytes of a call's messages as JSON, both ways together.
fn guess_bytes(callee: &Callee) -> f64 {
    let Callee::Subject { workload, .. } = callee else {
        return guess::SMALL_BYTES;
    };
    match workload {
        WorkloadSpec::Echo { n } => f64::from(*n) * guess::ECHO_BYTES,
        WorkloadSpec::List { n } => f64::from(*n) * guess::LIST_BYTES,
        WorkloadSpec::Records { n } => f64::from(*n) * guess::RECORD_BYTES,
        WorkloadSpec::Followers { n } => f64::from(*n) * guess::ID_BYTES,
        WorkloadSpec::Hello {} | WorkloadSpec::Profile {} => guess::SMALL_BYTES,
        WorkloadSpec::Own(own) => {
            (own.request.to_string().len() + own.response.to_string().len()) as f64
        }
    }
}
