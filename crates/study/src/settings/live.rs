//! A live service, and what it is sent.

use std::path::PathBuf;

use rpcgauge_message::data::Order;
use rpcgauge_trial::{Keepalive, is_default};
use serde::{Deserialize, Serialize};

use crate::url::Url;

/// A service that already runs.
///
/// What may be a secret is not part of it, since plans are kept on disk: the values of header fields,
/// the texts of messages and the contents of key files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LiveService {
    /// Where it is, and what is called there.
    pub url: Url,
    /// The settings of TLS, if the target's scheme asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsChoice>,
    /// The method of HTTP calls; `None` for gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// The names of the user's own header fields or metadata, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub header_names: Vec<String>,
    /// The messages that it is sent.
    pub messages: Messages,
    /// What happens to calls in flight when the time is up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_end: AtEnd,
    /// The maximum number of requests that a trial may send, including those of its warm-up and retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    /// How idle connections are kept alive, or found dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Keepalive>,
}

/// What happens to calls in flight when a trial's time is up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// They may still end, each by its deadline.
    #[default]
    Wait,
    /// They are cancelled at once and counted as abandoned.
    Cancel,
}

/// The settings of TLS with a live service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsChoice {
    /// PEM file of the certificate authorities that are trusted; `None` for the machine's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// PEM file of its private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// The server name that is sent (SNI) and verified; `None` for the target's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Whether the server's certificate is not verified.
    pub insecure: bool,
    /// Whether HTTP/2 is used with a server that selects no protocol by ALPN.
    pub allow_missing_alpn: bool,
}

/// What a live service is sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Messages {
    /// The text from which every message is made; without one, and without rows, there is no body, and a gRPC message
    /// is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateSource>,
    /// The rows that fill it, or are messages themselves.
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
    /// The file, `-` for standard input; `None` if it was given on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its length.
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
