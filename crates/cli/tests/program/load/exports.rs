//! The files and metrics that a load exports in addition to its run directory.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::watched::{Seen, stop};
use super::{BUSY, OK, Service, answering, figures, proto, short};
use crate::common::{Finished, Place, json, report, trial_lines, wait_until};

/// The histograms of an interval log, summed by tag.
fn read_log(text: &[u8]) -> BTreeMap<String, Histogram<u64>> {
    let mut sums = BTreeMap::new();
    for entry in IntervalLogIterator::new(text) {
        let LogEntry::Interval(interval) = entry.expect("a line of the format") else {
            continue;
        };
        let packed = STANDARD.decode(interval.encoded_histogram());
        let packed = packed.expect("base64");
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut &packed[..])
            .expect("a histogram");
        assert!(interval.duration().as_secs() < 60, "{interval:?}");
        let tag = interval.tag().map_or("", |tag| tag.as_str()).to_owned();
        let sum = sums.entry(tag).or_insert_with(|| {
            let mut sum = Histogram::new(3).expect("three digits");
            sum.auto(true);
            sum
        });
        *sum += &histogram;
    }
    sums
}

/// The latencies of all calls, from the run directory.
fn recorded(place: &Place) -> Histogram<u64> {
    let trials = trial_lines(&place.path().join("run"));
    let latency = trials[0]["outcome"]["latency"]
        .as_str()
        .expect("a histogram");
    let packed = STANDARD.decode(latency).expect("base64");
    Deserializer::new()
        .deserialize(&mut &packed[..])
        .expect("a histogram")
}

#[test]
fn the_files_hold_what_the_run_directory_holds() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    place.file(
        "old.hlog",
        "what was there before, and is longer than a line",
    );
    let files = ["--hgrm", "new.hgrm", "--interval-log", "old.hlog"];
    let mut words = short(&target, &files);
    words.extend(["--rate", "40"]);
    place.run(&words).well();
    let recorded = recorded(&place);
    assert_eq!(recorded.len(), 50);

    let log = fs::read(place.path().join("old.hlog")).expect("a log");
    assert!(log.starts_with(b"#[Logged with rpcgauge "));
    let sums = read_log(&log);
    assert_eq!(sums.keys().collect::<Vec<_>>(), [""]);
    assert_eq!(sums[""], recorded, "the seconds together are the run");

    let text = fs::read_to_string(place.path().join("new.hgrm")).expect("percentiles");
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(2)
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace())
        .map(|parts| parts.map(|part| part.parse().expect("a number")).collect())
        .collect();
    for row in &rows {
        let ns = (row[0] * 1e6).round() as u64;
        let calls = recorded.count_between(0, ns) as f64;
        assert_eq!(calls, row[2], "calls of at most {} ms", row[0]);
        assert!(row[2] / 50.0 >= row[1] - 1e-9, "{row:?}");
    }
    let last = rows.last().expect("rows");
    assert_eq!(last[1..], [1.0, 50.0]);
}

#[test]
fn failures_have_a_tag_of_their_own_and_targets_too() {
    let place = Place::new();
    let (good, bad) = (answering(OK), answering(BUSY));
    let [good, bad] = [&good, &bad].map(|server| format!("http://{}/", server.address));
    place.line(&format!(
        "load {good} --vs {bad} --blocks 5 --calls 50 --warmup 0s --quiet --out run --interval-log log.hlog"
    ));
    let log = fs::read(place.path().join("log.hlog")).expect("a log");
    let calls: Vec<(String, u64)> = read_log(&log)
        .into_iter()
        .map(|(tag, histogram)| (tag, histogram.len()))
        .collect();
    let expected = [
        ("a", 50),
        ("b", 0),
        ("b-again", 0),
        ("b-again-failed", 50),
        ("b-failed", 50),
    ];
    assert_eq!(calls, expected.map(|(tag, calls)| (tag.to_owned(), calls)));
}

#[test]
fn an_interrupted_load_leaves_whole_files() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let load = ["load", &target, "--duration", "10m", "--warmup", "0s"];
    let files = ["--hgrm", "p.hgrm", "--interval-log", "log.hlog"];
    let out = ["--rate", "100", "--out", "run", "--quiet"];
    let child = place.start(&[&load[..], &files, &out].concat());
    let log = place.path().join("log.hlog");
    wait_until("a second", || {
        fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 5)
    });
    stop(child);
    let recorded = recorded(&place);
    let sums = read_log(&fs::read(&log).expect("a log"));
    assert_eq!(sums[""], recorded);
    let text = fs::read_to_string(place.path().join("p.hgrm")).expect("percentiles");
    let total = format!("Total count    = {:12}]", recorded.len());
    assert!(text.contains(&total), "{text}");
}

/// Scrapes the metrics once. Returns the response's head and body.
fn collect(address: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .write_all(format!("GET /metrics HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes())
        .expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("a response");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// The samples in an OpenMetrics text.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let text = text.strip_suffix("# EOF\n").expect("the end is marked");
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').expect("a value"))
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

#[test]
fn metrics_are_collected_while_a_load_runs() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let (target, proto) = (service.grpc(), proto());
    let message = ["--proto", &proto, "--data", r#"{"name":"{{n}}"}"#];
    let extent = ["--rate", "200", "--duration", "60s", "--warmup", "0s"];
    let out = ["--out", "run", "--quiet", "--metrics", "127.0.0.1:0"];
    let mut child = place.start(&[&["load", &target], &message[..], &extent, &out].concat());
    let seen = Seen::of(child.stderr.take().expect("its standard error"));
    seen.wait_for("/metrics\n");
    let text = seen.text();
    let url = text.split("http://").nth(1).expect("an address");
    let address = url.split('/').next().expect("an address");
    let of = |name: &str| format!("rpcgauge_load_{name}{{target=\"target\"}}");
    let started = of("calls_started_total");
    wait_until("calls", || samples(&collect(address).1)[&started] > 0.0);

    let (head, body) = collect(address);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let media = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(media), "{head}");
    let now = samples(&body);
    let answered = now[&of("calls_answered_total")];
    assert_eq!(now[&started], answered + now[&of("calls_in_flight")]);
    assert_eq!(now[&of("latency_seconds_count")], answered);
    assert!(now[&of("latency_seconds_sum")] > 0.0);
    let bucket = |le: &str| {
        now[&format!("rpcgauge_load_latency_seconds_bucket{{le=\"{le}\",target=\"target\"}}")]
    };
    assert_eq!(bucket("+Inf"), answered);
    assert_eq!(now[&of("send_delay_seconds_count")], now[&started]);
    for name in ["sent_bytes_total", "received_bytes_total"] {
        let bodies = format!("rpcgauge_load_{name}{{target=\"target\",class=\"bodies\"}}");
        assert!(now[&bodies] > 0.0, "{name}");
    }
    assert!(body.contains(&format!("called=\"{target}\"")), "{body}");

    wait_until("more calls", || {
        samples(&collect(address).1)[&started] > now[&started]
    });
    stop(child);
    let started = figures(&report(&place.path().join("run")))["calls"]["started"].as_f64();
    assert!(started.expect("a count") > now[&of("calls_started_total")]);
}

/// A query may contain a secret, but any program that can connect to the port can read the metrics.
#[test]
fn metrics_name_no_query() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/a?key=secret", server.address);
    let words = ["load", &target, "--duration", "60s", "--quiet"];
    let mut child = place.start(&[&words[..], &["--metrics", "127.0.0.1:0"]].concat());
    let seen = Seen::of(child.stderr.take().expect("its standard error"));
    seen.wait_for("/metrics\n");
    let text = seen.text();
    let url = text.split("http://").nth(1).expect("an address");
    let (_, body) = collect(url.split('/').next().expect("an address"));
    let called = format!("called=\"http://{}/a\"", server.address);
    assert!(body.contains(&called), "{body}");
    stop(child);
}

/// A failure to write in one place must not prevent writing elsewhere.
#[test]
fn a_full_disk_ends_with_what_could_be_written() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let full = ["--hgrm", "/dev/full"];
    let finished = place.run(&short(&target, &full));
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let told = "/dev/full: could not be written completely";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
    assert_eq!(
        figures(&report(&place.path().join("run")))["calls"]["answered"],
        50
    );

    let nowhere = OpenOptions::new().write(true).open("/dev/full");
    let child = place
        .command(&[
            "load", &target, "--calls", "50", "--out", "again", "--quiet",
        ])
        .args(["--hgrm", "p.hgrm"])
        .stdout(nowhere.expect("a device"))
        .stderr(Stdio::piped())
        .spawn();
    let finished = child.and_then(Child::wait_with_output);
    let finished = Finished::from(finished.expect("it ends"));
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("cannot write to standard output"),
        "{}",
        finished.stderr
    );
    for file in ["again/report.html", "p.hgrm"] {
        assert!(place.path().join(file).is_file(), "{file}");
    }
}

/// A file size limit simulates a full disk without a separate file system.
#[test]
fn a_load_that_finds_no_room_for_its_record_prints_it() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let paced = ["--rate", "25", "--warmup", "0s", "--json"];
    let child = place.start(&short(&target, &paced));
    wait_until("calls", || server.calls.load(Ordering::Relaxed) > 5);
    let full = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    prlimit(Some(Pid::from_child(&child)), Resource::Fsize, full).expect("it is set");
    let finished = Finished::from(child.wait_with_output().expect("it ends"));
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert_eq!(
        figures(&json(&finished.stdout))["calls"]["answered"],
        50,
        "{}",
        finished.stderr
    );
    for part in [
        "run/trials.jsonl: file too large",
        "what was printed",
        "more room",
    ] {
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
    assert!(!finished.stderr.contains("--resume"), "{}", finished.stderr);
}

#[test]
fn what_cannot_be_written_or_listened_to_is_said_before_anything_is_called() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let in_use = other.local_addr().expect("its address").to_string();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--metrics", "9464"], &["--metrics 9464", "HOST:PORT"]),
        (
            &["--metrics", &in_use],
            &["--metrics", &in_use, "cannot listen there", "another port"],
        ),
        (
            &["--hgrm", "no/where.hgrm"],
            &["--hgrm no/where.hgrm", "cannot write there"],
        ),
        (
            &["--interval-log", "."],
            &["--interval-log .", "cannot write there"],
        ),
        (&["--hgrm", "x.hgrm", "--vs", &target], &["--hgrm", "--vs"]),
        (&["--hgrm", "x.hgrm", "--calls", "0"], &["--calls"]),
        (&["--hgrm", "x.hgrm", "--metrics", "x"], &["--metrics"]),
        (
            &["--hgrm", "x.hgrm", "--interval-log", "./x.hgrm"],
            &["--hgrm and --interval-log name the same file"],
        ),
    ];
    for (words, parts) in cases {
        let mut all = vec!["load", &target];
        all.extend(*words);
        place.run(&all).refused(parts);
    }
    assert_eq!(place.names(), [""; 0], "nothing is left");
}
