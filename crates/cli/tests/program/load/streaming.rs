//! Calls that stream messages.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use super::{HELLO, Service, figures, serving};
use crate::common::{Place, report};

/// The reflection method of the embedded server: each message has one response.
const BIDIRECTIONAL: &str = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const QUESTION: &str = r#"{"listServices": ""}"#;

fn load(place: &Place, target: &str, more: &[&str]) -> crate::common::Finished {
    let words = ["load", target, "--warmup", "0s", "--out", "run", "--quiet"];
    place.run(&[&words[..], more].concat())
}

#[test]
fn reflection_says_how_a_method_streams() {
    for pace in [&["--in-turn"][..], &["--message-rate", "500"], &[]] {
        let place = Place::new();
        let service = Service::start(&place, &[]);
        let target = format!("grpc://{}/{BIDIRECTIONAL}", service.address);
        let more = ["--data", QUESTION, "--messages", "5", "--calls", "20"];
        let expected = ["--expect", "messages = 5"];
        let shown = load(&place, &target, &[&more[..], &expected, pace].concat()).well();
        assert!(shown.contains("20 started: 20 succeeded"), "{shown}");
        assert!(
            shown.contains("bidirectional stream, 100 sent") && shown.contains(", 100 received"),
            "{shown}"
        );
        let report = report(&place.path().join("run"));
        let messages = &figures(&report)["messages"];
        assert_eq!(messages["form"], "bidirectional");
        assert_eq!(messages["received"], 100);
        assert_eq!(messages["first"]["count"], 20);
        assert_eq!(messages["gap"]["count"], 80);
        assert_eq!(messages["latency"]["count"], 100);
    }
}

#[test]
fn the_embedded_server_streams_items() {
    let place = Place::new();
    let service = Service::start(&place, &["--workload", "items"]);
    let (grpc, http) = (
        format!("grpc://{}/ItemService", service.address),
        format!("http://{}/items", service.address),
    );
    let json = ["-H", "content-type: application/json"];
    let ndjson = ["-H", "accept: application/x-ndjson", "--stream", "ndjson"];
    let sse = ["-H", "accept: text/event-stream", "--stream", "sse"];
    let (ndjson, sse) = ([&json[..], &ndjson].concat(), [&json[..], &sse].concat());
    for (target, more, expected, sent) in [
        (
            format!("{grpc}/PutItems"),
            &["--messages", "5"][..],
            "$.id = 7",
            5,
        ),
        (format!("{grpc}/ListItems"), &[], "messages = 100", 1),
        (
            format!("{grpc}/ExchangeItems"),
            &["--messages", "5"],
            "messages = 5",
            5,
        ),
        (http.clone(), &ndjson, "messages = 100", 1),
        (http, &sse, "messages = 100", 1),
    ] {
        let common = [
            "--data",
            r#"{"id":7}"#,
            "--calls",
            "3",
            "--expect",
            expected,
        ];
        load(&place, &target, &[&common[..], more].concat()).well();
        let messages = figures(&report(&place.path().join("run")))["messages"].clone();
        assert_eq!(messages["sent"], 3 * sent, "{target}");
        std::fs::remove_dir_all(place.path().join("run")).expect("removed");
    }
}

#[test]
fn each_call_sends_all_rows() {
    let place = Place::new();
    let service = Service::start(&place, &["--workload", "items"]);
    place.file("ids.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
    let target = format!("grpc://{}/ItemService/PutItems", service.address);
    let rows = ["--rows", "ids.jsonl", "--messages", "rows"];
    // The response to a client's stream is about its last message.
    let more = ["--calls", "4", "--expect", "$.id = 3"];
    load(&place, &target, &[&rows[..], &more].concat()).well();
    let messages = figures(&report(&place.path().join("run")))["messages"].clone();
    assert_eq!(messages["sent"], 4 * 3);
    std::fs::remove_dir_all(place.path().join("run")).expect("removed");
    let without = ["--messages", "rows", "--data", "{}"];
    load(&place, &target, &without).refused(&["\"rows\"", "--rows"]);
    load(&place, &target, &["--messages", "all"]).refused(&["neither a number nor \"rows\""]);
}

#[test]
fn a_call_ends_after_its_time_or_its_messages() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let target = format!("grpc://{}/{BIDIRECTIONAL}", service.address);
    let more = ["--data", QUESTION, "--calls", "2"];
    let timed = ["--call-time", "200ms", "--message-rate", "100"];
    load(&place, &target, &[&more[..], &timed].concat()).well();
    let of_run = |name: &str| figures(&report(&place.path().join(name)))["messages"].clone();
    let received = of_run("run")["received"].as_u64();
    assert!(received > Some(10), "{received:?}");
    std::fs::rename(place.path().join("run"), place.path().join("timed")).expect("renamed");
    let enough = ["--receive", "3", "--messages", "50", "--in-turn"];
    load(&place, &target, &[&more[..], &enough].concat()).well();
    assert_eq!(of_run("run")["received"], 6);
}

/// Answers each request with three chunks, 10 ms apart.
fn chunks(mut stream: TcpStream, chunks: [&str; 3]) {
    super::answer_each(stream.try_clone().expect("a handle"), |_| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut written = stream.write_all(head.as_bytes());
        for chunk in chunks {
            thread::sleep(Duration::from_millis(10));
            let chunk = format!("{:x}\r\n{chunk}\r\n", chunk.len());
            written = written.and_then(|()| stream.write_all(chunk.as_bytes()));
        }
        written
            .and_then(|()| stream.write_all(b"0\r\n\r\n"))
            .expect("written");
        ""
    });
}

#[test]
fn lines_and_events_over_http_are_messages() {
    let place = Place::new();
    for (form, content) in [
        ("ndjson", ["{\"n\":1}\n", "{\"n\":1}\n", "{\"n\":1}\n"]),
        ("sse", ["data: {\"n\":1}\n\n"; 3]),
    ] {
        let address = serving(move |stream| chunks(stream, content));
        let more = ["--stream", form, "--calls", "4", "--expect", "$.n = 1"];
        let shown = load(&place, &format!("http://{address}/"), &more).well();
        assert!(shown.contains(", 12 received"), "{shown}");
        assert!(shown.contains("12 messages by what is expected"), "{shown}");
        std::fs::remove_dir_all(place.path().join("run")).expect("removed");
    }
}

#[test]
fn responses_are_paired_with_messages_by_a_value() {
    let place = Place::new();
    let service = Service::start(&place, &["--workload", "items"]);
    let target = format!("grpc://{}/ItemService/ExchangeItems", service.address);
    let ids = ["--data", r#"{"id": 1{{n}}}"#, "--messages", "10"];
    let more = ["--calls", "5", "--pair-by", "$.id"];
    let shown = load(&place, &target, &[&ids[..], &more].concat()).well();
    assert!(shown.contains("responses paired by $.id"), "{shown}");
    let report = report(&place.path().join("run"));
    let messages = &figures(&report)["messages"];
    assert_eq!(messages["latency"]["count"], 50);
    assert_eq!(messages["unmatched"], 0);
    assert_eq!(messages["unanswered"], 0);
    let refused = |more: &[&str], parts: &[&str]| {
        load(&place, &target, &[&ids[..], more].concat()).refused(parts);
    };
    refused(&["--pair-by", "id"], &["'id'", "begins with $", "$.id"]);
    refused(
        &["--pair-by", "$.id = $.ids"],
        &["pair-by", "no field \"ids\""],
    );
    let gzip = ["--pair-by", "$.id", "--response-compression", "gzip"];
    refused(&gzip, &["pair-by", "compressed"]);
    let without = ["--messages", "10", "--pair-by", "$.id"];
    load(&place, &target, &without).refused(&["pair-by", "--data"]);
    let server = target.replace("Exchange", "List");
    let one = ["--data", r#"{"id": 1}"#, "--pair-by", "$.id"];
    load(&place, &server, &one).refused(&["\"pair-by\"", "server-streaming"]);
}

#[test]
fn what_does_not_fit_a_method_is_refused() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let unary = service.grpc();
    let streaming = format!("grpc://{}/{BIDIRECTIONAL}", service.address);
    let refused = |target: &str, more: &[&str], parts: &[&str]| {
        load(&place, target, more).refused(parts);
    };
    let data = ["--data", QUESTION];
    refused(
        &unary,
        &["--messages", "3"],
        &[HELLO, "is a unary method", "\"messages\""],
    );
    refused(
        &streaming,
        &[&data[..], &["--stream", "server"]].concat(),
        &["is a bidirectional-streaming method", "\"server\""],
    );
    refused(
        &unary.replace("grpc", "http"),
        &["--stream", "client"],
        &["--stream", "over HTTP", "\"sse\""],
    );
    refused(
        &unary.replace("grpc", "http"),
        &["--messages", "2"],
        &["\"messages\" is for streaming calls", "--stream"],
    );
    refused(
        &unary,
        &["--data", r#"{"name": "a"}"#, "--expect", "messages = 3"],
        &["messages = 3", "one message"],
    );
    refused(
        &unary.replace("grpc", "http"),
        &["--stream", "sse", "--response-compression", "gzip"],
        &["response-compression", "must not be compressed"],
    );
    refused(
        &streaming,
        &[&data[..], &["--call-time", "2s", "--deadline", "1s"]].concat(),
        &["deadline", "longer than call-time"],
    );
    refused(
        &streaming,
        &[&data[..], &["--think-time", "1s"]].concat(),
        &["--in-turn"],
    );
    refused(
        &streaming,
        &[&data[..], &["--messages", "0"]].concat(),
        &["--messages", "at least 1"],
    );
    refused(
        &streaming,
        &[&data[..], &["--message-rate", "0"]].concat(),
        &["--message-rate", "more than 0"],
    );
}
