//! How a variant calls, in words.

use rpcgauge_study::ramp::parts_word;
use rpcgauge_study::settings::{
    Arrivals, Callee, ConnectionUse, HttpVersion, LiveService, Protocol, Schedule, Settings,
    TlsChoice, Transport,
};
use rpcgauge_study::words::Word as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::units;

/// How a variant calls: its settings, each in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HowItCalls {
    /// The stack that answers, or the codec; absent for a live service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The client subject that calls, with its style; absent where the engine does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What a codec does: `encode the request`. Then nothing is called, and what says how means
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// What is called: `list, n = 100`, a user's own method, or a live service's target.
    pub workload: String,
    /// The method of a live service's HTTP calls: `GET`; absent for gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// What a live service is sent: `a body`, `no body`, `a message`, `an empty message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends: Option<String>,
    /// How TLS is spoken; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// `gRPC` or `REST`.
    pub protocol: String,
    /// `HTTP/1.1` or `HTTP/2`.
    pub http: String,
    /// `protobuf`, `json`, ...; absent where bodies are sent as they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// `none`, `gzip 6`, ...
    pub request_compression: String,
    /// `none`, `gzip 6`, ...
    pub response_compression: String,
    /// `TCP` or `Unix socket`.
    pub transport: String,
    /// Whether a connection serves many calls or one.
    pub connection: String,
    /// Connections open at the same time.
    pub connections: u32,
    /// How many calls can be in flight at a time, where each takes a connection of its own; absent where
    /// a connection carries many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_a_time: Option<u32>,
    /// When calls are sent.
    pub schedule: String,
    /// Whether calls are due at a rate, so that the program can be late with them.
    #[serde(default)]
    pub at_a_rate: bool,
    /// A call that took longer than this many milliseconds has failed.
    pub deadline_ms: u64,
    /// All of it in one line.
    pub line: String,
}

impl HowItCalls {
    /// Puts settings into words.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let mut how = Self {
            subject: subject(&settings.callee),
            client: client(&settings.callee),
            operation: operation(&settings.callee),
            workload: workload(&settings.callee),
            http_method: settings
                .callee
                .live()
                .and_then(|live| live.http_method.clone()),
            sends: settings.callee.live().map(|live| sends(live).to_owned()),
            tls: settings
                .callee
                .live()
                .and_then(|live| live.tls.as_ref())
                .map(tls),
            protocol: protocol(settings.protocol).to_owned(),
            http: http(settings.http).to_owned(),
            encoding: settings
                .encoding
                .as_ref()
                .map(|encoding| tagged(encoding, "name")),
            request_compression: tagged(&settings.request_compression, "kind"),
            response_compression: tagged(&settings.response_compression, "kind"),
            transport: transport(settings.transport).to_owned(),
            connection: connection(settings.connection).to_owned(),
            connections: settings.connections,
            at_a_time: settings.at_a_time(),
            schedule: schedule(&settings.schedule),
            at_a_rate: !matches!(settings.schedule, Schedule::Closed { .. }),
            deadline_ms: settings.deadline_ms,
            line: String::new(),
        };
        how.line = how.in_one_line();
        how
    }

    /// What is called, with its method and what it is sent: `POST http://localhost/orders with a body`.
    #[must_use]
    pub fn call(&self) -> String {
        let method = self.http_method.iter().map(|method| format!("{method} "));
        let sends = self.sends.iter().map(|sends| format!(" with {sends}"));
        let parts = method.chain([self.workload.clone()]).chain(sends);
        parts.collect()
    }

    fn in_one_line(&self) -> String {
        let compression = match (&*self.request_compression, &*self.response_compression) {
            ("none", "none") => String::new(),
            (request, response) if request == response => format!(", {request}"),
            ("none", response) => format!(", answer {response}"),
            (request, "none") => format!(", request {request}"),
            (request, response) => format!(", request {request}, answer {response}"),
        };
        if let (Some(operation), Some(codec)) = (&self.operation, &self.subject) {
            let encoding = self.encoding.as_deref().unwrap_or_default();
            let workload = &self.workload;
            return format!("{operation}, {encoding}{compression}; {workload} ({codec})");
        }
        let connections = if self.connections == 1 {
            self.connection.clone()
        } else {
            format!("{}, {} at a time", self.connection, self.connections)
        };
        let messages = match &self.encoding {
            Some(encoding) => format!("{} {encoding} over ", self.protocol),
            None => String::new(),
        };
        let tls = self.tls.as_ref().map(|tls| format!(", {tls}"));
        let callee = match (&self.subject, &self.client) {
            (Some(server), None) => format!("{} ({server})", self.workload),
            (Some(server), Some(client)) => {
                format!("{} ({server}, called by {client})", self.workload)
            }
            (None, _) => self.call(),
        };
        format!(
            "{messages}{} on {}{}{compression}; {connections}; {}; {callee}",
            self.http,
            self.transport,
            tls.unwrap_or_default(),
            self.schedule,
        )
    }
}

/// What a live service is sent with each call.
fn sends(live: &LiveService) -> &'static str {
    let messages = &live.messages;
    let some = messages.template.is_some() || messages.rows.is_some();
    match (live.http_method.is_some(), some) {
        (true, true) => "a body",
        (true, false) => "no body",
        (false, true) => "a message",
        (false, false) => "an empty message",
    }
}

fn subject(callee: &Callee) -> Option<String> {
    match callee {
        Callee::Subject { server, .. } => Some(server.clone()),
        Callee::Codec { codec, .. } => Some(codec.clone()),
        Callee::Live { .. } => None,
    }
}

fn client(callee: &Callee) -> Option<String> {
    match callee {
        Callee::Subject { client, .. } => client
            .as_ref()
            .map(|client| format!("{}, {}", client.stack, client.style.word())),
        Callee::Codec { .. } | Callee::Live { .. } => None,
    }
}

fn operation(callee: &Callee) -> Option<String> {
    match callee {
        Callee::Codec {
            operation, sample, ..
        } => Some(format!("{} the {}", operation.word(), sample.word())),
        Callee::Subject { .. } | Callee::Live { .. } => None,
    }
}

/// TLS without a look at the server's certificate.
pub(crate) const UNVERIFIED: &str = "TLS, unverified";

fn tls(choice: &TlsChoice) -> String {
    match choice.insecure {
        true => UNVERIFIED.to_owned(),
        false => "TLS".to_owned(),
    }
}

fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Grpc => "gRPC",
        Protocol::Rest => "REST",
    }
}

fn http(version: HttpVersion) -> &'static str {
    match version {
        HttpVersion::Http1 => "HTTP/1.1",
        HttpVersion::Http2 => "HTTP/2",
    }
}

fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Unix => "Unix socket",
    }
}

fn connection(connection: ConnectionUse) -> &'static str {
    match connection {
        ConnectionUse::Reuse => "connection kept",
        ConnectionUse::PerCall => "new connection every call",
    }
}

fn schedule(schedule: &Schedule) -> String {
    match schedule {
        Schedule::Closed { in_flight: 1 } => "one call after the other".to_owned(),
        Schedule::Closed { in_flight } => format!("{in_flight} calls in flight"),
        Schedule::Rate {
            per_second,
            arrivals,
        } => {
            let rate = units::rate(*per_second);
            format!("{rate} calls/s, {}", spacing(*arrivals))
        }
        Schedule::Ramp { parts, arrivals } => {
            let (parts, spacing) = (parts_word(parts), spacing(*arrivals));
            format!("a ramp of calls/s, {parts}, {spacing}")
        }
    }
}

fn spacing(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Constant => "evenly spaced",
        Arrivals::Poisson => "at random (Poisson)",
    }
}

fn workload(callee: &Callee) -> String {
    let workload = match callee {
        Callee::Subject { workload, .. } | Callee::Codec { workload, .. } => workload,
        Callee::Live { service } => return service.target.to_string(),
    };
    match serde_json::to_value(workload) {
        Ok(Value::Object(fields)) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str);
            match (text("method"), text("name"), fields.get("n")) {
                (Some(method), _, _) => method.to_owned(),
                (None, Some(name), Some(n)) => format!("{name}, n = {n}"),
                (None, Some(name), None) => name.to_owned(),
                (None, None, _) => "unnamed".to_owned(),
            }
        }
        _ => "unnamed".to_owned(),
    }
}

/// A setting of a crate that this one must not use, in the words of its serialised form: its tag
/// (under `key` where it has more to it), and its level if it has one.
fn tagged(setting: &impl Serialize, key: &str) -> String {
    match serde_json::to_value(setting) {
        Ok(Value::String(tag)) => tag,
        Ok(Value::Object(fields)) => {
            let tag = fields.get(key).and_then(Value::as_str).unwrap_or("unnamed");
            match fields.get("level") {
                Some(level) => format!("{tag} {level}"),
                None => tag.to_owned(),
            }
        }
        _ => "unnamed".to_owned(),
    }
}
