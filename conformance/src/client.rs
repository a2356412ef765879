//! The client under test: makes the calls that the suite's runner requests on standard input, and reports on
//! standard output how each ended.

use std::error::Error;
use std::io;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use buffa::Message;
use rpcgauge_message::{Compression, Encoding};
use rpcgauge_wire::grpc::{Code, DEFAULT_MAX_MESSAGE_BYTES, decode_binary};

use crate::call::{Call, Ended, Metadata, value};
use crate::suites::connectrpc::conformance::v1 as suite;
use crate::tls::ClientTls;
use crate::{codec, delimited};
use suite::__buffa::oneof::client_compat_request::cancel::CancelTiming;
use suite::__buffa::oneof::client_compat_response::Result as Outcome;

/// The number of parallel calls; most of the suite's time is spent waiting for delays that it requests.
const PARALLEL: usize = 8;

/// Serves requests until the runner closes standard input.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let (send, requests) = mpsc::channel::<suite::ClientCompatRequest>();
    let requests = Mutex::new(requests);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..PARALLEL)
            .map(|_| scope.spawn(|| serve_requests(&requests)))
            .collect();
        let mut stdin = io::stdin().lock();
        while let Some(request) = delimited::read(&mut stdin)? {
            send.send(request)?;
        }
        drop(send);
        for worker in workers {
            worker.join().map_err(|_| "a call panicked")??;
        }
        Ok(())
    })
}

/// Serves requests, which the workers take in turn.
fn serve_requests(requests: &Mutex<mpsc::Receiver<suite::ClientCompatRequest>>) -> io::Result<()> {
    loop {
        let next = requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(request) = next else { return Ok(()) };
        let outcome = match call_target(&request) {
            Ok(response) => Outcome::from(response),
            Err(error) => Outcome::from(suite::ClientErrorResult {
                message: error.to_string(),
                ..Default::default()
            }),
        };
        let response = suite::ClientCompatResponse {
            test_name: request.test_name,
            result: Some(outcome),
            ..Default::default()
        };
        delimited::write(&mut io::stdout().lock(), &response)?;
    }
}

/// Makes one call; an error means that the call could not be made.
pub(crate) fn call_target(
    request: &suite::ClientCompatRequest,
) -> Result<suite::ClientResponseResult, Box<dyn Error>> {
    check_supported(request)?;
    let [message] = request.request_messages.as_slice() else {
        return Err("a unary call has one request message".into());
    };
    let service = request
        .service
        .as_deref()
        .unwrap_or("connectrpc.conformance.v1.ConformanceService");
    let method = request.method.as_deref().unwrap_or("Unary");
    let max_message_bytes = match request.message_receive_limit {
        0 => DEFAULT_MAX_MESSAGE_BYTES,
        limit => limit,
    };
    let encoding = encoding(request)?;
    let message =
        codec::from_protobuf(&format!("{method}Request"), message.value.clone(), encoding)?;
    let ended = Call {
        host: &request.host,
        port: u16::try_from(request.port)?,
        tls: tls(request)?,
        path: &format!("/{service}/{method}"),
        metadata: from_headers(&request.request_headers),
        encoding,
        message: &message,
        compression: compression(request)?,
        timeout: request.timeout_ms.map(milliseconds),
        cancel_after: cancel_after(request)?,
        max_message_bytes,
    }
    .make()?;
    Ok(result(ended, &format!("{method}Response"), encoding))
}

/// Refuses requests that the suite's configuration should exclude.
fn check_supported(request: &suite::ClientCompatRequest) -> Result<(), String> {
    let known = request.protocol == suite::Protocol::PROTOCOL_GRPC
        && request.http_version == suite::HTTPVersion::HTTP_VERSION_2
        && request.stream_type == suite::StreamType::STREAM_TYPE_UNARY;
    match (known, request.client_tls_creds.is_set()) {
        (true, false) => Ok(()),
        (false, _) => Err("only unary gRPC over HTTP/2 is supported".to_owned()),
        (_, true) => Err("client certificates are not supported".to_owned()),
    }
}

/// TLS, if the server has a certificate.
fn tls(request: &suite::ClientCompatRequest) -> Result<Option<ClientTls>, Box<dyn Error>> {
    match request.server_tls_cert.as_slice() {
        [] => Ok(None),
        certificate => ClientTls::trusting(certificate).map(Some),
    }
}

fn encoding(request: &suite::ClientCompatRequest) -> Result<Encoding, String> {
    match request.codec.as_known() {
        Some(suite::Codec::CODEC_PROTO) => Ok(Encoding::Protobuf),
        Some(suite::Codec::CODEC_JSON) => Ok(Encoding::Json),
        _ => Err("this codec is not supported".to_owned()),
    }
}

fn compression(request: &suite::ClientCompatRequest) -> Result<Compression, String> {
    match request.compression.as_known() {
        Some(suite::Compression::COMPRESSION_IDENTITY) => Ok(Compression::None),
        Some(suite::Compression::COMPRESSION_GZIP) => Ok(Compression::GZIP),
        Some(suite::Compression::COMPRESSION_ZSTD) => Ok(Compression::ZSTD),
        _ => Err("this compression is not supported".to_owned()),
    }
}

fn cancel_after(request: &suite::ClientCompatRequest) -> Result<Option<Duration>, String> {
    let Some(cancel) = request.cancel.as_option() else {
        return Ok(None);
    };
    match cancel.cancel_timing {
        None => Ok(Some(Duration::ZERO)),
        Some(CancelTiming::AfterCloseSendMs(after)) => Ok(Some(milliseconds(after))),
        Some(_) => Err("a unary call cannot be cancelled at that point".to_owned()),
    }
}

fn milliseconds(count: u32) -> Duration {
    Duration::from_millis(count.into())
}

/// The report to the runner of how a call ended; `response` is the type of its message.
fn result(ended: Ended, response: &str, encoding: Encoding) -> suite::ClientResponseResult {
    let mut result = suite::ClientResponseResult {
        response_headers: to_headers(&ended.initial_metadata),
        response_trailers: to_headers(&ended.trailing_metadata),
        ..Default::default()
    };
    if ended.code != Code::OK {
        result.error = error(ended.code, ended.text, &ended.trailing_metadata).into();
        return result;
    }
    match payload(ended.message, response, encoding) {
        Ok(payload) => result.payloads.push(payload),
        Err(problem) => {
            result.error = error(Code::INTERNAL, problem.to_string(), &Metadata::new()).into();
        }
    }
    result
}

/// Decodes the payload of a response. The response of IdempotentUnary has the same fields.
fn payload(
    message: Vec<u8>,
    response: &str,
    encoding: Encoding,
) -> Result<suite::ConformancePayload, Box<dyn Error>> {
    let message = codec::to_protobuf(response, message, encoding)?;
    let response = suite::UnaryResponse::decode_from_slice(&message)?;
    Ok(response.payload.into_option().unwrap_or_default())
}

/// A status in the suite's form, with the details from the trailers.
fn error(code: Code, text: String, trailers: &Metadata) -> suite::Error {
    let details = value(trailers, "grpc-status-details-bin")
        .and_then(|details| decode_binary(details.as_bytes()))
        .and_then(|bytes| crate::suites::google::rpc::Status::decode_from_slice(&bytes).ok())
        .map(|status| status.details)
        .unwrap_or_default();
    suite::Error {
        code: i32::try_from(code.0).unwrap_or(i32::MAX).into(),
        message: Some(text),
        details,
        ..Default::default()
    }
}

fn from_headers(headers: &[suite::Header]) -> Metadata {
    headers
        .iter()
        .flat_map(|header| {
            let values = header.value.iter();
            values.map(|value| (header.name.clone(), value.clone()))
        })
        .collect()
}

/// One header for each name, with all its values in order.
fn to_headers(metadata: &Metadata) -> Vec<suite::Header> {
    let mut headers = Vec::<suite::Header>::new();
    for (name, value) in metadata {
        match headers.iter_mut().find(|header| header.name == *name) {
            Some(header) => header.value.push(value.clone()),
            None => headers.push(suite::Header {
                name: name.clone(),
                value: vec![value.clone()],
                ..Default::default()
            }),
        }
    }
    headers
}
