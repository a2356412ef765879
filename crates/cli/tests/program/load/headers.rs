//! Header fields that differ from call to call.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};

use super::{HELLO, Service, keeping, serving, short};
use crate::common::{Place, report};

/// The values of a field in recorded requests.
fn values(requests: &[String], name: &str) -> Vec<String> {
    let lines = requests.iter().flat_map(|request| request.lines());
    let named = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    named.map(str::to_owned).collect()
}

#[test]
fn a_placeholder_in_a_header_is_filled_for_each_call() {
    let place = Place::new();
    place.file("tokens.csv", "token,id\nhush-1,7\nhush-2,8\n");
    let (target, requests) = keeping(true);
    let headers = [
        "-H",
        "x-id: {{uuid}}",
        "-H",
        "authorization: Bearer {{token}}",
    ];
    let rows = [
        "-H",
        "x-same: same",
        "--rows",
        "tokens.csv",
        "--data",
        "{{id}}",
    ];
    place
        .run(&short(
            &target,
            &[&headers[..], &rows, &["--warmup", "0s"]].concat(),
        ))
        .well();
    let requests = requests.lock().expect("no panic");
    assert_eq!(values(&requests, "x-same").len(), requests.len());
    let ids: BTreeSet<String> = values(&requests, "x-id").into_iter().collect();
    assert_eq!(ids.len(), requests.len(), "{ids:?}");
    for request in &*requests {
        let row = if request.ends_with('7') { "1" } else { "2" };
        let token = format!("authorization: Bearer hush-{row}\r\n");
        assert!(request.contains(&token), "{request}");
    }
    let plan = std::fs::read_to_string(place.path().join("run/plan.json")).expect("a plan");
    assert!(
        plan.contains("authorization") && !plan.contains("Bearer"),
        "{plan}"
    );
}

#[test]
fn a_call_without_a_body_can_have_a_header_of_its_own() {
    let (target, requests) = keeping(true);
    let more = ["-H", "x-id: {{n}}", "--warmup", "0s"];
    Place::new().run(&short(&target, &more)).well();
    let requests = requests.lock().expect("no panic");
    let sent: BTreeSet<String> = values(&requests, "x-id").into_iter().collect();
    assert!(sent.contains("0") && sent.contains("49"), "{sent:?}");
    let plain = |request: &String| {
        request.starts_with("GET / ")
            && !request.contains("content-")
            && request.ends_with("\r\n\r\n")
    };
    assert!(requests.iter().all(plain), "{requests:?}");
}

#[test]
fn grpc_metadata_differs_from_call_to_call_on_the_same_connection() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let headers = ["-H", "x-id: {{uuid}}", "-H", "x-trace-bin: {{base64 uuid}}"];
    let more = [&headers[..], &["--data", "{\"name\": \"{{n}}\"}"]].concat();
    let shown = place.run(&short(&service.grpc(), &more)).well();
    assert!(shown.contains("50 started: 50 succeeded"), "{shown}");
    let bad = format!("grpc://{}/{HELLO}", service.address);
    place
        .run(&["load", &bad, "-H", "x-trace-bin: {{n}}!"])
        .refused(&["\"x-trace-bin\" is not base64"]);
}

#[test]
fn a_value_that_a_server_repeats_is_not_stored() {
    let place = Place::new();
    place.file("tokens.csv", "token\nhush-1\nhush-2\n");
    // Rejects each call, and says with which credentials it came.
    let address = serving(|mut stream| {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
            let token = values(&[request], "authorization").remove(0);
            let head = "HTTP/1.1 401 Unauthorized\r\ncontent-length";
            let answer = format!("{head}: {}\r\n\r\n{token}", token.len());
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    let target = format!("http://{address}/");
    let own = [
        "-H",
        "authorization: Bearer {{token}}",
        "--rows",
        "tokens.csv",
    ];
    let finished = place.run(&short(&target, &[&own[..], &["--warmup", "0s"]].concat()));
    assert_eq!(
        finished.code,
        Some(1),
        "measured, not refused: {}",
        finished.stderr
    );
    let report = report(&place.path().join("run"));
    assert!(!report.to_string().contains("hush"), "{report}");
    let shown = finished.stdout;
    assert!(
        shown.contains("50 × http-401: HTTP status 401: …"),
        "{shown}"
    );
}
