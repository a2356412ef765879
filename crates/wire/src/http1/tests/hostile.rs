//! Servers that close early, violate the protocol, or send too much.

use super::*;

#[test]
fn every_cut_fails_by_its_place() {
    assert_eq!(failure(""), "the connection closed before the response");
    assert_eq!(
        failure("HTTP/1"),
        "the connection closed in the middle of the response head"
    );
    assert_eq!(
        failure("HTTP/1.1 100 x\r\n\r\n"),
        "the connection closed in the middle of the response head"
    );
    let cut_bodies = [
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\na: b\r\n",
    ];
    for text in cut_bodies {
        assert_eq!(
            failure(text),
            "the connection closed in the middle of the response body",
            "{text}"
        );
    }
    let mut idle = Played::new(Protocol::Http1, Limits::default());
    assert_eq!(idle.end(true), ["closing: the connection ended"]);
    assert!(idle.client.is_closed());
}

#[test]
fn smuggling_shapes_are_refused() {
    let cases = [
        ("content-length: 1\r\ncontent-length: 2", "different values"),
        (
            "content-length: 1\r\ntransfer-encoding: chunked",
            "both content-length and transfer-encoding",
        ),
        ("transfer-encoding: gzip, chunked", "not plain chunked"),
        ("a: b\r\n c", "folded"),
        ("a : b", "before a header's colon"),
        ("a: b\rc", "carriage return has no line feed"),
        ("a: b\nc: d", "without a carriage return"),
    ];
    for (fields, rule) in cases {
        let failed = failure(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nx"));
        assert!(failed.contains(rule), "{fields:?}: {failed}");
    }
    let chunk = failure("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0x3\r\nabc\r\n");
    assert!(chunk.contains("chunk size"), "{chunk}");
}

#[test]
fn another_protocol_fails_at_once() {
    let mut played = started(&get());
    let lines = played.input(b"\0\0\x06\x04");
    assert!(lines[1].contains("looks like HTTP/2"), "{lines:?}");
    let mut played = started(&get());
    let lines = played.input(b"SSH-2.0");
    assert!(lines[1].contains("status line is malformed"), "{lines:?}");
}

#[test]
fn what_may_be_http_2_is_named_alike_however_it_is_cut() {
    for bytes in [
        b"\0\n\0\0".as_slice(),
        b"\0\0\n\x04",
        b"\0\r\n",
        b"\0\n\0\x04\r\n",
    ] {
        response_to(&get(), Limits::default(), bytes);
    }
}

#[test]
fn bytes_that_belong_to_no_call_end_the_connection() {
    let mut played = started(&get());
    let lines = played.input(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 200");
    assert_eq!(lines[3], "1 complete");
    assert!(
        lines[4].starts_with("closing: the server violated the protocol: the server sends bytes"),
        "{lines:?}"
    );
    assert!(played.client.is_closed());
    assert_eq!(played.input(b"more"), Vec::<String>::new());
}

#[test]
fn limits_fail_the_call_and_name_themselves() {
    let limits = Limits {
        max_head_bytes: 100,
        max_fields: 3,
        max_body_bytes: 10,
        max_chunk_line_bytes: 8,
        ..Limits::default()
    };
    let fails = |text: &str, limit: &str| {
        let lines = response_to(&get(), limits.clone(), text.as_bytes());
        assert!(
            lines
                .iter()
                .any(|l| l.starts_with("1 failed") && l.contains(limit)),
            "{lines:?}"
        );
    };
    fails(
        &format!("HTTP/1.1 200 OK\r\na: {}\r\n\r\n", "x".repeat(100)),
        "max_head_bytes",
    );
    fails(
        &format!("HTTP/1.1 200 OK\r\na: {}", "x".repeat(200)),
        "max_head_bytes",
    );
    fails(
        "HTTP/1.1 200 OK\r\na: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\n\r\n",
        "max_fields",
    );
    fails(
        "HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n12345678901",
        "max_body_bytes",
    );
    // Fails immediately, without waiting for the body.
    fails(
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n",
        "max_body_bytes",
    );
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    fails(&format!("{chunked}3\r\nabc\r\n8\r\n"), "max_body_bytes");
    fails(&format!("{chunked}1;234567890"), "max_chunk_line_bytes");
    fails(
        &format!("{chunked}0\r\na: {}", "x".repeat(200)),
        "max_head_bytes",
    );
    // A head exactly at the limit is accepted.
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\na: {}\r\n\r\n",
        "x".repeat(57)
    );
    assert_eq!(head.len(), 100);
    assert!(response_to(&get(), limits, head.as_bytes()).contains(&"1 complete".to_owned()));
}
