//! `load --find-capacity`: the highest rate that meets objectives.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Place, interrupt, report, trial_lines, wait_until};
use crate::load::{BUSY, OK, Service, answer_each, answering, proto, serving};

/// A server that answers one call at a time across all connections, each after a fixed time.
/// Returns its URL.
fn one_at_a_time(service: Duration) -> String {
    let turn = Arc::new(Mutex::new(()));
    let address = serving(move |stream| {
        answer_each(stream, |_| {
            let _served = turn.lock().unwrap_or_else(PoisonError::into_inner);
            thread::sleep(service);
            OK
        });
    });
    format!("http://{address}/")
}

/// The command line of a search that writes to `run`.
fn search<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["load", target, "--find-capacity", "--warmup", "0s"];
    words.extend(["--out", "run", "--quiet"]);
    words.extend(more);
    words
}

#[test]
fn a_server_of_known_capacity_is_not_said_to_hold_more() {
    let place = Place::new();
    // At most 200 calls per second, since a sleep is never too short.
    let target = one_at_a_time(Duration::from_millis(5));
    let objective = ["--slo", "p50<500ms", "--duration", "2500ms"];
    let extent = ["--start-rate", "40", "--precision", "100%"];
    let finished = place.run(&search(&target, &[objective, extent].concat()));
    let shown = finished.well();
    assert!(
        shown.contains("calls/s the service meets p50<500ms"),
        "{shown}"
    );
    let report = report(&place.path().join("run"));
    let capacity = &report["capacity"];
    assert_eq!(capacity["end"], "found", "{capacity}");
    let rate = |end: &str| capacity[end]["rate"].as_f64().expect("a rate");
    // At 280 calls per second, the median call is due after 1.25 s but ends only after 350 calls of
    // 5 ms, so it takes 500 ms. Without a queue, a call never takes that long, even on a busy
    // machine.
    assert!(rate("held") < 280.0, "{capacity}");
    assert!(rate("missed") <= 2.0 * rate("held"), "{capacity}");
    assert!(capacity["held"]["holds"].as_u64() >= Some(3), "{capacity}");
    let trials = capacity["trials"].as_array().expect("trials");
    let lines = trial_lines(&place.path().join("run"));
    assert_eq!(trials.len(), lines.len(), "each is in the run directory");
    for (trial, line) in trials.iter().zip(&lines) {
        assert_eq!(trial["rate"], line["rate"]);
        assert!(trial["started"].as_u64() >= Some(100), "enough for p50");
    }
    let shown_rate = &report["variants"][0]["how"]["settings"]["rate"];
    assert_eq!(shown_rate, &rate("held").to_string());
    for name in ["report.html", "report.md"] {
        let text = fs::read_to_string(place.path().join("run").join(name)).expect("a report");
        assert!(text.contains("All trials, in the order they ran"), "{name}");
    }
    let page = fs::read_to_string(place.path().join("run/report.html")).expect("a page");
    for drawn in [
        "highest rate that met them",
        "missed an objective",
        "met all objectives",
    ] {
        assert!(page.contains(drawn), "{drawn}");
    }
    let again = place.run(&["report", "run"]).well();
    assert!(
        again.contains("calls/s the service meets p50<500ms"),
        "{again}"
    );
}

#[test]
fn what_holds_at_the_highest_rate_is_limited_by_it() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let (target, proto) = (service.grpc(), proto());
    let objectives = ["--slo", "p50<10s", "--slo", "errors<=0"];
    // Each call has its own message. The highest rate limits the number of messages.
    let message = ["--proto", &proto, "--data", r#"{"name": "{{n}}"}"#];
    let extent = ["--start-rate", "200", "--max-rate", "400", "--poisson"];
    let words = [&objectives[..], &message, &extent, &["--duration", "100ms"]].concat();
    let shown = place.run(&search(&target, &words)).well();
    assert!(
        shown.contains(
            "At 400 calls/s the service meets p50<10s and errors<=0 (met in 3 of 3 trials)"
        ),
        "{shown}"
    );
    assert!(shown.contains("Limited by --max-rate"), "{shown}");
}

#[test]
fn a_search_in_which_no_rate_holds_ends_with_1() {
    let place = Place::new();
    let server = answering(BUSY);
    let target = format!("http://{}/", server.address);
    let words = ["--slo", "errors<=0", "--duration", "50ms"];
    let finished = place.run(&search(&target, &words));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let shown = finished.stdout;
    assert!(
        shown.contains("No rate that was tried meets errors<=0"),
        "{shown}"
    );
    assert!(shown.contains("missed errors<=0: 100%"), "{shown}");
    let report = report(&place.path().join("run"));
    assert_eq!(report["capacity"]["end"], "none-held");
    assert_eq!(report["capacity"].get("held"), None::<&Value>);
}

#[test]
fn an_interrupted_search_tells_what_it_knows() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let words = ["--slo", "p50<10s", "--start-rate", "200"];
    let words = [&words[..], &["--duration", "2s"]].concat();
    let child = place.start(&search(&target, &words));
    let run = place.path().join("run");
    wait_until("the first trial", || {
        run.join("trials.jsonl").exists() && !trial_lines(&run).is_empty()
    });
    interrupt(&child);
    let finished = crate::common::Finished::from(child.wait_with_output().expect("it ends"));
    assert_eq!(finished.code, Some(130), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("The search was stopped early"),
        "{}",
        finished.stdout
    );
    let capacity = &report(&run)["capacity"];
    assert_eq!(capacity["end"], "stopped");
    assert!(
        capacity["held"]["rate"].as_f64() >= Some(200.0),
        "{capacity}"
    );
}

#[test]
fn what_cannot_be_searched_is_refused_in_one_line() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let refused = |more: &[&str], parts: &[&str]| {
        let mut words = vec!["load", &target, "--find-capacity"];
        words.extend(more);
        place.run(&words).refused(parts);
    };
    refused(&[], &["--slo <OBJECTIVE>"]);
    refused(&["--slo", "goodput>5"], &["--slo", "not goodput"]);
    let slo = ["--slo", "p99<20ms"];
    let with = |more: &[&'static str]| [&slo[..], more].concat();
    for (option, value) in [
        ("--rate", "5"),
        ("--ramp", "5:1s"),
        ("--in-flight", "5"),
        ("--calls", "5"),
        ("--vs", "http://h/"),
    ] {
        refused(&with(&[option, value]), &[option, "--find-capacity"]);
    }
    refused(&with(&["--max-rate", "0"]), &["--max-rate", "more than 0"]);
    refused(
        &with(&["--start-rate", "9", "--max-rate", "5"]),
        &[
            "--start-rate",
            "the first rate is above the highest, 5 calls/s",
        ],
    );
    refused(&with(&["--precision", "0"]), &["--precision", "0.1%"]);
    refused(
        &with(&["--precision", "much"]),
        &["--precision", "not a share"],
    );
    let without = place.run(&["load", &target, "--max-rate", "5"]);
    without.refused(&["not provided", "--find-capacity"]);
}
