//! `report` and `diff`: what is read from run directories.

use std::fs;

use crate::common::{Place, json, report};

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
