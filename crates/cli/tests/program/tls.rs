//! TLS between rpcgauge's own client and the servers that it starts.

use std::fs;
use std::io::{BufRead as _, BufReader};

use serde_json::Value;

use crate::common::{Place, interrupt, json, trial_lines};
use crate::subjects::greeter;

const STUDY: &str = "question = \"What does TLS cost?\"
invocations = 1
blocks = 1
warm-up = { calls = 5 }
[workload]
name = \"hello\"
[base]
calls = 20
[factors]
tls = [false, true]
connection = [\"reuse\", \"per-call\"]
[[variants]]
name = \"http1\"
protocol = \"rest\"
[[variants]]
name = \"http2\"
protocol = \"rest\"
http = \"2\"
[[variants]]
name = \"grpc\"
protocol = \"grpc\"
";

/// Minimum size of a handshake in each direction, in bytes: a public key and a signature.
const HANDSHAKE_BYTES: u64 = 200;

#[test]
fn each_connection_has_its_own_handshake() {
    let place = Place::new();
    place.file("study.toml", STUDY);
    place.run_study().well();
    let trials = trial_lines(&place.path().join("run"));
    let overhead = |name: &str, way: &str| {
        let is_it = |line: &&Value| line["variant"] == name;
        let outcome = &trials.iter().find(is_it).expect(name)["outcome"];
        let count = |number: &Value| number.as_u64().unwrap_or(0);
        assert_eq!(count(&outcome["calls"]["answered"]), 20, "{name}");
        let calls = 20 + count(&outcome["slices"]["skipped"]);
        count(&outcome["bytes"][way]["overhead"]) / calls
    };
    for name in ["http1", "http2", "grpc"] {
        for way in ["sent", "received"] {
            let overhead = |setting: &str| overhead(&format!("{name}-{setting}"), way);
            let (plain, kept) = (overhead("tls=false-reuse"), overhead("tls=true-reuse"));
            assert!(kept > plain, "{name} {way}: records: {kept} after {plain}");
            let (plain, new) = (
                overhead("tls=false-per-call"),
                overhead("tls=true-per-call"),
            );
            assert!(
                new > plain + HANDSHAKE_BYTES,
                "{name} {way}: handshakes: {new} after {plain}"
            );
        }
    }
}

#[test]
fn a_stack_that_does_not_speak_it_is_refused() {
    let place = greeter();
    let study = STUDY.replace(
        "[base]\n",
        "[base]\nserver = \"greeter/server\"\nencoding = \"json\"\n",
    );
    let study = study
        .split("[[variants]]\nname = \"http2\"")
        .next()
        .expect("its beginning");
    place.file("study.toml", study);
    place
        .run(&["plan", "study.toml", "--subjects", "mine"])
        .refused(&[
            "study.toml:12:15: ",
            "the server \"greeter/server\" does not speak TLS",
        ]);
}

#[test]
fn a_served_certificate_is_all_that_a_client_needs() {
    let place = Place::new();
    let mut child = place.start(&["serve", "--tls", "--json"]);
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    output.read_line(&mut line).expect("the ready line");
    let announced = json(&line);
    let text = |key: &str| announced[key].as_str().expect(key).to_owned();
    fs::write(place.path().join("ca.pem"), text("certificate")).expect("a file");
    let target = format!("grpcs://{}{}", text("address"), text("grpc"));
    let load = [
        "load", &target, "--data", "{}", "--calls", "5", "--warmup", "0ms",
    ];
    let said = place
        .run(&[&load[..], &["--cacert", "ca.pem"]].concat())
        .well();
    assert!(said.contains("5 succeeded"), "{said}");
    assert_ne!(place.run(&load).code, Some(0), "no one else vouches for it");
    interrupt(&child);
    assert!(child.wait().expect("it ends").success());
}
