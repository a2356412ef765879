//! When calls are due and when a trial ends: rates, overload, bounds, interruption.

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_load::{Hooks, Measurement, ProgressHook, Settling, TrialProgress, WarmupBounds};
use rpcgauge_trial::{Arrivals, Ending, FailureKind, Schedule, Stop};
use support::*;

#[test]
fn a_rate_starts_every_call_of_its_schedule() {
    let address = serve(respond_with(ok));
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let mut trial = trial(address.clone());
        trial.connections = 4;
        trial.schedule = Schedule::Rate {
            per_second: 2000.0,
            arrivals,
        };
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(measurement.calls.answered, 100, "{arrivals:?}");
    }
}

#[test]
fn a_rate_ends_with_its_time_and_not_with_its_calls() {
    let address = serve(respond_with(ok));
    let mut trial = trial(address);
    trial.schedule = constant_rate(1000.0);
    trial.stop = Stop {
        calls: None,
        time_ms: Some(50),
    };
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.started, 50, "due from 0 ms to 49 ms");
}

#[test]
fn the_time_at_a_rate_is_that_in_which_calls_were_due() {
    // Calls are due faster than the server can answer them, one after another.
    let mut trial = trial(serve(respond_with(ok_after(Duration::from_millis(50)))));
    trial.schedule = constant_rate(50.0);
    let ms = Duration::from_millis;
    for calls in [None, Some(5)] {
        trial.stop = Stop {
            calls,
            time_ms: Some(90),
        };
        let Measurement {
            figures: measurement,
            spent_over,
            ..
        } = run_in_full(&trial, prepared(&[b"x"])).unwrap();
        assert_eq!(measurement.calls.answered, 5);
        assert_eq!(elapsed(&measurement), ms(90));
        let late = measurement.calls.answered_late;
        assert!(late >= 4, "one can be answered within 90 ms: {late}");
        let late = measurement.calls.sent_late;
        assert!(late >= 3, "two can be sent within 90 ms: {late}");
        assert!(spent_over >= ms(250), "one after the other: {spent_over:?}");
    }
}

#[test]
fn a_number_of_calls_at_a_rate_takes_until_the_last_one_ends_and_its_gap() {
    let ms = Duration::from_millis;
    for (after, least) in [(ms(50), ms(250)), (ms(0), ms(100))] {
        let mut trial = trial(serve(respond_with(ok_after(after))));
        trial.schedule = constant_rate(50.0);
        for time_ms in [None, Some(60_000)] {
            trial.stop = Stop {
                calls: Some(5),
                time_ms,
            };
            let measurement = run(&trial, &[b"x"]);
            assert_eq!(measurement.calls.answered, 5);
            assert!(
                elapsed(&measurement) >= least,
                "{:?}",
                elapsed(&measurement)
            );
            let calls = &measurement.calls;
            assert_eq!((calls.answered_late, calls.sent_late), (0, 0));
        }
    }
}

#[test]
fn an_interrupted_rate_lasted_until_the_interruption() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.schedule = constant_rate(10.0);
    trial.stop.calls = Some(1_000_000);
    let stop = AtomicBool::new(false);
    let measurement = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(250));
            stop.store(true, Ordering::Relaxed);
        });
        measure(&trial, prepared(&[b"x"]), &mut |_| Settling::Settled, &stop).unwrap()
    });
    assert_eq!(measurement.ending, Ending::Interrupted);
    // The trial ends when it is stopped, not when the next call is due, at a multiple of 100 ms.
    let past = elapsed(&measurement).as_nanos() % 100_000_000;
    assert!(past > 0 && elapsed(&measurement) >= Duration::from_millis(200));
}

#[test]
fn overload_shows_in_the_latency_and_what_was_not_reached_is_abandoned() {
    let address = serve(respond_with(ok_after(Duration::from_millis(5))));
    let mut trial = trial(address);
    trial.schedule = constant_rate(2000.0);
    trial.stop = Stop {
        calls: None,
        time_ms: Some(100),
    };
    trial.drain = Duration::from_millis(100);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    let calls = &measurement.calls;
    assert_eq!(calls.started, 200, "every call that was due");
    assert!(
        calls.answered <= 41,
        "one at a time, 5 ms each, for 200 ms: {calls:?}"
    );
    assert!(calls.never_begun >= 150, "{calls:?}");
    assert_eq!(calls.abandoned + calls.answered, 200);
    let last = measurement.latency.unpack().counts().max();
    assert!(
        last >= 50_000_000,
        "the time in the queue is in the latency: {last} ns"
    );
    assert!(measurement.send_delay.unpack().counts().max() >= 50_000_000);
}

#[test]
fn refused_calls_at_a_rate_fail_as_they_become_due() {
    let mut trial = short(unused_address());
    trial.schedule = constant_rate(1000.0);
    trial.stop = Stop {
        calls: Some(200),
        time_ms: None,
    };
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.failed_total(), 200);
}

#[test]
fn calls_that_wait_past_their_deadline_are_a_kind_of_their_own() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.schedule = constant_rate(1000.0);
    trial.deadline = Duration::from_millis(20);
    // The snapshot blocks the loop once, as can happen on a busy machine.
    let mut looks = 0;
    let mut sample = |progress: TrialProgress| {
        looks += 1;
        if looks == 1 {
            thread::sleep(Duration::from_millis(100));
        }
        progress.times
    };
    let hooks = Hooks {
        progress: Some(ProgressHook {
            every: Duration::from_millis(10),
            sample: Box::new(&mut sample),
        }),
        ..hooks()
    };
    let stop = AtomicBool::new(false);
    let measurement = measure_with(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(
        (measurement.calls.started, measurement.calls.abandoned),
        (100, 0)
    );
    let unsent = measurement.calls.failed.get(&FailureKind::DeadlineUnsent);
    assert!(
        unsent.is_some_and(|unsent| *unsent >= 50),
        "{:?}",
        failures(&measurement)
    );
    assert!(measurement.send_delay.unpack().counts().max() >= 70_000_000);
}

#[test]
fn what_a_warmup_left_waiting_is_not_measured() {
    let mut trial = trial(serve(respond_with(ok_after(Duration::from_millis(2)))));
    trial.schedule = constant_rate(1000.0);
    trial.warmup = Some(WarmupBounds {
        max_time: Duration::from_millis(200),
        ..warmup(1_000_000)
    });
    trial.stop = Stop {
        calls: None,
        time_ms: Some(100),
    };
    // Either longer than the wait for the warm-up's calls, or shorter, so that some fail unsent.
    for deadline in [Duration::from_secs(10), Duration::from_millis(50)] {
        trial.deadline = deadline;
        let mut began = None;
        let hooks = Hooks {
            settling: Box::new(|_| Settling::GoOn),
            measuring: Box::new(|begins| began = began.or(begins.then(Instant::now))),
            ..hooks()
        };
        let stop = AtomicBool::new(false);
        let Measurement {
            figures: measurement,
            late_answered,
            ..
        } = rpcgauge_load::measure_with(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
        let since = began.unwrap().elapsed();
        assert_sums_hold(&measurement);
        assert_eq!(measurement.calls.started, 100, "due in the measured part");
        assert_eq!(measurement.calls.abandoned, 0);
        let warmup = measurement.warmup.calls;
        assert!(warmup >= 200, "all that were due in 200 ms, not {warmup}");
        let elapsed = elapsed(&measurement);
        assert!(elapsed <= since, "{elapsed:?} of {since:?}");
        // The server takes 2 ms for each call, so at most 52 can be read in 100 ms.
        let in_time = measurement.calls.answered - measurement.calls.answered_late;
        assert!(in_time + late_answered <= 52, "{in_time} {late_answered}");
        let is_patient = deadline > Duration::from_secs(1);
        assert!((u64::from(is_patient)..=measurement.late.answered()).contains(&late_answered));
        // Each request and each response contains one byte.
        let (calls, late) = (&measurement.calls, measurement.late);
        assert!(late.is_sound(), "{late:?}");
        let sent = calls.started - calls.never_sent + late.sent_after();
        assert_eq!(
            traffic(&measurement).sent.bodies,
            sent,
            "{calls:?} {late:?}"
        );
        // On a busy machine, a response may be read after its call's deadline.
        let responses = traffic(&measurement).received.bodies;
        let answered = calls.answered + late.answered();
        let out_of_time = measurement.calls.failed.get(&FailureKind::Deadline);
        let most =
            answered + out_of_time.copied().unwrap_or_default() + late.sent() - late.answered();
        assert!(
            (answered..=most).contains(&responses),
            "{responses}: {calls:?} {late:?}"
        );
    }
}

#[test]
fn calls_beyond_a_warmups_maximum_are_measured() {
    // During the warm-up, 200 calls are due; the server can answer half of them.
    let mut trial = trial(serve(respond_with(ok_after(Duration::from_millis(2)))));
    trial.schedule = constant_rate(1000.0);
    trial.warmup = Some(WarmupBounds {
        max_calls: 150,
        max_time: Duration::from_millis(200),
        ..warmup(1_000_000)
    });
    trial.stop.calls = Some(50);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 50);
    assert_eq!(measurement.warmup.calls, 150);
}

#[test]
fn calls_in_flight_at_the_end_are_drained_for_a_bounded_time() {
    let address = serve(only_read);
    let mut trial = trial(address);
    trial.stop = Stop {
        calls: None,
        time_ms: Some(20),
    };
    trial.drain = Duration::from_millis(20);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    let calls = &measurement.calls;
    assert_eq!(
        (calls.started, calls.abandoned, calls.never_begun),
        (1, 1, 0)
    );
}

#[test]
fn an_interrupted_trial_leaves_what_it_measured() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.stop = Stop {
        calls: None,
        time_ms: Some(600_000),
    };
    let stop = AtomicBool::new(false);
    let measurement = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        measure(&trial, prepared(&[b"x"]), &mut |_| Settling::Settled, &stop).unwrap()
    });
    assert_sums_hold(&measurement);
    assert_eq!(measurement.ending, Ending::Interrupted);
    assert!(measurement.calls.answered > 0);
}

#[test]
fn a_turn_takes_a_bounded_number_of_calls() {
    // Far more calls than can be begun or even failed. The loop must still finish its turn.
    let mut trial = trial(serve(only_read));
    trial.schedule = constant_rate(1e9);
    trial.deadline = Duration::from_millis(1);
    trial.drain = Duration::from_millis(1);
    trial.stop = Stop {
        calls: None,
        time_ms: Some(20),
    };
    let mut started = vec![0];
    let hooks = Hooks {
        progress: Some(ProgressHook {
            every: Duration::from_nanos(1),
            sample: Box::new(|progress| {
                started.push(progress.started);
                progress.times
            }),
        }),
        ..hooks()
    };
    let stop = AtomicBool::new(false);
    let measurement = measure_with(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    assert_sums_hold(&measurement);
    assert!(measurement.calls.never_begun > 0, "{:?}", measurement.calls);
    let most = started.windows(2).map(|turn| turn[1] - turn[0]).max();
    assert!(most <= Some(1024), "{most:?} calls in one turn");
}
