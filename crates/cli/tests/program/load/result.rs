//! How much is called, what comes of it, and what decides the exit code.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use rustix::process::{Pid, Signal, kill_process};

use super::{BUSY, OK, answering, figures, short};
use crate::common::{Finished, Place, interrupt, report, wait_until};

#[test]
fn a_rate_is_held_for_a_time() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    place
        .run(&[
            "load",
            &target,
            "--rate",
            "400",
            "--poisson",
            "--duration",
            "500ms",
            "--warmup",
            "0s",
            "--out",
            "run",
            "--quiet",
        ])
        .well();
    let report = report(&place.path().join("run"));
    let started = figures(&report)["calls"]["started"]
        .as_u64()
        .expect("a count");
    assert!((100..400).contains(&started), "about 200 arrive: {started}");
    let how = report["variants"][0]["how"]["schedule"]
        .as_str()
        .expect("words");
    assert_eq!(how, "400 calls/s, at random (Poisson)");
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
        reached.stdout.contains("✓ p50<10s reached"),
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
    let hoped = place.run(&[
        "load",
        &target,
        "--calls",
        "5",
        "--slo",
        "errors<=100%",
        "--out",
        "hoped",
        "--quiet",
    ]);
    assert_eq!(
        hoped.code,
        Some(0),
        "an objective decides: {}",
        hoped.stdout
    );
}

#[test]
fn a_service_that_breaks_off_its_answers_is_measured_by_its_own_fault() {
    for (answer, received) in [
        ("HTTP/1.1 200 OK\r\nX-Y: z", 23),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", 40),
    ] {
        let place = Place::new();
        let address = breaking_off(answer);
        let target = format!("http://{address}/");
        let words = [
            "load", &target, "--calls", "1", "--warmup", "0s", "--out", "run",
        ];
        let finished = place.run(&words);
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        let report = report(&place.path().join("run"));
        let figures = figures(&report);
        assert_eq!(figures["calls"]["failed"]["connection-closed"], 1);
        let bytes = &figures["bytes"]["received"];
        let counted = bytes["headers"].as_f64().zip(bytes["bodies"].as_f64());
        let counted = counted.map(|(headers, bodies)| headers + bodies);
        assert_eq!(counted, Some(f64::from(received)), "{bytes}");
    }
}

/// A server that writes the same bytes to each connection once a request has come, and closes it.
fn breaking_off(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn two_targets_are_compared_in_blocks() {
    let place = Place::new();
    let (one, other) = (answering(OK), answering(OK));
    let [target, versus] = [&one, &other].map(|server| format!("http://{}/", server.address));
    let shown = place
        .run(&[
            "load", &target, "--vs", &versus, "--blocks", "5", "--calls", "100", "--out", "run",
            "--quiet",
        ])
        .well();
    for part in [
        "Target a",
        "Target b",
        "Is a call to a faster than one to b?",
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
fn an_interrupted_load_is_reported_as_far_as_it_came() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let child = place.start(&[
        "load",
        &target,
        "--duration",
        "10m",
        "--warmup",
        "0s",
        "--out",
        "run",
        "--quiet",
    ]);
    wait_until("calls", || server.calls.load(Ordering::Relaxed) > 20);
    interrupt(&child);
    let finished = child.wait_with_output().expect("it ends");
    assert_eq!(finished.status.code(), Some(130));
    let shown = String::from_utf8_lossy(&finished.stdout);
    assert!(
        shown.contains("interrupted; the figures are those"),
        "{shown}"
    );
    let report = report(&place.path().join("run"));
    assert_eq!(
        report["variants"][0]["cells"][0]["trials"]["interrupted"],
        1
    );
    place
        .run(&["run", "--resume", "run"])
        .refused(&["live service", "rpcgauge load"]);
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
