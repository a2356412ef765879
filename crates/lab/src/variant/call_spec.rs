//! Settings shared by all calls of a variant, in the engine's types.

use std::sync::Arc;
use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_message::{Compression, Decompressor, Encoding, Limits, MessageType};
use rpcgauge_study::expectation::{Expectation, to_json};
use rpcgauge_study::settings::{CallOptions, HttpVersion, Protocol};
use rpcgauge_trial::{FailureKind, Keepalive, Streaming};
use serde_json::Value;

/// A trial gives up once every call has failed for this long, because continuing would reveal
/// nothing new.
const PATIENCE: Duration = Duration::from_secs(2);

/// The client's `user-agent`.
pub(crate) const USER_AGENT: &str = concat!("rpcgauge/", env!("CARGO_PKG_VERSION"));

/// The target of a variant's calls, their request head, and what is expected of the responses.
#[derive(Debug, Clone)]
pub(crate) struct CallSpec {
    pub(crate) endpoint: load::Endpoint,
    pub(crate) request: load::Request,
    /// How messages are exchanged; `None` if calls do not stream.
    pub(crate) streaming: Option<Streaming>,
    /// How responses of a stream are paired with its messages, if not in order.
    pub(crate) pair_by: Option<Arc<dyn load::PairBy>>,
    pub(crate) expect: load::Expect,
    /// How to check responses that no codec decodes.
    pub(crate) check: Option<Check>,
    /// How calls are sent.
    pub(crate) options: CallOptions,
    /// How idle connections are kept alive and dead ones detected.
    pub(crate) keepalive: Option<Keepalive>,
}

/// How to check that a response decompresses within the limits, and that it is as expected.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) compression: Compression,
    pub(crate) limits: Limits,
    /// Those about the content.
    pub(crate) expect: Vec<Expectation>,
    /// The type of responses over gRPC; `None` if a body is JSON itself.
    pub(crate) message_type: Option<MessageType>,
}

impl Check {
    /// # Errors
    /// Returns a one-line reason if the decompressor cannot be created.
    pub(crate) fn start(&self) -> Result<load::ResponseCheck<'_>, String> {
        let mut decompressor =
            Decompressor::new(self.compression, self.limits).map_err(|error| error.to_string())?;
        let mut plain = Vec::new();
        let check = move |response: load::ToCheck<'_>| {
            let failed = |kind, error| (kind, load::CodecError(error));
            let body = if response.compressed {
                decompressor
                    .decompress(response.carried, &mut plain)
                    .map_err(|error| failed(FailureKind::Decompress, error.to_string()))?;
                &plain
            } else {
                response.carried
            };
            let to_json = |body: &_| json(self.message_type.as_ref(), &self.limits, body);
            Expectation::check_all(&self.expect, body, to_json)
                .map_err(|error| failed(FailureKind::Check, error))
        };
        Ok(load::ResponseCheck {
            of: if self.expect.is_empty() {
                load::Checked::Compressed
            } else {
                load::Checked::All
            },
            check: Box::new(check),
        })
    }
}

/// A message as JSON: of protobuf if it has a type, otherwise JSON itself.
///
/// # Errors
/// Returns a one-line reason if the message cannot be decoded.
pub(crate) fn json(
    message_type: Option<&MessageType>,
    limits: &Limits,
    body: &[u8],
) -> Result<Value, String> {
    let Some(message_type) = message_type else {
        return to_json(body);
    };
    let message = message_type.decode(body, Encoding::Protobuf, limits);
    let message = message.map_err(|error| error.to_string())?;
    let json = message.to_bytes(Encoding::ProtoJson);
    let json = json.map_err(|error| error.to_string())?;
    serde_json::from_slice(&json).map_err(|error| error.to_string())
}

impl CallSpec {
    /// A trial of a single call, the template for longer ones.
    pub(crate) fn trial(&self) -> load::Trial {
        let deadline = Duration::from_millis(self.options.deadline_ms);
        load::Trial {
            streaming: self.streaming,
            pair_by: self.pair_by.clone(),
            expect: self.expect.clone(),
            connection_use: self.options.connection,
            keepalive: self.keepalive,
            deadline,
            deadline_from: self.options.deadline_from,
            // No call in flight lasts longer.
            drain: deadline,
            patience: PATIENCE,
            // One to each address.
            connections: 1 + u32::try_from(self.endpoint.more_addresses.len()).unwrap_or(u32::MAX),
            ..load::Trial::new(self.endpoint.clone(), self.request.clone())
        }
    }
}

pub(crate) fn protocol(http: HttpVersion) -> load::Protocol {
    match http {
        HttpVersion::Http1 => load::Protocol::Http1,
        HttpVersion::Http2 => load::Protocol::Http2,
    }
}

/// The headers that declare the request's compression and the one accepted for the response.
pub(crate) fn coding_headers(
    protocol: Protocol,
    options: &CallOptions,
) -> Vec<(&'static str, &'static str)> {
    let (sent, accepted) = match protocol {
        Protocol::Grpc => ("grpc-encoding", "grpc-accept-encoding"),
        Protocol::Rest | Protocol::Connect => ("content-encoding", "accept-encoding"),
    };
    [
        (sent, options.request_compression),
        (accepted, options.response_compression),
    ]
    .into_iter()
    .filter(|(_, compression)| !compression.is_none())
    .map(|(name, compression)| (name, compression.coding()))
    .collect()
}

/// What is expected of a response, in addition to a successful status.
pub(crate) fn expect(
    compression: Compression,
    media_type: Option<&str>,
    limits: Limits,
) -> load::Expect {
    load::Expect {
        status: None,
        messages: None,
        all_sent: false,
        content_type: media_type.map(str::to_owned),
        encoding: (!compression.is_none()).then(|| compression.coding().to_owned()),
        max_response_bytes: u32::try_from(limits.max_message_bytes).unwrap_or(u32::MAX),
    }
}
