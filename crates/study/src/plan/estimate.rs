//! Estimates how long a plan takes, before anything has been measured.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use rpcgauge_trial::RampPart;

use super::{Plan, Variant};
use crate::settings::{
    ConnectionUse, Placement, REFERENCE, Schedule, Settings, Stop, SubjectCall, Target,
};

/// The time to start the embedded subject and verify its responses, for each variant and placement of an invocation.
const START: Duration = Duration::from_millis(30);
/// The same for another stack, unless its subject declares how long it takes to start.
const START_OTHER: Duration = Duration::from_millis(150);
/// The overhead of each trial: its first connection, moving processes to their cores, writing the record.
const AROUND_TRIAL: Duration = Duration::from_millis(8);
/// The total time of a trial in slices, relative to the time in which its calls are counted. Calls at the start of each
/// slice are left out, and the floor has slices of its own in between.
const SLICED: f64 = 1.6;
/// A warm-up is cut into a hundred slices, and usually ends after this many.
const USUAL_WARMUP_SLICES: f64 = 35.0;
const WARMUP_SLICES: f64 = 100.0;

/// The time to calibrate a link, without its round trips: once for each link and placement of a run.
const CALIBRATION: Duration = Duration::from_secs(1);
/// The minimum number of slices of a floor over a link, and the round trips of each: its connection, a warm-up and
/// two more.
const FLOOR_SLICES: f64 = 2.0;
const FLOOR_SLICE_CALLS: f64 = 4.0;
/// Variants whose messages differ by at most this many bytes usually share a floor.
const CLOSE_BYTES: u64 = 500;
/// The round trips that measure, once for each floor, how many of them fit into a slice.
const FLOOR_PROBE_CALLS: f64 = 4.0;

/// Calls in flight share the cores, so that more than this many in parallel are no faster.
const MAX_PARALLEL: f64 = 2.0;

/// The maximum estimate for a trial, 10 years: a rate close to 0 must not overflow the sum.
const MAX_TRIAL_SECONDS: f64 = 315_360_000.0;

/// The initial window of a connection, segments (RFC 6928), and the bytes of a segment over Ethernet.
const INITIAL_WINDOW: u32 = 10;
const SEGMENT_BYTES: u64 = 1_448;

/// Guesses for calls that have not been measured. They affect only progress and budgets; no figure of a report depends
/// on them.
mod guess {
    /// A call without payload over a persistent connection, ns.
    pub(super) const CALL_NS: f64 = 40_000.0;
    /// Opening and closing a connection, ns.
    pub(super) const CONNECTION_NS: f64 = 120_000.0;
    /// The cryptography of a TLS handshake, on both sides together, ns.
    pub(super) const TLS_NS: f64 = 500_000.0;
    /// Bytes of a call's messages as JSON, for each element of a workload.
    pub(super) const ECHO_BYTES: f64 = 2.0 * 23.0;
    pub(super) const LIST_BYTES: f64 = 187.0;
    pub(super) const RECORD_BYTES: f64 = 427.0;
    pub(super) const ID_BYTES: f64 = 5.0;
    pub(super) const SMALL_BYTES: f64 = 100.0;
    /// Encoding and decoding, ns for each byte of JSON.
    pub(super) const JSON_NS: f64 = 7.0;
    pub(super) const BINARY_NS: f64 = 3.5;
    /// The size of binary messages relative to JSON, and of compressed messages relative to uncompressed ones.
    pub(super) const BINARY_SIZE: f64 = 0.75;
    pub(super) const COMPRESSED_SIZE: f64 = 0.4;
    pub(super) const GZIP_NS: f64 = 6.0;
    pub(super) const ZSTD_NS: f64 = 3.0;
    /// How much longer dynamic code takes than generated code.
    pub(super) const DYNAMIC: f64 = 4.0;
    /// How much longer a call takes before a just-in-time compiler has compiled its code.
    pub(super) const NOT_COMPILED: f64 = 3.0;
}

impl Plan {
    /// Estimates how long the plan takes before it has run, from typical warm-ups and guesses for calls.
    pub fn estimate(&self) -> Duration {
        self.estimate_of(guess_call)
    }

    /// Like [`Plan::estimate`], but takes the times of calls from `call`.
    pub(crate) fn estimate_of(&self, call: impl Fn(&Settings) -> Duration) -> Duration {
        let variants = self.variants.iter();
        let each: Vec<(Duration, Duration)> = variants
            .map(|variant| {
                let settings = &variant.settings;
                let trial = self.trial_time(variant, call(settings));
                (trial, self.start_time(&settings.target))
            })
            .collect();
        let of = |variant: u32| each.get(variant as usize).copied().unwrap_or_default();
        let trials: Duration = self.trials.iter().map(|trial| of(trial.variant).0).sum();
        let starts = self.trials.iter();
        // Variants that share processes are started together.
        let started = |variant: u32| {
            let shared = self.processes_of(variant);
            shared
                .and_then(|shared| shared.variants.first().copied())
                .unwrap_or(variant)
        };
        let starts =
            starts.map(|trial| (trial.invocation, started(trial.variant), trial.placement));
        let starts: BTreeSet<(u32, u32, Placement)> = starts.collect();
        let starting: Duration = starts.iter().map(|start| of(start.1).1).sum();
        trials + starting + self.calibrating() + self.floors_over_links(&call)
    }

    /// The time to calibrate the links of a run.
    fn calibrating(&self) -> Duration {
        let links = self.trials.iter().filter_map(|trial| {
            let variant = self.variants.get(trial.variant as usize)?;
            let link = variant.settings.target.link()?;
            Some(((&*link.name, trial.placement), link.terms.round_trip()))
        });
        let links: BTreeMap<_, Duration> = links.collect();
        let times = links.into_values();
        times.map(|round_trip| CALIBRATION + round_trip).sum()
    }

    /// The time that the floors over links take. A floor runs a slice for every slice of its variants, with a minimum
    /// number of round trips in each. Variants with messages of about the same size share a floor.
    fn floors_over_links(&self, call: impl Fn(&Settings) -> Duration) -> Duration {
        let mut floors = BTreeMap::new();
        for trial in &self.trials {
            let Some(Variant { settings, .. }) = self.variants.get(trial.variant as usize) else {
                continue;
            };
            let Target::Call(target) = &settings.target else {
                continue;
            };
            // A client subject's bytes are not counted, so its calls have no floor here.
            let (Some(link), None) = (&target.link, &target.client) else {
                continue;
            };
            let call = call(settings);
            let slices = self.slice(settings).map_or(0.0, |slice| {
                let calls = Stop {
                    calls: Some(slice.skip_calls + slice.least_calls),
                    time_ms: None,
                };
                let slice =
                    Duration::from_micros(slice.time_us).max(bounded(settings, calls, call));
                bounded(settings, settings.stop, call).div_duration_f64(slice)
            });
            let calls = slices.max(FLOOR_SLICES) * FLOOR_SLICE_CALLS + FLOOR_PROBE_CALLS;
            let bytes = guess_sent(settings) as u64;
            let round_trip = link.terms.least(0, bytes);
            let block = (
                trial.invocation,
                trial.block,
                trial.placement,
                trial.rotation,
            );
            let floor: &mut Duration = floors
                .entry((block, &*link.name, bytes / CLOSE_BYTES))
                .or_default();
            *floor = (*floor).max(round_trip.mul_f64(calls));
        }
        floors.into_values().sum()
    }

    /// The time until the subjects of a variant are ready.
    fn start_time(&self, target: &Target) -> Duration {
        let start = |stack: &str| match self.stack_needs.get(stack) {
            _ if stack == REFERENCE => START,
            Some(needs) if needs.start_up_ms > 0 => Duration::from_millis(needs.start_up_ms),
            _ => START_OTHER,
        };
        target.stacks().map(start).sum()
    }

    /// The time of one trial with its warm-up and overhead.
    fn trial_time(&self, variant: &Variant, call: Duration) -> Duration {
        let settings = &variant.settings;
        let warmup = bounded(settings, self.warmup(variant), call);
        // A slice of the warm-up has at least one call, so slow calls extend the warm-up to its bound.
        let slice = (warmup.as_secs_f64() / WARMUP_SLICES).max(call.as_secs_f64());
        let settling = Duration::from_secs_f64(slice * USUAL_WARMUP_SLICES);
        let least_calls = Stop {
            calls: Some(self.warmup_least_calls(variant)),
            time_ms: None,
        };
        let compiling = bounded(settings, least_calls, call.mul_f64(guess::NOT_COMPILED));
        let settled = compiling.min(warmup / 2) + settling;
        let measured = bounded(settings, settings.stop, call);
        let measured = match self.slice(settings) {
            None => measured,
            // Even the shortest trial has one slice with its minimum number of calls.
            Some(slice) => {
                let calls = Stop {
                    calls: Some(slice.skip_calls + slice.least_calls),
                    time_ms: None,
                };
                let least = bounded(settings, calls, call);
                measured.mul_f64(SLICED).max(least)
            }
        };
        opening(settings) + settled.min(warmup) + measured + AROUND_TRIAL
    }
}

/// The time to open persistent connections. The first one is part of [`AROUND_TRIAL`], except what a link adds to it.
fn opening(settings: &Settings) -> Duration {
    let Some(options) = settings.target.options() else {
        return Duration::ZERO;
    };
    let more = match options.connection {
        ConnectionUse::Reuse => options.connections.saturating_sub(1),
        ConnectionUse::PerCall => return Duration::ZERO,
    };
    let kept = match &settings.target {
        Target::Call(call) => connecting(call, guess_sent(settings)),
        Target::Codec(_) | Target::Live(_) => Duration::ZERO,
    };
    Duration::from_nanos(guess::CONNECTION_NS as u64).saturating_mul(more) + kept
}

/// The time until calls reach a bound and the last of them has completed.
fn bounded(settings: &Settings, stop: Stop, call: Duration) -> Duration {
    let closed = |in_flight| parallel(settings, in_flight, call) / call.as_secs_f64().max(1e-6);
    let rate = match settings.target.options().map(|options| &options.schedule) {
        None => closed(1),
        Some(Schedule::Closed { in_flight }) => closed(*in_flight),
        Some(Schedule::Rate { per_second, .. }) => *per_second,
        Some(Schedule::Ramp { parts, .. }) => {
            let calls: f64 = parts.iter().map(RampPart::calls).sum();
            calls / (RampPart::time_of(parts) as f64 / 1_000.0)
        }
    };
    let calls = stop.calls.map(|calls| calls as f64 / rate);
    let time = stop.time_ms.map(|ms| ms as f64 / 1_000.0);
    let seconds = match (calls, time) {
        (Some(calls), Some(time)) => calls.min(time),
        (calls, time) => calls.or(time).unwrap_or(0.0),
    };
    // The trial waits for the calls in flight at the bound.
    let in_flight_time = match settings.target.in_flight() {
        Some(in_flight) => call.mul_f64(f64::from(in_flight) / parallel(settings, in_flight, call)),
        None => call,
    };
    Duration::from_secs_f64(seconds.min(MAX_TRIAL_SECONDS)) + in_flight_time
}

/// How many of the calls in flight make progress at the same time. Calls over a link wait for its delays in parallel,
/// and share its rate and the cores.
fn parallel(settings: &Settings, in_flight: u32, call: Duration) -> f64 {
    let most = match settings.target.link() {
        None => MAX_PARALLEL,
        Some(link) => {
            let bytes = guess_sent(settings) as u64;
            let sending = link.terms.least(0, bytes) - link.terms.round_trip();
            let shared = sending.max(guess_local(settings).div_f64(MAX_PARALLEL));
            (call.as_secs_f64() / shared.as_secs_f64()).max(1.0)
        }
    };
    f64::from(in_flight).min(most)
}

/// A guess of one call's latency.
pub(crate) fn guess_call(settings: &Settings) -> Duration {
    guess_local(settings) + over_link(settings, guess_sent(settings))
}

/// A guess of one call's latency on loopback.
fn guess_local(settings: &Settings) -> Duration {
    let dynamic = match settings.target.workload() {
        Some(WorkloadSpec::Own(_)) => guess::DYNAMIC,
        _ => 1.0,
    };
    let bytes = guess_bytes(&settings.target) * dynamic;
    let encoding = match settings.target.encoding() {
        Some(Encoding::Protobuf | Encoding::Msgpack | Encoding::Cbor) => guess::BINARY_NS,
        Some(_) => guess::JSON_NS,
        None => 0.0,
    };
    let compressing = |compression: Compression| match compression {
        Compression::None => 0.0,
        Compression::Gzip { .. } => guess::GZIP_NS,
        Compression::Zstd { .. } => guess::ZSTD_NS,
    };
    // The response is the larger message in all workloads except echo, where both have the same size.
    let [request, response] = settings.target.compressions().map(compressing);
    let compression = f64::max(request, response);
    let (connection, tls) = match &settings.target {
        Target::Call(call) => (call.options.connection, call.tls),
        Target::Codec(_) => (ConnectionUse::Reuse, false),
        Target::Live(live) => (live.options.connection, false),
    };
    let connection = match (connection, tls) {
        (ConnectionUse::Reuse, _) => 0.0,
        (ConnectionUse::PerCall, false) => guess::CONNECTION_NS,
        (ConnectionUse::PerCall, true) => guess::CONNECTION_NS + guess::TLS_NS,
    };
    let ns = guess::CALL_NS + connection + bytes * (encoding + compression);
    Duration::from_nanos(ns as u64)
}

/// A guess of what a link adds to a call, and to opening its connection.
fn over_link(settings: &Settings, bytes: f64) -> Duration {
    let Target::Call(call) = &settings.target else {
        return Duration::ZERO;
    };
    let Some(link) = &call.link else {
        return Duration::ZERO;
    };
    let connecting = match call.options.connection {
        ConnectionUse::Reuse => Duration::ZERO,
        ConnectionUse::PerCall => connecting(call, bytes),
    };
    connecting + link.terms.least(0, bytes as u64)
}

/// A guess of what a new connection over a link adds to its first call: its handshakes, and the round trips in which
/// slow start doubles its window until it fills the link.
fn connecting(call: &SubjectCall, bytes: f64) -> Duration {
    let Some(link) = &call.link else {
        return Duration::ZERO;
    };
    let round_trip = link.terms.round_trip();
    let segments = link.terms.initial_window.unwrap_or(INITIAL_WINDOW);
    let (mut window, mut left) = (u64::from(segments) * SEGMENT_BYTES, bytes as u64);
    let mut waits = 0;
    while left > window && link.terms.least(0, window) < round_trip * 2 {
        (left, window, waits) = (left - window, window * 2, waits + 1);
    }
    // TLS 1.3 takes one round trip.
    round_trip * (1 + u32::from(call.tls) + waits)
}

/// A guess of the bytes of a call's messages as sent.
fn guess_sent(settings: &Settings) -> f64 {
    let encoded = match settings.target.encoding() {
        Some(Encoding::Protobuf | Encoding::Msgpack | Encoding::Cbor) => guess::BINARY_SIZE,
        _ => 1.0,
    };
    let [_, response] = settings.target.compressions();
    let compressed = match response {
        Compression::None => 1.0,
        _ => guess::COMPRESSED_SIZE,
    };
    guess_bytes(&settings.target) * encoded * compressed
}

/// A guess of the bytes of a call's messages as JSON, both ways together.
fn guess_bytes(target: &Target) -> f64 {
    let Some(workload) = target.workload() else {
        return guess::SMALL_BYTES;
    };
    let each = guess_message_bytes(workload);
    match target {
        Target::Call(call) => {
            let stream = call.stream.map(|stream| stream.messages());
            each * f64::from(stream.unwrap_or(1))
        }
        Target::Codec(_) | Target::Live(_) => each,
    }
}

/// The same for a request and its response.
fn guess_message_bytes(workload: &WorkloadSpec) -> f64 {
    match workload {
        WorkloadSpec::Echo { n } => f64::from(*n) * guess::ECHO_BYTES,
        WorkloadSpec::List { n } => f64::from(*n) * guess::LIST_BYTES,
        WorkloadSpec::Records { n } => f64::from(*n) * guess::RECORD_BYTES,
        WorkloadSpec::Followers { n } => f64::from(*n) * guess::ID_BYTES,
        WorkloadSpec::Hello {} | WorkloadSpec::Profile {} | WorkloadSpec::Items {} => {
            guess::SMALL_BYTES
        }
        WorkloadSpec::Own(own) => {
            (own.request.to_string().len() + own.response.to_string().len()) as f64
        }
    }
}
