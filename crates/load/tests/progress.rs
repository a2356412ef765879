//! Looks at a trial while it goes on.

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpcgauge_load::{
    FailureKind, Hooks, IntervalTimes, LoadError, Measurement, Progress, ProgressHook, Schedule,
    Settling, Stop, Traffic, Trial, WarmupBounds, measure_with,
};
use support::*;

/// What a look showed.
#[derive(Debug, Clone)]
struct Look {
    elapsed: Duration,
    interval: Duration,
    started: u64,
    sent: u64,
    answered: u64,
    failed: BTreeMap<FailureKind, u64>,
    in_flight: u64,
    times: IntervalTimes,
    traffic: Traffic,
}

impl Look {
    fn at(progress: &mut Progress<'_>) -> Look {
        Look {
            elapsed: progress.elapsed,
            interval: progress.interval,
            started: progress.started,
            sent: progress.sent,
            answered: progress.answered,
            failed: progress.failed.clone(),
            in_flight: progress.in_flight,
            times: std::mem::take(progress.times),
            traffic: progress.traffic,
        }
    }
}

/// Carries a trial out with looks at it; `look` is called with each as well.
fn looked_at(
    trial: &Trial,
    every: Duration,
    look: &mut dyn FnMut(&mut Progress<'_>),
    stop: &AtomicBool,
) -> Result<(Measurement, Vec<Look>), LoadError> {
    let mut looks = Vec::new();
    let hooks = Hooks {
        settling: Box::new(|_| Settling::Settled),
        measuring: Box::new(|_| ()),
        check: None,
        progress: Some(ProgressHook {
            every,
            look: Box::new(|progress| {
                looks.push(Look::at(progress));
                look(progress);
            }),
        }),
    };
    let measurement = measure_with(trial, prepared(&[b"x"]), hooks, stop)?;
    Ok((measurement, looks))
}

/// What must hold of the looks at any trial: together they are its measurement.
fn assert_looks_add_up(measurement: &Measurement, looks: &[Look]) {
    assert_sums_hold(measurement);
    let last = looks.last().unwrap();
    assert_eq!(last.answered, measurement.calls.answered);
    assert_eq!(last.failed, measurement.calls.failed);
    let never_sent = measurement.calls.never_sent - measurement.calls.never_begun;
    assert_eq!(last.started - last.sent, never_sent);
    let open = measurement.calls.abandoned - measurement.calls.never_begun;
    assert_eq!(last.in_flight, open);
    assert_eq!(last.traffic, measurement.traffic);
    let mut together = looks[0].times.clone();
    for look in &looks[1..] {
        together.latency += &look.times.latency;
        together.failed_latency += &look.times.failed_latency;
        together.send_delay += &look.times.send_delay;
    }
    assert_eq!(together.latency, measurement.latency);
    assert_eq!(together.failed_latency, measurement.failed_latency);
    assert_eq!(together.send_delay, measurement.send_delay);
    let intervals: Duration = looks.iter().map(|look| look.interval).sum();
    assert_eq!(intervals, last.elapsed);
    for look in looks {
        let failed: u64 = look.failed.values().sum();
        assert_eq!(look.started, look.answered + failed + look.in_flight);
    }
    for pair in looks.windows(2) {
        assert_eq!(pair[1].elapsed - pair[0].elapsed, pair[1].interval);
        let answered = pair[1].answered - pair[0].answered;
        assert_eq!(answered, pair[1].times.latency.len());
    }
}

#[test]
fn looks_at_a_rate_add_up_to_the_trial() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.connections = 2;
    trial.schedule = constant_rate(500.0);
    trial.warmup = Some(WarmupBounds {
        max_calls: 10,
        ..warmup(10)
    });
    let every = Duration::from_millis(20);
    let stop = AtomicBool::new(false);
    let (measurement, looks) = looked_at(&trial, every, &mut |_| (), &stop).unwrap();
    assert_looks_add_up(&measurement, &looks);
    assert_eq!(measurement.calls.answered, 100);
    // 200 ms are ten intervals; a busy machine may leave some out.
    assert!((2..=11).contains(&looks.len()), "{} looks", looks.len());
}

#[test]
fn failures_are_shown_by_kind_as_they_come() {
    let mut trial = trial(serve(respond_with(|_| {
        b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".to_vec()
    })));
    trial.stop = Stop {
        calls: None,
        time: Some(Duration::from_millis(100)),
    };
    let every = Duration::from_millis(10);
    let stop = AtomicBool::new(false);
    let (measurement, looks) = looked_at(&trial, every, &mut |_| (), &stop).unwrap();
    assert_looks_add_up(&measurement, &looks);
    let first = &looks[0];
    let failed: Vec<_> = first.failed.keys().copied().collect();
    assert_eq!(failed, [FailureKind::HttpStatus(503)]);
    assert_eq!(first.times.latency.len(), 0, "of calls that succeeded");
}

#[test]
fn a_trial_can_be_stopped_from_a_look() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.schedule = Schedule::Closed { in_flight: 3 };
    trial.connections = 3;
    trial.stop = Stop {
        calls: None,
        time: Some(Duration::from_secs(600)),
    };
    let stop = AtomicBool::new(false);
    let mut enough = |progress: &mut Progress<'_>| {
        if progress.elapsed >= Duration::from_millis(50) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let every = Duration::from_millis(10);
    let (measurement, looks) = looked_at(&trial, every, &mut enough, &stop).unwrap();
    assert_looks_add_up(&measurement, &looks);
    assert!(measurement.calls.answered > 0);
}

#[test]
fn no_time_between_looks_is_refused() {
    let stop = AtomicBool::new(false);
    let error = looked_at(&trial(nobody()), Duration::ZERO, &mut |_| (), &stop).unwrap_err();
    assert!(matches!(error, LoadError::Setting { .. }), "{error}");
}
