//! The request head of a live service's calls.

use rpcgauge_load as load;
use rpcgauge_study::settings::{LiveCall, LiveWire};

use super::{LiveError, LiveInputs};
use crate::variant::call_spec::{USER_AGENT, coding_headers};

/// The media type of a body if the user gives none. Most services accept it.
const JSON: &str = "application/json";

/// The error for gRPC or gRPC-Web called like any other HTTP API: its status is not in the head of a response.
const GRPC_OVER_HTTP: &str = "header 'content-type: …': the status of gRPC and gRPC-Web is not the HTTP status, so calls \
    that fail would count as successes; call a grpc:// target or, for gRPC-Web, add an \
    expectation of the body, such as --expect 'body contains \"grpc-status:0\"'";

pub(super) fn request(live: &LiveCall, inputs: &LiveInputs) -> Result<load::Request, LiveError> {
    let LiveCall {
        service,
        wire,
        options,
        threads: _,
    } = live;
    let is_grpc = *wire == LiveWire::Grpc;
    let names = inputs.headers.iter().map(|(name, _)| name);
    let varying = inputs.field_names();
    for name in names.chain(varying) {
        if let Some(what) = set_elsewhere(&name.to_ascii_lowercase(), is_grpc) {
            return Err(LiveError::Wrong(format!("header '{name}: …': {what}")));
        }
    }
    let varies = |wanted: &str| varying.iter().any(|name| name.eq_ignore_ascii_case(wanted));
    if varies("host") {
        let what = "header 'host: …': every call has the same host; leave out its placeholder";
        return Err(LiveError::Wrong(what.to_owned()));
    }
    let given = |wanted: &str| {
        let mut all = inputs.headers.iter();
        all.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.clone())
    };
    let is_grpc_type = |value: String| value.to_ascii_lowercase().starts_with("application/grpc");
    let is_grpc_over_http =
        matches!(wire, LiveWire::Http(_)) && given("content-type").is_some_and(is_grpc_type);
    if is_grpc_over_http && service.expect.iter().all(|one| one.status().is_some()) {
        return Err(LiveError::Wrong(GRPC_OVER_HTTP.to_owned()));
    }
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str| {
        if given(name).is_none() && !varies(name) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    };
    if is_grpc {
        add("grpc-timeout", &grpc_timeout(options.deadline_ms));
    } else if *wire != LiveWire::WebSocket
        && inputs
            .texts
            .as_ref()
            .is_some_and(|texts| texts.data.has_text())
    {
        add("content-type", JSON);
    }
    for (name, coding) in coding_headers(wire.protocol(), options) {
        add(name, coding);
    }
    add("user-agent", USER_AGENT);
    let own = inputs.headers.iter();
    let own = own.filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
    headers.extend(own.cloned());
    Ok(load::Request {
        style: match wire {
            LiveWire::Grpc => load::CallStyle::Grpc { subtype: None },
            LiveWire::Http(_) => load::CallStyle::Http {
                method: service.http_method.clone().unwrap_or_default(),
            },
            LiveWire::WebSocket => load::CallStyle::WebSocket,
        },
        path: service.url.path.clone(),
        authority: given("host").unwrap_or_else(|| service.url.authority.clone()),
        headers,
    })
}

/// Why the user may not set a field: an option or gRPC itself sets it, and it must not be set
/// twice. `None` if the user may set it.
fn set_elsewhere(name: &str, is_grpc: bool) -> Option<&'static str> {
    match name {
        "accept-encoding" | "grpc-accept-encoding" => Some("set it with --response-compression"),
        "grpc-encoding" => Some("set it with --request-compression"),
        "grpc-timeout" => Some("set it with --deadline"),
        "content-type" | "te" if is_grpc => Some("gRPC sets it itself; leave it out"),
        _ => None,
    }
}

/// Formats a deadline for gRPC (gRPC over HTTP/2, `Timeout`): at most eight digits and a unit.
fn grpc_timeout(deadline_ms: u64) -> String {
    const MAX: u64 = 99_999_999;
    if deadline_ms <= MAX {
        format!("{deadline_ms}m")
    } else {
        format!("{}S", (deadline_ms / 1_000).min(MAX))
    }
}
