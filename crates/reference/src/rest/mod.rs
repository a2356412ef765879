//! Calls whose body is the message: REST calls, which `POST` it to a resource in the encoding's media type
//! (RFC 9110), and unary Connect calls. The response of a REST call can also be a stream, and a GET of the resource
//! can ask for a WebSocket.

pub(crate) mod negotiation;
mod problem;
pub(crate) mod rules;
mod stream;
mod websocket;

use std::sync::Arc;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, VARY,
};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use rpcgauge_message::{Compression, Encoding};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::body::{BodyError, RequestBody, ResponseBody};
use crate::service::{Call, CallError, CallResponse, Service};
use crate::stream::Responses;
use crate::timeouts::{Late, within};
use negotiation::Chosen;
use problem::Problem;
use rules::Rules;
use stream::{RestMessages, StreamType};

/// The codings accepted for a request's body.
const ACCEPTED_CODINGS: HeaderValue = HeaderValue::from_static("gzip, zstd");

pub(crate) async fn respond(
    service: &Arc<Service>,
    request: Request<Incoming>,
    stop: &watch::Receiver<()>,
) -> Response<ResponseBody> {
    let rules = Rules::of(request.headers());
    match serve_call(service, rules, request, stop).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(rules),
    }
}

async fn serve_call(
    service: &Arc<Service>,
    rules: Rules,
    request: Request<Incoming>,
    stop: &watch::Receiver<()>,
) -> Result<Response<ResponseBody>, Problem> {
    let (head, body) = request.into_parts();
    let path = rules.path(&service.workload);
    if head.uri.path() != path {
        let detail = format!(
            "unknown path {}; this server's path is {path}",
            head.uri.path()
        );
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    }
    if websocket::is_asked(service, &head) {
        return websocket::accept(service, head, stop.clone());
    }
    if head.method != Method::POST {
        let detail = format!("{} is not allowed here; use POST", head.method);
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
            .with(ALLOW, HeaderValue::from_static("POST")));
    }
    let timeout = rules.timeout(&head.headers);
    let timeout = timeout.map_err(|why| Problem::new(StatusCode::BAD_REQUEST, why))?;
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let (agreed, stream_type) = agree(service, rules, &head.headers)?;
    let body = read_body(service, body, deadline).await?;
    let mut call = Call {
        request: body.bytes(),
        ..agreed
    };
    if rules == Rules::Connect && call.request.is_empty() {
        // In Connect, an empty body is never compressed.
        call.request_compression = Compression::None;
    }
    if let Some(stream_type) = stream_type {
        return streamed(service, &call, agreed, stream_type);
    }
    let called = service.call(&call)?;
    match deadline {
        Some(deadline) if Instant::now() >= deadline => Err(deadline_exceeded()),
        _ => succeeded(service, called, rules, &call),
    }
}

/// Chooses encodings and codings before the body is read, and the form of a stream if the response is one. On
/// failure, the error lists the supported values.
fn agree(
    service: &Service,
    rules: Rules,
    headers: &HeaderMap,
) -> Result<(Call<'static>, Option<StreamType>), Problem> {
    let request_encoding = request_encoding(rules, headers)?;
    let request_compression = request_compression(rules, headers)?;
    let chosen = match rules {
        Rules::Rest => {
            let streams = service.streams_over_rest;
            service.accepted.choose(headers, request_encoding, streams)
        }
        // The response uses the request's encoding.
        Rules::Connect => Some(Chosen::Message(request_encoding)),
    };
    let chosen = chosen.ok_or_else(|| {
        let detail = format!("the accept header allows none of {}", media_types(rules));
        Problem::new(StatusCode::NOT_ACCEPTABLE, detail)
    })?;
    let (response_encoding, stream_type) = match chosen {
        Chosen::Message(encoding) => (encoding, None),
        Chosen::Stream(stream_type) => (Encoding::Json, Some(stream_type)),
    };
    let compression = match stream_type {
        None => service.response_compression,
        // The body of a stream is not compressed.
        Some(_) => Compression::None,
    };
    let compress_response = match rules {
        Rules::Rest => negotiation::compress(headers, compression),
        // Uncompressed bytes are always acceptable.
        Rules::Connect => negotiation::compress(headers, compression).or(Some(false)),
    };
    let compress_response = compress_response.ok_or_else(|| {
        let detail =
            "accept-encoding forbids identity, and allows no coding that this server supports";
        Problem::new(StatusCode::NOT_ACCEPTABLE, detail)
    })?;
    let agreed = Call {
        request: &[],
        request_compression,
        request_encoding,
        response_encoding: service.named_as_set(response_encoding),
        compress_response,
        prefix_bytes: stream_type.map_or(0, |form| form.framing().0.len()),
    };
    Ok((agreed, stream_type))
}

fn request_encoding(rules: Rules, headers: &HeaderMap) -> Result<Encoding, Problem> {
    let value = headers.get(CONTENT_TYPE);
    let known = value
        .and_then(|value| value.to_str().ok())
        .and_then(|value| rules.encoding(value));
    known.ok_or_else(|| {
        let given = match value {
            Some(value) => format!("content-type {}", String::from_utf8_lossy(value.as_bytes())),
            None => "a body without a content-type".to_owned(),
        };
        let types = media_types(rules);
        let detail = format!("{given} is not supported; use one of {types}");
        let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail);
        match HeaderValue::from_str(&types) {
            Ok(types) => problem.with(ACCEPT, types),
            Err(_) => problem,
        }
    })
}

fn request_compression(rules: Rules, headers: &HeaderMap) -> Result<Compression, Problem> {
    let status = match rules {
        Rules::Rest => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Rules::Connect => StatusCode::NOT_IMPLEMENTED,
    };
    negotiation::coding(headers).map_err(|given| {
        let detail = format!("content-encoding {given} is not supported; use gzip, zstd or none");
        Problem::new(status, detail).with(ACCEPT_ENCODING, ACCEPTED_CODINGS)
    })
}

/// The supported media types, formatted for an `accept` header.
fn media_types(rules: Rules) -> String {
    let types = negotiation::SERVED.map(|encoding| rules.media_type(encoding));
    types.join(", ")
}

/// Reads the whole body within the limits on size and time.
async fn read_body(
    service: &Service,
    body: Incoming,
    deadline: Option<Instant>,
) -> Result<RequestBody, Problem> {
    let most = service.limits.max_message_bytes;
    let patience = service.timeouts.request_body;
    let mut body = RequestBody::new(body, &service.ledger);
    let whole = usize::try_from(body.announced_bytes().unwrap_or(0)).unwrap_or(usize::MAX);
    if whole > most {
        return Err(too_large(most));
    }
    let reading = async {
        while body.more(whole).await? {
            if body.bytes().len() > most {
                return Err(too_large(most));
            }
        }
        Ok(())
    };
    match within(reading, patience, deadline).await {
        Ok(result) => result.map(|()| body),
        Err(Late::Deadline) => Err(deadline_exceeded()),
        Err(Late::Patience) => {
            let detail = format!("the body did not arrive within {patience:?}");
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail))
        }
    }
}

fn deadline_exceeded() -> Problem {
    let detail = "the call exceeded its connect-timeout-ms";
    Problem::new(StatusCode::GATEWAY_TIMEOUT, detail)
}

fn too_large(most: usize) -> Problem {
    let detail =
        format!("the body is larger than {most} bytes; --max-message-bytes sets this limit");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::BrokenOff(error) => {
                let detail = format!("the body was interrupted: {error}");
                Self::new(StatusCode::BAD_REQUEST, detail)
            }
            BodyError::Exhausted(error) => CallError::from(error).into(),
        }
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        let status = match &error {
            error if error.is_too_large() => StatusCode::PAYLOAD_TOO_LARGE,
            CallError::Decode(_) | CallError::BadRequest(_) => StatusCode::BAD_REQUEST,
            CallError::Encode(_) => StatusCode::INTERNAL_SERVER_ERROR,
            CallError::Exhausted(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

fn succeeded(
    service: &Service,
    called: CallResponse,
    rules: Rules,
    call: &Call<'_>,
) -> Result<Response<ResponseBody>, Problem> {
    let mut response = Response::new(ResponseBody::new(service.charged(called.bytes)?, None));
    let headers = response.headers_mut();
    let media_type = rules.media_type(call.response_encoding);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    let compression = service.response_compression;
    if call.compress_response {
        let coding = HeaderValue::from_static(compression.coding());
        headers.insert(CONTENT_ENCODING, coding);
    }
    // Caches do not store the response to a POST unless it explicitly permits that (RFC 9110, section 9.3.3),
    // so `vary` is optional. Servers that compress commonly send it anyway, and servers that only write JSON
    // do not. This server does the same, so that its responses are representative.
    if !compression.is_none() && rules == Rules::Rest {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    if let Some(marks) = called.marks {
        marks.insert(headers);
    }
    Ok(response)
}

/// The response of a call that streams.
fn streamed(
    service: &Arc<Service>,
    call: &Call<'_>,
    agreed: Call<'static>,
    stream_type: StreamType,
) -> Result<Response<ResponseBody>, Problem> {
    let messages = RestMessages {
        responses: Responses::new(service, call, agreed)?,
        stream_type,
    };
    let mut response = Response::new(ResponseBody::of_messages(messages, service)?);
    let media_type = HeaderValue::from_static(stream_type.media_type());
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    Ok(response)
}
