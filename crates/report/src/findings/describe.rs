//! How a variant calls, in words.

use std::collections::BTreeMap;

use rpcgauge_study::settings::{Callee, LiveService, Schedule, Settings, TlsChoice};
use rpcgauge_study::words::Word as _;
use serde::{Deserialize, Serialize};

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
    /// Every setting but when a trial ends, by its word in a study, with its value as a study writes it.
    pub settings: BTreeMap<String, String>,
    /// `HTTP/1.1` or `HTTP/2`.
    pub http: String,
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
        let callee = &settings.callee;
        let live = callee.live();
        let tls = live.and_then(|live| live.tls.as_ref()).map(tls);
        // Trials of another length do not call in another way.
        let written = settings.written().into_iter();
        let written = written.filter(|(word, _)| !["calls", "time"].contains(word));
        let mut how = Self {
            subject: callee.server().or(codec(callee)).map(str::to_owned),
            client: callee
                .client()
                .map(|client| format!("{}, {}", client.stack, client.style.word())),
            operation: callee
                .codec()
                .map(|(_, does, sample)| format!("{} the {}", does.word(), sample.word())),
            workload: callee.called(),
            http_method: live.and_then(|live| live.http_method.clone()),
            sends: live.map(|live| sends(live).to_owned()),
            settings: written
                .map(|(word, value)| (word.to_owned(), value))
                .collect(),
            http: format!("HTTP/{}", settings.http.word()),
            connection: settings.says("connection"),
            connections: settings.connections,
            at_a_time: settings.at_a_time(),
            schedule: settings.column("sent"),
            at_a_rate: !matches!(settings.schedule, Schedule::Closed { .. }),
            deadline_ms: settings.deadline_ms,
            line: settings.how(),
            tls,
        };
        if let Some(tls) = &how.tls {
            how.line += &format!(", {tls}");
        }
        let called = match live {
            Some(_) => how.call(),
            None => settings.column("calls"),
        };
        how.line += &format!("; {called}");
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

fn codec(callee: &Callee) -> Option<&str> {
    callee.codec().map(|(codec, _, _)| codec)
}

/// TLS without a look at the server's certificate.
pub(crate) const UNVERIFIED: &str = "TLS, unverified";

fn tls(choice: &TlsChoice) -> String {
    match choice.insecure {
        true => UNVERIFIED.to_owned(),
        false => "TLS".to_owned(),
    }
}
