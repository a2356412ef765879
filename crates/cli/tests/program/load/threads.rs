//! `load --threads`.

use std::collections::BTreeMap;

use super::{Service, keeping, proto};
use crate::common::{Place, report, trial_lines};

/// Runs a load without a warm-up on two threads, with five rows. Returns its report, and how often the service received
/// each row after the first call.
fn on_two_threads(more: &str) -> (String, BTreeMap<String, u64>) {
    let place = Place::new();
    place.file("rows.csv", "id\n0\n1\n2\n3\n4\n");
    let (target, requests) = keeping(true);
    let load = format!("load {target} --rows rows.csv --data row-{{{{id}}}} --warmup 0s --out run");
    let shown = place.line(&format!("{load} --threads 2 --connections 4 {more}"));
    let mut rows = BTreeMap::new();
    for request in requests.lock().expect("no panic").iter().skip(1) {
        let (_, row) = request.split_once("row-").expect("a row");
        *rows.entry(row[..1].to_owned()).or_default() += 1;
    }
    (shown.well(), rows)
}

#[test]
fn a_load_on_two_threads_makes_exactly_its_calls() {
    for (schedule, calls) in [
        ("--in-flight 4 -n 1001", 1_001),
        ("--rate 1000 -n 301", 301),
        ("--rate 1000 --poisson -n 301", 301),
        ("--rate 500 -z 600ms", 300),
        ("--ramp 0..500:400ms,500:200ms", 200),
    ] {
        let (shown, rows) = on_two_threads(schedule);
        let count = if calls == 1_001 {
            "1,001".to_owned()
        } else {
            calls.to_string()
        };
        let succeeded = format!("{count} started: {count} succeeded");
        assert!(shown.contains(&succeeded), "{schedule}: {shown}");
        assert_eq!(rows.values().sum::<u64>(), calls, "{schedule}");
        let is_even = rows.values().all(|count| count.abs_diff(calls / 5) <= 1);
        assert!(rows.len() == 5 && is_even, "{schedule}: {rows:?}");
    }
}

#[test]
fn the_report_and_the_record_are_those_of_one_load() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let (target, proto) = (service.grpc(), proto());
    let mut args = vec!["load", &target, "--proto", &proto, "--out", "run"];
    args.extend(["--threads", "2", "--connections", "3", "--in-flight", "6"]);
    args.extend(["-z", "1200ms", "--interval-log", "log.hlog"]);
    let shown = place.run(&args).well();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        ", 2 threads, TCP connection reused × 3, 6 calls in flight,",
        " of a core by the busiest of 2 threads",
        " 3 at the start, 0 opened later",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let report = report(&place.path().join("run"));
    assert_eq!(report["variants"][0]["how"]["settings"]["threads"], "2");
    let trial = &trial_lines(&place.path().join("run"))[0]["outcome"];
    assert_eq!(trial["most_in_flight"], 6);
    let ended = &trial["calls"];
    assert_eq!(ended["started"], ended["answered"]);
    let log = std::fs::read_to_string(place.path().join("log.hlog")).expect("the log");
    assert!(
        log.lines()
            .filter(|line| !line.starts_with(['#', '"']))
            .count()
            >= 2,
        "{log}"
    );
}

#[test]
fn a_search_for_capacity_can_use_two_threads() {
    let place = Place::new();
    let (target, _) = keeping(true);
    let search = "--find-capacity --slo p99<10s --max-rate 200 --duration 200ms --threads 2";
    let shown = place
        .line(&format!("load {target} {search} --out run"))
        .well();
    assert!(shown.contains("2 threads"), "{shown}");
}

#[test]
fn threads_that_have_nothing_to_do_are_refused() {
    let place = Place::new();
    let refused = |more: &str, parts: &[&str]| {
        place
            .line(&format!("load http://127.0.0.1:9/ {more}"))
            .refused(parts);
    };
    let why = "--threads: each thread makes calls on connections of its own, so threads = 2 needs connections = 2";
    refused("--threads 2", &[why]);
    refused("--threads 2 --http 2 --in-flight 8", &[why]);
    refused(
        "--threads two",
        &["\"two\" is not a number of threads; write it as 2, or auto"],
    );
    let why = "--threads: several threads are for one service that is already running";
    refused("--threads 2 --rate 9 --vs http://127.0.0.1:10/", &[why]);
}

#[test]
fn as_many_threads_as_cores_need_a_connection_each() {
    let place = Place::new();
    let printed = |more: &str| {
        let line = format!("load http://h/ --print-study --threads auto {more}");
        let study = place.line(&line).well();
        study
            .lines()
            .find_map(|line| Some(line.strip_prefix("threads = ")?.parse::<usize>().unwrap()))
    };
    let cores = std::thread::available_parallelism()
        .expect("the cores")
        .get();
    assert_eq!(printed(""), Some(1));
    assert_eq!(printed("--in-flight 3"), Some(cores.min(3)));
    assert_eq!(printed("--rate 100"), Some(cores.min(64)));
    assert_eq!(printed("--http 2 --rate 100"), Some(1));
    assert_eq!(
        printed("--http 2 --connections 2 --in-flight 9"),
        Some(cores.min(2))
    );
}
