//! Trials on several threads.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rpcgauge_load::{
    Bodies, Body, CodecError, Hooks, IntervalTimes, LoadError, ProgressHook, Settling, Shard,
    ShardCalls, Trial, bytes_of, measure_on_threads,
};
use rpcgauge_trial::{
    Address, Arrivals, Ending, Histogram, RampPart, Schedule, Stop, TrialFigures,
};
use support::*;

/// The bodies of all requests that reached a server.
type Seen = Arc<Mutex<Vec<Vec<u8>>>>;

fn counting() -> (Address, Seen) {
    let seen = Seen::default();
    let into = Arc::clone(&seen);
    let address = serve(respond_with(move |body| {
        into.lock().unwrap().push(body.to_vec());
        ok(body)
    }));
    (address, seen)
}

/// Calls that use five bodies in rotation.
fn five(shard: Shard) -> Result<ShardCalls<'static>, CodecError> {
    let bodies: Vec<Body> = (b'0'..b'5')
        .map(|byte| Body {
            bytes: vec![byte],
            compressed: false,
            plain_len: 1,
            fields: Vec::new(),
        })
        .collect();
    let bodies = Bodies::Prepared {
        bodies: shard.pick(&bodies),
        verifier: None,
    };
    let checks = Vec::new();
    Ok(ShardCalls { bodies, checks })
}

fn on_threads(trial: &Trial, threads: u32, hooks: Hooks<'_>) -> Result<TrialFigures, LoadError> {
    Ok(measure_on_threads(trial, threads, five, hooks, &AtomicBool::new(false))?.figures)
}

/// A trial over six connections.
fn wide(address: Address, schedule: Schedule) -> Trial {
    Trial {
        connections: 6,
        schedule,
        ..trial(address)
    }
}

fn ramp() -> Schedule {
    let part = |from, to| RampPart {
        from,
        to,
        time_ms: 200,
    };
    Schedule::Ramp {
        parts: vec![part(0.0, 500.0), part(500.0, 500.0)],
        arrivals: Arrivals::Constant,
    }
}

#[test]
fn a_number_of_calls_is_that_of_all_threads() {
    let poisson = Schedule::Rate {
        per_second: 2_000.0,
        arrivals: Arrivals::Poisson,
    };
    for (schedule, calls) in [
        (Schedule::Closed { in_flight: 6 }, 1_001),
        (constant_rate(2_000.0), 101),
        (poisson, 101),
        (ramp(), 150),
    ] {
        for threads in [1, 2, 4] {
            let (address, seen) = counting();
            let mut trial = wide(address, schedule.clone());
            trial.stop.calls = (!matches!(schedule, Schedule::Ramp { .. })).then_some(calls);
            let measurement = on_threads(&trial, threads, hooks()).unwrap();
            assert_answered(&measurement, calls);
            let what = format!("{schedule:?} on {threads}");
            assert_eq!(measurement.calls.started, calls, "{what}");
            assert_eq!(measurement.requests_sent.unwrap(), calls, "{what}");
            assert_eq!(measurement.connections_at_start.unwrap(), 6, "{what}");
            assert_eq!(traffic(&measurement).sent.bodies, calls, "{what}");
            let seen = seen.lock().unwrap();
            assert_eq!(seen.len() as u64, calls, "{what}");
            for body in b'0'..b'5' {
                let uses = seen.iter().filter(|seen| ***seen == [body]).count() as u64;
                assert!(uses.abs_diff(calls / 5) <= 4, "{what}: {uses} of {calls}");
            }
        }
    }
}

#[test]
fn a_rate_has_the_calls_of_its_time_after_a_warm_up() {
    let (address, seen) = counting();
    let mut trial = wide(address, constant_rate(1_000.0));
    trial.stop = Stop::after_ms(300);
    trial.warmup = Some(warmup(10));
    let measurement = on_threads(&trial, 3, hooks()).unwrap();
    assert_answered(&measurement, 300);
    assert_eq!(elapsed(&measurement), Duration::from_millis(300));
    assert!(measurement.warmup.settled && measurement.warmup.calls >= 10);
    let seen = seen.lock().unwrap().len() as u64;
    assert_eq!(seen, 300 + measurement.warmup.calls);
}

#[test]
fn a_number_of_calls_at_a_rate_takes_its_time_after_a_warm_up() {
    let takes_seven_gaps = || {
        let (address, _) = counting();
        let mut trial = wide(address, constant_rate(100.0));
        trial.stop.calls = Some(7);
        trial.warmup = Some(warmup(3));
        let measurement = on_threads(&trial, 2, hooks()).unwrap();
        assert_answered(&measurement, 7);
        elapsed(&measurement).as_millis() == 70
    };
    // On a busy machine, a thread that comes late to the end of the warm-up adds a gap, and stalls are left out.
    assert!((0..20).any(|_| takes_seven_gaps()));
}

#[test]
fn the_most_calls_of_a_warm_up_are_those_of_all_threads() {
    for schedule in [constant_rate(1_000.0), Schedule::Closed { in_flight: 6 }] {
        let (address, seen) = counting();
        let mut trial = wide(address, schedule.clone());
        let mut bounds = warmup(10);
        bounds.max_calls = 60;
        trial.warmup = Some(bounds);
        let hooks = Hooks {
            settling: Box::new(|_| Settling::GoOn),
            ..hooks()
        };
        let measurement = on_threads(&trial, 3, hooks).unwrap();
        assert_answered(&measurement, 100);
        assert!(!measurement.warmup.settled);
        assert_eq!(measurement.warmup.calls, 60, "{schedule:?}");
        assert_eq!(seen.lock().unwrap().len(), 160);
    }
}

#[test]
fn calls_beyond_the_most_of_a_warm_up_are_measured_however_long_they_wait() {
    let address = serve(respond_with(ok_after(Duration::from_millis(10))));
    let mut trial = wide(address, constant_rate(1_000.0));
    (trial.connections, trial.stop.calls) = (2, Some(30));
    let mut bounds = warmup(10);
    (bounds.max_calls, bounds.max_time) = (50, Duration::from_millis(100));
    trial.warmup = Some(bounds);
    let hooks = Hooks {
        settling: Box::new(|_| Settling::GoOn),
        ..hooks()
    };
    let measurement = on_threads(&trial, 2, hooks).unwrap();
    assert_answered(&measurement, 30);
    assert_eq!(measurement.warmup.calls, 50);
    // The last call was due after the first one and has ended.
    let longest = Duration::from_nanos(measurement.latency.unpack().counts().max());
    assert!(
        elapsed(&measurement) >= longest * 999 / 1_000,
        "{:?}",
        elapsed(&measurement)
    );
}

#[test]
fn the_warm_up_has_one_rule_over_the_calls_of_all_threads() {
    let (address, _) = counting();
    let mut trial = wide(address, Schedule::Closed { in_flight: 6 });
    trial.warmup = Some(warmup(100));
    let here = thread::current().id();
    let mut slices = 0;
    let hooks = Hooks {
        settling: Box::new(|_| {
            assert_eq!(thread::current().id(), here);
            slices += 1;
            match slices {
                5 => Settling::Settled,
                _ => Settling::GoOn,
            }
        }),
        ..hooks()
    };
    let measurement = on_threads(&trial, 3, hooks).unwrap();
    assert_answered(&measurement, 100);
    assert!(measurement.warmup.settled && measurement.warmup.calls >= 500);
    assert_eq!(slices, 5, "it is not asked again");
}

#[test]
fn the_hooks_see_the_load_of_all_threads() {
    let (address, _) = counting();
    let mut trial = wide(address, constant_rate(1_000.0));
    trial.stop = Stop::after_ms(250);
    let (mut measuring, mut snapshots) = (Vec::new(), Vec::new());
    let hooks = Hooks {
        measuring: Box::new(|begins| measuring.push(begins)),
        progress: Some(ProgressHook {
            every: Duration::from_millis(50),
            sample: Box::new(|progress| {
                snapshots.push(progress);
                IntervalTimes::default()
            }),
        }),
        ..hooks()
    };
    let measurement = on_threads(&trial, 2, hooks).unwrap();
    assert_answered(&measurement, 250);
    assert_eq!(measuring, [true, false]);
    let last = snapshots.last().unwrap();
    assert_eq!((last.started, last.answered, last.in_flight), (250, 250, 0));
    assert_eq!(bytes_of(&last.traffic), traffic(&measurement));
    let mut together = snapshots[0].times.latency.clone();
    snapshots[1..]
        .iter()
        .for_each(|one| together += &one.times.latency);
    assert_eq!(Histogram::from(together), measurement.latency);
}

#[test]
fn a_stop_ends_all_threads() {
    let (address, _) = counting();
    let mut trial = wide(address, Schedule::Closed { in_flight: 6 });
    trial.stop = Stop::after_ms(60_000);
    let stop = AtomicBool::new(false);
    let hooks = Hooks {
        progress: Some(ProgressHook {
            every: Duration::from_millis(20),
            sample: Box::new(|progress| {
                stop.store(progress.answered > 0, Ordering::Relaxed);
                IntervalTimes::default()
            }),
        }),
        ..hooks()
    };
    let measurement = measure_on_threads(&trial, 3, five, hooks, &stop)
        .unwrap()
        .figures;
    assert_sums_hold(&measurement);
    assert_eq!(measurement.ending, Ending::Interrupted);
}

#[test]
fn all_threads_give_up_together() {
    let mut trial = wide(unused_address(), constant_rate(500.0));
    trial.stop = Stop::after_ms(60_000);
    trial.patience = Duration::from_millis(300);
    let measurement = on_threads(&trial, 3, hooks()).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(measurement.ending, Ending::GaveUp);
}

#[test]
fn a_thread_whose_calls_all_fail_goes_on_while_others_succeed() {
    let (address, _) = counting();
    let mut trial = wide(address, constant_rate(500.0));
    trial.connections = 2;
    trial.endpoint.more_addresses = vec![unused_address()];
    trial.stop = Stop::after_ms(800);
    trial.patience = Duration::from_millis(100);
    let measurement = on_threads(&trial, 2, hooks()).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(measurement.ending, Ending::Complete);
    assert_eq!(
        (measurement.calls.answered, measurement.calls.failed_total()),
        (200, 200)
    );
}

#[test]
fn the_error_of_one_thread_ends_all() {
    let (address, _) = counting();
    let mut trial = wide(address, Schedule::Closed { in_flight: 6 });
    trial.stop = Stop::after_ms(60_000);
    let calls = |shard: Shard| match shard.index() {
        1 => Err(CodecError("row 7 cannot be read".to_owned())),
        _ => five(shard),
    };
    let stop = AtomicBool::new(false);
    let error = measure_on_threads(&trial, 3, calls, hooks(), &stop).unwrap_err();
    assert_eq!(error.to_string(), "row 7 cannot be read");
}

#[test]
fn more_threads_than_connections_or_calls_in_flight_are_refused() {
    for (schedule, threads) in [
        (constant_rate(1.0), 7),
        (Schedule::Closed { in_flight: 2 }, 3),
        (constant_rate(1.0), 0),
    ] {
        let trial = wide(unused_address(), schedule);
        let error = on_threads(&trial, threads, hooks()).unwrap_err();
        let said = "the number of threads must be at least 1, and at most that of connections and of calls in flight";
        assert_eq!(error.to_string(), said);
    }
}
