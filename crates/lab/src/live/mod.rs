//! Live services: finds them, tries each with one call, and then calls them like any other target.
//!
//! ```text
//! settings ─► tls (reads certificate files)
//! settings, headers ─► reflection (asks the service if no file describes the messages)
//! settings, headers, texts ─► bodies (checks texts against their type, sends nothing)
//!                          ─► resolve (resolves the name once)
//!                          ─► probe (one call) ─► Live, ready for its trials (or for on_demand)
//! ```
//!
//! The inputs of calls may be secret: header values are stored only here, never in the plan or in a record.

mod bodies;
mod head;
mod on_demand;
mod pair_by;
mod probe;
mod reflection;
mod resolve;
mod started;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rpcgauge_load::{self as load, TlsError};
use rpcgauge_message::data::Data;
use rpcgauge_message::{Limits, MessageType};
use rpcgauge_study::expectation::Expectation;
use rpcgauge_study::settings::{LiveCall, LiveService, LiveWire};
use rpcgauge_trial::{Address, Stop, StreamForm, Streaming};

use bodies::{LiveBodies, Share};
pub use on_demand::UserLoad;
pub use reflection::reflect;
pub use resolve::{look_up, tls};
pub use started::StartedService;

use crate::variant::call_spec::{CallSpec, Check, expect, protocol};

/// Why a live service is not called. Each error is one line: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The request or the service itself is wrong.
    #[error("{0}")]
    Wrong(String),
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// The user interrupted the run.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

impl LiveError {
    /// An error of a service: `what` completes a sentence that begins with the service's URL.
    fn of(service: &LiveService, what: impl fmt::Display) -> Self {
        Self::Wrong(format!("{} {what}", service.url))
    }
}

/// The inputs of calls to a live service that are not part of its settings.
#[derive(Clone, Default)]
pub struct LiveInputs {
    /// The user's own header fields or metadata that are the same for every call.
    pub headers: Vec<(String, String)>,
    /// The TLS configuration created by [`tls`]; `None` if the service is called without TLS.
    pub tls: Option<load::Tls>,
    /// The type of responses over gRPC; `None` if unknown.
    pub response_type: Option<MessageType>,
    /// The texts that calls send.
    pub texts: Option<Texts>,
    /// How messages are exchanged; `None` if calls do not stream.
    pub streaming: Option<Streaming>,
}

/// The texts of calls and their type. Without a text of its own, a call has no body, and a gRPC message is empty.
#[derive(Clone)]
pub struct Texts {
    /// The texts themselves.
    pub data: Arc<Data>,
    /// The message type of the texts, which are then JSON; `None` if texts are sent verbatim.
    pub message_type: Option<MessageType>,
    /// The names of the header fields whose values are the further texts of [`Texts::data`].
    pub fields: Vec<String>,
    /// Where the texts come from, for error messages: an option or a file name.
    pub source: String,
}

/// How long a service is called, which determines how many texts are needed, and limits on their messages.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The maximum length of the warm-up.
    pub warmup: Stop,
    /// When a trial ends.
    pub measured: Stop,
    /// Limits on messages.
    pub limits: Limits,
    /// The memory that messages built before the first call may use, bytes. If they need more, they are built
    /// ahead of the calls while these run.
    pub prepared_bytes: u64,
}

impl LiveInputs {
    fn field_names(&self) -> &[String] {
        self.texts.as_ref().map_or(&[], |texts| &texts.fields)
    }
}

impl Extent {
    /// The default of [`Extent::prepared_bytes`]: 256 MiB.
    pub const PREPARED_BYTES: u64 = 256 << 20;
}

/// A live service that has answered a first call, and the calls to it.
#[derive(Clone)]
pub struct Live {
    /// All calls or, with a mix, what its calls share.
    pub(crate) calls: CallSpec,
    bodies: LiveBodies,
    mix: Vec<Mixed>,
}

/// A call of a mix.
#[derive(Clone)]
struct Mixed {
    name: String,
    weight: u32,
    calls: CallSpec,
    bodies: LiveBodies,
}

impl Live {
    /// Prepares the messages, finds the service, and tries it with one call, or with each call of its mix. `inputs` are
    /// those of each call ([`LiveCall::each_call`]).
    ///
    /// # Errors
    /// A one-line [`LiveError`]: a text is not a valid message, the name has no address, TLS cannot be set up,
    /// or the service cannot be reached or uses another protocol.
    pub fn find(
        live: &LiveCall,
        inputs: &[LiveInputs],
        extent: &Extent,
        stop: &AtomicBool,
    ) -> Result<Self, LiveError> {
        let mix = &live.service.calls;
        if !mix.is_empty() && inputs.iter().any(|inputs| inputs.streaming.is_some()) {
            let what = "has a mix with a streaming call; call it in a variant of its own";
            return Err(LiveError::of(&live.service, what));
        }
        let weights: Vec<u32> = match &mix[..] {
            [] => vec![1],
            mix => mix.iter().map(|call| call.weight).collect(),
        };
        let shares = weights.iter().map(|weight| Share {
            weight: *weight,
            all: weights.iter().sum(),
            threads: live.threads,
        });
        let shares: Vec<Share> = shares.collect();
        let part = Extent {
            // Each thread may need all of them.
            prepared_bytes: extent.prepared_bytes / (shares.len() as u64 * u64::from(live.threads)),
            ..*extent
        };
        let each = live.each_call();
        let each = || each.iter().zip(inputs);
        let made = each().zip(&shares).map(|((one, inputs), share)| {
            let (texts, streaming) = (inputs.texts.as_ref(), inputs.streaming.as_ref());
            bodies::make(&one.options, texts, streaming, &part, *share, stop)
        });
        let made: Vec<_> = made.collect::<Result<_, _>>()?;
        // A mistake in a head is found before the service is called.
        for (one, inputs) in each() {
            check_stream(one, inputs)?;
            head::request(one, inputs)?;
        }
        let addresses = resolve::addresses(live)?;
        let mut found = Vec::new();
        for (((one, inputs), made), share) in each().zip(made).zip(&shares) {
            let calls = calls(one, inputs, extent.limits, addresses.clone())?;
            probe::probe(&calls, one, made.probe, stop)?;
            found.push(Mixed {
                name: mix
                    .get(found.len())
                    .map_or_else(String::new, |call| call.name.clone()),
                weight: share.weight,
                calls,
                bodies: made.bodies,
            });
        }
        let first = found.first().cloned();
        let first = first.ok_or_else(|| LiveError::of(&live.service, "has no call"))?;
        Ok(Self {
            calls: first.calls,
            bodies: first.bodies,
            mix: if mix.is_empty() { Vec::new() } else { found },
        })
    }

    /// How the calls stream; `None` if they do not.
    pub fn stream_form(&self) -> Option<StreamForm> {
        Some(self.calls.streaming?.form)
    }

    /// A trial of a single call, the template for longer ones.
    pub(crate) fn trial(&self) -> load::Trial {
        let mix = self.mix.iter().map(|call| load::MixCall {
            name: call.name.clone(),
            weight: call.weight,
            request: call.calls.request.clone(),
            status: call.calls.expect.status,
        });
        load::Trial {
            mix: mix.collect(),
            ..self.calls.trial()
        }
    }

    /// The bodies for one trial, or for a thread's part of it.
    ///
    /// # Errors
    /// Returns a one-line reason if rows of a file cannot be read.
    pub(crate) fn bodies<'a>(&self, shard: load::Shard) -> Result<load::Bodies<'a>, String> {
        let of = |bodies: &LiveBodies| bodies.for_trial(shard);
        if self.mix.is_empty() {
            return Ok(match of(&self.bodies)? {
                load::MixBodies::Prepared(bodies) => load::Bodies::Prepared {
                    bodies,
                    verifier: None,
                },
                load::MixBodies::Streamed(bodies) => load::Bodies::Streamed(bodies),
            });
        }
        let mixed = self.mix.iter().map(|call| of(&call.bodies));
        Ok(load::Bodies::Mixed(mixed.collect::<Result<_, _>>()?))
    }

    /// The bodies and the checks of a thread's part of a trial.
    ///
    /// # Errors
    /// The same as [`Live::bodies`] and [`Live::checks`].
    pub(crate) fn calls_of(&self, shard: load::Shard) -> Result<load::ShardCalls<'_>, String> {
        Ok(load::ShardCalls {
            bodies: self.bodies(shard)?,
            checks: self.checks()?,
        })
    }

    /// The checks of responses, as [`load::Hooks`] take them.
    ///
    /// # Errors
    /// Returns a one-line reason if a decompressor cannot be created.
    pub(crate) fn checks(&self) -> Result<Vec<Option<load::ResponseCheck<'_>>>, String> {
        let mixed = self.mix.iter().map(|call| &call.calls.check);
        let all: Vec<_> = if self.mix.is_empty() {
            vec![&self.calls.check]
        } else {
            mixed.collect()
        };
        if all.iter().all(|check| check.is_none()) {
            return Ok(Vec::new());
        }
        let all = all.into_iter();
        all.map(|check| check.as_ref().map(Check::start).transpose())
            .collect()
    }

    /// The same calls to another start of the service, which listens on another port of the same address.
    #[must_use]
    pub(crate) fn at_port(mut self, port: u16) -> Self {
        let mixed = self.mix.iter_mut().map(|call| &mut call.calls);
        for calls in mixed.chain([&mut self.calls]) {
            let Address::Tcp(address) = &mut calls.endpoint.address else {
                continue;
            };
            let authority = &mut calls.request.authority;
            // A host that the user gave in a header field stays as it is.
            if let Some(host) = authority.strip_suffix(&format!(":{}", address.port())) {
                *authority = format!("{host}:{port}");
            }
            address.set_port(port);
        }
        self
    }
}

/// The settings of the calls to the service at these addresses, of which there is at least one.
fn calls(
    live: &LiveCall,
    inputs: &LiveInputs,
    limits: Limits,
    (address, more_addresses): (Address, Vec<Address>),
) -> Result<CallSpec, LiveError> {
    let compression = live.options.response_compression;
    let (service, message_type) = (&live.service, &inputs.response_type);
    for expectation in &service.expect {
        if let (Some(pointer), Some(of)) = (expectation.pointer(), message_type) {
            let checked = of.check_pointer(pointer);
            checked.map_err(|what| LiveError::Wrong(format!("expect: {expectation}: {what}")))?;
        }
    }
    let status = service.expect.iter().find_map(Expectation::status);
    let messages = service.expect.iter().find_map(Expectation::messages);
    let content = service.expect.iter().filter(|one| one.is_about_content());
    let check = Check {
        compression,
        limits,
        expect: content.cloned().collect(),
        message_type: message_type.clone(),
    };
    let checks = !(compression.is_none() && check.expect.is_empty());
    Ok(CallSpec {
        request: head::request(live, inputs)?,
        streaming: inputs.streaming,
        pair_by: pair_by::keys(live, inputs, limits)?,
        expect: load::Expect {
            status,
            messages,
            ..expect(compression, None, limits)
        },
        check: checks.then_some(check),
        endpoint: load::Endpoint {
            tls: inputs.tls.clone(),
            address,
            more_addresses,
            protocol: protocol(live.wire.http()),
        },
        options: live.options.clone(),
        keepalive: live.service.keepalive,
    })
}

/// Refuses what does not go with how the calls stream.
fn check_stream(live: &LiveCall, inputs: &LiveInputs) -> Result<(), LiveError> {
    let wrong = |what: String| Err(LiveError::Wrong(what));
    let form = inputs.streaming.map(|streaming| streaming.form);
    let is_about_messages = |one: &&Expectation| one.messages().is_some();
    if let Some(expectation) = live.service.expect.iter().find(is_about_messages)
        && !form.is_some_and(StreamForm::server_streams)
    {
        return wrong(format!(
            "expect: {expectation}: the server does not send a stream, but one message"
        ));
    }
    let is_http = live.wire != LiveWire::Grpc;
    if form.is_some() && is_http && !live.options.response_compression.is_none() {
        return wrong(
            "response-compression: a stream over HTTP must not be compressed; leave it out"
                .to_owned(),
        );
    }
    let time_ms = inputs.streaming.and_then(|streaming| streaming.time_ms);
    if time_ms >= Some(live.options.deadline_ms) {
        return wrong("deadline: it must be longer than call-time".to_owned());
    }
    Ok(())
}

/// Omits everything that may be secret.
impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("target", &self.calls.endpoint)
            .finish_non_exhaustive()
    }
}
