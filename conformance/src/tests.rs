//! The client under test calls the server under test, without the suites.

use std::thread::{self, JoinHandle};

use buffa::Message;
use tokio::sync::oneshot;

use crate::client;
use crate::server::UnderTest;
use crate::suites::connectrpc::conformance::v1 as suite;
use crate::suites::google::protobuf::Any;
use suite::__buffa::oneof::client_compat_request::cancel::CancelTiming;
use suite::__buffa::oneof::unary_response_definition::Response as Defined;
use suite::client_compat_request::Cancel;
use suite::conformance_payload::RequestInfo;

/// The server under test on a thread. It ends when the value is dropped.
struct Running {
    place: suite::ServerCompatResponse,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(limit: u32) -> Self {
        Self::start_as(suite::ServerCompatRequest {
            message_receive_limit: limit,
            ..Default::default()
        })
    }

    fn start_with_tls() -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let credentials = suite::TLSCreds {
            cert: made.cert.pem().into_bytes(),
            key: made.key_pair.serialize_pem().into_bytes(),
            ..Default::default()
        };
        Self::start_as(suite::ServerCompatRequest {
            use_tls: true,
            server_creds: credentials.into(),
            ..Default::default()
        })
    }

    fn start_as(request: suite::ServerCompatRequest) -> Self {
        let server = UnderTest::bind(&request).unwrap();
        let place = server.place().clone();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            // An error means that the sender was dropped, which also ends the server.
            let _ = stopped.await;
        };
        let thread = thread::spawn(move || server.serve(shutdown).unwrap());
        Self {
            place,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Makes a call with the definition of its response.
    fn call(
        &self,
        definition: suite::UnaryResponseDefinition,
        change: impl FnOnce(&mut suite::ClientCompatRequest),
    ) -> suite::ClientResponseResult {
        let message = suite::UnaryRequest {
            response_definition: definition.into(),
            ..Default::default()
        };
        let mut request = suite::ClientCompatRequest {
            http_version: suite::HTTPVersion::HTTP_VERSION_2.into(),
            protocol: suite::Protocol::PROTOCOL_GRPC.into(),
            codec: suite::Codec::CODEC_PROTO.into(),
            compression: suite::Compression::COMPRESSION_IDENTITY.into(),
            stream_type: suite::StreamType::STREAM_TYPE_UNARY.into(),
            host: self.place.host.clone(),
            port: self.place.port,
            server_tls_cert: self.place.pem_cert.clone(),
            request_messages: vec![Any {
                value: message.encode_to_vec(),
                ..Default::default()
            }],
            ..Default::default()
        };
        change(&mut request);
        client::call_target(&request).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            assert!(thread::panicking() || thread.join().is_ok());
        }
    }
}

fn header(name: &str, values: &[&str]) -> suite::Header {
    suite::Header {
        name: name.to_owned(),
        value: values.iter().map(|&value| value.to_owned()).collect(),
        ..Default::default()
    }
}

fn data(bytes: &[u8]) -> suite::UnaryResponseDefinition {
    suite::UnaryResponseDefinition {
        response: Some(Defined::ResponseData(bytes.to_vec())),
        ..Default::default()
    }
}

fn code(result: &suite::ClientResponseResult) -> Option<suite::Code> {
    let error = result.error.as_option();
    error.map(|error| error.code.as_known().unwrap())
}

#[test]
fn data_and_metadata_arrive_with_every_compression() {
    let server = Running::start(0);
    for compression in [
        suite::Compression::COMPRESSION_IDENTITY,
        suite::Compression::COMPRESSION_GZIP,
        suite::Compression::COMPRESSION_ZSTD,
    ] {
        let mut definition = data(&[7; 5000]);
        definition.response_headers = vec![header("x-first", &["a", "b"])];
        definition.response_trailers = vec![header("x-last-bin", &["YWI"])];
        let result = server.call(definition, |request| {
            request.request_headers = vec![header("x-asked", &["c", "d"])];
            request.timeout_ms = Some(15_000);
            request.compression = compression.into();
        });
        assert_eq!(code(&result), None, "{compression:?}");
        let headers = &result.response_headers;
        assert!(headers.contains(&header("x-first", &["a", "b"])));
        let trailers = &result.response_trailers;
        assert!(trailers.contains(&header("x-last-bin", &["YWI"])));
        let [payload] = result.payloads.as_slice() else {
            panic!("one payload")
        };
        assert_eq!(payload.data, [7; 5000]);
        let info = payload.request_info.as_option().unwrap();
        let seen = &info.request_headers;
        assert!(seen.contains(&header("x-asked", &["c", "d"])));
        assert_eq!(info.timeout_ms, Some(15_000));
        let gzip = compression == suite::Compression::COMPRESSION_GZIP;
        let encoding = header("grpc-encoding", &["gzip"]);
        assert_eq!(headers.contains(&encoding), gzip, "{compression:?}");
    }
}

#[test]
fn data_and_errors_arrive_over_tls_and_in_json() {
    for server in [Running::start(0), Running::start_with_tls()] {
        for codec in [suite::Codec::CODEC_PROTO, suite::Codec::CODEC_JSON] {
            let result = server.call(data(&[7; 5000]), |request| request.codec = codec.into());
            assert_eq!(code(&result), None, "{codec:?}");
            let [payload] = result.payloads.as_slice() else {
                panic!("one payload")
            };
            assert_eq!(payload.data, [7; 5000]);
            let info = payload.request_info.as_option().unwrap();
            let subtype = match codec {
                suite::Codec::CODEC_JSON => "application/grpc+json",
                _ => "application/grpc+proto",
            };
            let content_type = header("content-type", &[subtype]);
            assert!(info.request_headers.contains(&content_type), "{info:?}");
            assert!(result.response_headers.contains(&content_type));
            // The method receives the request as it was sent, in any encoding.
            let [request] = info.requests.as_slice() else {
                panic!("one request")
            };
            assert!(suite::UnaryRequest::decode_from_slice(&request.value).is_ok());
            let error = suite::Error {
                code: suite::Code::CODE_ABORTED.into(),
                ..Default::default()
            };
            let definition = suite::UnaryResponseDefinition {
                response: Some(error.into()),
                ..Default::default()
            };
            let result = server.call(definition, |request| request.codec = codec.into());
            assert_eq!(code(&result), Some(suite::Code::CODE_ABORTED), "{codec:?}");
        }
    }
}

#[test]
fn a_server_with_another_certificate_is_refused() {
    let (server, other) = (Running::start_with_tls(), Running::start_with_tls());
    let result = server.call(data(b""), |request| {
        request.server_tls_cert = other.place.pem_cert.clone();
    });
    assert_eq!(code(&result), Some(suite::Code::CODE_UNAVAILABLE));
    assert!(result.payloads.is_empty());
}

#[test]
fn an_error_has_its_message_details_and_metadata() {
    let server = Running::start(0);
    let error = suite::Error {
        code: suite::Code::CODE_ABORTED.into(),
        message: Some("100% wrong ☺\n".to_owned()),
        ..Default::default()
    };
    let definition = suite::UnaryResponseDefinition {
        response_headers: vec![header("x-first", &["a"])],
        response_trailers: vec![header("x-last", &["b"])],
        response: Some(error.into()),
        ..Default::default()
    };
    let result = server.call(definition, |_| {});
    assert_eq!(code(&result), Some(suite::Code::CODE_ABORTED));
    let error = result.error.as_option().unwrap();
    assert_eq!(error.message.as_deref(), Some("100% wrong ☺\n"));
    let [detail] = error.details.as_slice() else {
        panic!("one detail")
    };
    let info = RequestInfo::decode_from_slice(&detail.value).unwrap();
    assert_eq!(info.requests.len(), 1);
    assert!(result.response_headers.contains(&header("x-first", &["a"])));
    assert!(result.response_trailers.contains(&header("x-last", &["b"])));
    assert!(result.payloads.is_empty());
}

#[test]
fn a_call_ends_at_its_deadline_or_when_it_is_cancelled() {
    let server = Running::start(0);
    let slow = suite::UnaryResponseDefinition {
        response_delay_ms: 60_000,
        ..Default::default()
    };
    let result = server.call(slow.clone(), |request| request.timeout_ms = Some(20));
    assert_eq!(code(&result), Some(suite::Code::CODE_DEADLINE_EXCEEDED));
    let result = server.call(slow, |request| {
        let cancel = Cancel {
            cancel_timing: Some(CancelTiming::AfterCloseSendMs(5)),
            ..Default::default()
        };
        request.cancel = cancel.into();
    });
    assert_eq!(code(&result), Some(suite::Code::CODE_CANCELED));
}

#[test]
fn an_unknown_method_is_unimplemented() {
    let server = Running::start(0);
    let result = server.call(data(b""), |request| {
        request.method = Some("Unimplemented".to_owned());
    });
    assert_eq!(code(&result), Some(suite::Code::CODE_UNIMPLEMENTED));
}

#[test]
fn messages_over_a_limit_are_refused_by_either_side() {
    let server = Running::start(1000);
    let long = data(&[7; 2000]);
    for compression in [
        suite::Compression::COMPRESSION_IDENTITY,
        suite::Compression::COMPRESSION_GZIP,
    ] {
        let result = server.call(long.clone(), |request| {
            request.compression = compression.into();
        });
        assert_eq!(code(&result), Some(suite::Code::CODE_RESOURCE_EXHAUSTED));
    }
    let server = Running::start(0);
    for compression in [
        suite::Compression::COMPRESSION_IDENTITY,
        suite::Compression::COMPRESSION_GZIP,
    ] {
        let result = server.call(long.clone(), |request| {
            request.compression = compression.into();
            request.message_receive_limit = 1000;
        });
        assert_eq!(code(&result), Some(suite::Code::CODE_RESOURCE_EXHAUSTED));
        let text = result.error.as_option().unwrap().message.clone();
        assert!(text.is_some_and(|text| text.contains("1000")));
    }
}

#[test]
fn a_server_that_has_ended_is_unavailable() {
    let mut server = Running::start(0);
    server.stop.take();
    server.thread.take().unwrap().join().unwrap();
    let result = server.call(data(b""), |_| {});
    assert_eq!(code(&result), Some(suite::Code::CODE_UNAVAILABLE));
}
