//! Tests of runs that are stopped and resumed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use rpcgauge_lab::{Event, Lab, RunEnding};
use rpcgauge_study::run::{NewRun, Run, RunWriter};
use rpcgauge_study::settings::Settings;
use rpcgauge_trial::Stop;

use crate::common::{measured, options, plan, run_until, settings};

#[test]
fn a_stop_gives_up_the_trial_that_runs_and_keeps_the_others() {
    let long = Settings {
        stop: Stop {
            calls: None,
            time_ms: Some(60_000),
        },
        ..settings()
    };
    let plan = plan(vec![("short", settings()), ("long", long)], 1, 2);
    // Set the flag while the second trial is being measured.
    let left = run_until(&plan, None, |event, stop| {
        if let Event::TrialStarted { trial, .. } = event
            && trial.index == 1
        {
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!(left.summary.ending, RunEnding::Stopped);
    assert_eq!(left.trials.len(), 1);
    assert_eq!(measured(&left.trials[0]).calls.answered, 50);
    assert_eq!(left.floors.len(), 1, "only that of the measured trial");
}

#[test]
fn what_is_recorded_is_not_run_again() {
    let plan = plan(vec![("a", settings()), ("b", settings())], 2, 1);
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let created_at = SystemTime::now();
    let new = NewRun {
        rpcgauge: "test",
        created_at,
        study: None,
        plan: &plan,
    };
    let lab = Lab::new(options(None, &folder));

    let mut writer = RunWriter::create(&directory, &new).unwrap();
    let stop = AtomicBool::new(false);
    let mut observer = |event: &Event<'_>| {
        let is_third = matches!(event, Event::TrialStarted { trial, .. } if trial.index == 2);
        stop.fetch_or(is_third, Ordering::Relaxed);
    };
    let summary = lab
        .run(&plan, &plan.trials, &mut writer, &mut observer, &stop)
        .unwrap();
    assert_eq!((summary.ending, summary.measured), (RunEnding::Stopped, 2));
    drop(writer);

    let mut resumed = RunWriter::resume::<Run>(&directory).unwrap();
    resumed.begin_again().unwrap();
    let mut seen = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if let Event::TrialStarted {
            trial, progress, ..
        } = event
        {
            seen.push((trial.index, progress.done, progress.total));
        }
    };
    let stop = AtomicBool::new(false);
    let summary = lab
        .run(
            &plan,
            &resumed.missing,
            &mut resumed.writer,
            &mut observer,
            &stop,
        )
        .unwrap();
    assert_eq!((summary.ending, summary.measured), (RunEnding::Complete, 2));
    assert_eq!(seen, [(2, 2, 4), (3, 3, 4)]);
    assert!(Run::read(&directory).unwrap().missing().is_empty());
}

#[test]
fn a_stop_gives_up_all_trials_that_go_round_together() {
    let long = Settings {
        stop: Stop {
            calls: None,
            time_ms: Some(60_000),
        },
        ..settings()
    };
    let mut plan = plan(vec![("a", long.clone()), ("b", long)], 1, 1);
    for trial in &mut plan.trials {
        trial.rotation = 0;
    }
    // Stops while both trials alternate, after the warm-up of the second one.
    let left = run_until(&plan, None, |event, stop| {
        if let Event::TrialStarted { trial, .. } = event
            && trial.index == 1
        {
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(1_500));
                stop.store(true, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(left.summary.ending, RunEnding::Stopped);
    let measured: Vec<_> = left.trials.iter().map(|trial| &trial.variant).collect();
    assert!(
        measured.is_empty(),
        "a partial trial must not be recorded: {measured:?}"
    );
}
