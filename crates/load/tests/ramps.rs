//! Trials whose rate changes.

mod support;

use std::time::Duration;

use rpcgauge_load::{LoadError, Trial};
use rpcgauge_trial::{Address, Arrivals, Ending, RampPart, Schedule, Stop};
use support::*;

fn part(from: f64, to: f64, time_ms: u64) -> RampPart {
    RampPart { from, to, time_ms }
}

/// A trial that ends with its ramp.
fn ramp(address: Address, parts: &[RampPart]) -> Trial {
    let mut trial = trial(address);
    trial.schedule = Schedule::Ramp {
        parts: parts.to_vec(),
        arrivals: Arrivals::Constant,
    };
    trial.connections = 4;
    trial.stop = Stop::default();
    trial
}

#[test]
fn a_ramp_makes_the_calls_of_each_part_and_ends() {
    let parts = [
        part(0.0, 1000.0, 100),
        part(1000.0, 1000.0, 50),
        part(0.0, 0.0, 50),
        part(400.0, 400.0, 100),
    ];
    let measurement = run(&ramp(serve(respond_with(ok)), &parts), &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.ending, Ending::Complete);
    let started: Vec<u64> = measurement.steps.iter().map(|s| s.started).collect();
    let (rising, level) = started.split_at(10);
    assert_eq!(rising.iter().sum::<u64>(), 50);
    assert_eq!(level, [50, 0, 40]);
    assert_eq!(measurement.calls.answered, 140);
    assert!(elapsed(&measurement) >= Duration::from_millis(300));
}

#[test]
fn a_ramp_can_be_stopped_before_its_end() {
    let parts = [part(1000.0, 1000.0, 60_000)];
    let mut trial = ramp(serve(respond_with(ok)), &parts);
    trial.stop.calls = Some(30);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.started, 30);
    trial.stop = Stop {
        calls: None,
        time_ms: Some(50),
    };
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.started, 50);
}

#[test]
fn a_step_over_the_servers_capacity_differs_from_one_below() {
    let address = serve(respond_with(ok_after(Duration::from_millis(5))));
    // One call at a time, 5 ms each: at most 200 per second.
    let parts = [part(20.0, 20.0, 500), part(1000.0, 1000.0, 200)];
    let mut trial = ramp(address, &parts);
    trial.connections = 1;
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    let [below, over] = measurement.steps.as_slice() else {
        panic!("{} steps", measurement.steps.len())
    };
    assert_eq!((below.started, over.started), (10, 200));
    assert_eq!(over.answered, 200, "the backlog is drained");
    // 200 calls take at least a second, and the last one is due after 0.2 s.
    let longest = over.latency.unpack().counts().max();
    assert!(longest >= 790_000_000, "{longest} ns");
}

#[test]
fn a_ramp_has_no_warm_up() {
    let mut trial = ramp(unused_address(), &[part(1.0, 1.0, 10)]);
    trial.warmup = Some(warmup(1));
    let error = run_with(&trial, prepared(&[b"x"])).unwrap_err();
    assert!(matches!(error, LoadError::Setting(_)));
    assert!(error.to_string().contains("first part"), "{error}");
}
