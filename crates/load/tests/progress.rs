//! Snapshots of a running trial.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpcgauge_load::{
    Demand, Hooks, IntervalTimes, LoadError, ProgressHook, Trial, TrialProgress, WarmupBounds,
    bytes_of,
};
use rpcgauge_trial::{ConnectionUse, Ending, FailureKind, Histogram, Schedule, Stop, TrialFigures};
use support::*;

/// Runs a trial and collects its snapshots. `sample` is called with each one.
fn sampled(
    trial: &Trial,
    every: Duration,
    sample: &mut dyn FnMut(&TrialProgress),
    stop: &AtomicBool,
) -> Result<(TrialFigures, Vec<TrialProgress>), LoadError> {
    let mut snapshots = Vec::new();
    let hooks = Hooks {
        progress: Some(ProgressHook {
            every,
            sample: Box::new(|progress| {
                sample(&progress);
                snapshots.push(progress);
                IntervalTimes::default()
            }),
        }),
        ..hooks()
    };
    let measurement = measure_with(trial, prepared(&[b"x"]), hooks, stop)?;
    Ok((measurement, snapshots))
}

/// Checks that the snapshots of a trial add up to its measurement.
fn assert_snapshots_add_up(measurement: &TrialFigures, snapshots: &[TrialProgress]) {
    assert_sums_hold(measurement);
    let last = snapshots.last().unwrap();
    assert_eq!(last.answered, measurement.calls.answered);
    assert_eq!(last.failed, measurement.calls.failed);
    let never_sent = measurement.calls.never_sent - measurement.calls.never_begun;
    assert_eq!(last.started - last.sent, never_sent);
    let open = measurement.calls.abandoned - measurement.calls.never_begun;
    assert_eq!(last.in_flight, open);
    assert_eq!(bytes_of(&last.traffic), traffic(measurement));
    let mut together = snapshots[0].times.clone();
    for snapshot in &snapshots[1..] {
        together.latency += &snapshot.times.latency;
        together.failed_latency += &snapshot.times.failed_latency;
        together.send_delay += &snapshot.times.send_delay;
    }
    assert_eq!(Histogram::from(together.latency), measurement.latency);
    assert_eq!(
        Histogram::from(together.failed_latency).non_empty(),
        measurement.failed_latency
    );
    assert_eq!(Histogram::from(together.send_delay), measurement.send_delay);
    let intervals: Duration = snapshots.iter().map(|snapshot| snapshot.interval).sum();
    assert_eq!(intervals, last.elapsed);
    for snapshot in snapshots {
        let failed: u64 = snapshot.failed.values().sum();
        assert_eq!(
            snapshot.started,
            snapshot.answered + failed + snapshot.in_flight
        );
    }
    for pair in snapshots.windows(2) {
        assert_eq!(pair[1].elapsed - pair[0].elapsed, pair[1].interval);
        let answered = pair[1].answered - pair[0].answered;
        assert_eq!(answered, pair[1].times.latency.len());
    }
}

#[test]
fn waiting_calls_are_shown_with_those_that_the_warm_up_left() {
    let mut trial = trial(serve(respond_with(ok_after(Duration::from_millis(20)))));
    trial.schedule = constant_rate(1000.0);
    trial.warmup = Some(WarmupBounds {
        max_time: Duration::from_millis(100),
        ..warmup(1_000_000)
    });
    trial.stop = Stop {
        calls: None,
        time_ms: Some(200),
    };
    trial.drain = Duration::ZERO;
    let stop = AtomicBool::new(false);
    let every = Duration::from_millis(100);
    let (_, snapshots) = sampled(&trial, every, &mut |_| (), &stop).unwrap();
    let waiting = snapshots[0].waiting;
    assert!(
        waiting >= 180,
        "of 200 that were due, one in 20 ms is sent: {waiting}"
    );
}

#[test]
fn snapshots_at_a_rate_add_up_to_the_trial() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.connections = 2;
    trial.schedule = constant_rate(500.0);
    trial.warmup = Some(WarmupBounds {
        max_calls: 10,
        ..warmup(10)
    });
    let every = Duration::from_millis(20);
    let stop = AtomicBool::new(false);
    let (measurement, snapshots) = sampled(&trial, every, &mut |_| (), &stop).unwrap();
    assert_snapshots_add_up(&measurement, &snapshots);
    assert_eq!(measurement.calls.answered, 100);
    // 200 ms contain ten intervals; on a busy machine, some may be missing.
    assert!(
        (2..=11).contains(&snapshots.len()),
        "{} snapshots",
        snapshots.len()
    );
}

#[test]
fn failures_are_shown_by_kind_as_they_come() {
    let mut trial = trial(serve(respond_with(|_| {
        b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".to_vec()
    })));
    trial.stop = Stop {
        calls: None,
        time_ms: Some(100),
    };
    let every = Duration::from_millis(10);
    let stop = AtomicBool::new(false);
    let (measurement, snapshots) = sampled(&trial, every, &mut |_| (), &stop).unwrap();
    assert_snapshots_add_up(&measurement, &snapshots);
    let first = &snapshots[0];
    let failed: Vec<_> = first.failed.keys().copied().collect();
    assert_eq!(failed, [FailureKind::HttpStatus(503)]);
    assert_eq!(first.times.latency.len(), 0, "of calls that succeeded");
}

#[test]
fn a_trial_can_be_stopped_from_a_snapshot() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.schedule = Schedule::Closed { in_flight: 3 };
    trial.connections = 3;
    trial.stop = Stop {
        calls: None,
        time_ms: Some(600_000),
    };
    let stop = AtomicBool::new(false);
    let mut enough = |progress: &TrialProgress| {
        if progress.elapsed >= Duration::from_millis(50) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let every = Duration::from_millis(10);
    let (measurement, snapshots) = sampled(&trial, every, &mut enough, &stop).unwrap();
    assert_snapshots_add_up(&measurement, &snapshots);
    assert!(measurement.calls.answered > 0);
}

#[test]
fn no_time_between_snapshots_is_refused() {
    let stop = AtomicBool::new(false);
    let error = sampled(&trial(unused_address()), Duration::ZERO, &mut |_| (), &stop).unwrap_err();
    assert!(matches!(error, LoadError::Setting { .. }), "{error}");
}

#[test]
fn calls_in_flight_follow_the_number_of_users() {
    let users = Arc::new(Demand::new(true));
    let stop = AtomicBool::new(false);
    let mut trial = trial(serve(respond_with(ok_after(Duration::from_millis(5)))));
    trial.demand = Some(Arc::clone(&users));
    trial.stop = Stop::default();
    // Each number of users is that of the calls in flight in some snapshot, before the next one is set.
    let mut numbers = [3, 1, 4, 0].into_iter();
    let (mut wanted, mut left) = (0, 2_000);
    let mut sample = |progress: &TrialProgress| {
        left -= 1;
        if progress.in_flight == wanted {
            match numbers.next() {
                Some(next) => wanted = next,
                None => stop.store(true, Ordering::Relaxed),
            }
            users.set_users(wanted as u32);
        }
        if left == 0 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let every = Duration::from_millis(2);
    let (measurement, snapshots) = sampled(&trial, every, &mut sample, &stop).unwrap();
    assert_snapshots_add_up(&measurement, &snapshots);
    assert!(left > 0, "there were never {wanted} calls in flight");
    assert_eq!(measurement.ending, Ending::Interrupted);
    assert_eq!(measurement.most_in_flight.unwrap(), 4);
    let connections =
        measurement.connections_at_start.unwrap() + measurement.connections_opened.unwrap();
    assert_eq!(connections, 4, "one for each call");
    // With a fixed number of connections, calls wait for them.
    let users = Arc::new(Demand::new(false));
    users.set_users(3);
    trial.demand = Some(users);
    let (stop, mut left) = (AtomicBool::new(false), 50);
    let mut sample = |_: &TrialProgress| {
        left -= 1;
        stop.store(left == 0, Ordering::Relaxed);
    };
    let (measurement, _) = sampled(&trial, every, &mut sample, &stop).unwrap();
    assert!(measurement.calls.answered > 0);
    assert_eq!(measurement.most_in_flight.unwrap(), 1);
    trial.connection_use = ConnectionUse::PerCall;
    let refused = sampled(&trial, every, &mut |_| (), &stop).unwrap_err();
    assert!(refused.to_string().contains("users"), "{refused}");
}
