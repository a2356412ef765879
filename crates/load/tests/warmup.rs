//! Warm-ups that settle, never settle, or are interrupted.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Hooks, Protocol, Settling, WarmupBounds};
use rpcgauge_trial::{Ending, Schedule, Stop};
use support::frames::{ok_frame, play_frames};
use support::*;

#[test]
fn a_warm_up_ends_when_the_rule_says_so() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.warmup = Some(warmup(10));
    let mut slices = Vec::new();
    let mut rule = |slice| {
        slices.push(slice);
        match slices.len() {
            5 => Settling::Settled,
            _ => Settling::GoOn,
        }
    };
    let stop = AtomicBool::new(false);
    let measurement = measure(&trial, prepared(&[b"xy"]), &mut rule, &stop).unwrap();
    assert_sums_hold(&measurement);
    assert!(measurement.warmup.settled);
    assert_eq!(
        (measurement.warmup.calls, measurement.warmup.failed),
        (50, 0)
    );
    assert!(slices.len() == 5 && slices[0] > 0, "{slices:?}");
    assert_eq!(measurement.calls.started, 100);
    assert_eq!(
        traffic(&measurement).sent.bodies,
        200,
        "of the measured part alone"
    );
    assert_eq!(traffic(&measurement).received.bodies, 200);
}

#[test]
fn calls_in_flight_at_the_switch_belong_to_the_warm_up() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.connections = 4;
    trial.schedule = Schedule::Closed { in_flight: 4 };
    trial.warmup = Some(warmup(25));
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 100);
    let calls = measurement.warmup.calls;
    assert!(
        (25..=28).contains(&calls),
        "25 ended, up to 3 were in flight: {calls}"
    );
    // Each measured call has one byte each way, and nothing else is counted.
    assert_eq!(traffic(&measurement).sent.bodies, 100);
    assert_eq!(traffic(&measurement).received.bodies, 100);
}

#[test]
fn the_time_of_hooks_does_not_make_the_first_call_late() {
    const PAUSE: Duration = Duration::from_millis(300);
    for in_flight in [1, 4] {
        let mut trial = trial(serve(respond_with(ok)));
        trial.connections = in_flight;
        trial.schedule = Schedule::Closed { in_flight };
        trial.warmup = Some(warmup(10));
        let mut measuring = 0;
        let hooks = Hooks {
            settling: Box::new(|_| {
                std::thread::sleep(PAUSE);
                Settling::Settled
            }),
            measuring: Box::new(|begins| {
                std::thread::sleep(PAUSE);
                measuring += u32::from(begins);
            }),
            ..hooks()
        };
        let stop = AtomicBool::new(false);
        let measurement = measure_with(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
        assert_sums_hold(&measurement);
        assert_eq!(measuring, 1);
        assert!(u128::from(measurement.warmup.elapsed_ns) >= 2 * PAUSE.as_nanos());
        // If the pause counted as lateness, it would be visible here.
        let longest = measurement
            .latency
            .unpack()
            .counts()
            .max()
            .max(measurement.send_delay.unpack().counts().max());
        assert!(u128::from(longest) < PAUSE.as_nanos(), "{longest} ns");
    }
}

#[test]
fn a_warm_up_that_never_settles_is_reported() {
    let mut by_rule = trial(serve(respond_with(ok)));
    by_rule.warmup = Some(warmup(10));
    let stop = AtomicBool::new(false);
    let never = &mut |_| Settling::NeverSettled;
    let measurement = measure(&by_rule, prepared(&[b"x"]), never, &stop).unwrap();
    assert!(!measurement.warmup.settled);
    assert_eq!(
        (measurement.warmup.calls, measurement.calls.answered),
        (10, 100)
    );

    let mut after_calls = by_rule.clone();
    after_calls.warmup = Some(WarmupBounds {
        least_calls: 25,
        ..warmup(10)
    });
    let settled = &mut |_| Settling::Settled;
    let measurement = measure(&after_calls, prepared(&[b"x"]), settled, &stop).unwrap();
    assert!(measurement.warmup.settled);
    assert_eq!(measurement.warmup.calls, 30);

    let mut by_calls = by_rule;
    by_calls.warmup = Some(WarmupBounds {
        max_calls: 30,
        ..warmup(10)
    });
    let go_on = &mut |_| Settling::GoOn;
    let measurement = measure(&by_calls, prepared(&[b"x"]), go_on, &stop).unwrap();
    assert!(!measurement.warmup.settled);
    assert_eq!(
        (measurement.warmup.calls, measurement.calls.answered),
        (30, 100)
    );
}

#[test]
fn a_warm_up_has_no_more_calls_than_its_bound() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.connections = 8;
    trial.schedule = Schedule::Closed { in_flight: 8 };
    for max_calls in [3, 8, 30] {
        trial.warmup = Some(WarmupBounds {
            max_calls,
            ..warmup(1_000_000)
        });
        let measurement = run(&trial, &[b"x"]);
        assert_answered(&measurement, 100);
        assert_eq!(measurement.warmup.calls, max_calls);
    }
}

#[test]
fn at_a_rate_calls_in_flight_count_for_the_warm_ups_maximum() {
    // The server answers only once `TOGETHER` calls have arrived, which is more than the warm-up contains.
    const TOGETHER: usize = 40;
    let address = serve(|stream| {
        let mut waiting = Vec::new();
        play_frames(stream, move |id| {
            waiting.push(id);
            match waiting.len() {
                n if n < TOGETHER => Vec::new(),
                _ => waiting.drain(..).flat_map(ok_frame).collect(),
            }
        });
    });
    let mut trial = trial(address);
    trial.endpoint.protocol = Protocol::Http2;
    trial.expect.content_type = None;
    trial.schedule = constant_rate(100.0);
    trial.warmup = Some(WarmupBounds {
        max_calls: 10,
        ..warmup(1_000_000)
    });
    trial.stop.calls = Some(2 * TOGETHER as u64 - 10);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 2 * TOGETHER as u64 - 10);
    assert_eq!(measurement.warmup.calls, 10);
}

#[test]
fn what_waits_at_the_end_of_a_warm_up_is_sent_before_calls_are_measured() {
    // The first calls take longer than the warm-up; the others are fast.
    let slow = AtomicUsize::new(12);
    let slow = Arc::new(slow);
    let mut trial = trial(serve(respond_with(move |body: &[u8]| {
        let left = |left: usize| left.checked_sub(1);
        if slow
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
            .is_ok()
        {
            thread::sleep(Duration::from_millis(100));
        }
        ok(body)
    })));
    trial.schedule = constant_rate(100.0);
    trial.warmup = Some(WarmupBounds {
        max_time: Duration::from_secs(1),
        ..warmup(1_000_000)
    });
    trial.stop.calls = Some(20);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 20);
    assert!(measurement.warmup.calls >= 120, "due in 1.2 s");
    let late = measurement.late;
    assert_eq!(late.ended, late.sent_before, "none was left");
}

#[test]
fn what_a_warm_up_leaves_at_a_rate_is_counted_however_little_of_it_is_sent() {
    let mut trial = trial(serve(respond_with(ok_after(Duration::from_millis(20)))));
    trial.schedule = constant_rate(1000.0);
    trial.warmup = Some(WarmupBounds {
        max_time: Duration::from_millis(100),
        ..warmup(1_000_000)
    });
    trial.stop = Stop {
        calls: None,
        time_ms: Some(50),
    };
    trial.drain = Duration::ZERO;
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    let (calls, late) = (&measurement.calls, measurement.late);
    assert_eq!((calls.started, calls.never_begun), (50, 50));
    assert!(measurement.warmup.calls >= 100, "due in 100 ms");
    let left = late.ended - late.sent_before;
    assert!(left >= 90, "six at most are sent in 100 ms: {left}");
}

#[test]
fn an_interrupted_warm_up_leaves_an_empty_measurement() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.warmup = Some(warmup(10));
    let stop = AtomicBool::new(false);
    let mut rule = |_| {
        stop.store(true, Ordering::Relaxed);
        Settling::GoOn
    };
    let measurement = measure(&trial, prepared(&[b"x"]), &mut rule, &stop).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(
        (measurement.ending, measurement.calls.started),
        (Ending::Interrupted, 0)
    );
    assert_eq!(traffic(&measurement).sent.total(), 0);
}
