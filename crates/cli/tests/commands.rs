//! The program's commands, run as a user would run them.

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use common::{Finished, Place, SMALL_STUDY, orders};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Long enough for a debug build on a busy machine; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn report(run: &Path) -> Value {
    json(&fs::read_to_string(run.join("report.json")).expect("report.json"))
}

fn trial_lines(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("trials.jsonl")).expect("trials.jsonl");
    text.lines()
        .map(json)
        .filter(|line| line["record"] == "trial")
        .collect()
}

fn interrupt(child: &Child) {
    let pid = Pid::from_child(child);
    kill_process(pid, Signal::INT).expect("a signal is sent");
}

/// Waits until `ready`, and fails when it never comes.
fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn without_arguments_the_help_shows_examples() {
    let finished = Place::new().run(&[]);
    assert_eq!(finished.code, Some(2));
    assert!(
        finished.stderr.contains("rpcgauge run quickstart"),
        "{}",
        finished.stderr
    );
}

#[test]
fn every_command_has_help_with_examples() {
    let place = Place::new();
    for command in [
        "run",
        "compare",
        "plan",
        "studies",
        "size",
        "report",
        "diff",
        "serve",
        "doctor",
        "completions",
    ] {
        let help = place.run(&[command, "--help"]).well();
        assert!(help.contains("Examples:"), "{command} has no examples");
        assert!(
            help.contains(&format!("rpcgauge {command}")),
            "{command}: {help}"
        );
    }
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Place::new().run(&["completions", shell]).well();
        assert!(script.contains("rpcgauge"), "{shell}");
        assert!(script.contains("compare"), "{shell}");
        assert!(
            !script
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == "subject"),
            "{shell}: a hidden command shows"
        );
    }
}

#[test]
fn every_built_in_study_is_listed_shown_and_planned() {
    let place = Place::new();
    let listed = json(&place.run(&["studies", "--json"]).well());
    let names: Vec<&str> = listed
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|study| study["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "quickstart",
            "several",
            "list",
            "gzip",
            "unix-socket",
            "encodings",
            "connections"
        ]
    );
    let table = place.run(&["studies"]).well();
    for name in names {
        assert!(table.contains(name), "{table}");
        let text = place.run(&["studies", "show", name]).well();
        place.file("copy.toml", &text);
        let shown = json(&place.run(&["plan", "copy.toml", "--json"]).well());
        let built_in = json(&place.run(&["plan", name, "--json"]).well());
        assert_eq!(
            shown["trials"], built_in["trials"],
            "{name}: the file shown is the study run"
        );
        assert!(
            place.run(&["plan", name]).well().contains("trials"),
            "{name}"
        );
    }
    assert_eq!(place.names(), ["copy.toml"], "a plan leaves nothing behind");
}

#[test]
fn sizes_are_printed_for_every_encoding_and_compression() {
    let place = Place::new();
    let args = [
        "size",
        "--proto",
        &orders("orders.proto"),
        "--method",
        "shop.Orders/Get",
        "--answer",
        "--sample",
        &orders("response.json"),
    ];
    let table = place.run(&args).well();
    let sizes = json(&place.run(&[&args[..], &["--json"]].concat()).well());
    assert_eq!(sizes["message"], "shop.Order");
    let sizes = sizes["sizes"].as_array().expect("sizes");
    for encoding in [
        "protobuf",
        "json",
        "json-proto-names",
        "msgpack",
        "cbor",
        "hybrid",
    ] {
        assert!(table.contains(encoding), "{table}");
        for compression in ["none", "gzip", "zstd"] {
            let row = sizes
                .iter()
                .find(|row| row["encoding"] == encoding && row["compression"] == compression);
            let bytes = row
                .and_then(|row| row["bytes"].as_u64())
                .unwrap_or_default();
            assert!(bytes > 100, "{encoding} {compression}: {bytes} bytes");
        }
    }
}

#[test]
fn a_study_runs_to_a_report_whose_sums_hold() {
    let place = Place::new();
    place.file("small.toml", SMALL_STUDY);
    let text = place
        .run(&["run", "small.toml", "--out", "run", "--quiet"])
        .well();
    assert!(
        text.contains("Is a greeting faster by gRPC than by REST?"),
        "{text}"
    );
    let run = place.path().join("run");
    for file in [
        "run.json",
        "study.toml",
        "plan.json",
        "environment.json",
        "trials.jsonl",
        "report.html",
        "report.json",
        "report.md",
        "trials.csv",
    ] {
        assert!(run.join(file).is_file(), "{file} is missing");
    }
    let plan = json(&fs::read_to_string(run.join("plan.json")).expect("plan.json"));
    let trials = trial_lines(&run);
    assert_eq!(
        trials.len(),
        plan["trials"].as_array().expect("trials").len()
    );
    for trial in &trials {
        let calls = &trial["outcome"]["calls"];
        let number = |name: &str| calls[name].as_u64().expect("a number");
        assert_eq!(trial["outcome"]["outcome"], "measured", "{trial}");
        assert_eq!(number("answered"), 50, "{trial}");
        assert_eq!(
            number("started"),
            number("answered") + number("abandoned"),
            "{trial}"
        );
        let slices = trial["outcome"]["timeline"]["slices"]
            .as_array()
            .expect("slices");
        let in_slices: u64 = slices
            .iter()
            .filter_map(|slice| slice["answered"].as_u64())
            .sum();
        assert_eq!(in_slices, 50, "every call is in the timeline");
        assert!(slices.len() >= 100, "{} slices", slices.len());
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
    for stage in [
        "encode",
        "send",
        "wait",
        "receive",
        "decode",
        "request-time",
        "response-time",
    ] {
        assert!(
            stages.iter().any(|found| found["stage"] == stage),
            "{stage} is missing"
        );
    }
}

#[test]
fn the_report_can_be_made_again_from_the_directory_alone() {
    let place = Place::new();
    place.file("small.toml", SMALL_STUDY);
    place
        .run(&["run", "small.toml", "--out", "run", "--quiet"])
        .well();
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
fn output_that_is_no_terminal_has_no_colour() {
    let place = Place::new();
    place.file("small.toml", SMALL_STUDY);
    let text = place
        .run(&["run", "small.toml", "--out", "run", "--quiet"])
        .well();
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// A study that takes long enough to be interrupted in the middle.
fn long_study() -> String {
    SMALL_STUDY
        .replace("invocations = 2", "invocations = 20")
        .replace("calls = 50", "calls = 400")
}

#[test]
fn an_interrupted_run_is_kept_reported_and_resumed() {
    let place = Place::new();
    place.file("long.toml", &long_study());
    let run = place.path().join("run");
    let child = place.start(&["run", "long.toml", "--out", "run"]);
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
    let mut indices: Vec<u64> = after
        .iter()
        .filter_map(|trial| trial["trial"]["index"].as_u64())
        .collect();
    indices.sort_unstable();
    assert_eq!(
        indices,
        (0..planned as u64).collect::<Vec<_>>(),
        "each trial ran once"
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
fn a_run_is_written_by_one_program_at_a_time() {
    let place = Place::new();
    place.file("long.toml", &long_study());
    let child = place.start(&["run", "long.toml", "--out", "run"]);
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
fn a_comparison_of_ones_own_method_runs_to_a_report() {
    let place = Place::new();
    place
        .run(&[
            "compare",
            "--proto",
            &orders("orders.proto"),
            "--method",
            "shop.Orders/Get",
            "--request",
            &orders("request.json"),
            "--response",
            &orders("response.json"),
            "--budget",
            "10s",
            "--only",
            "rest-json,grpc",
            "--out",
            "run",
            "--quiet",
        ])
        .well();
    let findings = report(&place.path().join("run"));
    let names: Vec<&str> = findings["variants"]
        .as_array()
        .expect("variants")
        .iter()
        .filter(|variant| variant["repeats"].is_null())
        .filter_map(|variant| variant["name"].as_str())
        .collect();
    assert_eq!(names, ["rest-json", "grpc"]);
    assert_eq!(findings["progress"]["failed"], 0);
    assert_eq!(
        findings["variants"][0]["cells"][0]["figures"]["code"][0],
        "dynamic"
    );
}

#[test]
fn the_plan_of_a_comparison_has_all_variants_and_sizes() {
    let place = Place::new();
    let base = [
        "compare",
        "--proto",
        &orders("orders.proto"),
        "--method",
        "shop.Orders/Get",
        "--plan",
        "--json",
        "--request",
        &orders("request.json"),
        "--response",
        &orders("response.json"),
    ];
    let names = |more: &[&str]| -> Vec<String> {
        let plan = json(&place.run(&[&base[..], more].concat()).well());
        let variants = plan["variants"].as_array().expect("variants").clone();
        variants
            .iter()
            .map(|variant| variant["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let all = names(&[]);
    for way in [
        "rest-json",
        "grpc",
        "grpc-gzip",
        "grpc-unix",
        "msgpack",
        "hybrid",
    ] {
        assert!(
            all.iter().any(|name| name == way),
            "{way} is not in {all:?}"
        );
    }
    let swept = names(&[
        "--size-sweep",
        "1,10",
        "--only",
        "rest-json,grpc",
        "--budget",
        "3m",
    ]);
    assert!(swept.len() >= 4, "{swept:?}");
    assert!(place.names().is_empty(), "a plan leaves nothing behind");
}

#[test]
fn the_server_answers_until_it_is_interrupted() {
    let place = Place::new();
    let mut child = place.start(&["serve", "--json"]);
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    while !line.ends_with("}\n") {
        assert_ne!(
            output.read_line(&mut line).expect("a line"),
            0,
            "it ended: {line}"
        );
    }
    let announcement = json(&line);
    let address = announcement["address"]
        .as_str()
        .expect("an address")
        .to_owned();
    assert!(
        address.starts_with("127.0.0.1:"),
        "it listens on loopback unless told otherwise"
    );
    let mut stream = TcpStream::connect(&address).expect("it listens");
    let body = r#"{"name":"Ada"}"#;
    write!(
        stream,
        "POST {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        announcement["rest"].as_str().expect("a path"),
        body.len()
    )
    .expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("Hello, Ada."), "{answer}");
    interrupt(&child);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn the_doctor_tells_what_it_found() {
    let place = Place::new();
    let found = json(&place.run(&["doctor", "--no-noise", "--json"]).well());
    assert!(
        found["environment"]["cores"]
            .as_u64()
            .is_some_and(|cores| cores > 0),
        "{found}"
    );
    let text = place.run(&["doctor"]).well();
    assert!(text.contains("core"), "{text}");
    assert!(place.names().is_empty());
}
