//! Metrics that a load pushes.

use std::fs;
use std::time::Duration;

use super::tls::answering_over_tls;
use super::{OK, answer_each, answering, figures, nobody, serving, short};
use crate::common::{Finished, Place, report};

/// Asserts that a load has a report although pushes failed. Returns its standard error.
#[track_caller]
fn measured_anyway(place: &Place, finished: Finished) -> String {
    let shown = finished.stderr.clone();
    finished.well();
    let report = report(&place.path().join("run"));
    let answered = figures(&report)["calls"]["answered"].as_u64();
    // A machine that stalls the client leaves calls out.
    assert!(answered.is_some_and(|calls| calls > 0), "{shown}");
    shown
}

#[test]
fn a_target_that_is_down_is_one_line_and_a_count() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let url = format!("http://{}/api/v1/write?token=secret", nobody());
    // At least three pushes: at the start, after five seconds, and at the end.
    let slow = ["--rate", "8", "--warmup", "0s", "--metrics-push", &url];
    let shown = measured_anyway(&place, place.run(&short(&target, &slow)));
    let shown = shown.lines().filter(|line| line.contains("--metrics-push"));
    let plain = url.replace("?token=secret", "");
    let shown = shown.collect::<Vec<_>>().join("\n").replace(&plain, "URL");
    let shown = shown.replace(|c: char| c.is_ascii_digit(), "N");
    insta::assert_snapshot!(shown, @r"
    warning: --metrics-push URL: connection refused; check that the receiver is running; the load is not affected, and each push carries the totals so far
    warning: --metrics-push URL: N of N pushes failed, including the last one, so the receiver's totals are incomplete
    ");
}

#[test]
fn a_target_that_never_responds_does_not_fail_the_load() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let silent = serving(|_stream| std::thread::sleep(Duration::from_secs(60)));
    let url = format!("http://{silent}/");
    let shown = measured_anyway(
        &place,
        place.run(&short(&target, &["--metrics-push", &url])),
    );
    assert!(shown.contains("including the last one"), "{shown}");
}

/// A server may repeat what it was sent.
#[test]
fn credentials_are_neither_shown_nor_stored() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let refusing = serving(|stream| {
        answer_each(stream, |request| {
            let is_given = request.contains("authorization: Bearer secret-token\r\n");
            if is_given {
                "HTTP/1.1 401 No\r\ncontent-length: 32\r\n\r\nno such token: secret-token here\n"
            } else {
                "HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n"
            }
        });
    });
    let url = format!("http://{refusing}/");
    let header = "authorization: Bearer secret-token";
    let push = ["--metrics-push", &url, "--metrics-push-header", header];
    let shown = measured_anyway(&place, place.run(&short(&target, &push)));
    let told = "refused with status 401: no such token: … here;";
    assert!(shown.contains(told), "{shown}");
    for file in ["run/plan.json", "run/trials.jsonl", "run/report.json"] {
        let text = fs::read_to_string(place.path().join(file)).expect("a file");
        assert!(!text.contains("secret-token"), "{file}");
    }
}

#[test]
fn pushes_over_tls_verify_the_certificate() {
    let place = Place::new();
    let target = format!("http://{}/", answering(OK).address);
    let url = answering_over_tls(&place, OK, &[b"http/1.1"]);
    let words = short(&target, &["--metrics-push", &url]);
    let trusting = place
        .command(&words)
        .env("SSL_CERT_FILE", "ca.pem")
        .output();
    let shown = measured_anyway(&place, trusting.expect("it starts").into());
    assert!(!shown.contains("--metrics-push"), "{shown}");
    fs::remove_dir_all(place.path().join("run")).expect("it is removed");
    let shown = measured_anyway(&place, place.run(&words));
    assert!(shown.contains("invalid peer certificate"), "{shown}");
}

#[test]
fn what_cannot_be_pushed_to_is_refused_before_anything_is_called() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["localhost:9090"],
            &["no scheme", "http://localhost:9090/api/v1/write"],
        ),
        (&["http://u:secret@h/"], &["user name", "authorization"]),
        (
            &["grpc://h:1/"],
            &["--metrics-push grpc://h:1/", "http[s]://"],
        ),
        (&["http://h:{port}/"], &["http[s]://"]),
        (
            &["http://nowhere.invalid/?token=secret"],
            &["has no address"],
        ),
        (
            &[
                "http://127.0.0.1:9/",
                "--metrics-push-header",
                "authorization secret",
            ],
            &["--metrics-push-header", "'name: value'"],
        ),
        (
            &["http://127.0.0.1:9/", "--metrics-push-header", "host: x"],
            &["--metrics-push-header", "host"],
        ),
    ];
    for (words, parts) in cases {
        let mut all = vec!["load", &target, "--metrics-push"];
        all.extend(*words);
        let finished = place.run(&all);
        assert!(!finished.stderr.contains("secret"), "{}", finished.stderr);
        finished.refused(parts);
    }
    let alone = ["load", &target, "--metrics-push-header", "a: b"];
    place.run(&alone).refused(&["--metrics-push <URL>"]);
    assert_eq!(place.names(), [""; 0], "nothing is left");
}
