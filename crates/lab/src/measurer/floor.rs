//! The floor: the latency that no client could beat on this machine, measured with two bare loops that move the
//! same bytes as a call.
//!
//! A floor alternates with its variants, slice by slice, so that both experience the same clock speeds. Each of
//! its slices uses a new connection, because a single unlucky connection must not determine the figure.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_load::floor::{Floor, FloorCall, ping_pong};
use rpcgauge_study::link::NamedLink;
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{SubjectCall, Transport};
use rpcgauge_trial::Address;

use super::{Carried, Measurer};
use crate::error::{TrialFailure, TrialResult};

/// Calls share a floor if their sizes differ by at most this fraction: moving 5% more bytes costs a bare loop
/// less than its own noise.
const CLOSE_PART: f64 = 0.05;

/// Calls also share a floor if their sizes differ by at most this many bytes: at loopback speed, these add
/// tens of nanoseconds to a round trip of several microseconds.
const CLOSE_BYTES: u64 = 512;

/// Over a link, calls that share a floor must also have minimum times that differ by at most this fraction,
/// because 512 bytes may take milliseconds there.
const CLOSE_TIME: f64 = 0.01;

/// The maximum number of bytes in either direction that the answering half accepts (contract/README.md).
const MAX_BYTES: u64 = 64 << 20;

/// The approximate length of a slice: enough for a hundred small calls.
const SLICE: Duration = Duration::from_micros(1_500);

/// The minimum number of measured round trips in a slice. Lower over a link, where a round trip may take half a
/// second and varies little.
const MIN_CALLS: u64 = 5;
const MIN_CALLS_OVER_LINK: u64 = 2;

/// The maximum number of round trips in a slice.
const MAX_CALLS: u64 = 10_000;

/// The number of round trips used to estimate how long one takes.
const PROBE_CALLS: u64 = 10;

/// A round trip that takes longer fails. Over a link, `TIMEOUT_FACTOR` times the link's minimum time is added,
/// because a connection begins with a small window and segments may be lost.
const TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT_FACTOR: u32 = 10;

/// Identifies the calls that a floor is measured for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FloorKey {
    pub(crate) transport: Transport,
    /// The emulated link; `None` for loopback.
    pub(crate) link: Option<Box<NamedLink>>,
    /// Bytes carried per call.
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
}

/// A floor, and the names of its variants.
pub(crate) type FloorUnder = (FloorKey, Vec<String>);

impl FloorKey {
    /// The key for calls that carried these bytes on average; `None` if they carried nothing. The bytes include
    /// the marks, although marks are not part of the call: the latency above the floor includes carrying them.
    pub(crate) fn of(call: &SubjectCall, carried: &Carried) -> Option<Self> {
        let a_call = |total: u64| {
            (carried.calls > 0)
                .then(|| total.div_ceil(carried.calls))
                .filter(|bytes| *bytes > 0)
        };
        Some(Self {
            transport: call.transport,
            link: call.link.clone(),
            request_bytes: a_call(carried.sent)?.min(MAX_BYTES),
            response_bytes: a_call(carried.received)?.min(MAX_BYTES),
        })
    }

    fn is_close_to(&self, other: &Self) -> bool {
        (self.transport, &self.link) == (other.transport, &other.link)
            && are_close(self.request_bytes, other.request_bytes)
            && are_close(self.response_bytes, other.response_bytes)
            && self.least().abs_diff(other.least()) <= self.least().mul_f64(CLOSE_TIME)
    }

    /// The minimum time that a call takes on the link.
    fn least(&self) -> Duration {
        self.link.as_ref().map_or(Duration::ZERO, |link| {
            link.terms.least(self.request_bytes, self.response_bytes)
        })
    }
}

fn are_close(a: u64, b: u64) -> bool {
    let apart = a.abs_diff(b);
    apart <= CLOSE_BYTES || apart as f64 <= CLOSE_PART * a.max(b) as f64
}

/// Adds `variant` to the floors that a block needs: to an existing floor if its sizes are close enough,
/// otherwise to a new one.
pub(crate) fn note(floors: &mut Vec<FloorUnder>, variant: &str, key: FloorKey) {
    match floors.iter_mut().find(|(noted, _)| noted.is_close_to(&key)) {
        Some((_, variants)) => variants.push(variant.to_owned()),
        None => floors.push((key, vec![variant.to_owned()])),
    }
}

/// Measures one floor against the answering half at an address.
pub(crate) struct FloorMeasurer {
    address: Address,
    key: FloorKey,
    /// Round trips in a slice, chosen once it is known how long one takes.
    calls: u64,
    whole: Option<Floor>,
    slices: u32,
}

impl FloorMeasurer {
    pub(crate) fn new(address: Address, key: FloorKey) -> Self {
        Self {
            calls: match key.link {
                None => PROBE_CALLS,
                Some(_) => MIN_CALLS_OVER_LINK,
            },
            address,
            key,
            whole: None,
            slices: 0,
        }
    }

    fn play(&self) -> TrialResult<Floor> {
        let call = FloorCall {
            request_bytes: self.key.request_bytes,
            response_bytes: self.key.response_bytes,
            // A connection's first round trips open its window.
            warmup_calls: (self.calls / 10).max(1),
            calls: self.calls,
            timeout: TIMEOUT + TIMEOUT_FACTOR * self.key.least(),
        };
        ping_pong(&self.address, &call).map_err(|error| {
            let reason = format!(
                "the floor could not be measured at {}: {error}",
                self.address
            );
            TrialFailure::new(Fault::Machine, reason)
        })
    }
}

impl Measurer<Floor> for FloorMeasurer {
    fn prepare(&mut self, _: &AtomicBool) -> TrialResult {
        let probe = self.play()?;
        let least = match self.key.link {
            None => MIN_CALLS,
            Some(_) => MIN_CALLS_OVER_LINK,
        };
        self.calls = slice_calls(probe.latency.value_at_quantile(0.5), least);
        Ok(())
    }

    /// Always returns 0, because a floor runs for as long as its variants.
    fn slice(&mut self, _: &AtomicBool) -> TrialResult<f64> {
        let next = self.play()?;
        self.slices += 1;
        let Some(whole) = &mut self.whole else {
            self.whole = Some(next);
            return Ok(0.0);
        };
        let slices = f64::from(self.slices);
        whole.client_cpu_ns += (next.client_cpu_ns - whole.client_cpu_ns) / slices;
        whole.latency.add(&next.latency).map_err(|error| {
            let reason = format!("histograms do not add up: {error}");
            TrialFailure::new(Fault::Instrument, reason)
        })?;
        Ok(0.0)
    }

    fn finish(self: Box<Self>) -> TrialResult<Box<Floor>> {
        let none = || TrialFailure::new(Fault::Instrument, "the floor was not measured");
        Ok(Box::new(self.whole.ok_or_else(none)?))
    }
}

fn slice_calls(median_ns: u64, least: u64) -> u64 {
    (SLICE.as_nanos() as u64 / median_ns.max(1)).clamp(least, MAX_CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(transport: Transport, request_bytes: u64, response_bytes: u64) -> FloorKey {
        FloorKey {
            transport,
            link: None,
            request_bytes,
            response_bytes,
        }
    }

    #[test]
    fn close_sizes_share_a_floor() {
        let tcp = Transport::Tcp;
        let mut floors = Vec::new();
        note(&mut floors, "a", key(tcp, 200, 150));
        note(&mut floors, "b", key(tcp, 250, 600));
        note(&mut floors, "c", key(tcp, 200, 10_000));
        note(&mut floors, "d", key(tcp, 200, 10_400));
        note(&mut floors, "e", key(Transport::Unix, 200, 150));
        let named: Vec<Vec<String>> = floors.into_iter().map(|(_, names)| names).collect();
        assert_eq!(named, [vec!["a", "b"], vec!["c", "d"], vec!["e"]]);
    }

    #[test]
    fn a_slice_has_as_many_round_trips_as_fit() {
        assert_eq!(slice_calls(10_000, MIN_CALLS), 150);
        assert_eq!(slice_calls(0, MIN_CALLS), MAX_CALLS);
        assert_eq!(slice_calls(1_000_000_000, MIN_CALLS), MIN_CALLS);
    }
}
