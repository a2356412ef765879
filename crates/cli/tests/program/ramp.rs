//! `load --ramp`: a rate that changes over time.

use std::fs;

use crate::common::{Place, json, report};
use crate::load::{OK, Service, answering};

/// The steps of the only variant.
fn steps(report: &serde_json::Value) -> &Vec<serde_json::Value> {
    let steps = &report["variants"][0]["cells"][0]["figures"]["steps"];
    steps.as_array().expect("steps")
}

#[test]
fn a_ramp_is_told_step_by_step_in_every_report() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let shown = place
        .line(&format!(
            "load {target} --ramp 100,0,200:200ms,100..0:400ms --slo errors<=0 --out run --quiet"
        ))
        .well();
    assert!(shown.contains("succeeded/s"), "{shown}");
    assert!(shown.contains("errors<=0 met in every step"), "{shown}");
    let report = report(&place.path().join("run"));
    let started: Vec<u64> = steps(&report)
        .iter()
        .map(|step| step["started"].as_u64().expect("a count"))
        .collect();
    assert_eq!(started.len(), 3 + 10, "a slope has ten slices");
    assert_eq!(started[..3], [20, 0, 40]);
    assert_eq!(started[3..].iter().sum::<u64>(), 20, "{started:?}");
    for step in steps(&report) {
        assert_eq!(step["answered"], step["started"]);
        assert_eq!(step["sent"], step["started"]);
    }
    for name in ["report.html", "report.md"] {
        let text = fs::read_to_string(place.path().join("run").join(name)).expect("a report");
        assert!(text.contains("unsuccessful"), "{name}");
    }
    let page = fs::read_to_string(place.path().join("run/report.html")).expect("a page");
    for drawn in [
        "Calls per second to target",
        "Calls by latency",
        "Latency over the target rate",
        "met all objectives",
    ] {
        assert!(page.contains(drawn), "{drawn}");
    }
    assert!(!page.contains("Failures per second"), "no call failed");
}

#[test]
fn two_targets_are_compared_in_each_step_of_a_ramp() {
    let place = Place::new();
    let (ours, theirs) = (answering(OK), answering(OK));
    let shown = place
        .line(&format!(
            "load ours=http://{}/ --vs theirs=http://{}/ --ramp 100,0,200:200ms --slo errors<=0 --out run",
            ours.address, theirs.address
        ))
        .well();
    for text in [
        "ours reached",
        "theirs reached",
        "ours is",
        "In p50 latency, ",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    for target in ["ours", "theirs"] {
        let met = format!("{target}: errors<=0 met in every step");
        assert!(shown.contains(&met), "{shown}");
    }
    let report = report(&place.path().join("run"));
    assert_eq!(
        report["trials"].as_array().map(Vec::len),
        Some(9),
        "3 blocks"
    );
    assert_eq!(
        report["comparisons"],
        serde_json::json!([]),
        "none over all rates"
    );
    let metrics = ["latency-p50", "latency-p99"];
    for (compared, metric) in report["ramps"]
        .as_array()
        .expect("ramps")
        .iter()
        .zip(metrics)
    {
        assert_eq!(compared["metric"], metric);
        assert_eq!(compared["steps"].as_array().map(Vec::len), Some(3));
    }
    let started = |place: usize| report["ramps"][0]["steps"][place]["blocks"]["used"].clone();
    assert_eq!([0, 1, 2].map(started), [3, 0, 3], "none in the pause");
    assert_eq!(report["ramps"][0]["steps"][2]["control"]["of"], "theirs");
    let of_target = steps(&report).iter().map(|step| step["started"].clone());
    assert_eq!(
        of_target.collect::<Vec<_>>(),
        [60, 0, 120],
        "over the blocks"
    );
    let page = fs::read_to_string(place.path().join("run/report.html")).expect("a page");
    for drawn in ["ours p50", "theirs p50", "Ramp of theirs"] {
        assert!(page.contains(drawn), "{drawn}");
    }
}

#[test]
fn a_ramp_of_random_arrivals_ends_with_its_calls() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let target = service.grpc();
    let line = format!("load {target} --ramp 500:1m --poisson --calls 30 --json --out run --quiet");
    let report = json(&place.line(&line).well());
    let step = &steps(&report)[0];
    assert_eq!(step["started"], 30);
    // The step lasted as long as the load, not a minute, and its rates refer to that time.
    let figures = &report["variants"][0]["cells"][0]["figures"];
    assert_eq!(step["lasted_ns"], figures["elapsed_ns"]);
    assert_eq!(step["goodput"], figures["goodput"]);
    let settings = &report["variants"][0]["how"]["settings"];
    assert_eq!(settings["rate"], "500:1m");
    assert_eq!(settings["arrivals"], "poisson");
}

#[test]
fn what_is_no_ramp_is_refused_in_one_line() {
    let place = Place::new();
    let run = |more: &[&str]| {
        let mut words = vec!["load", "http://127.0.0.1:9/"];
        words.extend(more);
        place.run(&words)
    };
    run(&["--ramp", "100"]).refused(&["--ramp", "no time", "100,200,400:10s"]);
    run(&["--ramp", "fast:10s"]).refused(&["--ramp", "\"fast\" is not a number"]);
    run(&["--ramp", "0:10s"]).refused(&["--ramp", "not a pause"]);
    run(&["--rate", "-5"]).refused(&["--rate", "more than 0"]);
    run(&["--ramp", "1:1s", "--rate", "5"]).refused(&["--ramp", "--rate"]);
    run(&["--ramp", "1:1s", "--in-flight", "5"]).refused(&["--ramp", "--in-flight"]);
    run(&["--ramp", "1:1s", "--duration", "5s"]).refused(&["--ramp", "--duration"]);
    run(&["--ramp", "1:1s", "--warmup", "5s"]).refused(&["--warmup", "no separate warm-up"]);
    let vs = ["--ramp", "1:1s", "--vs", "http://127.0.0.1:9/"];
    run(&[&vs[..], &["--fail-if-slower"]].concat()).refused(&["--ramp", "--fail-if-slower"]);
    run(&[&vs[..], &["--blocks", "2"]].concat()).refused(&["--blocks", "from 3"]);
    run(&["--poisson"]).refused(&["not provided", "--ramp"]);
}
