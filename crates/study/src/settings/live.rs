//! A live service: a user's own, already running or started by a command. And the messages to send to it.

use std::net::SocketAddr;
use std::path::PathBuf;

use rpcgauge_message::data::Order;
use rpcgauge_trial::{Keepalive, is_default};
use serde::{Deserialize, Serialize};

use super::stream::StreamOptions;
use crate::expectation::Expectation;
use crate::url::Url;

/// A service that is already running, or that a command starts.
///
/// It contains no values of header fields, texts of messages or contents of key files, because plans are stored on
/// disk, and these may be secrets. It does contain the command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LiveService {
    /// Its address and what to call there.
    pub url: Url,
    /// How to start it; `None` if it is already running. The URL's port is then chosen at each start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartCommand>,
    /// The TLS settings, if the target's scheme uses TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsChoice>,
    /// The method of HTTP calls; `None` for gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// The names of the user's own header fields or metadata, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub header_names: Vec<String>,
    /// The messages to send to it.
    pub messages: Messages,
    /// What a response must contain for its call to succeed. At most one is about the status, and over gRPC all are
    /// about values of the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// How messages are exchanged, if calls stream.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stream: StreamOptions,
    /// What happens to calls in flight when the trial's time is up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_end: AtEnd,
    /// The maximum number of requests that a trial may send, including those of its warm-up and retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    /// How idle connections are kept alive and dead ones detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Keepalive>,
    /// Which addresses of its name are called.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lb_strategy: LbStrategy,
    /// The addresses of its name that connections are divided among, known once the run has begun; empty for
    /// [`LbStrategy::PickFirst`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<SocketAddr>,
    /// Whether the schedule is that of each user of a load in which a Locust master changes the number of users.
    #[serde(default, skip_serializing_if = "is_default")]
    pub per_user: bool,
    /// The calls of its mix; empty if all calls are the same. With a mix, the path of the URL and everything about
    /// the messages is that of its calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<MixCall>,
}

/// A call of a mix. Its fields are those of [`LiveService`] that differ between the calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MixCall {
    /// Its name, unique in the mix.
    pub name: String,
    /// Its share of the calls is its weight divided by the sum of all weights.
    pub weight: u32,
    /// The path and query of its requests.
    pub path: String,
    /// See [`LiveService::http_method`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// See [`LiveService::header_names`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub header_names: Vec<String>,
    /// See [`LiveService::messages`].
    pub messages: Messages,
    /// See [`LiveService::expect`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
}

impl LiveService {
    /// The service with a mix instead of its own call.
    pub(crate) fn with_mix(mut self, calls: Vec<MixCall>) -> Self {
        self.url.path = "/".to_owned();
        self.header_names.clear();
        self.messages = Messages::default();
        self.expect.clear();
        Self { calls, ..self }
    }

    /// The service as seen by each of its different calls: one, or those of its mix.
    pub fn each_call(&self) -> Vec<Self> {
        if self.calls.is_empty() {
            return vec![self.clone()];
        }
        let of = |call: &MixCall| {
            let mut service = self.clone();
            service.url.path.clone_from(&call.path);
            Self {
                http_method: call.http_method.clone(),
                header_names: call.header_names.clone(),
                messages: call.messages.clone(),
                expect: call.expect.clone(),
                calls: Vec::new(),
                ..service
            }
        };
        self.calls.iter().map(of).collect()
    }
}

/// How a service is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StartCommand {
    /// A command for `sh`, in which `{port}` stands for the port that the service must listen on.
    pub command: String,
    /// How long it may take until its port accepts a connection, ms.
    pub ready_within_ms: u64,
}

/// Which addresses of a name are called. The names are those of gRPC's load balancing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LbStrategy {
    /// The first address that accepts a connection.
    #[default]
    PickFirst,
    /// All, each by its share of the connections.
    RoundRobin,
}

/// What happens to calls in flight when a trial's time is up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// Calls may still complete, each within its deadline.
    #[default]
    Wait,
    /// Calls are cancelled immediately and counted as abandoned.
    Cancel,
}

/// The TLS settings for a live service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsChoice {
    /// PEM file of the trusted certificate authorities; `None` for the machine's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// PEM file of the client's private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// The server name that is sent (SNI) and verified; `None` for the target's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Whether to skip verification of the server's certificate.
    pub insecure: bool,
    /// Whether to use HTTP/2 with a server that does not select a protocol by ALPN.
    pub allow_missing_alpn: bool,
}

/// The messages to send to a live service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Messages {
    /// The text that every message is built from. Without a template or rows, HTTP requests have no body and gRPC
    /// messages are empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateSource>,
    /// The rows that fill the template or, without one, are messages themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowsSource>,
    /// The files from which the message's type was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<PathBuf>,
}

/// The source and digest of a template, but not its text, which may be a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TemplateSource {
    /// The file, or `-` for standard input; `None` if the text was given on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// Rows of a file, one per call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsSource {
    /// The file.
    pub path: PathBuf,
    /// The order in which calls use its rows.
    pub order: Order,
}
