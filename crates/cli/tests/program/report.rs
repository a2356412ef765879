//! `report` and `diff`, which read run directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Place, SMALL_STUDY, json, report, trial_lines, wait_until};
use crate::load::{OK, answering};

#[test]
fn runs_are_listed_with_their_questions() {
    let place = Place::new();
    place.run(&["runs"]).refused(&[
        "cannot read runs",
        "in the folder in which rpcgauge is started",
    ]);
    let place = Place::with_run();
    place.file("notes/run.json", "{}");
    let text = place.run(&["runs", "."]).well();
    assert!(text.starts_with("./run  20"), "{text}");
    assert!(
        text.contains("Is a greeting faster by gRPC than by REST?"),
        "{text}"
    );
    assert!(!text.contains("notes"), "{text}");
    let listed = json(&place.run(&["runs", ".", "--json"]).well());
    assert_eq!(listed[0]["report"], "./run/report.html");
    let summary = place.run(&["report", "run", "--format", "summary"]).well();
    // It fits a screen, even with cautions.
    assert!(summary.lines().count() <= 24, "{summary}");
    assert!(summary.contains("1 comparison: "), "{summary}");
}

#[test]
fn a_run_that_goes_on_is_not_called_interrupted_and_a_killed_one_is() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let words = ["load", &target, "--duration", "10m"];
    let words = [&words[..], &["--out", "run", "--quiet"]].concat();
    let mut child = place.start(&words);
    let begun = place.path().join("run/environment.json");
    wait_until("a run", || begun.exists());
    let shown = || {
        let text = place.run(&["report", "run"]).well();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let running = shown();
    let pid = format!(" (pid {})", child.id());
    let running = running.replace(&pid, "");
    assert!(running.contains("1 not run (still running)"), "{running}");
    assert!(
        running.contains("! this run is still running: "),
        "{running}"
    );
    assert!(!running.contains("interrupted"), "{running}");
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    let killed = shown();
    assert!(killed.contains("1 not run (interrupted)"), "{killed}");
    assert!(!killed.contains("still running"), "{killed}");
}

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
    let printed = |format: &str| place.run(&["report", "run", "--format", format]).well();
    assert!(printed("markdown").contains('|'));
    assert!(printed("csv").lines().count() > 4);
    assert!(
        printed("html")
            .to_lowercase()
            .starts_with("<!doctype html>")
    );
    let diff = |options: &[&str]| place.run(&[&["diff", "run", "run"][..], options].concat());
    let difference = diff(&["--json"]).well();
    assert!(json(&difference).is_object());
    assert_eq!(diff(&["--format", "json"]).well(), difference);
    diff(&["--json", "--format", "html"]).refused(&["--json", "--format"]);
    let page = diff(&["--format", "html"]).well();
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    for (text, heading) in [
        (diff(&[]).well(), "\nWhat changed\n"),
        (
            diff(&["--format", "markdown"]).well(),
            "\n### What changed\n",
        ),
        (page, "<h2>What changed</h2>"),
    ] {
        assert!(text.contains(heading), "{text}");
        assert!(text.contains("After over before, "), "{text}");
    }
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
    fs::write(&trials, text.replacen('\n', "\n{ damaged\n", 1)).expect("written");
    for command in ["report run", "run --resume run"] {
        place.line(command).refused(&["run/trials.jsonl:2: "]);
    }
}

/// Removes the noise from a run: all trials of a variant get the figures of its first trial, and
/// all windows of a floor those of its first window. With `replaced`, one variant gets its figures
/// from another run.
fn without_noise(run: &Path, replaced: Option<(&str, &Path)>) {
    let mut first: BTreeMap<String, Value> = BTreeMap::new();
    if let Some((variant, other)) = replaced {
        let mut lines = trial_lines(other).into_iter();
        let line = lines.find(|line| line["variant"] == variant);
        first.insert(
            variant.to_owned(),
            line.expect("a trial")["outcome"].clone(),
        );
    }
    let file = run.join("trials.jsonl");
    let text = fs::read_to_string(&file).expect("trials.jsonl");
    let lines = text.lines().map(|line| {
        let mut line = json(line);
        let (key, field) = match line["record"].as_str() {
            Some("trial") => (
                line["variant"].as_str().expect("a name").to_owned(),
                "outcome",
            ),
            _ => (line["variants"].to_string(), "latency"),
        };
        let kept = first.entry(key).or_insert(line[field].clone());
        line[field] = kept.clone();
        line.to_string() + "\n"
    });
    let lines: String = lines.collect();
    fs::write(file, lines).expect("written");
}

#[test]
fn a_gate_fails_where_a_variant_got_slower() {
    let place = Place::with_run();
    let heavy = SMALL_STUDY.replace(
        "workload = { name = \"hello\" }",
        "workload = { name = \"list\", n = 2000 }",
    );
    place.file("heavy.toml", &heavy);
    for (study, run) in [("heavy.toml", "heavy"), ("study.toml", "slow")] {
        place.run(&["run", study, "--out", run, "--quiet"]).well();
    }
    // The same run twice, but in one copy gRPC takes as long as with much larger messages.
    let path = |run: &str| place.path().join(run);
    fs::copy(
        path("run").join("trials.jsonl"),
        path("slow").join("trials.jsonl"),
    )
    .expect("copied");
    fs::copy(
        path("run").join("plan.json"),
        path("slow").join("plan.json"),
    )
    .expect("copied");
    without_noise(&path("run"), None);
    without_noise(&path("slow"), Some(("grpc", &path("heavy"))));
    let gate = |before: &str, after: &str| place.run(&["diff", before, after, "--fail-if-slower"]);
    let slower = gate("run", "slow");
    assert_eq!(slower.code, Some(1), "{slower:?}");
    assert!(
        slower
            .stderr
            .contains("rpcgauge: slower than before: grpc\n"),
        "{slower:?}"
    );
    assert!(slower.stdout.contains("against the floor"), "{slower:?}");
    gate("slow", "run").well();
    gate("run", "run").well();
}

#[test]
fn loads_are_judged_relative_to_the_same_second_target() {
    let place = Place::new();
    let (ours, theirs) = (answering(OK), answering(OK));
    let [ours, theirs] = [ours, theirs].map(|server| format!("http://{}/", server.address));
    let load = ["load", &ours, "--quiet", "--duration", "500ms", "--out"];
    let load = |more: &[&str]| place.run(&[&load[..], more].concat()).well();
    load(&["beside", "--vs", &theirs]);
    load(&["alone"]);
    let gate = |run: &str| place.run(&["diff", run, run, "--fail-if-slower"]);
    let same = gate("beside").well();
    assert!(same.contains("A change may be of either target"), "{same}");
    gate("alone").refused(&["--fail-if-slower cannot be judged", "the same --vs target"]);
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
        .refused(&["--fail-if-slower cannot be judged", "two invocations"]);
    place.run(&["diff", "once", "once"]).well();
}

#[test]
fn a_verdict_that_turns_with_the_size_has_its_crossing() {
    let place = Place::new();
    // Sizes in bytes are exact, so every run has the same figures: gzip makes one item larger but
    // many items smaller.
    let study = r#"
question = "From how many items on is the response smaller with gzip?"
workload = { name = "list", n = 1 }
invocations = 2
blocks = 1
placement = "one-core"
warm-up = { calls = 5 }

[base]
protocol = "grpc"
calls = 20

[factors]
n = [1, 100]

[[variants]]
name = "plain"

[[variants]]
name = "gzip"
compression = "gzip"

[[pairs]]
of = "gzip"
against = "plain"
metric = "response-bytes"
"#;
    place.file("study.toml", study);
    let text = place.run_study().well();
    assert!(
        text.contains("plain is smaller up to n≈1.3 [1.3, 1.3], gzip from there on"),
        "{text}"
    );
    let sweeps = &report(&place.path().join("run"))["sweeps"];
    let swept = &sweeps[0]["crossings"][0]["placements"][0];
    assert_eq!(swept["outcome"], "crosses", "{sweeps}");
    assert_eq!(
        swept["turns"][0]["between"],
        serde_json::json!([1, 100]),
        "{sweeps}"
    );
    let page = fs::read_to_string(place.path().join("run/report.html")).expect("the page");
    assert!(page.contains("n≈1.3"), "the page says it");
}
