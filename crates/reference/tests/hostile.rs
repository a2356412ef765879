//! Bytes that no client should send, and clients that disconnect. The server must respond or close the
//! connection, and keep running.

mod common;

use std::io::Write as _;
use std::net::Shutdown;
use std::time::Duration;

use common::{Http, Running, framed, post, read_to_close};
use proptest::prelude::*;
use rpcgauge_message::{Encoding, Workload, WorkloadSpec, content_type};
use rpcgauge_reference::{ListenOn, ServerOptions, Timeouts};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const EMPTY_SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

/// hyper chooses the response. The connection must be closed, and the server must keep running.
#[test]
fn bytes_that_are_no_request_are_refused_and_the_connection_is_closed() {
    let server = Running::hello();
    let huge = format!(
        "GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    // DATA on a stream that was never opened.
    let unopened = [PREFACE, EMPTY_SETTINGS, b"\0\0\x01\0\0\0\0\0\x01x"].concat();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n"[..],
        b"hello?\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
        huge.as_bytes(),
        &unopened,
    ] {
        let response = server.send_raw(bytes);
        let is_http1 = response.starts_with(b"HTTP/1.1 ");
        assert!(
            !is_http1 || response.starts_with(b"HTTP/1.1 4"),
            "{bytes:?}"
        );
    }
    server.assert_alive();
}

#[test]
fn the_server_survives_half_requests_and_clients_that_disconnect() {
    let server = Running::hello();
    let path = server.workload.rest_path();
    let whole = format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
         content-length: 17\r\n\r\n{{\"name\":\"name_0\"}}"
    );
    for end in (0..whole.len()).step_by(7) {
        let mut stream = server.raw();
        stream.write_all(&whole.as_bytes()[..end]).expect("sent");
        stream.shutdown(Shutdown::Write).expect("half closed");
        let response = read_to_close(stream);
        assert!(
            !response.starts_with(b"HTTP/1.1 200"),
            "half a request is not a request"
        );
    }
    for end in [3, PREFACE.len(), PREFACE.len() + 5] {
        let bytes = [PREFACE, EMPTY_SETTINGS].concat();
        let mut stream = server.raw();
        stream.write_all(&bytes[..end]).expect("sent");
        drop(stream);
    }
    server.assert_alive();
}

#[test]
fn a_unix_socket_is_no_less_robust() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = ServerOptions::new(WorkloadSpec::Hello {});
    settings.listen = ListenOn::Unix(folder.path().join("s"));
    let server = Running::start(&settings);
    for garbage in [&b"nonsense\r\n\r\n"[..], b"", PREFACE, b"P"] {
        let mut stream = common::unix(&server.address);
        stream.write_all(garbage).expect("sent");
        stream.shutdown(Shutdown::Write).expect("half closed");
        read_to_close(stream);
    }
    let mut stream = common::unix(&server.address);
    stream
        .write_all(b"GET /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .expect("sent");
    assert!(read_to_close(stream).starts_with(b"HTTP/1.1 404"));
}

/// Settings with short timeouts.
fn impatient_settings(workload: WorkloadSpec) -> ServerOptions {
    let soon = Duration::from_millis(150);
    ServerOptions {
        timeouts: Timeouts {
            first_request: soon,
            request_head: soon,
            request_body: soon,
        },
        ..ServerOptions::new(workload)
    }
}

fn impatient() -> Running {
    Running::start(&impatient_settings(WorkloadSpec::Hello {}))
}

#[test]
fn connections_without_a_whole_request_are_closed() {
    let server = impatient();
    for start in [
        &b""[..],
        b"P",
        b"PRI * HT",
        PREFACE,
        b"POST /x HTTP/1.1\r\nhost:",
    ] {
        let mut stream = server.raw();
        stream.write_all(start).expect("sent");
        let response = read_to_close(stream);
        assert!(!response.starts_with(b"HTTP/1.1 200"), "{start:?}");
    }
    server.assert_alive();
}

#[test]
fn a_body_that_does_not_arrive_times_out() {
    let server = impatient();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
         content-length: 17\r\n\r\n{{",
        server.workload.rest_path()
    );
    let response = server.send_raw(head.as_bytes());
    assert!(
        response.starts_with(b"HTTP/1.1 408"),
        "{}",
        String::from_utf8_lossy(&response)
    );
}

#[test]
fn an_idle_connection_is_closed_after_its_last_response() {
    let server = impatient();
    let response = server.send_raw(b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(response.starts_with(b"HTTP/1.1 404"));
}

#[test]
fn a_connection_on_which_a_stream_is_sent_is_not_idle() {
    let mut settings = impatient_settings(WorkloadSpec::Items {});
    let stream = r#"{"form":"ndjson","messages":60000}"#;
    settings.stream = Some(serde_json::from_str(stream).expect("a stream"));
    let server = Running::start(&settings);
    let request = "POST /items HTTP/1.1\r\nhost: a\r\nconnection: close\r\naccept: application/x-ndjson\r\n\
                   content-type: application/json\r\ncontent-length: 8\r\n\r\n{\"id\":1}";
    let response = server.send_raw(request.as_bytes());
    assert!(response.ends_with(b"\r\n0\r\n\r\n"), "it is complete");
}

/// A real request with some of its bytes changed or cut off.
fn damaged() -> impl Strategy<Value = (Encoding, Vec<u8>)> {
    let workload = Workload::new(&WorkloadSpec::Echo { n: 3 }).expect("a workload");
    let encoding = proptest::sample::select(Encoding::ALL.to_vec());
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (
        encoding,
        changes,
        any::<prop::sample::Index>(),
        any::<bool>(),
    )
        .prop_map(move |(encoding, changes, end, cut)| {
            let mut bytes = workload.request(0).to_bytes(encoding).expect("encoded");
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            if cut {
                bytes.truncate(end.index(bytes.len()));
            }
            (encoding, bytes)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_take_the_server_down(
        start in prop_oneof![Just(&b""[..]), Just(PREFACE), Just(&b"POST / HTTP/1.1\r\n"[..])],
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        thread_local!(static SERVER: Running = Running::hello());
        SERVER.with(|server| {
            let mut stream = server.raw();
            let _ = stream.write_all(&[start, &bytes].concat());
            let _ = stream.shutdown(Shutdown::Write);
            read_to_close(stream);
            server.assert_alive();
        });
    }

    #[test]
    fn damaged_messages_are_the_clients_fault_or_answered(
        (encoding, bytes) in damaged(),
        compression in proptest::sample::select(vec!["identity", "gzip", "zstd"]),
    ) {
        thread_local! {
            static SERVER: Running = Running::start(&ServerOptions::new(WorkloadSpec::Echo { n: 3 }));
        }
        SERVER.with(|server| {
            let headers = [
                ("content-type", content_type::rest(encoding)),
                ("content-encoding", compression),
            ];
            let rest = post(server.workload.rest_path(), &headers, bytes.clone());
            let response = server.call(Http::One, rest);
            prop_assert!([200, 400, 413].contains(&response.status.as_u16()), "{}", response.status);
            let headers = [
                ("content-type", content_type::grpc(encoding)),
                ("grpc-encoding", compression),
            ];
            let body = framed(compression != "identity", &bytes);
            let response = server.call(Http::Two, post(server.workload.method_path(), &headers, body));
            prop_assert_eq!(response.status, 200);
            prop_assert!(["0", "3", "8", "13"].contains(&response.grpc_status()), "{:?}", response);
            Ok(())
        })?;
    }

    #[test]
    fn damaged_streams_end_with_a_status(
        path in proptest::sample::select(vec!["ListItems", "PutItems", "ExchangeItems"]),
        good in 0_usize..3,
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        framed_too in any::<bool>(),
        coding in proptest::sample::select(vec!["identity", "gzip", "zstd"]),
    ) {
        thread_local! {
            static SERVER: Running = Running::start(&ServerOptions::new(WorkloadSpec::Items {}));
        }
        SERVER.with(|server| {
            let damage = if framed_too { framed(coding != "identity", &bytes) } else { bytes };
            let body = [framed(false, &[0x08, 1]).repeat(good), damage].concat();
            let headers = [("content-type", "application/grpc"), ("grpc-encoding", coding)];
            let path = format!("/ItemService/{path}");
            let response = server.call(Http::Two, post(&path, &headers, body));
            prop_assert_eq!(response.status, 200);
            let statuses = ["0", "3", "8", "12", "13"];
            prop_assert!(statuses.contains(&response.grpc_status()), "{:?}", response);
            common::messages(&response.body);
            Ok(())
        })?;
    }
}
