//! Calls with every workload, encoding, protocol, transport and compression.

mod common;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{Http, Response, Running, both_transports, compress, framed, post};
use http_body_util::BodyExt as _;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{
    Compression, Decompressor, Encoding, Limits, MessageType, Schema, WorkloadSpec, content_type,
    first_difference,
};
use rpcgauge_reference::ServerOptions;
use serde_json::json;

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::GZIP, Compression::ZSTD];

fn workloads() -> [WorkloadSpec; 7] {
    [
        WorkloadSpec::Echo { n: 20 },
        WorkloadSpec::Hello {},
        WorkloadSpec::List { n: 12 },
        WorkloadSpec::Records { n: 5 },
        WorkloadSpec::Profile {},
        WorkloadSpec::Followers { n: 30 },
        own(),
    ]
}

/// A user's own method, which needs dynamic code.
fn own() -> WorkloadSpec {
    WorkloadSpec::Own(Box::new(OwnWorkload {
        descriptor_set: STANDARD.encode(Schema::workloads().descriptor_set()),
        method: "several.SeveralService/GetSeveralData".into(),
        request: json!({"doubleData": 0.25, "stringData": "a \"quoted\" ö", "list": ["", "x"]}),
        response: json!({"longData": "-2222222222222", "boolData": true, "list": ["y"]}),
    }))
}

fn decompress(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut decompressor = Decompressor::new(compression, Limits::DEFAULT).expect("a decompressor");
    decompressor
        .decompress(bytes, &mut out)
        .expect("decompressed");
    out
}

/// One combination of encoding and compressions.
#[derive(Debug, Clone, Copy)]
struct Way {
    encoding: Encoding,
    request: Compression,
    response: Compression,
}

fn call_grpc(server: &Running, way: Way, number: u64) -> (Response, Vec<u8>) {
    let bytes = server
        .workload
        .request(number)
        .to_bytes(way.encoding)
        .expect("encoded");
    let body = framed(!way.request.is_none(), &compress(way.request, &bytes));
    let headers = [
        ("content-type", content_type::grpc(way.encoding)),
        ("te", "trailers"),
        ("grpc-encoding", way.request.coding()),
        ("grpc-accept-encoding", "identity,gzip,zstd"),
    ];
    let response = server.call(
        Http::Two,
        post(server.workload.method_path(), &headers, body),
    );
    assert_eq!(response.status, 200);
    assert_eq!(
        response.grpc_status(),
        "0",
        "{way:?} {}",
        response.grpc_message()
    );
    assert!(
        !response.headers.contains_key("grpc-status"),
        "the status is in the trailers"
    );
    assert_eq!(
        response.header("content-type"),
        content_type::grpc(way.encoding)
    );
    let compressed = !way.response.is_none();
    assert_eq!(
        response.headers.contains_key("grpc-encoding"),
        compressed,
        "{way:?}"
    );
    assert_eq!(response.body[0], u8::from(compressed), "{way:?}");
    let length = u32::from_be_bytes(response.body[1..5].try_into().expect("4 bytes"));
    assert_eq!(length as usize, response.body.len() - 5);
    let plain = decompress(way.response, &response.body[5..]);
    (response, plain)
}

/// Makes a REST or a Connect call, whose body is the message itself.
fn call_plain(
    server: &Running,
    by_connect: bool,
    http: Http,
    way: Way,
    number: u64,
) -> (Response, Vec<u8>) {
    let bytes = server
        .workload
        .request(number)
        .to_bytes(way.encoding)
        .expect("encoded");
    let (path, media_type, own) = if by_connect {
        (
            server.workload.method_path(),
            content_type::connect(way.encoding),
            ("connect-protocol-version", "1"),
        )
    } else {
        let media_type = content_type::rest(way.encoding);
        let path = server.workload.rest_path();
        (path, media_type, ("accept", media_type))
    };
    let headers = [
        ("content-type", media_type),
        own,
        ("content-encoding", way.request.coding()),
        ("accept-encoding", "gzip, zstd"),
    ];
    let body = compress(way.request, &bytes);
    let response = server.call(http, post(path, &headers, body));
    assert_eq!(
        response.status,
        200,
        "{way:?} {}",
        String::from_utf8_lossy(&response.body)
    );
    assert_eq!(response.header("content-type"), media_type);
    assert_eq!(
        response.header("content-length"),
        response.body.len().to_string()
    );
    let coding = if way.response.is_none() {
        ""
    } else {
        way.response.coding()
    };
    assert_eq!(response.header("content-encoding"), coding);
    let plain = decompress(way.response, &response.body);
    (response, plain)
}

fn assert_right(server: &Running, kind: &MessageType, way: Way, number: u64, plain: &[u8]) {
    let got = kind
        .decode(plain, way.encoding, &Limits::DEFAULT)
        .expect("decoded");
    let difference = first_difference(&server.workload.expected(number), &got);
    assert!(
        difference.is_none(),
        "{way:?} call {number}: {difference:?}"
    );
}

fn call_every_way(server: &Running, response: Compression, json: Encoding) {
    let kind = server.workload.response_type().clone();
    for encoding in Encoding::ALL
        .into_iter()
        .filter(|encoding| !encoding.is_json() || *encoding == json)
    {
        for request in COMPRESSIONS {
            let way = Way {
                encoding,
                request,
                response,
            };
            for number in [0, 7] {
                let (_, plain) = call_grpc(server, way, number);
                assert_right(server, &kind, way, number, &plain);
                for http in [Http::One, Http::Two] {
                    for by_connect in [false, true] {
                        let (_, plain) = call_plain(server, by_connect, http, way, number);
                        assert_right(server, &kind, way, number, &plain);
                    }
                }
            }
        }
    }
}

#[test]
fn every_workload_is_answered_in_every_way() {
    let folder = tempfile::tempdir().expect("a folder");
    for listen in both_transports(&folder) {
        for response in COMPRESSIONS {
            for workload in workloads() {
                let mut settings = ServerOptions::new(workload);
                settings.listen = listen.clone();
                settings.response_compression = response;
                let server = Running::start(&settings);
                call_every_way(&server, response, Encoding::Json);
            }
        }
    }
}

#[test]
fn names_as_written_in_the_proto_file_are_a_setting() {
    let mut settings = ServerOptions::new(WorkloadSpec::Records { n: 2 });
    settings.encoding = Encoding::JsonProtoNames;
    let server = Running::start(&settings);
    call_every_way(&server, Compression::None, Encoding::JsonProtoNames);
    let way = |encoding| Way {
        encoding,
        request: Compression::None,
        response: Compression::None,
    };
    let keys = |bytes: &[u8]| -> BTreeSet<String> {
        let text = String::from_utf8(bytes.to_vec()).expect("JSON is text");
        text.split('"')
            .map(str::to_owned)
            .filter(|part| part.contains('_'))
            .collect()
    };
    // Both kinds of names are accepted; the setting decides which kind is written.
    let (_, plain) = call_plain(&server, false, Http::One, way(Encoding::Json), 0);
    assert!(
        !keys(&plain).is_empty(),
        "{}",
        String::from_utf8_lossy(&plain)
    );
}

#[test]
fn long_integers_are_text_in_the_mapping_of_protobuf() {
    let mut settings = ServerOptions::new(WorkloadSpec::Echo { n: 1 });
    let way = Way {
        encoding: Encoding::Json,
        request: Compression::None,
        response: Compression::None,
    };
    for (json, written) in [
        (Encoding::Json, "\"longData\":2222222222222,"),
        (Encoding::ProtoJson, "\"longData\":\"2222222222222\","),
    ] {
        settings.encoding = json;
        let server = Running::start(&settings);
        call_every_way(&server, Compression::None, json);
        let (_, plain) = call_plain(&server, false, Http::One, way, 0);
        let text = String::from_utf8_lossy(&plain);
        assert!(text.contains(written), "{text}");
    }
}

#[test]
fn responses_carry_marks_only_if_the_settings_say_so() {
    let way = Way {
        encoding: Encoding::Json,
        request: Compression::None,
        response: Compression::None,
    };
    let marks = |server: &Running| {
        let mut marks = call_grpc(server, way, 0).0.marks();
        for http in [Http::One, Http::Two] {
            for by_connect in [false, true] {
                marks.extend(call_plain(server, by_connect, http, way, 1).0.marks());
            }
        }
        marks
    };
    let mut settings = ServerOptions::new(WorkloadSpec::List { n: 3 });
    assert_eq!(marks(&Running::start(&settings)), Vec::<u64>::new());
    settings.marks = true;
    let server = Running::start(&settings);
    let marks = marks(&server);
    assert_eq!(marks.len(), 10, "a start and an end in each response");
    assert!(marks.is_sorted(), "{marks:?}");
    let refused = server.call(Http::One, post("/example/list", &[], "not JSON"));
    assert!(refused.status.is_client_error());
    assert_eq!(refused.marks(), Vec::<u64>::new());
}

#[test]
fn a_level_changes_the_size_of_a_response() {
    let size = |level| {
        let mut settings = ServerOptions::new(WorkloadSpec::Records { n: 200 });
        settings.response_compression = Compression::Gzip { level };
        let server = Running::start(&settings);
        let response = settings.response_compression;
        let way = Way {
            encoding: Encoding::Json,
            request: Compression::None,
            response,
        };
        call_grpc(&server, way, 0).0.body.len()
    };
    assert!(size(9) < size(1));
}

#[test]
fn several_threads_serve_several_connections() {
    let mut settings = ServerOptions::new(WorkloadSpec::List { n: 3 });
    settings.threads = 3;
    let folder = tempfile::tempdir().expect("a folder");
    for listen in both_transports(&folder) {
        settings.listen = listen;
        let server = Running::start(&settings);
        call_every_way(&server, Compression::None, Encoding::Json);
    }
}

#[test]
fn many_calls_are_in_flight_on_one_connection() {
    const CALLS: u64 = 300;
    let server = Running::start(&ServerOptions::new(WorkloadSpec::Hello {}));
    let path = server.workload.method_path();
    let kind = server.workload.response_type();
    common::block_on(async {
        let stream = tokio::net::TcpStream::connect(server.tcp())
            .await
            .expect("listening");
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .expect("connected");
        tokio::spawn(connection);
        let calls: Vec<_> = (0..CALLS)
            .map(|number| {
                let request = server.workload.request(number);
                let bytes = request.to_bytes(Encoding::Protobuf).expect("encoded");
                let headers = [("content-type", "application/grpc"), ("te", "trailers")];
                sender
                    .clone()
                    .send_request(post(path, &headers, framed(false, &bytes)))
            })
            .collect();
        for (number, call) in (0..).zip(calls) {
            let body = call
                .await
                .expect("a response")
                .into_body()
                .collect()
                .await
                .expect("whole");
            let status = body
                .trailers()
                .and_then(|trailers| trailers.get("grpc-status").cloned());
            assert_eq!(status.expect("a status"), "0");
            let bytes = body.to_bytes();
            let got = kind.decode(&bytes[5..], Encoding::Protobuf, &Limits::DEFAULT);
            let difference =
                first_difference(&server.workload.expected(number), &got.expect("decoded"));
            assert!(difference.is_none(), "call {number}: {difference:?}");
        }
    });
}
