//! Resuming a run.

use insta::assert_snapshot;

use super::*;
use crate::plan::TrialSpec;

#[test]
fn resuming_removes_the_cut_off_line_and_goes_on_behind_it() {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| text[..text.len() - 40].to_owned());
    let mut resumed = RunWriter::resume::<Run>(&scene.run).unwrap();
    assert_eq!(resumed.run.warnings.len(), 1);
    resumed.writer.append(&failed(&scene.plan, 1)).unwrap();
    drop(resumed);
    let run = Run::read(&scene.run).unwrap();
    assert_eq!((run.trials.len(), run.warnings.len()), (3, 0));
}

#[test]
fn an_invocation_that_was_broken_off_is_begun_again_whole() {
    let scene = Scene::new();
    let first = scene.plan.trials[0].invocation;
    let indices = |trials: &mut dyn Iterator<Item = &TrialSpec>| -> Vec<u32> {
        trials.map(|trial| trial.index).collect()
    };
    let all = indices(&mut scene.plan.trials.iter());
    let looked_at = RunWriter::resume::<Run>(&scene.run).unwrap();
    assert_eq!(indices(&mut looked_at.missing.iter()), all);
    drop(looked_at);
    let run = Run::read(&scene.run).unwrap();
    assert_eq!(
        (run.trials.len(), run.floors.len()),
        (3, 1),
        "reading changes nothing"
    );

    let mut resumed = RunWriter::resume::<Run>(&scene.run).unwrap();
    resumed.begin_again().unwrap();
    resumed.writer.append(&failed(&scene.plan, 1)).unwrap();
    drop(resumed);
    let run = Run::read(&scene.run).unwrap();
    let read = indices(&mut run.trials.iter().map(|record| &record.trial));
    assert_eq!((read, run.floors.len()), (vec![1], 0));

    // The other invocations are complete, or never began.
    let of_first = scene.plan.trials.iter().filter(|t| t.invocation == first);
    let mut resumed = RunWriter::resume::<Run>(&scene.run).unwrap();
    resumed.begin_again().unwrap();
    for trial in of_first {
        let record = failed(&scene.plan, trial.index as usize);
        resumed.writer.append(&record).unwrap();
    }
    drop(resumed);
    let resumed = RunWriter::resume::<Run>(&scene.run).unwrap();
    let rest = scene.plan.trials.iter().filter(|t| t.invocation != first);
    assert_eq!(
        indices(&mut resumed.missing.iter()),
        indices(&mut rest.into_iter())
    );
}

#[test]
fn floors_of_an_invocation_without_a_trial_do_not_count_twice() {
    let scene = Scene::new();
    // Interrupted between the first floor and the first trial.
    scene.edit(names::TRIALS, |text| {
        let (floor, _) = text.split_once('\n').unwrap();
        format!("{floor}\n")
    });
    let mut resumed = RunWriter::resume::<Run>(&scene.run).unwrap();
    assert_eq!(resumed.missing, scene.plan.trials);
    resumed.begin_again().unwrap();
    resumed.writer.append(&floor()).unwrap();
    drop(resumed);
    assert_eq!(Run::read(&scene.run).unwrap().floors.len(), 1);
}

#[test]
fn invocations_in_which_a_trial_failed_are_begun_again_where_that_is_asked_for() {
    let scene = Scene::new();
    let mut resumed = RunWriter::resume::<Run>(&scene.run).unwrap();
    resumed.begin_again().unwrap();
    for trial in &scene.plan.trials {
        let record = failed(&scene.plan, trial.index as usize);
        resumed.writer.append(&record).unwrap();
    }
    drop(resumed);
    let mut resumed = RunWriter::resume::<Run>(&scene.run).unwrap();
    assert!(resumed.missing.is_empty());
    resumed.retry_failed();
    assert_eq!(resumed.missing, scene.plan.trials);
    resumed.begin_again().unwrap();
    drop(resumed);
    assert!(Run::read(&scene.run).unwrap().trials.is_empty());
}

#[test]
fn a_run_without_its_records_is_not_resumed() {
    let scene = Scene::new();
    fs::remove_file(scene.run.join(names::TRIALS)).unwrap();
    assert_snapshot!(scene.plain(RunWriter::resume::<Run>(&scene.run).unwrap_err()), @"the run is damaged: run/trials.jsonl is missing; restore it from a copy, or run the study again");
}

#[test]
fn a_run_with_limits_that_cannot_be_kept_is_not_resumed() {
    let scene = Scene::new();
    scene.edit(names::PLAN, |text| {
        text.replace("\"max_depth\": 100", "\"max_depth\": 100000")
    });
    assert_snapshot!(scene.plain(RunWriter::resume::<Run>(&scene.run).unwrap_err()), @"the run is damaged: run/plan.json: --max-depth must be from 1 to 100, not 100000; restore it from a copy, or run the study again");
}

#[test]
fn two_programs_do_not_write_one_run() {
    let scene = Scene::new();
    let first = RunWriter::resume::<Run>(&scene.run).unwrap();
    assert_snapshot!(scene.plain(RunWriter::resume::<Run>(&scene.run).unwrap_err()), @"run is being written by another rpcgauge: wait for it to finish");
    assert!(Run::read(&scene.run).is_ok(), "reading needs no lock");
    drop(first);
    assert!(RunWriter::resume::<Run>(&scene.run).is_ok());
}

#[test]
fn events_of_an_invocation_that_begins_again_do_not_count() {
    let scene = Scene::new();
    let add = |line: &str| scene.edit(names::TRIALS, |text| format!("{text}{line}\n"));
    let events = r#"{"record":"events","invocation":0,"variant":"tcp","placement":"one-core","process":"server","events":[{"kind":"gc-pause","begin_ns":5,"end_ns":9}]}"#;
    add(events);
    assert_eq!(Run::read(&scene.run).unwrap().events[0].events.len(), 1);
    add(r#"{"record":"restart","invocation":0}"#);
    assert!(Run::read(&scene.run).unwrap().events.is_empty());
    for (from, to, says) in [
        (
            "\"tcp\"",
            "\"pigeon\"",
            "the variant \"pigeon\", which is not in the plan",
        ),
        (
            "\"invocation\":0",
            "\"invocation\":7",
            "an invocation or placement that is not in the plan",
        ),
        (
            "\"end_ns\":9",
            "\"end_ns\":4",
            "one of its events ends before it begins",
        ),
    ] {
        let scene = Scene::new();
        let wrong = events.replace(from, to);
        scene.edit(names::TRIALS, |text| format!("{text}{wrong}\n"));
        let problem = scene.problem();
        assert!(problem.contains(says), "{problem}");
    }
}
