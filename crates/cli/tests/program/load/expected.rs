//! Expectations of responses.

use super::{BUSY, HELLO, OK, Service, answering, figures, proto, short};
use crate::common::{Place, report};

#[test]
fn a_response_that_is_not_as_expected_fails_its_call() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let more = ["--warmup", "0s", "--expect", "status=200", "--expect"];
    let run = |place: &Place, expected: &str| {
        place.run(&short(&target, &[&more[..], &[expected]].concat()))
    };
    run(&Place::new(), "body contains \"k\"").well();
    let shown = run(&place, "body = \"no\"");
    assert_eq!(shown.code, Some(1), "{}", shown.stderr);
    for part in [
        "50 × check: ",
        "expected body = \"no\", but the body is \"ok\"",
    ] {
        assert!(shown.stdout.contains(part), "{}", shown.stdout);
    }
    let report = report(&place.path().join("run"));
    assert_eq!(figures(&report)["calls"]["failed"]["check"], 50);
}

#[test]
fn a_status_that_is_expected_is_no_failure() {
    let target = format!("http://{}/", answering(BUSY).address);
    let run = |status: &str| {
        let more = ["--warmup", "0s", "--expect", status];
        Place::new().run(&short(&target, &more))
    };
    run("status = 503").well();
    let shown = run("status = 204").stdout;
    assert!(
        shown.contains("50 × http-503: HTTP status 503 instead of 204"),
        "{shown}"
    );
}

#[test]
fn values_of_a_grpc_message_and_of_a_compressed_body_are_expected_alike() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let (grpc, rest, proto) = (service.grpc(), service.http(), proto());
    let data = ["--data", r#"{"name": "Ada"}"#, "--warmup", "0s"];
    for (target, how) in [
        (&grpc, &["--proto", &proto][..]),
        // By reflection.
        (&grpc, &["--response-compression", "gzip"]),
        (&rest, &["--response-compression", "gzip"]),
    ] {
        let run = |expected| {
            let more = [how, &data, &["--expect", expected]].concat();
            Place::new().run(&short(target, &more))
        };
        run("$.message contains \"Ada\"").well();
        let shown = run("$.message = null").stdout;
        assert!(shown.contains("50 × check: expected $.message"), "{shown}");
    }
}

#[test]
fn expectations_are_part_of_the_study() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let words = ["load", &target, "--calls", "5", "--expect", "body = \"no\""];
    let study = place.run(&[&words[..], &["--print-study"]].concat()).well();
    place.file("my.toml", &study);
    let shown = place.line("run my.toml --out run").stdout;
    assert!(shown.contains("5 × check: expected body"), "{study}{shown}");
}

#[test]
fn what_no_response_can_be_is_refused() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let unknown = ["--expect", "$.mesage = \"a\""];
    place.run(&short(&service.grpc(), &unknown)).refused(&[
        "expect: $.mesage = \"a\": ",
        "has no field \"mesage\" in JSON; did you mean \"message\"?",
    ]);
    let (grpc, http) = (format!("grpc://127.0.0.1:9/{HELLO}"), "http://127.0.0.1:9/");
    let two = ["--expect", "status=200", "--expect", "status=204"];
    place
        .run(&short(http, &two))
        .refused(&["--expect: only one status can be expected"]);
    place
        .run(&short(&grpc, &two[..2]))
        .refused(&["--expect: over gRPC, only values of the message"]);
    place
        .run(&short(http, &["--expect", "body contains ok"]))
        .refused(&["--expect", "put a string in double quotes"]);
}
