//! `gate`: two versions of a service, each started several times.

use crate::common::{Place, json};

/// The command of a service whose handler works for `spin_ns` per call.
fn serve(spin_ns: u32) -> String {
    let program = env!("CARGO_BIN_EXE_rpcgauge");
    format!("RPCGAUGE_HANDLER_SPIN_NS={spin_ns} exec '{program}' serve --listen 127.0.0.1:{{port}}")
}

const GRPC: &str = "grpc://127.0.0.1:{port}/hello.Hello/SayHello";
const HTTP: &str = "http://127.0.0.1:{port}/hello";
/// As short as possible.
const SHORT: [&str; 5] = ["--starts", "5", "--duration", "10s", "--quiet"];

fn gate(place: &Place, old: &str, new: &str, more: &[&str]) -> crate::common::Finished {
    let versions = ["gate", "--old", old, "--new", new];
    place.run(&[&versions, more, &SHORT].concat())
}

#[test]
fn a_slower_version_fails_with_a_line_per_metric_and_a_summary() {
    let place = Place::new();
    let more = ["--call", GRPC, "--out", "run", "--summary", "summary.md"];
    let finished = gate(&place, &serve(0), &serve(5_000_000), &more);
    finished.failed(1, &[]);
    let said = &finished.stdout;
    assert!(said.starts_with("FAILED: p50 latency: "), "{said}");
    for line in [
        "p50 latency",
        "p99 latency",
        "server CPU",
        "server memory",
        "failed calls",
    ] {
        assert!(said.contains(&format!("\n{line}  ")), "{line} in {said}");
    }
    let summary = std::fs::read_to_string(place.path().join("summary.md")).unwrap();
    assert!(summary.starts_with("## rpcgauge: FAILED"), "{summary}");
    for file in ["report.html", "gate.html", "gate.json", "gate.md"] {
        assert!(place.path().join("run").join(file).exists(), "{file}");
    }
}

#[test]
fn a_faster_version_passes_and_every_call_is_judged() {
    let place = Place::new();
    let more = [
        "--call", GRPC, "--call", HTTP, "--data", "", "--data", "{}", "--json",
    ];
    let finished = gate(&place, &serve(5_000_000), &serve(0), &more);
    let gate = json(&finished.well());
    assert_eq!(
        (&gate["verdict"], &gate["starts"]),
        (&"passed".into(), &5.into())
    );
    let calls = gate["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    for call in calls {
        assert_eq!(
            call["metrics"][0]["comparison"]["outcome"]["verdict"], "faster",
            "{call}"
        );
        assert_eq!(call["metrics"][0]["allowed"], 0.05);
    }
}

#[test]
fn a_version_that_cannot_be_called_is_named_before_anything_is_measured() {
    let place = Place::new();
    let refused = |new: &str, parts: &[&str]| {
        let more = ["--call", HTTP, "--ready-within", "2s"];
        gate(&place, &serve(0), new, &more).refused(parts);
    };
    refused(
        "./missing",
        &["hello-new", "./missing", "exited on its own", "not found"],
    );
    refused("echo starting; exit 3", &["exit code 3", "starting"]);
    refused(
        "exec sleep 60",
        &["did not listen on port", "within 2 s", "PORT"],
    );
    let program = env!("CARGO_BIN_EXE_rpcgauge");
    let elsewhere = format!("exec '{program}' serve --listen 127.0.0.1:0");
    refused(
        &elsewhere,
        &["did not listen on port", ", but on ", "{port}"],
    );
    let other = format!("exec '{program}' serve --workload list --listen 127.0.0.1:{{port}}");
    refused(&other, &["responds with 404"]);
    assert_eq!(place.names(), Vec::<String>::new(), "nothing is written");
}

/// The `rpcgauge gate` commands of docs/ci.md, each in one line.
fn documented() -> Vec<String> {
    let page = include_str!("../../../../docs/ci.md").replace("\\\n", " ");
    let (mut all, mut is_folded) = (Vec::new(), false);
    for line in page.lines() {
        let line = line.trim();
        if let Some(at) = line.find("rpcgauge gate --") {
            all.push(line[at..].to_owned());
            // A folded scalar of YAML goes on in the next lines.
            is_folded = true;
        } else if let (true, true, Some(last)) = (is_folded, line.starts_with("--"), all.last_mut())
        {
            *last += &format!(" {line}");
        } else {
            is_folded = false;
        }
    }
    all
}

#[test]
fn every_documented_gate_is_a_study() {
    let place = Place::new();
    for name in ["request.json", "ci/request.json", "pr/ci/request.json"] {
        place.file(name, "{}");
    }
    let all = documented();
    assert_eq!(all.len(), 3, "{all:#?}");
    for line in all {
        let words = format!("rpcgauge() {{ \"$PROGRAM\" \"$@\"; }}; {line} --print-study");
        let output = std::process::Command::new("sh")
            .args(["-c", &words])
            .env("PROGRAM", env!("CARGO_BIN_EXE_rpcgauge"))
            .env("GITHUB_STEP_SUMMARY", "summary.md")
            .current_dir(place.path())
            .output()
            .expect("a shell");
        let study = crate::common::Finished::from(output).well();
        place.file("gate.toml", &study);
        let plan = place.line("plan gate.toml").well();
        assert!(plan.contains("search-old-again"), "{line}: {plan}");
    }
}

#[test]
fn options_that_cannot_work_are_refused() {
    let place = Place::new();
    let refused = |more: &[&str], parts: &[&str]| {
        gate(&place, &serve(0), &serve(0), more).refused(parts);
    };
    refused(&["--call", "http://127.0.0.1:8080/"], &["{port}"]);
    refused(
        &["--call", HTTP, "--data", "1", "--data", "2"],
        &["--data is given 2 times for 1 call;"],
    );
    refused(
        &["--call", HTTP, "--allow", "goodput=5%"],
        &["\"goodput\" is not judged here", "server-memory"],
    );
    refused(
        &["--call", HTTP, "--allow", "latency-p50"],
        &["METRIC=SHARE"],
    );
    refused(&["--call", HTTP, "--fail-if-slower=-5%"], &["0%"]);
    place
        .run(&[
            "gate",
            "--old",
            "a",
            "--new",
            "b",
            "--call",
            HTTP,
            "--duration",
            "1s",
        ])
        .refused(&["--duration", "too short for 20 starts", "at least"]);
}
