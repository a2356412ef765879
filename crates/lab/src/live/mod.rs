//! Live services: finds them, tries them with one call, and then calls them like any other target.
//!
//! ```text
//! settings ─► tls (its files read)
//! settings, headers ─► reflection (if no file describes the messages: the service is asked)
//! settings, headers, texts ─► bodies (texts checked against their type, nothing sent)
//!                          ─► resolve (name looked up once)
//!                          ─► probe (one call) ─► Live, ready for its trials
//! ```
//!
//! The inputs of calls may be secret: header values are kept here, and neither in the plan nor in any record.

mod bodies;
mod head;
mod probe;
mod reflection;
mod resolve;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rpcgauge_load::{self as load, TlsError};
use rpcgauge_message::data::Data;
use rpcgauge_message::{Limits, MessageType};
use rpcgauge_study::settings::{LiveCall, LiveService};
use rpcgauge_trial::Stop;

use bodies::LiveBodies;
pub use reflection::reflect;
pub use resolve::tls;

use crate::variant::call_spec::{CallSpec, Check, expect, protocol};

/// Why a live service is not called. Each is one line: what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The request, or the service itself, is wrong.
    #[error("{0}")]
    Wrong(String),
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// The user interrupted it.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

impl LiveError {
    /// An error of a service: `what` is the end of a sentence that begins with its URL.
    fn of(service: &LiveService, what: impl fmt::Display) -> Self {
        Self::Wrong(format!("{} {what}", service.url))
    }
}

/// What a live service is called with in addition to its settings.
#[derive(Clone, Default)]
pub struct LiveInputs {
    /// The user's own header fields or metadata.
    pub headers: Vec<(String, String)>,
    /// TLS, if the service is called over it: what [`tls`] made from its settings.
    pub tls: Option<load::Tls>,
    /// The texts that calls send; without them there is no body, and a gRPC message is empty.
    pub texts: Option<Texts>,
}

/// The texts of calls, and what they are.
#[derive(Clone)]
pub struct Texts {
    /// The texts themselves.
    pub data: Arc<Data>,
    /// The message type of each text, which is then JSON; `None` if texts are sent as they are.
    pub message_type: Option<MessageType>,
    /// Where they come from, for error messages: an option or a file's name.
    pub source: String,
}

/// How long a service is called, which decides how many texts there must be, and the bounds of these.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The maximum length of the warm-up.
    pub warmup: Stop,
    /// The end of a trial.
    pub measured: Stop,
    /// Bounds of messages.
    pub limits: Limits,
    /// Memory that messages made before the first call may take, bytes. If they would take more, they are made
    /// ahead of the calls, while these run.
    pub prepared_bytes: u64,
}

impl Extent {
    /// The default of [`Extent::prepared_bytes`]: 256 MiB.
    pub const PREPARED_BYTES: u64 = 256 << 20;
}

/// A live service that has answered a first call, and the calls for it.
#[derive(Clone)]
pub struct Live {
    pub(crate) calls: CallSpec,
    pub(crate) bodies: LiveBodies,
}

impl Live {
    /// Prepares the messages, finds the service, and tries it with one call.
    ///
    /// # Errors
    /// [`LiveError`], one line: a text that is not a message, a name without an address, TLS that cannot be set
    /// up, a service that cannot be reached or speaks another protocol.
    pub fn find(
        live: &LiveCall,
        inputs: &LiveInputs,
        extent: &Extent,
        stop: &AtomicBool,
    ) -> Result<Self, LiveError> {
        let bodies = bodies::make(&live.options, inputs.texts.as_ref(), extent, stop)?;
        let calls = calls(live, inputs, extent.limits)?;
        probe::probe(&calls, live, bodies.probe, stop)?;
        Ok(Self {
            calls,
            bodies: bodies.bodies,
        })
    }
}

/// Finds the service. Returns what its calls share.
fn calls(live: &LiveCall, inputs: &LiveInputs, limits: Limits) -> Result<CallSpec, LiveError> {
    let compression = live.options.response_compression;
    Ok(CallSpec {
        request: head::request(live, inputs)?,
        expect: expect(compression, None, limits),
        check: (!compression.is_none()).then_some(Check {
            compression,
            limits,
        }),
        endpoint: load::Endpoint {
            tls: inputs.tls.clone(),
            address: resolve::address(live)?,
            protocol: protocol(live.wire.http()),
        },
        options: live.options.clone(),
        keepalive: live.service.keepalive,
    })
}

/// Shows nothing that may be secret.
impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("target", &self.calls.endpoint)
            .finish_non_exhaustive()
    }
}
