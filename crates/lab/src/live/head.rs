//! The head of a live service's calls, and what is expected of its answers.

use rpcgauge_load as load;
use rpcgauge_message::Limits;
use rpcgauge_study::settings::{LiveService, Protocol, Settings};

use super::{LiveError, LiveInputs};
use crate::exchange::USER_AGENT;

/// The media type of a body where the user names none: what most services take.
const JSON: &str = "application/json";

/// The head of the calls.
pub(super) fn request(
    settings: &Settings,
    service: &LiveService,
    inputs: &LiveInputs,
) -> Result<load::Request, LiveError> {
    let is_grpc = settings.protocol == Protocol::Grpc;
    for (name, _) in &inputs.headers {
        if let Some(what) = set_elsewhere(&name.to_ascii_lowercase(), is_grpc) {
            return Err(LiveError::Header {
                name: name.clone(),
                what: what.to_owned(),
            });
        }
    }
    let given = |wanted: &str| {
        let mut all = inputs.headers.iter();
        all.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.clone())
    };
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str| {
        if given(name).is_none() {
            headers.push((name.to_owned(), value.to_owned()));
        }
    };
    if is_grpc {
        add("grpc-timeout", &grpc_timeout(settings.deadline_ms));
    } else if inputs.texts.is_some() {
        add("content-type", JSON);
    }
    let (sent, accepted) = match settings.protocol {
        Protocol::Grpc => ("grpc-encoding", "grpc-accept-encoding"),
        Protocol::Rest => ("content-encoding", "accept-encoding"),
    };
    for (name, compression) in [
        (sent, settings.request_compression),
        (accepted, settings.response_compression),
    ] {
        if !compression.is_none() {
            add(name, compression.coding());
        }
    }
    add("user-agent", USER_AGENT);
    let own = inputs.headers.iter();
    headers.extend(
        own.filter(|(name, _)| !name.eq_ignore_ascii_case("host"))
            .cloned(),
    );
    Ok(load::Request {
        style: match &service.http_method {
            None => load::CallStyle::Grpc { subtype: None },
            Some(method) => load::CallStyle::Http {
                method: method.clone(),
            },
        },
        path: service.target.path.clone(),
        authority: given("host").unwrap_or_else(|| service.target.authority.clone()),
        headers,
    })
}

/// What an answer must be like, beside a good status.
pub(super) fn expect(settings: &Settings, limits: Limits) -> load::Expect {
    let compression = settings.response_compression;
    load::Expect {
        content_type: None,
        encoding: (!compression.is_none()).then(|| compression.coding().to_owned()),
        max_answer_bytes: u32::try_from(limits.max_message_bytes).unwrap_or(u32::MAX),
    }
}

/// Why a field cannot be the user's, if so: what is set by an option must not be set twice.
fn set_elsewhere(name: &str, is_grpc: bool) -> Option<&'static str> {
    match name {
        "accept-encoding" | "grpc-accept-encoding" => {
            Some("answers are asked for compressed with --response-compression")
        }
        "grpc-encoding" => Some("requests are compressed with --request-compression"),
        "grpc-timeout" => Some("it is set from --deadline"),
        "content-type" | "te" if is_grpc => Some("gRPC has its own; leave it out"),
        _ => None,
    }
}

/// A deadline as gRPC tells it (gRPC over HTTP/2, `Timeout`): at most eight digits and a unit.
fn grpc_timeout(deadline_ms: u64) -> String {
    const MOST: u64 = 99_999_999;
    if deadline_ms <= MOST {
        format!("{deadline_ms}m")
    } else {
        format!("{}S", (deadline_ms / 1_000).min(MOST))
    }
}
