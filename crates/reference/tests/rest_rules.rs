//! The rules of HTTP (RFC 9110), and errors as JSON (RFC 9457).

mod common;

use std::io::Write as _;

use bytes::Bytes;
use common::{Http, Response, Running, gzip, post, read_to_close, request};
use http::Method;
use rpcgauge_message::{Compression, WorkloadSpec};
use rpcgauge_reference::ServerOptions;

const JSON: (&str, &str) = ("content-type", "application/json");
const HELLO: &str = r#"{"name":"name_0"}"#;

fn call(server: &Running, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response {
    server.post(server.workload.rest_path(), headers, body)
}

#[test]
fn an_unknown_path_is_not_found() {
    let server = Running::hello();
    for path in ["/", "/nothing", "/hello/"] {
        let response = server.call(Http::One, post(path, &[JSON], HELLO));
        assert_eq!(response.status, 404);
        let problem = response.problem();
        assert_eq!(problem["status"], 404);
        assert_eq!(problem["title"], "Not Found");
        assert!(
            problem["detail"]
                .as_str()
                .expect("text")
                .contains(server.workload.rest_path())
        );
    }
}

#[test]
fn only_post_is_allowed() {
    let server = Running::hello();
    for method in [
        Method::GET,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
        Method::PATCH,
    ] {
        let path = server.workload.rest_path();
        let response = server.call(Http::One, request(method, path, &[JSON], HELLO));
        assert_eq!(response.status, 405);
        assert_eq!(response.header("allow"), "POST");
    }
}

#[test]
fn a_query_does_not_change_the_path() {
    let server = Running::hello();
    let path = format!("{}?trace=1", server.workload.rest_path());
    assert_eq!(
        server.call(Http::Two, post(&path, &[JSON], HELLO)).status,
        200
    );
}

#[test]
fn an_unsupported_media_type_is_refused_with_the_supported_ones() {
    let server = Running::hello();
    for headers in [
        &[][..],
        &[("content-type", "text/plain")],
        &[("content-type", "")],
    ] {
        let response = call(&server, headers, HELLO);
        assert_eq!(response.status, 415);
        assert!(
            response
                .header("accept")
                .starts_with("application/json, application/msgpack")
        );
        assert!(
            response.problem()["detail"]
                .as_str()
                .expect("text")
                .contains("content-type")
        );
    }
}

#[test]
fn an_unsupported_coding_is_refused_with_the_supported_ones() {
    let server = Running::hello();
    for coding in ["br", "gzip, gzip", "deflate"] {
        let response = call(&server, &[JSON, ("content-encoding", coding)], HELLO);
        assert_eq!(response.status, 415);
        assert_eq!(response.header("accept-encoding"), "gzip, zstd");
    }
    let response = call(&server, &[JSON, ("content-encoding", "gzip")], HELLO);
    assert_eq!(response.status, 400, "not gzip at all");
    assert!(
        response.problem()["detail"]
            .as_str()
            .expect("text")
            .contains("not gzip")
    );
}

#[test]
fn accept_chooses_the_responses_media_type() {
    let server = Running::hello();
    for (accept, want) in [
        ("application/cbor", "application/cbor"),
        (
            "application/xml, application/msgpack;q=0.5",
            "application/msgpack",
        ),
        ("*/*", "application/json"),
    ] {
        let response = call(&server, &[JSON, ("accept", accept)], HELLO);
        assert_eq!(response.header("content-type"), want);
        assert_eq!(response.header("vary"), "", "responses are not cached");
    }
    let response = call(
        &server,
        &[JSON, ("accept", "text/html, application/json;q=0")],
        HELLO,
    );
    assert_eq!(response.status, 406);
    assert!(
        response.problem()["detail"]
            .as_str()
            .expect("text")
            .contains("application/cbor")
    );
}

#[test]
fn accept_encoding_chooses_the_responses_coding() {
    let mut settings = ServerOptions::new(WorkloadSpec::List { n: 30 });
    settings.response_compression = Compression::GZIP;
    let server = Running::start(&settings);
    let body = server
        .workload
        .request(0)
        .to_bytes(rpcgauge_message::Encoding::Json)
        .expect("encoded");
    for (accept, want) in [
        ("gzip", "gzip"),
        ("zstd", ""),
        ("gzip;q=0", ""),
        ("*", "gzip"),
        ("gzip;q=0.1, identity", ""),
    ] {
        let response = call(&server, &[JSON, ("accept-encoding", accept)], body.clone());
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-encoding"), want, "{accept}");
        assert_eq!(response.header("vary"), "accept-encoding");
    }
    let response = call(&server, &[JSON], body.clone());
    assert_eq!(response.header("content-encoding"), "");
    assert_eq!(
        call(&server, &[JSON, ("accept-encoding", "identity;q=0")], body).status,
        406
    );
}

#[test]
fn a_damaged_body_is_a_problem_that_names_the_place() {
    let server = Running::hello();
    let response = call(&server, &[JSON], r#"{"name":7}"#);
    assert_eq!(response.status, 400);
    let problem = response.problem();
    assert_eq!(problem["path"], "$.name", "{problem}");
    for damaged in [
        "",
        "{",
        "[{}]",
        "nul",
        "{\"nam\":\"x\"}",
        "\u{feff}{}",
        "{}{}",
    ] {
        let response = call(&server, &[JSON], damaged);
        assert_eq!(response.status, 400, "{damaged:?}");
        assert_eq!(response.problem()["title"], "Bad Request");
    }
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let mut settings = ServerOptions::new(WorkloadSpec::Hello {});
    settings.limits.max_message_bytes = 100;
    let server = Running::start(&settings);
    let body = |bytes: usize| format!(r#"{{"name":"{}"}}"#, "x".repeat(bytes - 11));
    assert_eq!(call(&server, &[JSON], body(100)).status, 200);
    let response = call(&server, &[JSON], body(101));
    assert_eq!(response.status, 413);
    assert!(
        response.problem()["detail"]
            .as_str()
            .expect("text")
            .contains("100 bytes")
    );
    let large = gzip(body(5000).as_bytes());
    assert!(large.len() < 100);
    assert_eq!(
        call(&server, &[JSON, ("content-encoding", "gzip")], large).status,
        413
    );
}

/// A chunked body does not announce its length.
#[test]
fn a_chunked_body_over_the_limit_is_refused() {
    let mut settings = ServerOptions::new(WorkloadSpec::Hello {});
    settings.limits.max_message_bytes = 100;
    let server = Running::start(&settings);
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n",
        server.workload.rest_path()
    );
    let chunk = format!("3c\r\n{}\r\n", " ".repeat(60));
    let response = server.send_raw([head.as_str(), &chunk, &chunk].concat().as_bytes());
    assert!(
        response.starts_with(b"HTTP/1.1 413"),
        "{}",
        String::from_utf8_lossy(&response)
    );
}

#[test]
fn a_chunked_body_is_put_together() {
    let server = Running::hello();
    let mut stream = server.raw();
    write!(
        stream,
        "POST {} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n\
         8\r\n{{\"name\":\r\n5\r\n\"Ann\"\r\n1\r\n}}\r\n0\r\n\r\n",
        server.workload.rest_path()
    )
    .expect("sent");
    let response = String::from_utf8(read_to_close(stream)).expect("text");
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert!(response.contains("Hello, Ann."), "{response}");
}

#[test]
fn a_client_that_waits_for_100_continue_gets_it() {
    let server = Running::hello();
    let mut stream = server.raw();
    write!(
        stream,
        "POST {} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\n\r\n",
        server.workload.rest_path(),
        HELLO.len()
    )
    .expect("sent");
    let mut interim = [0; 25];
    std::io::Read::read_exact(&mut stream, &mut interim).expect("100 Continue");
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(HELLO.as_bytes()).expect("sent");
    assert!(read_to_close(stream).starts_with(b"HTTP/1.1 200"));
}

#[test]
fn requests_in_one_write_are_answered_in_order() {
    let server = Running::hello();
    let one = |name: &str, last: &str| {
        let body = format!(r#"{{"name":"{name}"}}"#);
        format!(
            "POST {} HTTP/1.1\r\nhost: a\r\n{last}content-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            server.workload.rest_path(),
            body.len()
        )
    };
    let both = one("first", "") + &one("second", "connection: close\r\n");
    let response = String::from_utf8(server.send_raw(both.as_bytes())).expect("text");
    let place = |text: &str| {
        response
            .find(text)
            .unwrap_or_else(|| panic!("{text} in {response}"))
    };
    assert!(place("Hello, first.") < place("Hello, second."));
}
