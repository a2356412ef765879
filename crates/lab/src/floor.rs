//! The floor: what no client could beat here (docs/method.md).
//!
//! The same bytes are sent and answered by two bare loops over the same transport and on the same
//! cores. One floor stands under all variants whose bytes a call are nearly the same.
//!
//! A machine's mood changes within seconds and stays for a tenth of one at least. So each invocation
//! has a window of every floor, instead of the run one long one: a window lies within few moods,
//! and the windows of a run meet several.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpcgauge_load::Address;
use rpcgauge_load::floor::{Floor, FloorCall, ping_pong};
use rpcgauge_study::record::{Fault, Measured};
use rpcgauge_study::settings::{Placement, Transport};

use crate::error::TrialFailure;

/// Sizes within this part of each other share a floor.
const CLOSE_PART: f64 = 0.05;

/// Sizes within this many bytes of each other share a floor: copying so few takes some tens of
/// nanoseconds of a round trip's thousands.
const CLOSE_BYTES: u64 = 512;

/// The answering half takes at most this many bytes either way (contract/README.md).
const MAX_BYTES: u64 = 64 << 20;

/// A round of the ping-pong takes about this long: enough for a hundred small calls.
const ROUND: Duration = Duration::from_micros(1_500);

/// Fewest round trips in a round.
const MIN_ROUND_CALLS: u64 = 5;

/// Most round trips in a round.
const MAX_ROUND_CALLS: u64 = 10_000;

/// Round trips that tell how long one takes.
const PROBE_CALLS: u64 = 10;

/// Rounds that are thrown away: two bare loops have nothing to compile, but the cores must wake up
/// and the sockets' buffers must be there.
const WARMUP_ROUNDS: u32 = 2;

/// Rounds that are measured. Each has a connection of its own, so that one unlucky connection does
/// not decide the figure. With eight of them the floor of a Unix socket differed by up to 11%
/// between two runs a minute apart, with 24 by less than 3%.
const MEASURED_ROUNDS: u32 = 24;

/// A round trip that takes longer than this is a failure.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What one floor is calibrated for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FloorKey {
    /// Where the loops run.
    pub(crate) placement: Placement,
    /// What carries the bytes.
    pub(crate) transport: Transport,
    /// Bytes sent a call.
    pub(crate) request_bytes: u64,
    /// Bytes received a call.
    pub(crate) response_bytes: u64,
}

impl FloorKey {
    /// What a trial carried a call; `None` when it carried nothing. With the marks, although they
    /// are no part of the call: the latency that stands above the floor had to carry them too.
    pub(crate) fn of(
        placement: Placement,
        transport: Transport,
        measured: &Measured,
    ) -> Option<Self> {
        let calls = measured.calls.started;
        let a_call = |total: u64| {
            (calls > 0)
                .then(|| total.div_ceil(calls))
                .filter(|b| *b > 0)
        };
        Some(Self {
            placement,
            transport,
            request_bytes: a_call(measured.bytes.sent.total())?.min(MAX_BYTES),
            response_bytes: a_call(measured.bytes.received.total())?.min(MAX_BYTES),
        })
    }

    fn is_close_to(&self, other: &Self) -> bool {
        self.placement == other.placement
            && self.transport == other.transport
            && are_close(self.request_bytes, other.request_bytes)
            && are_close(self.response_bytes, other.response_bytes)
    }
}

fn are_close(a: u64, b: u64) -> bool {
    let apart = a.abs_diff(b);
    apart <= CLOSE_BYTES || apart as f64 <= CLOSE_PART * a.max(b) as f64
}

/// The floors that are needed, each with the variants it stands under.
#[derive(Debug, Default)]
pub(crate) struct Floors(Vec<(FloorKey, Vec<String>)>);

impl Floors {
    /// Notes that `variant` was measured. Its first trial of the invocation decides which floor it
    /// stands on.
    pub(crate) fn note(&mut self, variant: &str, key: FloorKey) {
        let is_noted = |(noted, variants): &(FloorKey, Vec<String>)| {
            noted.placement == key.placement && variants.iter().any(|name| name == variant)
        };
        if self.0.iter().any(is_noted) {
            return;
        }
        match self.0.iter_mut().find(|(noted, _)| noted.is_close_to(&key)) {
            Some((_, variants)) => variants.push(variant.to_owned()),
            None => self.0.push((key, vec![variant.to_owned()])),
        }
    }

    /// Takes what was noted.
    pub(crate) fn take(&mut self) -> Vec<(FloorKey, Vec<String>)> {
        std::mem::take(&mut self.0)
    }
}

/// Measures one window of a floor against the answering half at `address`, on the calling thread:
/// about 44 ms where messages are small. `None` when `stop` became true meanwhile.
///
/// # Errors
/// The other half cannot be reached, ends, or is too slow.
pub(crate) fn calibrate(
    address: &Address,
    key: &FloorKey,
    stop: &AtomicBool,
) -> Result<Option<Floor>, TrialFailure> {
    let play = |calls: u64| {
        let call = FloorCall {
            request_bytes: key.request_bytes,
            response_bytes: key.response_bytes,
            // The first round trips of a connection open its window.
            warmup_calls: (calls / 10).max(1),
            calls,
            timeout: TIMEOUT,
        };
        ping_pong(address, &call).map_err(|error| {
            let reason = format!("the floor could not be calibrated at {address}: {error}");
            TrialFailure::new(Fault::Machine, reason)
        })
    };
    let probe = play(PROBE_CALLS)?;
    let calls = round_calls(probe.latency.value_at_quantile(0.5));
    for _ in 0..WARMUP_ROUNDS {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        play(calls)?;
    }
    measure(|| play(calls), stop)
}

fn measure(
    mut play: impl FnMut() -> Result<Floor, TrialFailure>,
    stop: &AtomicBool,
) -> Result<Option<Floor>, TrialFailure> {
    let mut whole = play()?;
    for round in 1..MEASURED_ROUNDS {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let next = play()?;
        whole.client_cpu_ns += (next.client_cpu_ns - whole.client_cpu_ns) / f64::from(round + 1);
        whole.latency.add(&next.latency).map_err(|error| {
            TrialFailure::new(
                Fault::Instrument,
                format!("histograms do not add up: {error}"),
            )
        })?;
    }
    Ok(Some(whole))
}

fn round_calls(median_ns: u64) -> u64 {
    (ROUND.as_nanos() as u64 / median_ns.max(1)).clamp(MIN_ROUND_CALLS, MAX_ROUND_CALLS)
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::plan::estimate::FLOOR_ROUND_TRIPS;

    use super::*;

    fn key(placement: Placement, request_bytes: u64, response_bytes: u64) -> FloorKey {
        FloorKey {
            placement,
            transport: Transport::Tcp,
            request_bytes,
            response_bytes,
        }
    }

    #[test]
    fn close_sizes_share_a_floor() {
        let two = Placement::TwoCores;
        let mut floors = Floors::default();
        floors.note("a", key(two, 200, 150));
        floors.note("b", key(two, 250, 600));
        floors.note("c", key(two, 200, 10_000));
        floors.note("d", key(two, 200, 10_400));
        floors.note("e", key(Placement::OneCore, 200, 150));
        floors.note("a", key(two, 900, 150));
        let named: Vec<Vec<String>> = floors.take().into_iter().map(|(_, names)| names).collect();
        assert_eq!(named, [vec!["a", "b"], vec!["c", "d"], vec!["e"]]);
        assert!(floors.take().is_empty());
    }

    #[test]
    fn a_variant_has_a_floor_for_each_placement() {
        let mut floors = Floors::default();
        floors.note("a", key(Placement::TwoCores, 200, 150));
        floors.note("a", key(Placement::OneCore, 200, 150));
        assert_eq!(floors.take().len(), 2);
    }

    #[test]
    fn a_plans_estimate_knows_the_fewest_round_trips_of_a_window() {
        // Each round has a call before the measured ones.
        let round = MIN_ROUND_CALLS + 1;
        let rounds = u64::from(WARMUP_ROUNDS + MEASURED_ROUNDS);
        assert_eq!(
            PROBE_CALLS + 1 + rounds * round,
            u64::from(FLOOR_ROUND_TRIPS)
        );
    }

    #[test]
    fn a_round_has_as_many_calls_as_fit() {
        assert_eq!(round_calls(10_000), 150);
        assert_eq!(round_calls(0), MAX_ROUND_CALLS);
        assert_eq!(round_calls(1_000_000_000), MIN_ROUND_CALLS);
    }
}
