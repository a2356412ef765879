//! A live service, and what it is sent.

use std::path::PathBuf;

use rpcgauge_message::data::Order;
use rpcgauge_trial::{Keepalive, is_default};
use serde::{Deserialize, Serialize};

use crate::url::Url;

/// A service that is there already.
///
/// What may be a secret is not part of it, since plans are kept on disk: the values of header fields,
/// the texts of messages and the contents of key files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LiveService {
    /// Where it is, and what of it is called.
    pub url: Url,
    /// How TLS is spoken, where the target's scheme asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsChoice>,
    /// The method of HTTP calls; none for gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// The names of the user's own header fields or metadata, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub header_names: Vec<String>,
    /// What it is sent.
    pub messages: Messages,
    /// What becomes of calls in flight when the time is up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_end: AtEnd,
    /// The most requests that a trial may send, with those of its warm-up and retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    /// How silent connections are kept alive, or found dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Keepalive>,
}

/// What becomes of calls in flight when a trial's time is up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// They may end, each by its deadline.
    #[default]
    Wait,
    /// They are given up at once and counted as abandoned.
    Cancel,
}

/// How TLS is spoken with a live service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsChoice {
    /// PEM file of the authorities that may vouch for the server; the machine's own where there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// PEM file of its private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// The name that is asked for and expected; the target's host where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Nothing is verified.
    pub insecure: bool,
    /// HTTP/2 is spoken with a server that selects no protocol by ALPN.
    pub allow_missing_alpn: bool,
}

/// What a live service is sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Messages {
    /// The text that every message is made of; without one, and without rows, there is no body, and
    /// a gRPC message is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateSource>,
    /// The rows that fill it, or are messages themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowsSource>,
    /// Files that the message's type was read from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<PathBuf>,
}

/// Where a template came from, and which it was. Not its text, which may be a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TemplateSource {
    /// The file, `-` for standard input; none where it stood on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of it, in hexadecimal.
    pub sha256: String,
}

/// Rows of a file, one per call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsSource {
    /// The file.
    pub path: PathBuf,
    /// In which order calls take its rows.
    pub order: Order,
}
