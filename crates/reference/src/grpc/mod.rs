//! gRPC over HTTP/2 (the gRPC project's doc/PROTOCOL-HTTP2.md and doc/compression.md): unary calls here, calls
//! with streams in `stream.rs`.

mod frame;
pub(crate) mod method;
mod reflection;
mod status;
mod stream;
mod timeout;

use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use rpcgauge_message::{Compression, Encoding, MethodKind, content_type};
use tokio::time::Instant;

use crate::body::{BodyError, RequestBody, ResponseBody};
use crate::rest::rules::Rules;
use crate::service::{Call, CallError, CallResponse, Service};
use crate::timeouts::{Late, within};
use frame::{PREFIX_BYTES, Prefix};

pub use method::{MethodCall, MethodResponse, Methods, UnaryMethod};
pub use status::{Code, Status};

const GRPC_ENCODING: &str = "grpc-encoding";
const GRPC_ACCEPT_ENCODING: &str = "grpc-accept-encoding";
const GRPC_TIMEOUT: &str = "grpc-timeout";

/// The compressions accepted for request messages.
const ACCEPTED_CODINGS: HeaderValue = HeaderValue::from_static("identity,gzip,zstd");

/// Whether to treat a request as gRPC: it has gRPC's content type, or its path belongs only to a gRPC method
/// and it is not a Connect request. A request to such a path with another content type is rejected with HTTP
/// status 415.
pub(crate) fn is_meant(service: &Service, request: &Request<Incoming>) -> bool {
    let prefix = content_type::GRPC.as_bytes();
    let typed = request.headers().get(CONTENT_TYPE).is_some_and(|value| {
        value
            .as_bytes()
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    });
    typed
        || is_methods_alone(service, request.uri().path())
            && Rules::of(request.headers()) == Rules::Rest
}

/// Whether a path belongs to a gRPC method and not to REST.
fn is_methods_alone(service: &Service, path: &str) -> bool {
    let workload = &service.workload;
    path != workload.rest_path()
        && (workload.methods().any(|(_, of)| of == path) || service.methods.contains_key(path))
}

/// Serves one call. A request that is not gRPC at all (by its content type, HTTP version or method) is
/// rejected with an HTTP error status. Anything else is answered with 200 and a gRPC status.
pub(crate) async fn respond(
    service: &Arc<Service>,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let content_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let Some(content_type) = content_type else {
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    };
    // For an unknown subtype, not even a gRPC status can be sent (PROTOCOL-HTTP2.md, 415).
    let Some(encoding) = content_type::parse_grpc(content_type) else {
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    };
    // Clients of several libraries send no subtype, regardless of their encoding. JSON is excluded because it
    // is also the default of settings that specify no encoding.
    let encoding = match service.encoding {
        Encoding::Msgpack | Encoding::Cbor | Encoding::Hybrid if !content_type.contains('+') => {
            service.encoding
        }
        _ => encoding,
    };
    if request.version() != Version::HTTP_2 {
        return refused(StatusCode::HTTP_VERSION_NOT_SUPPORTED);
    }
    if request.method() != Method::POST {
        let mut response = refused(StatusCode::METHOD_NOT_ALLOWED);
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    let reply_type = reply_type(content_type, encoding);
    serve_call(service, encoding, &reply_type, request)
        .await
        .unwrap_or_else(|status| failed(status, reply_type))
}

/// The response's content type. It has a subtype only if the request's has one.
fn reply_type(asked: &str, encoding: Encoding) -> HeaderValue {
    HeaderValue::from_static(if asked.contains('+') {
        content_type::grpc(encoding)
    } else {
        content_type::GRPC
    })
}

/// Reads, handles and encodes one call within the client's deadline, if it set one.
async fn serve_call(
    service: &Arc<Service>,
    encoding: Encoding,
    reply_type: &HeaderValue,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Status> {
    let (head, body) = request.into_parts();
    let timeout = timeout(&head.headers)?;
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let path = head.uri.path();
    let compress_response = accepts(&head.headers, service.response_compression);
    let agreed = Call {
        request: &[],
        request_compression: request_coding(&head.headers)?,
        request_encoding: encoding,
        response_encoding: service.named_as_set(encoding),
        compress_response,
        prefix_bytes: PREFIX_BYTES,
    };
    let method = service.methods.get(path);
    let reply_type = reply_type.clone();
    if method.is_none() && service.workload.method_of_kind(MethodKind::Unary) != Some(path) {
        let opening = stream::Opening {
            agreed,
            deadline,
            reply_type,
            body,
        };
        // Boxed so that the future of a unary call stays small.
        return Box::pin(stream::respond(service, path, opening)).await;
    }

    let body = read_message(service, body, deadline).await?;
    let call = only_message(service, body.bytes(), agreed)?;
    let response = match method {
        None => {
            let mut called = service.call(&call)?;
            frame::write(&mut called.bytes, compress_response)?;
            succeeded(service, called, compress_response, reply_type)?
        }
        Some(method) => {
            let call = MethodCall {
                timeout,
                encoding,
                message: service.decompress(call.request, call.request_compression)?,
                fields: head.headers,
            };
            let returned = before(deadline, method.call(call)).await?;
            of_method(service, returned, compress_response, reply_type)?
        }
    };
    check_deadline(deadline)?;
    Ok(response)
}

/// Fails once the deadline has passed.
fn check_deadline(deadline: Option<Instant>) -> Result<(), Status> {
    match deadline {
        Some(deadline) if Instant::now() >= deadline => Err(deadline_exceeded()),
        _ => Ok(()),
    }
}

/// The timeout set by the client, if any.
fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = headers.get(GRPC_TIMEOUT) else {
        return Ok(None);
    };
    timeout::parse(value).map(Some).ok_or_else(|| {
        Status::new(
            Code::Internal,
            "grpc-timeout must be 1 to 8 digits followed by one of the units H, M, S, m, u, n",
        )
    })
}

fn unknown_method(service: &Service, path: &str) -> Status {
    let known: Vec<&str> = service.workload.methods().map(|(_, of)| of).collect();
    Status::new(
        Code::Unimplemented,
        format!(
            "unknown method {path}; this server has {}",
            known.join(", ")
        ),
    )
}

/// Waits for `work`, but not past the deadline if there is one.
async fn before<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Result<T, Status> {
    match deadline {
        None => Ok(work.await),
        Some(deadline) => tokio::time::timeout_at(deadline, work)
            .await
            .map_err(|_| deadline_exceeded()),
    }
}

/// Reads a body of one message. Rejects a second message, or a message whose announced length is too large,
/// as soon as possible.
async fn read_message(
    service: &Service,
    body: Incoming,
    deadline: Option<Instant>,
) -> Result<RequestBody, Status> {
    let most = service.limits.max_message_bytes;
    let patience = service.timeouts.request_body;
    let mut body = RequestBody::new(body, &service.ledger);
    let reading = async {
        let mut whole = 0;
        while body.more(whole).await? {
            whole = frame::announced_bytes(body.bytes(), most)?;
        }
        Ok(())
    };
    match within(reading, patience, deadline).await {
        Ok(result) => result.map(|()| body),
        Err(Late::Deadline) => Err(deadline_exceeded()),
        Err(Late::Patience) => {
            let detail = format!("the request's message did not arrive within {patience:?}");
            Err(Status::new(Code::Cancelled, detail))
        }
    }
}

/// The call with the only message of a body.
fn only_message<'a>(
    service: &Service,
    body: &'a [u8],
    agreed: Call<'static>,
) -> Result<Call<'a>, Status> {
    let prefix = frame::read(body, service.limits.max_message_bytes)?;
    with_message(agreed, prefix, &body[PREFIX_BYTES..])
}

/// The call with one of its messages, whose prefix was read.
fn with_message<'a>(
    agreed: Call<'static>,
    prefix: Prefix,
    request: &'a [u8],
) -> Result<Call<'a>, Status> {
    let request_compression = message_compression(&prefix, agreed.request_compression)?;
    Ok(Call {
        request,
        request_compression,
        ..agreed
    })
}

fn deadline_exceeded() -> Status {
    Status::new(Code::DeadlineExceeded, "the call exceeded its grpc-timeout")
}

fn broken_off(error: hyper::Error) -> Status {
    Status::new(
        Code::Cancelled,
        format!("the request was interrupted: {error}"),
    )
}

/// The compression of request messages whose compressed flag is set.
fn request_coding(headers: &HeaderMap) -> Result<Compression, Status> {
    let Some(value) = headers.get(GRPC_ENCODING) else {
        return Ok(Compression::None);
    };
    value
        .to_str()
        .ok()
        .and_then(Compression::from_coding)
        .ok_or_else(|| {
            let shown = String::from_utf8_lossy(value.as_bytes());
            let detail =
                format!("grpc-encoding {shown} is not supported; see grpc-accept-encoding");
            Status::new(Code::Unimplemented, detail).with(GRPC_ACCEPT_ENCODING, ACCEPTED_CODINGS)
        })
}

/// The compression of one message, according to its flag.
fn message_compression(prefix: &Prefix, coding: Compression) -> Result<Compression, Status> {
    match (prefix.compressed, coding) {
        (false, _) => Ok(Compression::None),
        (true, Compression::None) => Err(Status::new(
            Code::Internal,
            "the message's compressed flag is set, but grpc-encoding specifies no compression",
        )),
        (true, coding) => Ok(coding),
    }
}

/// Whether the client accepts messages with this compression.
fn accepts(headers: &HeaderMap, compression: Compression) -> bool {
    !compression.is_none()
        && headers.get_all(GRPC_ACCEPT_ENCODING).iter().any(|value| {
            value.to_str().is_ok_and(|list| {
                list.split(',')
                    .any(|name| name.trim().eq_ignore_ascii_case(compression.coding()))
            })
        })
}

impl From<BodyError> for Status {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::BrokenOff(error) => broken_off(error),
            BodyError::Exhausted(error) => CallError::from(error).into(),
        }
    }
}

impl From<CallError> for Status {
    /// Maps errors to codes according to the gRPC project's doc/statuscodes.md. INTERNAL is for a request
    /// that cannot be decompressed or parsed, including one that is nested too deeply. RESOURCE_EXHAUSTED is
    /// for a request that is too large, uses too much memory, or arrives when no memory is left for it.
    fn from(error: CallError) -> Self {
        let code = match &error {
            error if error.is_too_large() => Code::ResourceExhausted,
            CallError::Exhausted(_) => Code::ResourceExhausted,
            CallError::BadRequest(_) => Code::InvalidArgument,
            CallError::Decode(_) | CallError::Encode(_) => Code::Internal,
        };
        Self::new(code, error.to_string())
    }
}

/// The response of a successful call: headers, message, and trailers with status OK.
fn succeeded(
    service: &Service,
    called: CallResponse,
    compressed: bool,
    reply_type: HeaderValue,
) -> Result<Response<ResponseBody>, Status> {
    let mut trailers = HeaderMap::with_capacity(1);
    status::insert_ok(&mut trailers);
    let data = service.charged(called.bytes)?;
    let mut response = Response::new(ResponseBody::new(data, Some(trailers)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, reply_type);
    insert_coding(service, compressed, headers);
    if let Some(marks) = called.marks {
        marks.insert(headers);
    }
    Ok(response)
}

/// Names the compression of the response's messages, if they are compressed.
fn insert_coding(service: &Service, compressed: bool, headers: &mut HeaderMap) {
    if compressed {
        let coding = service.response_compression.coding();
        headers.insert(GRPC_ENCODING, HeaderValue::from_static(coding));
    }
}

/// The response of a method other than the workload's: headers, the message if there is one, and trailers
/// with the status.
fn of_method(
    service: &Service,
    returned: MethodResponse,
    compress: bool,
    reply_type: HeaderValue,
) -> Result<Response<ResponseBody>, Status> {
    let (mut head, mut trailers) = (returned.initial_metadata, returned.trailing_metadata);
    head.insert(CONTENT_TYPE, reply_type);
    let bytes = match returned.result {
        Ok(message) => {
            insert_coding(service, compress, &mut head);
            let mut bytes = service.compress(&message, compress, PREFIX_BYTES)?;
            frame::write(&mut bytes, compress)?;
            status::insert_ok(&mut trailers);
            bytes
        }
        Err(status) => {
            status.insert_into(&mut trailers);
            Vec::new()
        }
    };
    let data = service.charged(bytes)?;
    let mut response = Response::new(ResponseBody::new(data, Some(trailers)));
    *response.headers_mut() = head;
    Ok(response)
}

/// The response of a failed call, sent as a single header block ("Trailers-Only").
fn failed(status: Status, content_type: HeaderValue) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::default());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    status.insert_into(headers);
    response
}

/// A rejection with an HTTP status.
fn refused(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::default());
    *response.status_mut() = status;
    response
}
