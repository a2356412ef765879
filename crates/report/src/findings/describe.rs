//! Describes how a variant calls.

use std::collections::BTreeMap;

use rpcgauge_study::expectation::Expectation;
use rpcgauge_study::settings::{ENGINE, LiveCall, LiveWire, MessageCount, Pace, Settings, Target};
use rpcgauge_study::words::format_time;
use serde::Serialize;

use crate::units;

/// How a variant calls: its settings, in the terms of the table of settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HowItCalls {
    /// What is called: `list n=100 of python/http`, a user's own method, or the target of a live service
    /// and what is sent to it.
    pub called: String,
    /// All settings except those that end a trial, in one line.
    pub line: String,
    /// The value of every setting that applies, by its key in a study and in a study's notation. Settings that end a
    /// trial are left out, since a trial's length does not change how calls are made.
    pub settings: BTreeMap<String, String>,
    /// The live service that is called.
    pub service: Option<Service>,
    /// All values of its link, without the link's name; absent on loopback.
    pub link: Option<String>,
    /// The maximum number of calls in flight if each needs its own connection; absent if a connection
    /// supports many.
    pub at_a_time: Option<u32>,
}

/// A live service, and what is sent to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Service {
    /// Its URL, including what is called.
    pub target: String,
    /// The command that starts it; absent if it was already running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The HTTP method: `GET`; absent for gRPC, and for a mix of calls.
    pub http_method: Option<String>,
    /// What each call sends: `a body`, `no body`, `a message`, `an empty message`; or `a mix of calls`.
    pub sends: String,
    /// Whether its certificate is verified; absent without TLS.
    pub verified: Option<bool>,
}

impl HowItCalls {
    /// Describes these settings.
    pub fn of(settings: &Settings) -> Self {
        let service = match &settings.target {
            Target::Live(live) => Some(Service::of(live)),
            Target::Call(_) | Target::Codec(_) => None,
        };
        let tls = service.as_ref().and_then(|service| service.verified);
        let tls = tls.map_or("", |verified| {
            if verified {
                ", TLS"
            } else {
                ", TLS, unverified"
            }
        });
        let written = settings.written().filter(|(row, _)| !row.ends_trials());
        let written = written.map(|(row, value)| (row.name.to_owned(), value.to_string()));
        Self {
            called: match &service {
                Some(service) => service.call(),
                None => settings.called(),
            },
            line: settings.how()
                + of_users(settings)
                + tls
                + &divided(settings)
                + &streamed(settings)
                + &of_responses(settings),
            settings: written.collect(),
            link: settings.target.link().map(|link| link.values()),
            at_a_time: settings.target.at_a_time(),
            service,
        }
    }

    /// Whether it is a codec, which encodes and decodes messages without making calls.
    pub fn is_codec(&self) -> bool {
        self.settings.contains_key("codec")
    }

    /// Whether a stack's client makes the calls instead of the engine.
    pub fn is_by_stack(&self) -> bool {
        self.settings
            .get("client")
            .is_some_and(|client| client != ENGINE)
    }

    /// Whether calls are due at a rate, so that the client can send them late.
    pub fn is_at_a_rate(&self) -> bool {
        self.settings.contains_key("rate")
    }
}

fn of_users(settings: &Settings) -> &'static str {
    if settings.target.is_per_user() {
        ", for each user"
    } else {
        ""
    }
}

/// The addresses that connections are divided among: `, round-robin over 10.0.0.1:80, 10.0.0.2:80`.
fn divided(settings: &Settings) -> String {
    match &settings.target {
        Target::Live(live) if !live.service.addresses.is_empty() => {
            let addresses = live.service.addresses.iter().map(ToString::to_string);
            let addresses: Vec<String> = addresses.collect();
            format!(", round-robin over {}", addresses.join(", "))
        }
        _ => String::new(),
    }
}

/// How messages are exchanged, as far as the options say it: `, 5 messages per call in turn`.
fn streamed(settings: &Settings) -> String {
    let Target::Live(live) = &settings.target else {
        return String::new();
    };
    let stream = &live.service.stream;
    let messages = |count: u64, what: &str| {
        let messages = units::counted(count, "message");
        format!(", {messages} {what}per call")
    };
    let mut line = String::new();
    match stream.messages {
        None => {}
        Some(MessageCount::Number(count)) => line += &messages(count, ""),
        Some(MessageCount::Rows(_)) => line += ", a message per row in each call",
    }
    match stream.pace {
        Pace::Unpaced => {}
        Pace::Rate(rate) => line += &format!(" at {}/s", units::number(rate)),
        Pace::InTurn(0) => line += " in turn",
        Pace::InTurn(ms) => line += &format!(" in turn with pauses of {}", format_time(ms)),
    }
    if let Some(count) = stream.receive {
        line += &messages(count, "received ");
    }
    for (what, ms) in [
        ("calls of", stream.time_ms),
        ("message timeout", stream.message_timeout_ms),
    ] {
        line += &ms.map_or(String::new(), |ms| format!(", {what} {}", format_time(ms)));
    }
    if let Some(paths) = &stream.pair_by {
        line += &format!(", responses paired by {paths}");
    }
    line
}

fn of_responses(settings: &Settings) -> String {
    match &settings.target {
        Target::Live(live) => expected(&live.service.expect),
        Target::Call(_) | Target::Codec(_) => String::new(),
    }
}

/// What is expected of responses: `, expected: status=404`.
pub(crate) fn expected(expect: &[Expectation]) -> String {
    if expect.is_empty() {
        return String::new();
    }
    let expect = expect.iter().map(ToString::to_string);
    format!(", expected: {}", expect.collect::<Vec<_>>().join(", "))
}

impl Service {
    pub(crate) fn of(LiveCall { service, wire, .. }: &LiveCall) -> Self {
        let messages = &service.messages;
        let some = match &messages.template {
            Some(template) => template.bytes > 0,
            None => messages.rows.is_some(),
        };
        let sends = match (wire, some) {
            _ if !service.calls.is_empty() => "a mix of calls",
            (LiveWire::Http(_), true) => "a body",
            (LiveWire::Http(_), false) => "no body",
            (LiveWire::Grpc | LiveWire::WebSocket, true) => "a message",
            (LiveWire::Grpc | LiveWire::WebSocket, false) => "an empty message",
        };
        Self {
            target: service.url.to_string(),
            command: service.start.as_ref().map(|start| start.command.clone()),
            http_method: service
                .http_method
                .clone()
                .filter(|_| service.calls.is_empty()),
            sends: sends.to_owned(),
            verified: service.tls.as_ref().map(|tls| !tls.insecure),
        }
    }

    /// The target of the calls, with method and body: `POST http://localhost/orders with a body`.
    pub(crate) fn call(&self) -> String {
        let method = self.http_method.iter().map(|method| format!("{method} "));
        let method: String = method.collect();
        format!("{method}{} with {}", self.target, self.sends)
    }
}
