//! `run --resume` after a change: new measurements are never mixed with earlier ones that are not
//! comparable.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Finished, Place, json, report};
use crate::subjects::greeter_with;

const STUDY: &str = r#"
question = "Is a greeting faster from the embedded server?"
invocations = 2
blocks = 1
warm-up = { calls = 5 }
a-a = "reference"
workload = { name = "hello" }

[base]
protocol = "rest"
calls = 20

[[variants]]
name = "reference"

[[variants]]
name = "greeter"
server = "greeter/server"
"#;

/// A run of the guide's subject, whose version comes from the environment variable `GREETER`.
fn measured() -> Place {
    let place = greeter_with(
        "server.py",
        "\"versions\": {",
        "\"versions\": {\"greeter\": __import__(\"os\").environ.get(\"GREETER\", \"1\"), ",
    );
    place.file("study.toml", STUDY);
    let args = ["run", "study.toml", "--out", "run", "--quiet"];
    let args = [&args[..], &["--subjects", "mine"]].concat();
    place.run(&args).well();
    place
}

fn resume(place: &Place, version: &str) -> Finished {
    let args = ["run", "--resume", "run", "--subjects", "mine", "--quiet"];
    let mut command = place.command(&args);
    command.env("GREETER", version);
    command.output().expect("the program starts").into()
}

fn records(place: &Place) -> PathBuf {
    place.path().join("run/trials.jsonl")
}

/// Changes or removes lines of the records.
fn edit(records: &Path, edit: impl FnMut(Value) -> Option<Value>) {
    let text = fs::read_to_string(records).expect("records");
    let lines = text.lines().map(json).filter_map(edit);
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(records, text).expect("written");
}

/// Edits the run as if it had been interrupted between its two invocations.
fn interrupt_after_first(place: &Place) {
    edit(&records(place), |line| {
        let of_trial = &line["trial"]["invocation"];
        let invocation = line["invocation"].as_u64().or(of_trial.as_u64());
        (invocation == Some(0)).then_some(line)
    });
}

/// Changes a file of the subject and returns its previous content.
fn change_server(place: &Place) -> String {
    let path = place.path().join("mine/greeter/server.py");
    let text = fs::read_to_string(&path).expect("server.py");
    fs::write(&path, format!("{text}\n# faster\n")).expect("written");
    text
}

#[test]
fn a_subject_with_other_sources_does_not_join_a_run() {
    let place = measured();
    interrupt_after_first(&place);
    let environment = place.path().join("run/environment.json");
    let contents =
        || [records(&place), environment.clone()].map(|path| fs::read(path).expect("a file"));
    let before = contents();
    let sources = change_server(&place);
    resume(&place, "1").refused(&[
        "cannot resume run",
        "the sources and toolchain of the subject greeter was ",
        "start a new run, and compare both with `rpcgauge diff`",
    ]);
    assert_eq!(contents(), before, "the run stays as it was");
    place.file("mine/greeter/server.py", &sources);
    resume(&place, "1").well();
    let progress = &report(&place.path().join("run"))["progress"];
    assert_eq!(progress["missing"], 0, "{progress}");
}

#[test]
fn a_subject_that_reports_another_version_does_not_join_a_run() {
    let place = measured();
    interrupt_after_first(&place);
    let trials = || crate::common::trial_lines(&place.path().join("run"));
    let before = trials();
    resume(&place, "2").failed(
        3,
        &[
            "the version of greeter in greeter/server was 1 before and is 2 now",
            "start a new run, and compare both with `rpcgauge diff`",
        ],
    );
    let of_first = |trial: &Value| trial["trial"]["invocation"] == 0;
    assert_eq!(
        trials().into_iter().filter(of_first).collect::<Vec<_>>(),
        before
    );
    resume(&place, "1").well();
}

#[test]
fn where_nothing_of_a_run_stays_all_of_it_may_have_changed() {
    let place = measured();
    // Simulate an interruption in the first invocation, after one trial.
    interrupt_after_first(&place);
    edit(&records(&place), |line| {
        (line["record"] != "trial" || line["trial"]["index"] == 0).then_some(line)
    });
    change_server(&place);
    resume(&place, "2").well();
    let report = report(&place.path().join("run"));
    let version = &report["environment"]["subjects"]["greeter/server"]["greeter"];
    assert_eq!(
        (version, &report["progress"]["missing"]),
        (&"2".into(), &0.into())
    );
}

#[test]
fn a_run_that_does_not_say_what_it_was_measured_with_is_reported_with_a_caution_and_not_resumed() {
    let place = Place::with_run();
    edit(&records(&place), |line| {
        let is_later = line["record"] == "invocation" || line["record"] == "subjects";
        (!is_later).then_some(line)
    });
    let told = place.run(&["report", "run"]).well();
    let caution = "does not record what each invocation was measured with";
    assert!(told.contains(caution), "{told}");
    interrupt_after_first(&place);
    place
        .run(&["run", "--resume", "run", "--quiet"])
        .refused(&["cannot resume run: it does not record what it was measured with"]);
}

#[test]
fn another_rpcgauge_does_not_join_a_run() {
    let place = Place::with_run();
    interrupt_after_first(&place);
    edit(&records(&place), |mut line| {
        if line["record"] == "invocation" {
            line["environment"]["executable"] = "00".into();
        }
        Some(line)
    });
    place.line("run --resume run --quiet").refused(&[
        "cannot resume run",
        "the digest of rpcgauge's executable was 00 before",
    ]);
}
