//! The first calls after each start, timed before any others.

use serde_json::Value;

use crate::common::report;
use crate::subjects::{greeter, greeter_with};

const STUDY: &str = "# Cold?
invocations = 1
blocks = 1
warm-up = { calls = 5 }
a-a = \"plain\"
[workload]
name = \"hello\"
[base]
protocol = \"rest\"
calls = 20
cold-calls = 5
[[variants]]
name = \"plain\"
[[variants]]
name = \"server\"
server = \"greeter/server\"
[[pairs]]
of = \"server\"
against = \"plain\"
metric = [\"first-call\", \"first-calls\", \"latency-p50\"]
";

/// Minimum time of the first response, in ns.
const SLEEPS_NS: u64 = 200_000_000;

#[test]
fn only_the_first_calls_of_a_start_are_cold() {
    let place = greeter_with(
        "server.py",
        "start = time.monotonic_ns()",
        "hasattr(Handler, 'warm') or time.sleep(0.2); Handler.warm = True; start = time.monotonic_ns()",
    );
    place.file("study.toml", STUDY);
    place
        .run(&["run", "study.toml", "--subjects", "mine", "--out", "run"])
        .well();
    let report = report(&place.path().join("run"));
    let variants = report["variants"].as_array().expect("variants");
    let figures = |name: &str| -> &Value {
        let is_it = |variant: &&Value| variant["name"] == name;
        let variant = variants.iter().find(is_it).expect(name);
        &variant["cells"][0]["figures"]
    };
    let ns = |name: &str, of: &str| figures(name)["startup"]["cold"][of].as_u64().expect(of);
    assert!(ns("server", "first_ns") >= SLEEPS_NS);
    let mean_ns = ns("server", "mean_ns");
    assert!(
        (SLEEPS_NS / 5..SLEEPS_NS / 2).contains(&mean_ns),
        "{mean_ns}: one of five calls slept"
    );
    let warm_ns = figures("server")["latency"]["p50_ns"]
        .as_f64()
        .expect("p50");
    assert!(warm_ns < SLEEPS_NS as f64, "{warm_ns}");
    let compared: Vec<&str> = report["comparisons"]
        .as_array()
        .expect("comparisons")
        .iter()
        .filter(|pair| pair["of"] == "server")
        .filter_map(|pair| pair["metric"].as_str())
        .collect();
    assert_eq!(compared, ["first-call", "first-calls", "latency-p50"]);
}

#[test]
fn what_times_no_first_calls_has_no_such_metric() {
    let place = greeter();
    place.file("study.toml", &STUDY.replace("cold-calls = 5\n", ""));
    place
        .run(&["plan", "study.toml", "--subjects", "mine"])
        .refused(&["first-call", "\"server\" does not time them", "cold-calls"]);
    let wrong = STUDY.replace("cold-calls = 5", "cold-calls = 0");
    place.file("study.toml", &wrong);
    place
        .run(&["plan", "study.toml", "--subjects", "mine"])
        .refused(&["cold-calls", "1 to 10000"]);
    let called = STUDY.replace("server = \"greeter/server\"", "client = \"greeter/client\"");
    place.file("study.toml", &called);
    place
        .run(&["plan", "study.toml", "--subjects", "mine"])
        .refused(&[
            "variant \"server\": \"cold-calls\"",
            "rpcgauge's own client",
        ]);
}
