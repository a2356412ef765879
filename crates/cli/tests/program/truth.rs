//! Latencies of a server that stalls (coordinated omission). Calls that were due during a stall
//! must be measured from when they were due. docs/engine.md has figures from a quiet machine; the
//! bounds here also hold on slow machines.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Place, report};
use crate::load::{BUSY, OK, answer_each, serving};

/// How long the server stalls at the end of each period.
const STALL: Duration = Duration::from_millis(300);
const EVERY: Duration = Duration::from_millis(1000);

/// The server rejects one in this many calls.
const REFUSED_ONE_IN: u64 = 10;

/// Counts of the server's actions.
#[derive(Default)]
struct Record {
    calls: AtomicU64,
    refused: AtomicU64,
}

/// A server that stalls periodically and answers at the end of each stall. Returns its address and
/// its counts.
fn stalling() -> (SocketAddr, Arc<Record>) {
    let record = Arc::new(Record::default());
    let counted = Arc::clone(&record);
    let start = Instant::now();
    let address = serving(move |stream| {
        answer_each(stream, |_| {
            let number = counted.calls.fetch_add(1, Ordering::Relaxed) + 1;
            let is_refused = number.is_multiple_of(REFUSED_ONE_IN);
            let refused = u64::from(is_refused);
            counted.refused.fetch_add(refused, Ordering::Relaxed);
            let period = EVERY.as_nanos();
            let phase = start.elapsed().as_nanos() % period;
            if phase >= period - STALL.as_nanos() {
                thread::sleep(Duration::from_nanos((period - phase) as u64));
            }
            if is_refused { BUSY } else { OK }
        });
    });
    (address, record)
}

/// Parses a count, or a time in ns that may have a fraction.
fn number(value: &Value) -> u64 {
    let number = value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is not a number"));
    number.round() as u64
}

#[test]
fn a_stall_is_charged_to_every_call_that_was_due_in_it() {
    const CALLS: u64 = 400;
    let place = Place::new();
    let (address, record) = stalling();
    // The load takes 2 s and has enough connections for all calls of a stall.
    place
        .line(&format!(
            "load http://{address}/ --rate 200 --connections 100 --calls 400 --warmup 0s --deadline 60s \
             --out run --quiet"
        ))
        .well();

    let report = report(&place.path().join("run"));
    let figures = &report["variants"][0]["cells"][0]["figures"];
    let calls = &figures["calls"];
    // The test call before the load is the server's first call, which is not rejected.
    let refused = record.refused.load(Ordering::Relaxed);
    assert_eq!(record.calls.load(Ordering::Relaxed), CALLS + 1);
    assert_eq!(refused, (CALLS + 1) / REFUSED_ONE_IN);
    assert_eq!(number(&calls["started"]), CALLS);
    assert_eq!(number(&calls["answered"]), CALLS - refused, "{calls}");
    assert_eq!(number(&calls["abandoned"]), 0);
    assert_eq!(calls["failed"], json!({ "http-503": refused }), "{calls}");

    // The server stalls for 0.6 of 2 s: 3 of 10 calls are due in a stall, and none of them can be
    // answered before it ends. In theory, p95 is 250 ms, p99 is 290 ms and the maximum is 300 ms.
    let latency = &figures["latency"];
    for (percentile, at_least_ms) in [("p95_ns", 200), ("p99_ns", 250), ("max_ns", 280)] {
        let said = number(&latency[percentile]);
        assert!(
            said >= at_least_ms * 1_000_000,
            "{percentile} is {said} ns, but must be at least {at_least_ms} ms by the server's clock"
        );
    }
    let late = &figures["send_delay"];
    assert_eq!(
        number(&late["count"]),
        CALLS,
        "each call's delay is reported"
    );
}
