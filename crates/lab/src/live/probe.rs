//! The first call to a live service, which checks that the service is reachable and is the intended one.
//!
//! A status such as 503 is part of the service's behavior and is measured. A failure that would affect every
//! call and that the user can fix is an error before anything is measured. Among statuses, this applies to
//! those that depend only on what is the same in the head of every request. Others, such as 403 and 422, can
//! depend on the message.

use std::sync::atomic::AtomicBool;

use rpcgauge_load as load;
use rpcgauge_study::settings::{HttpVersion, LiveCall, LiveService, LiveWire};
use rpcgauge_trial::{Ending, FailureKind, Streaming, TrialFigures};

use super::LiveError;
use crate::subject::one_line;
use crate::variant::call_spec::{CallSpec, Check};

/// Makes one call and checks its outcome.
pub(super) fn probe(
    calls: &CallSpec,
    live: &LiveCall,
    body: load::Body,
    stop: &AtomicBool,
) -> Result<(), LiveError> {
    let service = &live.service;
    let has_own_head = !body.fields.is_empty();
    let bodies = load::Bodies::Prepared {
        bodies: vec![body],
        verifier: None,
    };
    let check = calls.check.as_ref().map(Check::start).transpose();
    let check = check.map_err(|what| uncallable(service, what))?;
    // Exactly one request: after a refusal, the engine must not send another request, which the service might
    // accept.
    let trial = load::Trial {
        max_requests: Some(1),
        streaming: calls.streaming.map(|streaming| brief(&streaming)),
        ..calls.trial()
    };
    let trial = load::Trial {
        expect: load::Expect {
            messages: None,
            ..trial.expect
        },
        ..trial
    };
    let (figures, failure) = one_call(&trial, bodies, check, service, stop)?;
    let Some((kind, said)) = failure else {
        return Ok(());
    };
    if figures
        .bytes
        .is_some_and(|bytes| bytes.received.headers > 0)
        && is_broken_off(kind)
    {
        // The service began to respond in this protocol, so the closed connection is behavior to be measured.
        return Ok(());
    }
    match refusal(kind, &said, live) {
        // Other calls have other credentials.
        Some(_) if has_own_head && is_unauthenticated(kind) => Ok(()),
        None => Ok(()),
        Some(what) => Err(LiveError::of(service, what)),
    }
}

/// A streaming call that sends one message, and ends when it has received one, or soon after.
fn brief(streaming: &Streaming) -> Streaming {
    const TIME_MS: u64 = 2_000;
    let form = streaming.form;
    Streaming {
        receive: form.server_streams().then_some(1),
        time_ms: Some(TIME_MS),
        ..Streaming::of(form)
    }
}

/// Makes one call. Returns the figures and, if the call failed, the kind of failure with a line of text
/// from the engine or the server, which may be empty.
pub(super) fn one_call<'b>(
    trial: &load::Trial,
    bodies: load::Bodies<'b>,
    check: Option<load::ResponseCheck<'b>>,
    service: &LiveService,
    stop: &AtomicBool,
) -> Result<(TrialFigures, Option<(FailureKind, String)>), LiveError> {
    let hooks = load::Hooks {
        settling: Box::new(|_| load::Settling::Settled),
        measuring: Box::new(|_| ()),
        progress: None,
        checks: check.map(Some).into_iter().collect(),
    };
    let measured = load::measure_with(trial, bodies, hooks, stop)
        .map_err(|error| uncallable(service, error.to_string()))?;
    let figures = measured.figures;
    if figures.ending == Ending::Interrupted {
        return Err(LiveError::Interrupted);
    }
    let failure = figures.calls.failed.keys().next().map(|kind| {
        let sample = figures.error_samples.first();
        let said = sample.map_or_else(String::new, |sample| one_line(&sample.text));
        (*kind, said)
    });
    Ok((figures, failure))
}

fn uncallable(service: &LiveService, what: String) -> LiveError {
    LiveError::Wrong(format!("{}: {what}", service.url))
}

fn is_unauthenticated(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::HttpStatus(401) | FailureKind::GrpcStatus(UNAUTHENTICATED)
    )
}

/// Whether the connection closed before the response was complete.
fn is_broken_off(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::ConnectionClosed | FailureKind::ConnectionReset
    )
}

/// The error for a service if every call would fail like this one; `None` if the failure is behavior to be
/// measured.
pub(super) fn refusal(kind: FailureKind, said: &str, live: &LiveCall) -> Option<String> {
    let (service, http) = (&live.service, live.wire.http());
    let because = match said {
        "" => String::new(),
        said => format!(" ({said})"),
    };
    let is_grpc = live.wire == LiveWire::Grpc;
    let is_websocket = live.wire == LiveWire::WebSocket;
    let method = service.http_method.as_deref().unwrap_or_default();
    Some(match kind {
        FailureKind::Alpn => format!(
            "does not negotiate {}{because}; {}",
            version(http),
            other_version(live.wire)
        ),
        // The service uses HTTP/2: otherwise the kind would be `WrongProtocol`.
        FailureKind::Protocol if is_grpc => format!(
            "violates the rules of gRPC or HTTP/2{because}; every call would fail like this: check the server, or \
             say how the method streams (--stream)"
        ),
        FailureKind::Protocol if http == HttpVersion::Http2 => {
            format!(
                "violates the rules of HTTP/2{because}; every call would fail like this: check the server"
            )
        }
        FailureKind::Protocol if is_websocket => format!(
            "does not respond as a WebSocket requires{because}; every call would fail like this: check the server"
        ),
        FailureKind::Protocol => format!(
            "does not respond as HTTP/1.1 requires{because}; check the server, the port, and whether it expects \
             TLS (https://) or none (http://)"
        ),
        FailureKind::WrongProtocol => format!(
            "does not respond in {}{because}; {}",
            version(http),
            other_version(live.wire)
        ),
        FailureKind::ConnectionClosed | FailureKind::ConnectionReset => format!(
            "closes the connection without a response to {}{because}; {}",
            version(http),
            other_version(live.wire)
        ),
        FailureKind::GrpcStatus(UNIMPLEMENTED) => format!(
            "does not know the method{because}; check its name, package.Service/Method, and that this \
             server serves it{}",
            if live.options.request_compression.is_none() {
                ""
            } else {
                " and accepts --request-compression"
            }
        ),
        FailureKind::HttpStatus(status @ (404 | 405 | 415)) if is_grpc => format!(
            "responds with {status}, and not over gRPC{because}; is this the port of the gRPC server?"
        ),
        kind if is_unauthenticated(kind) => format!(
            "rejects the call as unauthenticated ({kind}){because}; give the credentials that it requires, as in \
             the header 'authorization: …'"
        ),
        FailureKind::HttpStatus(status @ (200..=299 | 404 | 405 | 426 | 501)) if is_websocket => {
            format!(
                "responds with {status} instead of 101: it opens no WebSocket at {}; check the path",
                service.url.path,
            )
        }
        FailureKind::ContentType if is_grpc => {
            format!(
                "does not respond over gRPC with protobuf{because}; is this the port of the gRPC server?"
            )
        }
        FailureKind::HttpStatus(404) => format!(
            "responds with 404: there is nothing at {}; check the path and its method, {method}",
            service.url.path,
        ),
        FailureKind::HttpStatus(status @ (405 | 501)) => format!(
            "responds with {status}: {} does not accept {method}; choose another HTTP method (-X, or --vs-request-method for the --vs target)",
            service.url.path,
        ),
        FailureKind::HttpStatus(415) => format!(
            "responds with 415: {} does not accept bodies of this type or compression; check \
             the header 'content-type: …' and the compression of requests",
            service.url.path,
        ),
        // The engine's text about a connection describes the problem and the option that helps.
        FailureKind::CertificateUnknownIssuer
        | FailureKind::CertificateName
        | FailureKind::CertificateExpired
        | FailureKind::CertificateInvalid
        | FailureKind::ClientCertificate
        | FailureKind::TlsHandshake
        | FailureKind::ConnectRefused
        | FailureKind::ConnectFailed
        | FailureKind::OutOfFiles
        | FailureKind::OutOfPorts => format!("cannot be called: {said}"),
        _ => return None,
    })
}

/// gRPC's status code for a caller without valid credentials.
const UNAUTHENTICATED: u32 = 16;

/// gRPC's status code for a method that the server does not implement.
pub(super) const UNIMPLEMENTED: u32 = 12;

fn version(http: HttpVersion) -> &'static str {
    match http {
        HttpVersion::Http1 => "HTTP/1.1",
        HttpVersion::Http2 => "HTTP/2",
    }
}

/// What to do if a server does not support the HTTP version that it was called with.
fn other_version(wire: LiveWire) -> &'static str {
    match wire {
        LiveWire::Grpc => {
            "gRPC requires HTTP/2, which a server or proxy that supports only HTTP/1.1 cannot serve; \
             check the port, and whether it expects TLS (grpcs://) or none (grpc://)"
        }
        LiveWire::Http(HttpVersion::Http2) => {
            "if it supports only HTTP/1.1, call it with that version; check whether it expects TLS (https://) or \
             none (http://)"
        }
        LiveWire::WebSocket => {
            "check the port, and whether it expects TLS (wss://) or none (ws://)"
        }
        LiveWire::Http(HttpVersion::Http1) => {
            "if it supports only HTTP/2, call it with that version; check whether it expects TLS (https://) or none \
             (http://)"
        }
    }
}
