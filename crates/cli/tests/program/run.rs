//! `run`: from a study to its report; interrupted, resumed and rejected runs.

use std::fs;
use std::process::Command;

use crate::common::{
    Finished, Place, SMALL_STUDY, interrupt, json, orders, report, trial_lines, wait_until,
};

#[test]
fn a_study_runs_to_a_report() {
    let place = Place::with_study();
    let text = place.run_study().well();
    assert!(
        text.contains("Is a greeting faster by gRPC than by REST?"),
        "{text}"
    );
    let run = place.path().join("run");
    let files = "run.json study.toml plan.json environment.json trials.jsonl report.html report.json report.md trials.csv";
    for file in files.split(' ') {
        assert!(run.join(file).is_file(), "{file} is missing");
    }
    let plan = json(&fs::read_to_string(run.join("plan.json")).expect("plan.json"));
    let trials = trial_lines(&run);
    assert_eq!(
        trials.len(),
        plan["trials"].as_array().expect("trials").len()
    );
    for trial in &trials {
        assert_eq!(trial["outcome"]["outcome"], "measured", "{trial}");
        assert_eq!(trial["outcome"]["calls"]["answered"], 50, "{trial}");
    }
    let findings = report(&run);
    assert!(
        findings["comparisons"]
            .as_array()
            .is_some_and(|pairs| pairs.len() >= 2),
        "a pair and A/A"
    );
    let stages = findings["variants"][0]["cells"][0]["figures"]["stages"]
        .as_array()
        .expect("stages");
    let expected = "encode send wait receive decode request-time response-time";
    for stage in expected.split(' ') {
        assert!(
            stages.iter().any(|found| found["stage"] == stage),
            "{stage} is missing"
        );
    }
}

#[test]
fn output_that_is_no_terminal_has_no_colour() {
    let place = Place::with_study();
    let text = place.run_study().well();
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// A place with a study that runs long enough to be interrupted.
fn with_long_study() -> Place {
    let place = Place::new();
    let longer = SMALL_STUDY
        .replace("invocations = 2", "invocations = 20")
        .replace("calls = 50", "calls = 400");
    place.file("study.toml", &longer);
    place
}

#[test]
fn an_interrupted_run_is_kept_reported_and_resumed() {
    let place = with_long_study();
    let run = place.path().join("run");
    let child = place.start(&["run", "study.toml", "--out", "run"]);
    wait_until("three trials", || {
        fs::read_to_string(run.join("trials.jsonl")).is_ok_and(|text| text.lines().count() >= 3)
    });
    interrupt(&child);
    let finished: Finished = child.wait_with_output().expect("it ends").into();
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("rpcgauge run --resume run"),
        "{}",
        finished.stderr
    );
    let planned = json(&fs::read_to_string(run.join("plan.json")).expect("plan"))["trials"]
        .as_array()
        .expect("trials")
        .len();
    let before = trial_lines(&run);
    assert!(before.len() < planned, "it was interrupted in the middle");
    let missing = report(&run)["progress"]["missing"]
        .as_u64()
        .expect("a number");
    assert_eq!(
        missing as usize,
        planned - before.len(),
        "the partial report says what is missing"
    );

    place.run(&["run", "--resume", "run", "--quiet"]).well();
    let after = trial_lines(&run);
    assert_eq!(
        &after[..before.len()],
        &before[..],
        "what was measured stays"
    );
    // An interrupted invocation is run again from its start.
    let text = fs::read_to_string(run.join("trials.jsonl")).expect("trials.jsonl");
    let restart = text
        .lines()
        .map(json)
        .find(|line| line["record"] == "restart");
    let begun_again = restart.map(|line| line["invocation"].clone());
    let counts = before
        .iter()
        .filter(|trial| Some(&trial["trial"]["invocation"]) != begun_again.as_ref())
        .chain(&after[before.len()..]);
    let mut indices: Vec<u64> = counts
        .filter_map(|trial| trial["trial"]["index"].as_u64())
        .collect();
    indices.sort_unstable();
    assert_eq!(
        indices,
        (0..planned as u64).collect::<Vec<_>>(),
        "each trial counts once"
    );
    assert_eq!(report(&run)["progress"]["missing"], 0);

    let again = place.run(&["run", "--resume", "run", "--quiet"]);
    assert_eq!(
        again.code,
        Some(0),
        "a whole run has nothing left to do: {}",
        again.stderr
    );
}

#[test]
fn studies_that_are_left_when_it_is_interrupted_are_named() {
    let place = with_long_study();
    place.file("second.toml", SMALL_STUDY);
    let child = place.start(&["run", "./study.toml", "./second.toml"]);
    wait_until("a run directory", || place.path().join("runs").is_dir());
    interrupt(&child);
    let finished: Finished = child.wait_with_output().expect("it ends").into();
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    let not_begun = "interrupted; not started: second";
    assert!(finished.stderr.contains(not_begun), "{}", finished.stderr);
    let runs = fs::read_dir(place.path().join("runs")).expect("runs");
    assert_eq!(runs.count(), 1, "the second study was not begun");
}

#[test]
fn a_trial_that_failed_before_a_run_was_resumed_still_counts() {
    let place = Place::with_run();
    let path = place.path().join("run/trials.jsonl");
    let text = fs::read_to_string(&path).expect("trials");
    let lines: Vec<&str> = text.lines().collect();
    let is_trial = |line: &&str| json(line)["record"] == "trial";
    let at = lines.iter().position(is_trial).expect("a trial");
    let mut failed = json(lines[at]);
    failed["outcome"] = serde_json::json!({
        "outcome": "failed", "reason": "it ended", "fault": "subject"
    });
    let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    changed[at] = failed.to_string();
    fs::write(&path, changed.join("\n") + "\n").expect("written");

    let whole = place.run(&["run", "--resume", "run", "--quiet"]);
    assert_eq!(
        whole.code,
        Some(1),
        "nothing is left to do: {}",
        whole.stderr
    );
    assert!(whole.stdout.contains("1 failed"), "{}", whole.stdout);

    let last = lines.iter().rposition(is_trial).expect("a trial");
    changed.remove(last);
    fs::write(&path, changed.join("\n") + "\n").expect("written");
    let rest = place.run(&["run", "--resume", "run", "--quiet"]);
    assert_eq!(
        rest.code,
        Some(1),
        "the last trial was left: {}",
        rest.stderr
    );
}

#[test]
fn a_run_is_written_by_one_program_at_a_time() {
    let place = with_long_study();
    let child = place.start(&["run", "study.toml", "--out", "run"]);
    wait_until("the run directory", || {
        place.path().join("run/trials.jsonl").is_file()
    });
    place
        .run(&["run", "--resume", "run"])
        .refused(&["run", "another"]);
    interrupt(&child);
    child.wait_with_output().expect("it ends");
}

#[test]
fn what_a_resumed_run_would_ignore_is_refused() {
    let place = Place::new();
    for option in ["--only", "--invocations", "--blocks", "--seed", "--out"] {
        place
            .run(&["run", "--resume", "run", option, "1"])
            .refused(&["--resume <RUN>", option]);
    }
}

#[test]
fn limits_that_cannot_be_kept_are_refused() {
    let place = Place::with_study();
    for command in [&["serve"][..], &["run", "study.toml"]] {
        place
            .run(&[command, &["--max-depth", "201"]].concat())
            .refused(&["--max-depth must be from 1 to 100, not 201"]);
    }
    assert_eq!(place.names(), ["study.toml"]);
}

#[test]
fn a_sample_over_a_limit_is_refused_before_anything_runs() {
    let place = Place::new();
    let (proto, request, response) = (
        orders("orders.proto"),
        orders("request.json"),
        orders("response.json"),
    );
    place.file(
        "own.toml",
        &format!(
            "question = \"Is it fast?\"\n[workload]\nproto = \"{proto}\"\n\
             method = \"shop.Orders/Get\"\nrequest = \"{request}\"\nresponse = \"{response}\"\n\
             [base]\nprotocol = \"grpc\"\n[factors]\ntransport = [\"tcp\", \"unix\"]\n"
        ),
    );
    let schema = ["--proto", &proto, "--method", "shop.Orders/Get"];
    let own = [
        &schema[..],
        &["--request", &request, "--response", &response],
    ]
    .concat();
    let commands = [
        [&["compare"][..], &own].concat(),
        [&["serve"][..], &own].concat(),
        vec!["run", "own.toml"],
        vec!["plan", "own.toml"],
        [
            &["size"],
            &schema[..],
            &["--response", "--sample", &response],
        ]
        .concat(),
    ];
    for command in commands {
        let with = |limit: &[&'static str]| place.run(&[&command[..], limit].concat());
        with(&["--max-depth", "1"]).refused(&["response.json: ", "--max-depth"]);
        with(&["--max-message-bytes", "100"]).refused(&["response.json: ", "--max-message-bytes"]);
    }
    place.file(
        "study.toml",
        &SMALL_STUDY.replace("\"hello\"", "\"list\", n = 50"),
    );
    place
        .run(&["run", "study.toml", "--max-message-bytes", "100"])
        .refused(&["study.toml:3:", "variant \"grpc\"", "--max-message-bytes"]);
    assert_eq!(place.names(), ["own.toml", "study.toml"]);
}

#[test]
fn a_resumed_run_keeps_its_limits() {
    let place = Place::new();
    place.file("study.toml", SMALL_STUDY);
    let text = place
        .line("run study.toml --out run --quiet --max-depth 50")
        .well();
    assert!(text.contains("limits --max-depth 50"), "{text}");
    for (option, value, recorded) in [
        ("--max-depth", "100", "50"),
        ("--max-inflation", "7", "10000"),
    ] {
        place
            .run(&["run", "--resume", "run", option, value])
            .refused(&[&format!(
                "{option} {value}: this run was started with {recorded}"
            )]);
    }
    place
        .run(&["run", "--resume", "run", "--quiet", "--max-depth", "50"])
        .well();
    let again = place.run(&["run", "--resume", "run", "--quiet"]).well();
    assert!(again.contains("limits --max-depth 50"), "{again}");
}

#[test]
fn a_disk_that_fills_up_during_a_run_is_said() {
    let place = Place::with_study();
    // Files are limited to 24 blocks of 512 bytes or 1 KiB, which the plan and some records fit
    // into.
    let limited = Command::new("sh")
        .args(["-c", "ulimit -f 24; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_rpcgauge"))
        .args(["run", "study.toml", "--out", "run", "--quiet"])
        .current_dir(place.path())
        .output()
        .expect("sh starts");
    let parts = ["run/trials.jsonl", "everything written before is kept"];
    Finished::from(limited).failed(3, &parts);
    place.run(&["run", "--resume", "run", "--quiet"]).well();
}

#[test]
fn a_run_directory_that_cannot_be_made_is_said() {
    let place = Place::with_study();
    place.file("occupied/something.txt", "mine");
    for (out, part) in [
        ("occupied", "occupied already exists"),
        ("/proc/rpcgauge", "/proc/rpcgauge"),
        ("-run", "write ./-run"),
    ] {
        let out = format!("--out={out}");
        place.run(&["run", "study.toml", &out]).refused(&[part]);
    }
    assert_eq!(place.names(), ["occupied", "study.toml"]);
}
