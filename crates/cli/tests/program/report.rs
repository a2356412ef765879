//! `report` and `diff`: what is read from run directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Place, SMALL_STUDY, json, report, trial_lines};

#[test]
fn the_report_can_be_made_again_from_the_directory_alone() {
    let place = Place::with_run();
    let first = report(&place.path().join("run"));
    for file in ["report.json", "report.html", "report.md", "trials.csv"] {
        fs::remove_file(place.path().join("run").join(file)).expect("removed");
    }
    let printed = json(&place.run(&["report", "run", "--format", "json"]).well());
    assert_eq!(printed, first);
    assert_eq!(report(&place.path().join("run")), first);
    assert!(
        place
            .run(&["report", "run", "--format", "markdown"])
            .well()
            .contains('|')
    );
    assert!(
        place
            .run(&["report", "run", "--format", "csv"])
            .well()
            .lines()
            .count()
            > 4
    );
    assert!(
        place
            .run(&["report", "run", "--format", "html"])
            .well()
            .to_lowercase()
            .starts_with("<!doctype html>")
    );
    let difference = json(&place.run(&["diff", "run", "run", "--json"]).well());
    assert!(difference.is_object());
    assert!(!place.run(&["diff", "run", "run"]).well().is_empty());
}

#[test]
fn what_is_no_run_directory_is_refused() {
    let place = Place::new();
    fs::create_dir(place.path().join("empty")).expect("a folder");
    for run in ["none", "empty"] {
        place.run(&["report", run]).refused(&[run]);
        place.run(&["run", "--resume", run]).refused(&[run]);
        place.run(&["diff", run, run]).refused(&[run]);
    }
}

#[test]
fn a_damaged_run_directory_is_refused_by_file_and_line() {
    let place = Place::with_run();
    let trials = place.path().join("run/trials.jsonl");
    let text = fs::read_to_string(&trials).expect("trials");
    let mut lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 3, "{text}");
    lines[1] = "{ damaged";
    fs::write(&trials, lines.join("\n") + "\n").expect("written");
    place.run(&["report", "run"]).refused(&["trials.jsonl:2"]);
    place
        .run(&["run", "--resume", "run"])
        .refused(&["trials.jsonl:2"]);

    fs::write(&trials, &text).expect("written");
    fs::remove_file(place.path().join("run/plan.json")).expect("removed");
    place.run(&["report", "run"]).refused(&["plan.json"]);
}

#[test]
fn a_run_of_a_newer_schema_is_refused() {
    let place = Place::with_run();
    let path = place.path().join("run/run.json");
    let text = fs::read_to_string(&path).expect("run.json");
    let newer = text.replace("\"schema\": 1", "\"schema\": 99");
    assert_ne!(text, newer, "run.json names its schema");
    fs::write(&path, newer).expect("written");
    place.run(&["report", "run"]).refused(&["99", "newer"]);
}

/// Gives every trial of a variant the figures of its first one: what is left between two runs is then
/// no matter of noise.
fn without_noise(run: &Path) {
    let mut first: BTreeMap<String, Value> = BTreeMap::new();
    let lines = trial_lines(run).into_iter().map(|mut line| {
        if line["record"] == "trial" {
            let variant = line["variant"].as_str().expect("a name").to_owned();
            let outcome = first.entry(variant).or_insert(line["outcome"].clone());
            line["outcome"] = outcome.clone();
        }
        line.to_string() + "\n"
    });
    let lines: String = lines.collect();
    fs::write(run.join("trials.jsonl"), lines).expect("written");
}

#[test]
fn a_gate_fails_where_a_variant_got_slower() {
    let place = Place::with_run();
    let slow = SMALL_STUDY.replace(
        "workload = { name = \"hello\" }",
        "workload = { name = \"list\", n = 2000 }",
    );
    place.file("slow.toml", &slow);
    place
        .run(&["run", "slow.toml", "--out", "slow", "--quiet"])
        .well();
    for run in ["run", "slow"] {
        without_noise(&place.path().join(run));
    }
    let gate = |before: &str, after: &str| place.run(&["diff", before, after, "--fail-if-slower"]);
    let slower = gate("run", "slow");
    assert_eq!(slower.code, Some(1), "{slower:?}");
    assert!(
        slower
            .stderr
            .contains("rpcgauge: slower than before: grpc, rest"),
        "{slower:?}"
    );
    assert!(slower.stdout.contains("What changed"), "{slower:?}");
    gate("slow", "run").well();
    gate("run", "run").well();
}

#[test]
fn runs_that_cannot_be_compared_are_refused() {
    let place = Place::with_run();
    let other = SMALL_STUDY.replace("\"grpc\"\nprotocol", "\"a\"\nprotocol");
    let other = other.replace("\"rest\"\nprotocol", "\"b\"\nprotocol");
    let other = other.replace(
        "of = \"grpc\"\nagainst = \"rest\"",
        "of = \"a\"\nagainst = \"b\"",
    );
    let once = SMALL_STUDY.replace("invocations = 2", "invocations = 1");
    for (name, study) in [("other", other), ("once", once)] {
        let file = format!("{name}.toml");
        place.file(&file, &study);
        place.run(&["run", &file, "--out", name, "--quiet"]).well();
    }
    place
        .run(&["diff", "run", "other"])
        .refused(&["run and other share no variant", "grpc, rest"]);
    place
        .run(&["diff", "once", "once", "--fail-if-slower"])
        .refused(&["--fail-if-slower cannot tell", "two invocations"]);
    place.run(&["diff", "once", "once"]).well();
}
