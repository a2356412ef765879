//! What all calls of a variant share, in the engine's types.

use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_message::{Compression, Decompressor, Limits};
use rpcgauge_study::settings::{CallOptions, HttpVersion, Protocol};
use rpcgauge_trial::Keepalive;

/// A trial ends once all calls failed for this long: more of them would show nothing new.
const PATIENCE: Duration = Duration::from_secs(2);

/// The client's `user-agent`.
pub(crate) const USER_AGENT: &str = concat!("rpcgauge/", env!("CARGO_PKG_VERSION"));

/// Where calls go, their head, and what their responses must be like.
#[derive(Debug, Clone)]
pub(crate) struct CallSpec {
    pub(crate) endpoint: load::Endpoint,
    pub(crate) request: load::Request,
    pub(crate) expect: load::Expect,
    /// How compressed responses are checked, if no codec decodes them.
    pub(crate) check: Option<Check>,
    /// How calls are sent.
    pub(crate) options: CallOptions,
    /// How idle connections are kept alive, or found dead.
    pub(crate) keepalive: Option<Keepalive>,
}

/// Checks compressed responses: by this compression, within these limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check {
    pub(crate) compression: Compression,
    pub(crate) limits: Limits,
}

impl Check {
    /// # Errors
    /// Why the check cannot be started, in one line.
    pub(crate) fn start<'a>(self) -> Result<load::ResponseCheck<'a>, String> {
        let mut decompressor =
            Decompressor::new(self.compression, self.limits).map_err(|error| error.to_string())?;
        let mut plain = Vec::new();
        let check = move |carried: &[u8]| {
            decompressor
                .decompress(carried, &mut plain)
                .map_err(|error| load::CodecError(error.to_string()))
        };
        Ok(load::ResponseCheck {
            of: load::Checked::Compressed,
            check: Box::new(check),
        })
    }
}

impl CallSpec {
    /// A trial of one call, from which longer ones are made.
    pub(crate) fn trial(&self) -> load::Trial {
        let deadline = Duration::from_millis(self.options.deadline_ms);
        load::Trial {
            expect: self.expect.clone(),
            connection_use: self.options.connection,
            keepalive: self.keepalive,
            deadline,
            // Every call in flight has ended by its deadline.
            drain: deadline,
            patience: PATIENCE,
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

/// The headers that name the compression of the request and the one accepted for the response.
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

/// What a response must be like, besides a good status.
pub(crate) fn expect(
    compression: Compression,
    media_type: Option<&str>,
    limits: Limits,
) -> load::Expect {
    load::Expect {
        status: None,
        content_type: media_type.map(str::to_owned),
        encoding: (!compression.is_none()).then(|| compression.coding().to_owned()),
        max_response_bytes: u32::try_from(limits.max_message_bytes).unwrap_or(u32::MAX),
    }
}
