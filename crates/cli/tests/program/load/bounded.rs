//! The number of requests sent to a service, and `--max-requests`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use super::{OK, answering, answering_after};
use crate::common::{Place, interrupt, report, wait_until};

/// Runs a load with a limit on requests, and compares the report with the services' own counts.
fn bounded(most: u64, services: usize, more: &[&str]) -> String {
    let place = Place::new();
    let services: Vec<_> = (0..services).map(|_| answering(OK)).collect();
    let targets: Vec<String> = services
        .iter()
        .map(|of| format!("http://{}/", of.address))
        .collect();
    let max_text = most.to_string();
    let mut args = vec!["load", &targets[0], "--out", "run"];
    args.extend(["--max-requests", &max_text]);
    if let Some(vs) = targets.get(1) {
        args.extend(["--vs", vs]);
    }
    args.extend(more);
    let shown = place.run(&args).well();
    let report = report(&place.path().join("run"));
    let told = &report["requests_sent"];
    assert_eq!(told.as_array().expect("a list").len(), services.len());
    for (at, (service, target)) in services.iter().zip(&targets).enumerate() {
        let served = service.calls.load(Ordering::Relaxed);
        assert!(served <= most, "{served} of {most} requests for {target}");
        assert_eq!(told[at], json!({ "target": target, "requests": served }));
    }
    shown
}

#[test]
fn a_service_gets_no_more_requests_than_it_may() {
    let shown = bounded(50, 1, &["--duration", "10s", "--in-flight", "4"]);
    assert!(
        shown.contains("; 50 requests sent, including first"),
        "{shown}"
    );
    let ended = "1 of 1 trials ended early because max-requests did not allow more requests";
    assert!(shown.contains(ended), "{shown}");
    bounded(30, 1, &["--rate", "500", "--duration", "10s"]);
    bounded(421, 2, &["--duration", "10s", "--blocks", "5"]);
    let per_call = ["--calls", "1000", "--blocks", "5", "--connect-per-call"];
    let shown = bounded(450, 2, &per_call);
    assert!(shown.contains("5 of 5 trials of a ended early"), "{shown}");
}

#[test]
fn a_bound_that_is_out_of_reach_changes_nothing() {
    let shown = bounded(100_000, 1, &["--calls", "40", "--warmup", "0s"]);
    assert!(shown.contains("40 started: 40 succeeded"), "{shown}");
    assert!(
        shown.contains("; 41 requests sent, including first"),
        "{shown}"
    );
    assert!(!shown.contains("ended early"), "{shown}");
}

#[test]
fn a_bound_below_one_request_for_each_trial_is_refused() {
    let place = Place::new();
    let load = "load http://127.0.0.1:9/ --max-requests";
    let refused = |more: &str, parts: &[&str]| place.line(&format!("{load} {more}")).refused(parts);
    let why = "--max-requests: 12 is too few for 20 trials of http://127.0.0.1:10/, each with at least 42 requests";
    refused("12 --vs http://127.0.0.1:10/", &[why, "allow at least 841"]);
    let why = "1 trial of http://127.0.0.1:9/ and 1 first call; allow at least 2";
    refused("1", &[why]);
    let search = "5 --find-capacity --slo p99<1s";
    refused(search, &["--max-requests", "--find-capacity"]);
}

#[test]
fn requests_of_trials_that_measured_nothing_are_told_too() {
    let place = Place::new();
    let service = answering_after(OK, Duration::from_millis(1));
    let target = format!("http://{}/", service.address);
    let args = ["load", &target, "--duration", "10m", "--warmup", "10m"];
    let child = place.start(&[&args[..], &["--out", "run", "--quiet"]].concat());
    wait_until("calls", || service.calls.load(Ordering::Relaxed) > 20);
    interrupt(&child);
    let finished = child.wait_with_output().expect("it ends");
    assert_eq!(finished.status.code(), Some(130));
    let served = service.calls.load(Ordering::Relaxed);
    let shown = String::from_utf8_lossy(&finished.stdout);
    assert!(
        shown.contains(&format!("{served} requests sent")),
        "{shown}"
    );
    assert!(
        shown.contains("interrupted before the first measured call"),
        "{shown}"
    );
    let report = report(&place.path().join("run"));
    assert_eq!(report["requests_sent"][0]["requests"], served);
}
