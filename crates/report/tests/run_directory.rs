//! Tests that a run directory as written by the lab can be read, and that the report's files are written into it.

mod common;

use std::fs;
use std::time::{Duration, SystemTime};

use rpcgauge_report::{Findings, files, json};
use rpcgauge_study::record::Record;
use rpcgauge_study::run::{NewRun, Run, RunWriter};

#[test]
fn a_run_directory_becomes_a_report() {
    let sample = common::two(2.3).build();
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().join("run");
    let new = NewRun {
        rpcgauge: "0.1.0",
        created_at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_169_700_000),
        study: None,
        plan: &sample.plan,
    };
    let mut writer = RunWriter::create(&directory, &new).expect("a new run");
    writer
        .write_environment(&sample.environment)
        .expect("it can be written");
    for floor in &sample.floors {
        writer
            .append(&Record::Floor(floor.clone()))
            .expect("it can be written");
    }
    for trial in &sample.trials {
        writer
            .append(&Record::Trial(Box::new(trial.clone())))
            .expect("it can be written");
    }
    drop(writer);

    let run = Run::read(&directory).expect("the run is whole");
    let findings = Findings::from_run(&run).expect("records fit the plan");
    files::write_all(&directory, &findings).expect("it can be written");

    assert_eq!(findings.run.as_ref().map(|run| &*run.study), Some("two"));
    assert_eq!(findings.comparisons, common::findings(&sample).comparisons);
    let text = fs::read_to_string(directory.join(files::JSON)).expect("report.json");
    assert_eq!(text, json::render(&findings).expect("findings"));
    assert_eq!(
        Run::read(&directory)
            .expect("the report's files do no harm")
            .trials,
        run.trials
    );
}
