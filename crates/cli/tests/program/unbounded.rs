//! `load` for a fixed time, with an unknown number of calls.

use serde_json::Value;

use crate::common::{Place, report};
use crate::load::{Service, bodies, keeping};

fn calls(place: &Place) -> Value {
    let report = report(&place.path().join("run"));
    report["variants"][0]["cells"][0]["figures"]["calls"].clone()
}

/// The command line of a load that ends after a fixed time.
fn timed<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["load", target, "--duration", "200ms", "--warmup", "0s"];
    [&words[..], &["--out", "run", "--quiet"], more].concat()
}

#[test]
fn messages_without_end_are_made_while_calls_are_made() {
    let place = Place::new();
    let (target, requests) = keeping(true);
    place.run(&timed(&target, &["--data", "{{n}}"])).well();
    let bodies = bodies(&requests);
    // The test call before the load also sends the first message.
    let (look, sent) = bodies.split_first().expect("a call");
    assert_eq!(look, "0");
    let wanted: Vec<String> = (0..sent.len()).map(|n| n.to_string()).collect();
    assert_eq!(sent, wanted);
    let calls = calls(&place);
    assert_eq!(calls["started"], sent.len());
    assert_eq!(calls["answered"], calls["started"]);
}

#[test]
fn typed_messages_without_end_are_encoded_while_calls_are_made() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let target = service.grpc();
    let more = [
        "--data",
        r#"{"name": "{{uuid}}"}"#,
        "--request-compression",
        "gzip",
        "--in-flight",
        "4",
    ];
    place.run(&timed(&target, &more)).well();
    let calls = calls(&place);
    assert_eq!(calls["answered"], calls["started"]);
}

#[test]
fn calls_in_flight_at_the_end_are_cancelled_where_that_is_asked_for() {
    let place = Place::new();
    let (target, _) = keeping(false);
    let more = ["--at-end", "cancel", "--deadline", "1s"];
    let ended = place.run(&timed(&target, &more));
    assert_eq!(ended.code, Some(1), "no call succeeded: {ended:?}");
    let calls = calls(&place);
    assert_eq!(
        (&calls["started"], &calls["abandoned"]),
        (&1.into(), &1.into())
    );
}
