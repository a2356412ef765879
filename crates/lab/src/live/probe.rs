//! The first call: is the service there, and is it what was meant?
//!
//! A status such as 503 is a fact of the service and is measured. What would fail every call for a
//! reason that the user can mend is said before anything is measured: of statuses those that depend
//! on the request's head alone, which is the same in every call. 403 and 422, for two, can depend on
//! the message.

use std::sync::atomic::AtomicBool;

use rpcgauge_load::{self as load, FailureKind};
use rpcgauge_study::settings::{HttpVersion, LiveService, Protocol, Settings};

use super::LiveError;
use crate::calls::{Calls, Check};
use crate::subject::one_line;

/// Makes one call and looks at how it ends.
pub(super) fn look(
    calls: &Calls,
    settings: &Settings,
    service: &LiveService,
    body: load::Body,
    stop: &AtomicBool,
) -> Result<(), LiveError> {
    let bodies = load::Bodies::Prepared {
        bodies: vec![body],
        verifier: None,
    };
    let uncallable = |what: String| LiveError::Uncallable {
        target: service.target.to_string(),
        what,
    };
    let check = calls.check.map(Check::start).transpose();
    let hooks = load::Hooks {
        settling: Box::new(|_| load::Settling::Settled),
        measuring: Box::new(|_| ()),
        progress: None,
        check: check.map_err(uncallable)?,
    };
    let measured = load::measure_with(&calls.trial(settings), bodies, hooks, stop);
    let measured = measured.map_err(|error| uncallable(error.to_string()))?;
    if measured.ending == load::Ending::Interrupted {
        return Err(LiveError::Interrupted);
    }
    let Some(kind) = measured.calls.failed.keys().next() else {
        return Ok(());
    };
    if measured.traffic.received.header > 0 && is_broken_off(*kind) {
        // It began to answer, and by this protocol: that it breaks off is its own fault, and a fact.
        return Ok(());
    }
    let said = measured.error_samples.first();
    let said = said
        .map(|sample| one_line(&sample.text))
        .unwrap_or_default();
    match refusal(*kind, &said, settings, service) {
        None => Ok(()),
        Some(what) => Err(LiveError::Refused {
            target: service.target.to_string(),
            what,
        }),
    }
}

/// Whether the connection ended before an answer did.
fn is_broken_off(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::ConnectionClosed | FailureKind::ConnectionReset
    )
}

/// What is said of a service whose every call would fail like this one; nothing where the failure is
/// a fact to be measured.
pub(super) fn refusal(
    kind: FailureKind,
    said: &str,
    settings: &Settings,
    service: &LiveService,
) -> Option<String> {
    let because = if said.is_empty() {
        String::new()
    } else {
        format!(" ({said})")
    };
    let is_grpc = settings.protocol == Protocol::Grpc;
    let method = service.http_method.as_deref().unwrap_or_default();
    Some(match kind {
        FailureKind::Alpn => format!(
            "does not agree to {}{because}; {}",
            version(settings.http),
            other_version(settings)
        ),
        // It speaks HTTP/2, or the kind would be the one below.
        FailureKind::Protocol if is_grpc => format!(
            "breaks a rule of gRPC or HTTP/2{because}; every call would fail so: check the server, and \
             that the method is unary"
        ),
        FailureKind::Protocol if settings.http == HttpVersion::Http2 => {
            format!("breaks a rule of HTTP/2{because}; every call would fail so: check the server")
        }
        FailureKind::Protocol => format!(
            "does not answer as HTTP/1.1 asks{because}; check the server, the port, and whether it wants \
             TLS (https://) or none (http://)"
        ),
        FailureKind::WrongProtocol => format!(
            "does not answer in {}{because}; {}",
            version(settings.http),
            other_version(settings)
        ),
        FailureKind::ConnectionClosed | FailureKind::ConnectionReset => format!(
            "ends the connection without an answer to {}{because}; {}",
            version(settings.http),
            other_version(settings)
        ),
        FailureKind::GrpcStatus(UNIMPLEMENTED) => format!(
            "does not know the method{because}; check its name, package.Service/Method, and that this \
             server serves it{}",
            match settings.request_compression.is_none() {
                true => "",
                false => " and takes --request-compression",
            }
        ),
        FailureKind::HttpStatus(status @ (404 | 405 | 415)) if is_grpc => format!(
            "answers {status}, and not by gRPC{because}; is this the port of the gRPC server?"
        ),
        FailureKind::HttpStatus(401) | FailureKind::GrpcStatus(UNAUTHENTICATED) => format!(
            "does not know who calls ({kind}){because}; give what it wants to know, as in \
             -H 'authorization: …'"
        ),
        FailureKind::ContentType if is_grpc => {
            format!(
                "does not answer by gRPC with protobuf{because}; is this the port of the gRPC server?"
            )
        }
        FailureKind::HttpStatus(404) => format!(
            "answers 404: there is nothing at {}; check the path and its method, {method}",
            service.target.path,
        ),
        FailureKind::HttpStatus(405) => format!(
            "answers 405: {} does not take {method}; choose another method with -X",
            service.target.path,
        ),
        FailureKind::HttpStatus(415) => format!(
            "answers 415: {} does not take bodies of this type or compression; check \
             -H 'content-type: …' and --request-compression",
            service.target.path,
        ),
        // What the engine says of a connection names what is wrong and the option that helps.
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

/// gRPC's code for a caller who did not say who it is, or is not known.
const UNAUTHENTICATED: u32 = 16;

/// gRPC's code for a method that a server does not have.
pub(super) const UNIMPLEMENTED: u32 = 12;

fn version(http: HttpVersion) -> &'static str {
    match http {
        HttpVersion::Http1 => "HTTP/1.1",
        HttpVersion::Http2 => "HTTP/2",
    }
}

/// What to do where a server does not speak the version of HTTP that it was called with.
fn other_version(settings: &Settings) -> &'static str {
    match (settings.protocol, settings.http) {
        (Protocol::Grpc, _) => {
            "gRPC needs HTTP/2: a server or proxy there that speaks HTTP/1.1 only cannot serve it; \
             check the port, and whether it wants TLS (grpcs://) or none (grpc://)"
        }
        (Protocol::Rest, HttpVersion::Http2) => {
            "if it speaks HTTP/1.1 only, leave out --http 2; check whether it wants TLS (https://) or \
             none (http://)"
        }
        (Protocol::Rest, HttpVersion::Http1) => {
            "if it speaks HTTP/2 only, give --http 2; check whether it wants TLS (https://) or none \
             (http://)"
        }
    }
}
