//! The amount of load, its results, and the exit code.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{BUSY, OK, Service, answering, answering_after, figures, short};
use crate::common::{Finished, Place, interrupt, report, wait_until};

#[test]
fn a_run_can_be_given_a_name() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let load = |name| place.run(&["load", &target, "-n", "5", "--name", name, "--quiet"]);
    let shown = load("Before_1.2").well();
    assert!(shown.starts_with("Before_1.2: http://"), "{shown}");
    let runs = fs::read_dir(place.path().join("runs")).expect("runs");
    let folder = runs.map(|run| run.expect("it").file_name().into_string().expect("text"));
    let folder: Vec<String> = folder.collect();
    assert!(folder[0].ends_with("-Before_1.2"), "{folder:?}");
    let listed = place.run(&["runs"]).well();
    assert!(
        listed
            .lines()
            .next()
            .is_some_and(|line| line.ends_with("  Before_1.2")),
        "{listed}"
    );
    load("a/b").refused(&["--name", "letters, digits"]);
}

#[test]
fn a_rate_that_nothing_can_send_is_said_to_be_too_high() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let finished = place.line(&format!(
        "load {target} --rate 1e9 --out run --warmup 100ms --duration 100ms --deadline 100ms"
    ));
    let words: Vec<&str> = finished.stdout.split_whitespace().collect();
    let shown = words.join(" ");
    assert!(
        shown.contains("that were due in the warm-up had not been sent"),
        "{shown}"
    );
    assert!(shown.contains("lower the rate"), "{shown}");
}

#[test]
fn objectives_decide_the_exit_code() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let run = |out: &str, objectives: &[&str]| {
        let mut words = vec!["load", &target, "--calls", "50", "--out", out, "--quiet"];
        words.extend(objectives.iter().flat_map(|objective| ["--slo", objective]));
        place.run(&words)
    };
    let reached = run("reached", &["p50<10s", "errors<=0%"]);
    assert!(
        reached.stdout.contains("✓ p50<10s met"),
        "{}",
        reached.stdout
    );
    assert_eq!(reached.code, Some(0));
    let missed = run("missed", &["p50<10s", "max<1ns"]);
    assert!(
        missed.stdout.contains("✗ max<1ns missed"),
        "{}",
        missed.stdout
    );
    assert_eq!(missed.code, Some(1));
    let open = run("open", &["p99<10s"]);
    assert!(
        open.stdout.contains("? p99<10s not shown: 50 calls"),
        "{}",
        open.stdout
    );
    assert_eq!(open.code, Some(1));
    for (out, outcome) in [("reached", "reached"), ("open", "too-few-calls")] {
        let report = report(&place.path().join(out));
        assert_eq!(report["objectives"][0]["outcome"], outcome);
    }
}

#[test]
fn every_successful_call_is_in_the_heat_map_and_has_a_service_time() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let finished = place.line(&format!(
        "load {target} --rate 2000 --calls 400 --out run --warmup 0s --quiet"
    ));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let run = place.path().join("run");
    let report = report(&run);
    let figures = figures(&report);
    let columns = figures["timeline"]["heat_map"]["columns"].as_array();
    let columns = columns.expect("it has a heat map").iter();
    let counts = columns.flat_map(|column| column["counts"].as_array().unwrap());
    let counted: u64 = counts.map(|count| count.as_u64().unwrap()).sum();
    let answered = &figures["calls"]["answered"];
    assert_eq!(counted, *answered, "{figures}");
    for times in ["service_time", "first_byte"] {
        assert_eq!(figures[times]["count"], *answered, "{figures}");
    }
    for row in ["  service time p50 ", "  first byte   p50 "] {
        assert!(finished.stdout.contains(row), "{}", finished.stdout);
    }
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("Heat map of the latency of target over time: "));
}

#[test]
fn a_service_that_only_fails_is_measured_and_ends_with_1() {
    let place = Place::new();
    let server = answering(BUSY);
    let target = format!("http://{}/", server.address);
    let finished = place.run(&short(&target, &["--warmup", "0s"]));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("50 × http-503"),
        "{}",
        finished.stdout
    );
    let hoped = place.line(&format!(
        "load {target} --calls 5 --slo errors<=100% --out hoped --quiet"
    ));
    assert_eq!(
        hoped.code,
        Some(0),
        "an objective decides: {}",
        hoped.stdout
    );
}

#[test]
fn calls_that_wait_for_a_connection_name_the_limit() {
    let place = Place::new();
    let slow = answering_after(OK, Duration::from_millis(10));
    let target = format!("http://{}/", slow.address);
    let load = |limit: &str| {
        let line = "--rate 500 --connections 1 --duration 1s --warmup 0s";
        place.line(&format!("load {target} {line} {limit}")).stdout
    };
    let shown = load("--deadline 100ms");
    assert!(
        shown.contains("limited by --connections 1: calls waited"),
        "{shown}"
    );
    assert!(shown.contains("× deadline"), "{shown}");
    let shown = load("--timeout 100ms");
    assert!(!shown.contains("× deadline"), "{shown}");
    let words: Vec<&str> = shown.split_whitespace().collect();
    let how = "deadline 100ms from the send";
    assert!(words.join(" ").contains(how), "{shown}");
}

#[test]
fn two_apis_of_a_service_are_compared_under_their_names() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let grpc = format!("grpc={}", service.grpc());
    let json = format!("json={}", service.http());
    let run = |more: &[&str]| {
        let load = ["load", &grpc, "--data", "{\"name\": \"a\"}", "--vs", &json];
        let load = [
            &load[..],
            &["--blocks", "5", "--calls", "50", "--out", "run"],
            more,
        ];
        place.run(&load.concat())
    };
    let with = [
        "--vs-data",
        "{\"name\": \"bb\"}",
        "--vs-request-method",
        "POST",
    ];
    // Which of the two is faster is not the question here.
    let allowed = ["--fail-if-slower=99%", "--allow", "latency-p50=off"];
    let finished = run(&[&with[..], &allowed].concat());
    let told = finished.stderr.clone();
    assert!(told.contains("measuring in turn takes about"), "{told}");
    let shown = finished.well();
    assert!(shown.contains("\nPASSED: "), "{shown}");
    // Either of the two decides the exit code.
    for (objective, code) in [("p50<10s", 0), ("p50<1ns", 1)] {
        let words = [&["load", &grpc, "--vs", &json], &with[..], &allowed].concat();
        let extent = [
            "--blocks",
            "5",
            "--calls",
            "50",
            "--data",
            "{\"name\": \"a\"}",
        ];
        let both = [&words[..], &extent, &["--slo", objective]].concat();
        let finished = Place::new().run(&both);
        assert_eq!(finished.code, Some(code), "{}", finished.stderr);
        let shown = finished.stdout;
        assert!(shown.contains("\nPASSED: "), "{objective}: {shown}");
    }
    let report = report(&place.path().join("run"));
    let names = report["variants"].as_array().expect("variants").iter();
    let names: Vec<_> = names
        .map(|variant| variant["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["grpc", "json", "json-again"]);
    let sent = |place: usize| {
        report["variants"][place]["cells"][0]["figures"]["payload"]["request"].clone()
    };
    assert_eq!((sent(0), sent(1)), (3.0.into(), 14.0.into()));
    let alike = format!("grpc={}", service.http());
    let refused = ["load", &grpc, "--vs", &alike];
    place
        .run(&refused)
        .refused(&["both targets have the name \"grpc\""]);
    place
        .run(&["load", &grpc, "--vs-data", "1"])
        .refused(&["--vs <TARGET>"]);
}

#[test]
fn two_targets_are_compared_in_blocks() {
    let place = Place::new();
    let [one, other] = [OK; 2].map(|ok| answering_after(ok, Duration::from_millis(1)));
    let [target, versus] = [&one, &other].map(|server| format!("http://{}/", server.address));
    let finished = place.run(&[
        "load", &target, "--vs", &versus, "--blocks", "5", "--calls", "100", "--out", "run",
    ]);
    let told = finished.stderr.clone();
    assert!(
        told.contains("block 1 of 5: ") && told.contains("block 5 of 5: "),
        "{told}"
    );
    let shown = finished.well();
    assert!(
        !shown.contains("invocation"),
        "nothing is restarted: {shown}"
    );
    for part in [
        "\n  a            GET http://",
        "\n  b            GET http://",
        "\nsucceeded/s ",
        "Is a call to a faster than one to b?",
        "two running instances",
    ] {
        assert!(shown.contains(part), "\"{part}\" is not in: {shown}");
    }
    let report = report(&place.path().join("run"));
    assert_eq!(
        report["progress"]["measured"], 15,
        "a, b and b again in 5 blocks"
    );
    for variant in report["variants"].as_array().expect("variants") {
        assert_eq!(variant["cells"][0]["figures"]["calls"]["started"], 100);
    }
    let compared = report["comparisons"].as_array().expect("comparisons");
    let pairs = compared.iter().map(|pair| (&pair["of"], &pair["against"]));
    let pairs: Vec<_> = pairs
        .map(|(of, against)| format!("{of} {against}").replace('"', ""))
        .collect();
    assert_eq!(
        pairs,
        ["a b", "a b", "b-again b"],
        "by p50 and p99, and the A/A pair"
    );
}

#[test]
fn targets_of_two_protocols_have_the_connections_that_each_needs() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let (grpc, http) = (service.grpc(), service.http());
    let words = [
        "load", &grpc, "--vs", &http, "--data", "{}", "--rate", "200",
    ];
    let extent = ["--duration", "500ms", "--blocks", "5", "--warmup", "0s"];
    let more = ["--poisson", "--out", "run", "--quiet"];
    let shown = place.run(&[&words[..], &extent, &more].concat()).well();
    let told = "b can have at most 64 calls in flight, one per connection; the other variant has no such limit";
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains(told), "{shown}");
    let report = report(&place.path().join("run"));
    let variants = report["variants"].as_array().expect("variants");
    let settings = |name: &str| -> Vec<Value> {
        let of = variants.iter();
        of.map(|v| v["how"]["settings"][name].clone()).collect()
    };
    assert_eq!(settings("connections"), ["1", "64", "64"]);
    assert_eq!(settings("rate"), ["200"; 3]);
    assert_eq!(settings("arrivals"), ["poisson"; 3]);
}

#[test]
fn an_interrupted_load_is_reported_as_far_as_it_came() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let words = ["load", &target, "--duration", "10m", "--warmup", "0s"];
    let child = place.start(&[&words[..], &["--out", "run", "--quiet"]].concat());
    wait_until("calls", || server.calls.load(Ordering::Relaxed) > 20);
    interrupt(&child);
    let finished = child.wait_with_output().expect("it ends");
    assert_eq!(finished.status.code(), Some(130));
    let shown = String::from_utf8_lossy(&finished.stdout);
    assert!(shown.contains("Interrupted; the figures cover"), "{shown}");
    let report = report(&place.path().join("run"));
    assert_eq!(
        report["variants"][0]["cells"][0]["trials"]["interrupted"],
        1
    );
    place
        .run(&["run", "--resume", "run"])
        .refused(&["live service", "start a new run"]);
}

#[test]
fn a_hang_up_that_was_ignored_from_the_start_does_not_end_a_load() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_rpcgauge"))
        .args(short(&target, &["--rate", "25", "--warmup", "0s"]))
        .current_dir(place.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("sh starts");
    wait_until("calls", || server.calls.load(Ordering::Relaxed) > 5);
    kill_process(Pid::from_child(&child), Signal::HUP).expect("a signal is sent");
    let finished = child.wait_with_output().expect("it ends");
    assert_eq!(finished.status.code(), Some(0));
    let report = report(&place.path().join("run"));
    assert_eq!(figures(&report)["calls"]["answered"], 50);
}

#[test]
fn a_load_needs_no_temporary_folder() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let output = place
        .command(&short(&target, &[]))
        .env("TMPDIR", "/nonexistent")
        .output()
        .expect("the program starts");
    Finished::from(output).well();
}
