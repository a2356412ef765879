use rpcgauge_load::{CallStyle, Codec as _};
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use rpcgauge_study::settings::{HttpVersion, Protocol};

use super::*;

const GZIP: Compression = Compression::Gzip { level: 6 };

fn call(protocol: Protocol, encoding: Encoding) -> SubjectCall {
    SubjectCall {
        wire: Wire::new(protocol, HttpVersion::Http2, encoding).unwrap(),
        ..SubjectCall::new(WorkloadSpec::Hello {}, protocol)
    }
}

fn workload_calls(call: &SubjectCall) -> WorkloadCalls {
    let workload = Workload::new(&call.workload).unwrap();
    WorkloadCalls::new(workload, call, Limits::DEFAULT).unwrap()
}

fn header<'a>(request: &'a load::Request, wanted: &str) -> Option<&'a str> {
    request
        .headers
        .iter()
        .find(|(name, _)| name == wanted)
        .map(|(_, value)| value.as_str())
}

#[test]
fn a_grpc_head_names_its_subtype_and_compressions() {
    let mut call = call(Protocol::Grpc, Encoding::Msgpack);
    call.options.request_compression = GZIP;
    call.options.response_compression = Compression::Zstd { level: 3 };
    let workload_calls = workload_calls(&call);
    let request = workload_calls.request("localhost".to_owned());
    assert_eq!(
        request.style,
        CallStyle::Grpc {
            subtype: Some("msgpack".to_owned())
        }
    );
    assert_eq!(request.path, "/hello.Hello/SayHello");
    assert_eq!(header(&request, "grpc-encoding"), Some("gzip"));
    assert_eq!(header(&request, "grpc-accept-encoding"), Some("zstd"));
    assert_eq!(header(&request, "content-encoding"), None);
    assert!(header(&request, "user-agent").is_some());
    assert_eq!(workload_calls.expect().encoding.as_deref(), Some("zstd"));
    assert_eq!(workload_calls.expect().content_type, None);
}

#[test]
fn a_rest_head_names_its_media_type_and_compressions() {
    let mut call = call(Protocol::Rest, Encoding::Json);
    call.options.response_compression = GZIP;
    let workload_calls = workload_calls(&call);
    let request = workload_calls.request("127.0.0.1:80".to_owned());
    assert_eq!(
        request.style,
        CallStyle::Http {
            method: "POST".to_owned()
        }
    );
    assert_eq!(header(&request, "content-type"), Some("application/json"));
    assert_eq!(header(&request, "accept"), Some("application/json"));
    assert_eq!(header(&request, "accept-encoding"), Some("gzip"));
    assert_eq!(header(&request, "content-encoding"), None);
    assert_eq!(
        workload_calls.expect().content_type.as_deref(),
        Some("application/json")
    );
}

#[test]
fn a_connect_head_names_its_version_and_type() {
    let mut call = call(Protocol::Connect, Encoding::Protobuf);
    call.options.request_compression = GZIP;
    let workload_calls = workload_calls(&call);
    let request = workload_calls.request("localhost".to_owned());
    assert_eq!(request.path, "/hello.Hello/SayHello");
    let style = CallStyle::Http {
        method: "POST".to_owned(),
    };
    assert_eq!(request.style, style);
    assert_eq!(header(&request, "content-type"), Some("application/proto"));
    assert_eq!(header(&request, "connect-protocol-version"), Some("1"));
    assert_eq!(header(&request, "content-encoding"), Some("gzip"));
    assert_eq!(header(&request, "accept"), None);
    let expected = workload_calls.expect().content_type;
    assert_eq!(expected.as_deref(), Some("application/proto"));
}

#[test]
fn a_call_goes_through_its_stages_and_is_verified() {
    let mut call = call(Protocol::Grpc, Encoding::Protobuf);
    call.options.request_compression = GZIP;
    call.options.response_compression = GZIP;
    let mut workload_calls = workload_calls(&call);
    let (mut plain, mut carried) = (Vec::new(), Vec::new());
    workload_calls.encode(5, &mut plain).unwrap();
    workload_calls.compress(&plain, &mut carried).unwrap();
    assert_ne!(plain, carried);

    let right = workload_calls
        .workload
        .expected(5)
        .to_bytes(Encoding::Protobuf)
        .unwrap();
    let mut response = Vec::new();
    workload_calls
        .response_codec
        .compress(&right, &mut response)
        .unwrap();
    let mut restored = Vec::new();
    workload_calls.decompress(&response, &mut restored).unwrap();
    assert_eq!(restored, right);
    workload_calls.decode(&restored).unwrap();
    workload_calls.verify(5, 0).unwrap();
    let wrong = workload_calls.verify(6, 0).unwrap_err().to_string();
    assert!(wrong.starts_with("$.message: expected"), "{wrong}");
}

#[test]
fn prepared_bodies_are_what_a_call_would_send() {
    let mut workload_calls = workload_calls(&call(Protocol::Rest, Encoding::Json));
    let bodies = workload_calls.prepared().unwrap();
    assert_eq!(bodies.len() as u64, REQUESTS);
    for (call, body) in (0..).zip(&bodies) {
        let mut out = Vec::new();
        workload_calls.encode(call, &mut out).unwrap();
        assert_eq!(body.bytes, out);
        assert_eq!(body.plain_len, out.len() as u64);
        assert!(!body.compressed);
    }
    assert!(workload_calls.response_size() > Some(0.0));
}

#[test]
fn nothing_decoded_is_no_right_response() {
    let mut workload_calls = workload_calls(&call(Protocol::Grpc, Encoding::Protobuf));
    assert!(workload_calls.verify(0, 0).is_err());
    assert!(workload_calls.decode(&[0xff]).is_err());
}
