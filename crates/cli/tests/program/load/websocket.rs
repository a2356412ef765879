//! Calls over WebSocket.

use super::{Service, answer_each, figures, serving};
use crate::common::{Finished, Place, report};

fn load(place: &Place, target: &str, more: &[&str]) -> Finished {
    let words = ["load", target, "--warmup", "0s", "--out", "run", "--quiet"];
    let data = ["--data", r#"{"id": {{sequence 1}}}"#];
    place.run(&[&words[..], &data, more].concat())
}

#[test]
fn every_message_has_its_response() {
    let place = Place::new();
    for (tls, scheme) in [(&[][..], "ws"), (&["--tls"], "wss")] {
        let service = Service::start(&place, &[&["--workload", "items"], tls].concat());
        let target = format!("{scheme}://{}/items", service.address);
        let blind: &[&str] = if tls.is_empty() { &[] } else { &["--insecure"] };
        for pace in [&["--in-turn"][..], &["--message-rate", "500"], &[]] {
            let more = [
                "--messages",
                "5",
                "--calls",
                "20",
                "--expect",
                "messages = 5",
            ];
            let shown = load(&place, &target, &[&more[..], blind, pace].concat()).well();
            assert!(shown.contains("20 started: 20 succeeded"), "{shown}");
            assert!(shown.contains("connection per call"), "{shown}");
            assert!(shown.contains("bidirectional stream, 100 sent"), "{shown}");
            let report = report(&place.path().join("run"));
            let messages = &figures(&report)["messages"];
            assert_eq!(
                (&messages["form"], &messages["paired"]),
                (&"bidirectional".into(), &20.into())
            );
            assert_eq!(messages["received"], 100);
            assert_eq!(messages["first"]["count"], 20);
            assert_eq!(messages["latency"]["count"], 100);
            std::fs::remove_dir_all(place.path().join("run")).expect("removed");
        }
    }
}

#[test]
fn a_call_ends_by_its_messages_or_its_time() {
    let place = Place::new();
    let service = Service::start(&place, &["--workload", "items"]);
    let target = format!("ws://{}/items", service.address);
    let of_run = || {
        let messages = figures(&report(&place.path().join("run")))["messages"].clone();
        std::fs::remove_dir_all(place.path().join("run")).expect("removed");
        messages
    };
    let enough = [
        "--receive",
        "3",
        "--messages",
        "50",
        "--in-turn",
        "--calls",
        "2",
    ];
    load(&place, &target, &enough).well();
    assert_eq!(of_run()["received"], 6);
    let timed = [
        "--call-time",
        "200ms",
        "--message-rate",
        "100",
        "--calls",
        "2",
    ];
    load(&place, &target, &timed).well();
    let messages = of_run();
    assert_eq!(
        (&messages["received"], &messages["paired"]),
        (&messages["sent"], &2.into())
    );
    assert!(messages["sent"].as_u64() > Some(10), "{messages}");
}

#[test]
fn why_a_server_closes_is_shown() {
    let place = Place::new();
    let service = Service::start(&place, &["--workload", "items"]);
    let target = format!("ws://{}/items", service.address);
    // After the last item.
    let last = [
        "--messages",
        "2",
        "--calls",
        "3",
        "--data",
        r#"{"id": 100001}"#,
    ];
    let words = ["load", &target, "--warmup", "0s", "--out", "run", "--quiet"];
    let ran = place.run(&[&words[..], &last].concat());
    ran.failed(1, &[]);
    let shown = &ran.stdout;
    let reason = "3 × websocket-1007: the server closed the WebSocket with 1007: id is 100001";
    assert!(shown.contains(reason), "{shown}");
    let report = report(&place.path().join("run"));
    assert_eq!(figures(&report)["calls"]["failed"]["websocket-1007"], 3);
}

/// Answers each request with this head.
fn answering(head: &'static str) -> String {
    let address = serving(move |stream| answer_each(stream, |_| head));
    format!("ws://{address}/chat")
}

#[test]
fn what_is_no_websocket_is_refused_before_the_load() {
    let place = Place::new();
    let refused = |target: &str, more: &[&str], parts: &[&str]| {
        load(&place, target, more).refused(parts);
    };
    let ok = answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    refused(&ok, &[], &["responds with 200 instead of 101", "/chat"]);
    let unread = answering("HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n");
    refused(
        &unread,
        &[],
        &[
            "does not respond as a WebSocket requires",
            "sec-websocket-accept",
        ],
    );
    let service = Service::start(&place, &["--workload", "items"]);
    let target = format!("ws://{}/items", service.address);
    refused(
        &target.replace("/items", "/x"),
        &[],
        &["responds with 404 instead of 101"],
    );
    refused(&target, &["--http", "2"], &["--http", "needs HTTP/1.1"]);
    refused(&target, &["-X", "POST"], &["-X", "opened by GET"]);
    refused(
        &target,
        &["--stream", "sse"],
        &["--stream", "\"bidirectional\""],
    );
    refused(&target, &["--expect", "status = 200"], &["must be 101"]);
    let compressed = ["--request-compression", "gzip"];
    refused(
        &target,
        &compressed,
        &["--request-compression", "not compressed"],
    );
    let key = ["-H", "sec-websocket-extensions: permessage-deflate"];
    refused(&target, &key, &["sec-websocket-extensions", "leave it out"]);
    let http = target.replace("ws://", "http://");
    refused(
        &http,
        &["--stream", "bidirectional"],
        &["--stream", "ws://"],
    );
}
