//! `run` when the machine fails: what is kept, what is reported, and how to continue.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Finished, Place, SMALL_STUDY, json};

#[test]
fn trials_that_failed_are_run_again_where_that_is_asked_for() {
    let place = Place::with_run();
    let path = place.path().join("run/trials.jsonl");
    let mut lines: Vec<Value> = fs::read_to_string(&path)
        .expect("trials")
        .lines()
        .map(json)
        .collect();
    let is_trial = |line: &&mut Value| line["record"] == "trial";
    let first = lines.iter_mut().find(is_trial).expect("a trial");
    first["outcome"] = serde_json::json!({
        "outcome": "failed", "reason": "no room", "fault": "machine"
    });
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&path, text).expect("written");

    place.file(
        "mine/made/subject.toml",
        "name = \"made\"\nlanguage = \"sh\"\nbuild = [[\"true\"]]\nrun = [\"./program\"]\n\
         [[stacks]]\nname = \"json\"\nroles = [\"codec\"]\nencodings = [\"json\"]\nworkloads = [\"hello\"]\n",
    );
    let told = place.run(&["run", "--resume", "run", "--quiet", "--subjects", "mine"]);
    let hint = "rpcgauge run --resume run --subjects mine --retry-failed";
    assert!(told.stderr.contains(hint), "{}", told.stderr);
    place
        .run(&["run", "--retry-failed", "study.toml"])
        .refused(&["--retry-failed"]);
    let fixed = ["run", "--resume", "run", "--retry-failed", "--quiet"];
    let text = place.run(&fixed).well();
    assert!(!text.contains("1 failed"), "{text}");
}

#[test]
fn a_report_that_cannot_be_written_is_shown_all_the_same() {
    let place = Place::with_run();
    let page = place.path().join("run/report.html");
    fs::remove_file(&page).expect("removed");
    // A file cannot be renamed to an existing folder.
    fs::create_dir(&page).expect("a folder");
    let ended = place.run(&["run", "--resume", "run", "--quiet"]);
    ended.failed(3, &["run/report.html", "are kept", "rpcgauge report run"]);
    assert!(ended.stdout.contains("grpc"), "{}", ended.stdout);
    let told = place.run(&["report", "run", "--format", "markdown"]);
    assert!(told.stderr.contains("run/report.html"), "{}", told.stderr);
    assert!(told.well().contains('|'));
}

#[test]
fn a_run_over_tcp_needs_no_temporary_folder() {
    let place = Place::with_study();
    let output = place
        .command(&["run", "study.toml", "--out", "run", "--quiet"])
        .env("TMPDIR", "/nonexistent")
        .output()
        .expect("the program starts");
    Finished::from(output).well();
}

#[test]
fn a_temporary_folder_with_a_long_path_fails_no_trial() {
    let place = Place::with_study();
    let study = SMALL_STUDY.replace("[[pairs]]", UNIX_VARIANT);
    place.file("study.toml", &study);
    let long = place.path().join("x".repeat(120));
    fs::create_dir(&long).expect("a folder");
    let output = place
        .command(&["run", "study.toml", "--out", "run", "--quiet"])
        .env("TMPDIR", &long)
        .output()
        .expect("the program starts");
    Finished::from(output).well();
}

/// A killed program cannot remove its socket folder, so the next run does.
#[test]
fn a_run_that_was_killed_leaves_a_folder_until_the_next_one() {
    let place = Place::with_study();
    let study = SMALL_STUDY.replace("[[pairs]]", UNIX_VARIANT);
    place.file("study.toml", &study);
    let temporary = place.path().join("t");
    fs::create_dir(&temporary).expect("a folder");
    let command = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("TMPDIR", &temporary);
        command
    };
    let files = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let has_socket = || {
        let folders = files(&temporary);
        let mut sockets = folders.iter().flat_map(|folder| files(folder));
        sockets.any(|path| path.extension().is_some_and(|ending| ending == "sock"))
    };
    let mut killed = command(&["run", "study.toml", "--out", "run", "--quiet"])
        .spawn()
        .expect("the program starts");
    while !has_socket() {
        let ended = killed.try_wait().expect("its status");
        assert!(ended.is_none(), "it ended without a socket: {ended:?}");
        thread::sleep(Duration::from_millis(1));
    }
    killed.kill().expect("killed");
    killed.wait().expect("its status");
    assert_eq!(files(&temporary).len(), 1);

    let resumed = command(&["run", "--resume", "run", "--quiet"]).output();
    Finished::from(resumed.expect("the program starts")).well();
    assert_eq!(files(&temporary), Vec::<PathBuf>::new());
}

const UNIX_VARIANT: &str = r#"
[[variants]]
name = "unix"
protocol = "grpc"
transport = "unix"

[[pairs]]"#;
