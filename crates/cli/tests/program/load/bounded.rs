//! How many requests a service gets, and a bound of them.

use std::sync::atomic::Ordering;

use super::{OK, answering};
use crate::common::{Place, report};

/// Runs a load with a bound on services, and holds what the report says to what they counted.
fn bounded(most: u64, services: usize, more: &[&str]) -> String {
    let place = Place::new();
    let services: Vec<_> = (0..services).map(|_| answering(OK)).collect();
    let targets: Vec<String> = services
        .iter()
        .map(|of| format!("http://{}/", of.address))
        .collect();
    let most_text = most.to_string();
    let mut args = vec![
        "load",
        &targets[0],
        "--out",
        "run",
        "--max-requests",
        &most_text,
    ];
    if let Some(vs) = targets.get(1) {
        args.extend(["--vs", vs]);
    }
    args.extend(more);
    let shown = place.run(&args).well();
    let report = report(&place.path().join("run"));
    let variants = report["variants"].as_array().expect("variants");
    for (service, target) in services.iter().zip(&targets) {
        let of_target = variants
            .iter()
            .filter(|of| of["how"]["service"]["target"] == target.as_str());
        let sent: Vec<u64> = of_target
            .flat_map(|of| of["cells"].as_array().expect("cells"))
            .map(|cell| cell["figures"]["requests_sent"].as_u64().expect("a count"))
            .collect();
        let served = service.calls.load(Ordering::Relaxed);
        assert!(served <= most, "{served} of {most} requests for {target}");
        // Each variant was tried with its own call, or with that of its twin.
        let (sum, variants) = (sent.iter().sum::<u64>(), sent.len() as u64);
        assert!(
            (sum + 1..=sum + variants).contains(&served),
            "{sent:?}, and {served} came"
        );
    }
    shown
}

#[test]
fn a_service_gets_no_more_requests_than_it_may() {
    let shown = bounded(50, 1, &["--duration", "10s", "--in-flight", "4"]);
    assert!(
        shown.contains("49 requests sent in measured trials"),
        "{shown}"
    );
    bounded(30, 1, &["--rate", "500", "--duration", "10s"]);
    bounded(400, 2, &["--duration", "10s", "--blocks", "5"]);
    bounded(
        300,
        2,
        &["--calls", "1000", "--blocks", "5", "--connect-per-call"],
    );
}

#[test]
fn a_bound_that_is_out_of_reach_changes_nothing() {
    let shown = bounded(100_000, 1, &["--calls", "40", "--warmup", "0s"]);
    assert!(shown.contains("40 started: 40 answered"), "{shown}");
    assert!(
        shown.contains("40 requests sent in measured trials"),
        "{shown}"
    );
}

#[test]
fn a_bound_below_one_request_for_each_trial_is_refused() {
    let place = Place::new();
    let args = [
        "load",
        "http://127.0.0.1:9/",
        "--vs",
        "http://127.0.0.1:10/",
        "--max-requests",
        "12",
    ];
    place
        .run(&args)
        .refused(&["max-requests", "allow at least 21"]);
    let one = ["load", "http://127.0.0.1:9/", "--max-requests", "1"];
    let why = "1 trial of http://127.0.0.1:9/ and 1 first call; allow at least 2";
    place.run(&one).refused(&[why]);
    let search = [
        "load",
        "http://127.0.0.1:9/",
        "--max-requests",
        "5",
        "--find-capacity",
        "--slo",
        "p99<1s",
    ];
    place
        .run(&search)
        .refused(&["--max-requests", "--find-capacity"]);
}

#[test]
fn a_bound_that_leaves_nothing_to_measure_says_so() {
    let place = Place::new();
    let services = [answering(OK), answering(OK)];
    let targets = services
        .each_ref()
        .map(|of| format!("http://{}/", of.address));
    let args = [
        "load",
        &targets[0],
        "--vs",
        &targets[1],
        "--max-requests",
        "25",
    ];
    let shown = place.run(&args);
    assert_eq!(shown.code, Some(1), "{}", shown.stderr);
    let told = "came before; if \"max-requests\" bounds them, allow more";
    assert!(shown.stderr.contains(told), "{}", shown.stderr);
}
