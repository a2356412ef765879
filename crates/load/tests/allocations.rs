//! A trial in its steady state does not allocate per call, and many calls use no more memory than few.

mod support;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_load::{Bodies, Body, CodecError, Hooks, ProgressHook, Trial};
use rpcgauge_trial::{Arrivals, RampPart, Schedule, Timing, TrialFigures};
use support::memory::{self, Counting, Taken};
use support::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The memory that a trial used on this thread.
#[derive(Debug)]
struct Trialled {
    taken: Taken,
    /// Whether a call took longer than the initial range of the histograms.
    outgrew: bool,
}

fn taken(trial: impl FnOnce() -> TrialFigures) -> (TrialFigures, Trialled) {
    let (measurement, taken) = memory::taken(trial);
    assert_sums_hold(&measurement);
    let outgrew = measurement.latency.unpack().counts().max() > 1_000_000_000;
    (measurement, Trialled { taken, outgrew })
}

/// Extra allocations of the longer trial. Not all buffers reach their final size in the first calls.
const MORE_ALLOCATIONS: u64 = 20;

/// Bytes of these allocations, and of a few histograms that grow with the longest call rather than with the
/// number of calls.
const MORE_BYTES: i64 = 400 * 1024;

/// Bytes by which five latency histograms grow if a call takes longer than a second, as can happen on a busy
/// machine.
const OUTGROWN_BYTES: i64 = 5 * 200 * 1024;

/// With this many calls, a leak of 80 bytes per call exceeds [`MORE_BYTES`].
const FEW: u64 = 300;
const MANY: u64 = 6000;

fn assert_no_more(few: &Trialled, many: &Trialled, what: &str) {
    let more = if many.outgrew {
        MORE_BYTES + OUTGROWN_BYTES
    } else {
        MORE_BYTES
    };
    assert!(
        many.taken.allocations <= few.taken.allocations + MORE_ALLOCATIONS,
        "{what}: {few:?} for few calls, {many:?} for many"
    );
    assert!(
        many.taken.max_held <= few.taken.max_held + more,
        "{what}: {few:?} for few calls, {many:?} for many"
    );
}

/// Measures the memory that a trial of `calls` calls uses.
fn of_calls(trial: &Trial, calls: u64, look_every: Option<Duration>) -> Trialled {
    let mut trial = trial.clone();
    trial.stop.calls = Some(calls);
    let (measurement, taken) = taken(|| {
        let mut sample = |progress: rpcgauge_load::TrialProgress| {
            assert!(progress.started >= progress.answered);
            progress.times
        };
        let hooks = Hooks {
            progress: look_every.map(|every| ProgressHook {
                every,
                sample: Box::new(&mut sample),
            }),
            ..hooks()
        };
        let bodies = prepared(&[&[b'x'; 500], &[b'y'; 9000]]);
        measure_with(&trial, bodies, hooks, &AtomicBool::new(false)).unwrap()
    });
    let calls_made = &measurement.calls;
    assert_eq!(
        calls_made.answered, calls,
        "{:?}",
        measurement.error_samples
    );
    taken
}

#[test]
fn twenty_times_the_calls_take_no_more_memory() {
    let mut one = trial(serve(respond_with(ok)));
    one.schedule = Schedule::Closed { in_flight: 1 };
    let mut many = one.clone();
    many.connections = 8;
    many.schedule = Schedule::Closed { in_flight: 8 };
    let mut ramp = many.clone();
    ramp.schedule = Schedule::Ramp {
        parts: vec![
            // A constant rate is used because a changing one has ten steps, each with histograms that grow
            // with the longest call.
            RampPart {
                from: 5_000.0,
                to: 5_000.0,
                time_ms: 20,
            },
            RampPart {
                from: 10_000.0,
                to: 10_000.0,
                time_ms: 60_000,
            },
        ],
        arrivals: Arrivals::Poisson,
    };
    for trial in [one, many, ramp] {
        for look_every in [None, Some(Duration::from_millis(1))] {
            let few = of_calls(&trial, FEW, look_every);
            let many = of_calls(&trial, MANY, look_every);
            assert_no_more(&few, &many, &format!("{:?} {look_every:?}", trial.schedule));
        }
    }
}

/// Otherwise, the peak memory of a client would include the end of its trial.
#[test]
fn figures_need_no_more_memory_than_the_calls() {
    let mut trial = trial(serve(respond_with(ok)));
    for (keeps_detail, timing) in [
        (false, Timing::Load),
        (true, Timing::Load),
        (false, Timing::Stages),
    ] {
        (trial.keeps_detail, trial.timing) = (keeps_detail, timing);
        let mut during_calls = 0;
        let (measurement, _) = taken(|| {
            let hooks = Hooks {
                measuring: Box::new(|_| during_calls = memory::max_held()),
                ..hooks()
            };
            let mut codec = Echo::default();
            let bodies = Bodies::PerCall(&mut codec);
            measure_with(&trial, bodies, hooks, &AtomicBool::new(false)).unwrap()
        });
        assert_answered(&measurement, 100);
        let more = memory::max_held() - during_calls;
        assert!(
            more < 1_000,
            "{more} bytes, with detail: {keeps_detail}, {timing:?}"
        );
    }
}

/// Another thread allocates the bodies. This one only frees them.
#[test]
fn streamed_bodies_take_no_more_memory_however_many() {
    let mut trial = trial(serve(respond_with(ok)));
    let mut streamed = |calls| {
        trial.stop.calls = Some(calls);
        let body = || {
            Ok::<_, CodecError>(Body {
                bytes: vec![b'x'; 5000],
                compressed: false,
                plain_len: 5000,
                fields: Vec::new(),
            })
        };
        let bodies = Bodies::Streamed(Box::new(std::iter::repeat_with(body)));
        let (measurement, taken) = taken(|| run_with(&trial, bodies).unwrap());
        assert_eq!(measurement.calls.answered, calls);
        taken
    };
    let (few, many) = (streamed(FEW), streamed(MANY));
    assert_no_more(&few, &many, "streamed");
}
