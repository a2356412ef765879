//! Studies and comparisons of calls that stream.

use serde_json::Value;

use crate::common::{Finished, Place, json, report};

/// A service with a method of each streaming kind.
const CHAT: &str = "syntax = \"proto3\"; package chat.v1;
    service Chat {
      rpc Talk(stream Line) returns (stream Line);
      rpc Read(Line) returns (stream Line);
      rpc Write(stream Line) returns (Line);
      rpc Say(Line) returns (Line);
    }
    message Line { string text = 1; int64 id = 2; repeated string tags = 3; }";

fn compare(place: &Place, method: &str, more: &[&str]) -> Finished {
    place.file("chat.proto", CHAT);
    place.file("request.json", r#"{"text": "hi", "id": "7"}"#);
    place.file("response.json", r#"{"text": "hello", "tags": ["a", "b"]}"#);
    let method = format!("chat.v1.Chat/{method}");
    let call = ["compare", "--proto", "chat.proto", "--method", &method];
    let samples = ["--request", "request.json", "--response", "response.json"];
    place.run(&[&call[..], &samples, more].concat())
}

#[test]
fn a_method_that_streams_is_compared_as_it_streams() {
    let place = Place::new();
    let ways = |method: &str| -> Vec<String> {
        let plan = json(&compare(&place, method, &["--plan", "--json", "--messages", "7"]).well());
        let variants = plan["variants"].as_array().expect("variants");
        let own = variants.iter().filter(|one| one["repeats"].is_null());
        own.map(|one| {
            let stream = &one["settings"]["stream"];
            let (name, form) = (&one["name"], &stream["form"]);
            assert!(stream.is_null() || stream["messages"] == 7, "{stream}");
            format!(
                "{} {}",
                name.as_str().unwrap(),
                form.as_str().unwrap_or("-")
            )
        })
        .collect()
    };
    assert_eq!(
        ways("Read"),
        [
            "ndjson ndjson",
            "sse sse",
            "grpc server",
            "grpc-gzip server"
        ]
    );
    assert_eq!(
        ways("Write"),
        [
            "rest-json -",
            "rest-http2 -",
            "grpc client",
            "grpc-gzip client"
        ]
    );
    assert_eq!(
        ways("Talk"),
        [
            "rest-json -",
            "rest-http2 -",
            "websocket-in-turn bidirectional",
            "websocket bidirectional",
            "grpc-in-turn bidirectional",
            "grpc bidirectional"
        ]
    );
    compare(&place, "Say", &["--plan", "--messages", "7"])
        .refused(&["--messages: chat.v1.Chat/Say is a unary method; leave it out"]);
}

#[test]
fn a_comparison_of_streams_runs_to_a_report() {
    let place = Place::new();
    let what = [
        "--only",
        "ndjson,grpc",
        "--messages",
        "20",
        "--budget",
        "12s",
    ];
    let ran = compare(&place, "Read", &[&what[..], &["--out", "run"]].concat()).well();
    assert!(ran.contains("Messages, on two cores"), "{ran}");
    let findings = report(&place.path().join("run"));
    assert_eq!(findings["progress"]["failed"], 0, "{findings}");
    for variant in findings["variants"].as_array().expect("variants") {
        let figures = &variant["cells"][0]["figures"];
        let (calls, messages) = (&figures["calls"]["answered"], &figures["messages"]);
        let received = 20 * calls.as_u64().expect("calls");
        assert_eq!(messages["received"], received, "{}", variant["name"]);
        assert!(messages["first"]["p50_ns"].is_number(), "{messages}");
    }
    let metrics: Vec<&Value> = findings["decisions"][0]["placements"][0]["best"]
        .as_array()
        .expect("metrics")
        .iter()
        .map(|best| &best["metric"])
        .collect();
    assert_eq!(metrics[..2], ["latency-p50", "cpu"]);
}

#[test]
fn a_websocket_is_compared_with_grpc() {
    let place = Place::new();
    let more = [
        "--only",
        "websocket,grpc",
        "--messages",
        "20",
        "--budget",
        "12s",
        "--out",
        "run",
    ];
    compare(&place, "Talk", &more).well();
    let findings = report(&place.path().join("run"));
    assert_eq!(findings["progress"]["failed"], 0, "{findings}");
    let variants = findings["variants"].as_array().expect("variants");
    let named = |name: &str| variants.iter().find(|one| one["name"] == name);
    for name in ["websocket", "grpc"] {
        let figures = &named(name).expect("a variant")["cells"][0]["figures"];
        let (calls, messages) = (&figures["calls"]["answered"], &figures["messages"]);
        assert_eq!(messages["paired"], *calls, "{name}");
        let received = 20 * calls.as_u64().expect("calls");
        assert_eq!(messages["received"], received, "{name}");
    }
}

#[test]
fn a_stream_is_compared_with_a_call_for_each_message() {
    let place = Place::new();
    place.file(
        "study.toml",
        r#"# Is an item returned faster on a stream?
invocations = 5
blocks = 1
placement = "free"
warm-up = { calls = 20 }
[workload]
name = "items"
[base]
protocol = "grpc"
time = "40ms"
[[variants]]
name = "call"
[[variants]]
name = "turns"
stream = "bidirectional"
in-turn = true
messages = 30
[[variants]]
name = "upload"
stream = "client"
messages = 30
[[pairs]]
of = "turns"
against = "call"
metric = ["message-latency", "message-cpu"]
"#,
    );
    place
        .run(&["run", "study.toml", "--out", "run", "--quiet"])
        .well();
    let findings = report(&place.path().join("run"));
    assert_eq!(findings["progress"]["failed"], 0, "{findings}");
    let figures = |name: &str| {
        let variants = findings["variants"].as_array().expect("variants");
        let variant = variants.iter().find(|one| one["name"] == name);
        variant.expect("a variant")["cells"][0]["figures"].clone()
    };
    let turns = figures("turns");
    let calls = turns["calls"]["answered"].as_u64().expect("calls");
    assert_eq!(turns["messages"]["paired"], calls);
    assert_eq!(turns["messages"]["received"], 30 * calls);
    let upload = figures("upload");
    let calls = upload["calls"]["answered"].as_u64().expect("calls");
    assert_eq!(upload["messages"]["sent"], 30 * calls);
    assert!(figures("call")["messages"].is_null());
    let decided = findings["decisions"].as_array().expect("decisions");
    assert!(
        decided.is_empty(),
        "they do not exchange the same messages: {decided:?}"
    );
}
