//! The messages: where requests come from, and how responses are read.
//!
//! A request is prepared in advance, generated ahead of its call on another thread (`prefetch`), or encoded
//! within the call. Only in the last case are all responses decoded. Otherwise some are verified or checked.
//! In the measured part, samples are stored and verified at the end (`samples`). Sizes are summed over
//! measured calls, for requests that were sent and for successful responses.

mod check;
mod prefetch;
mod samples;
mod sizes;

use std::sync::Arc;

use bytes::Bytes;
use rpcgauge_trial::{FailureKind, Timing};
use rpcgauge_wire::grpc::{MessageTooLong, PREFIX_LENGTH};

use self::check::Checking;
pub(super) use self::prefetch::{Made, Next};
use self::prefetch::{Prefetch, mixed};
use self::samples::Samples;
use self::sizes::Sizes;
use super::ledger::Call;
use super::outgoing::{Key, Outgoing, framed};
use super::phases::Phase;
use super::response::Keep;
use super::stamps::Stamps;
use crate::bodies::{Bodies, Body, Codec, CodecError, MixBodies, PairBy, ResponseCheck};
use crate::clock;
use crate::error::LoadError;
use crate::trial::{CallStyle, Trial};

/// Why a response's message was not accepted.
#[derive(Debug)]
pub(super) enum Unread {
    /// The call fails.
    Failed(FailureKind, CodecError),
    /// The trial fails, because the server sent an unexpected response.
    Wrong(CodecError),
}

/// Whether and when a call's response is verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Verify {
    #[default]
    Never,
    /// As soon as the response is complete.
    Now,
    /// Once the measured part is over.
    Later,
}

/// A placeholder for gRPC's prefix while a codec writes the message after it. No encoding produces a message
/// that begins with these bytes, so a codec that overwrites them is detected.
const ROOM: [u8; PREFIX_LENGTH] = *b"\xffroom";

pub(super) struct Messages<'b, 'r> {
    kind: Kind<'b>,
    checking: Option<Checking<'r>>,
    /// How responses of a stream are paired with its messages.
    pair_by: Option<Arc<dyn PairBy>>,
    grpc: bool,
    /// Whether stages are timed.
    timed: bool,
    /// Whether calls stream.
    streams: bool,
    /// A buffer for the uncompressed form of a compressed request or response.
    plain: Vec<u8>,
    /// The last encoded request. Its memory is reused once the connection has released it.
    last: Outgoing,
    pub(super) sizes: Sizes,
}

enum Kind<'b> {
    Prepared {
        /// Those of each call of the mix; a single entry without one.
        bodies: Vec<Vec<Outgoing>>,
        verifier: Option<(&'b mut dyn Codec, Samples)>,
    },
    Streamed(Prefetch),
    PerCall {
        codec: &'b mut dyn Codec,
        compresses: bool,
        /// The call whose response was decoded last, and which of its messages it is, if it has not been verified yet.
        unverified: Option<(u64, u64)>,
    },
}

impl Kind<'_> {
    fn mixed(bodies: Vec<MixBodies>, trial: &Trial) -> Result<Self, LoadError> {
        let is_prepared = |bodies: &MixBodies| matches!(bodies, MixBodies::Prepared(_));
        if !bodies.iter().all(is_prepared) {
            return Ok(Kind::Streamed(Prefetch::start(
                mixed(bodies, trial),
                trial,
            )?));
        }
        let bodies = bodies.into_iter().map(|bodies| match bodies {
            MixBodies::Prepared(bodies) => bodies,
            MixBodies::Streamed(_) => Vec::new(),
        });
        let bodies = (0..).zip(bodies);
        let bodies = bodies.map(|(mix_call, bodies)| prepared(bodies, mix_call, trial));
        Ok(Kind::Prepared {
            bodies: bodies.collect::<Result<_, _>>()?,
            verifier: None,
        })
    }
}

/// Frames the bodies of a call of the mix.
fn prepared(bodies: Vec<Body>, mix_call: usize, trial: &Trial) -> Result<Vec<Outgoing>, LoadError> {
    if bodies.is_empty() {
        return Err(LoadError::setting(
            "the number of prepared request bodies",
            "at least 1",
        ));
    }
    let bodies = bodies.into_iter();
    bodies.map(|body| framed(body, mix_call, trial)).collect()
}

impl<'b, 'r> Messages<'b, 'r> {
    pub(super) fn new(
        bodies: Bodies<'b>,
        checks: Vec<Option<ResponseCheck<'r>>>,
        trial: &Trial,
    ) -> Result<Self, LoadError> {
        let grpc = matches!(trial.request.style, CallStyle::Grpc { .. });
        let calls = trial.mix.len();
        let fits = match &bodies {
            Bodies::Mixed(bodies) => calls > 0 && bodies.len() == calls,
            Bodies::Prepared { .. } | Bodies::Streamed(_) | Bodies::PerCall(_) => calls == 0,
        };
        if !fits {
            let what = "the number of calls with bodies";
            return Err(LoadError::setting(what, "that of the mix"));
        }
        let has_verifier = matches!(
            &bodies,
            Bodies::Prepared {
                verifier: Some(_),
                ..
            }
        );
        if has_verifier && trial.streaming.is_some() {
            let what = "the prepared messages of streaming calls";
            return Err(LoadError::setting(what, "without a verifier"));
        }
        if !checks.is_empty() && checks.len() != calls.max(1) {
            let what = "the number of checks of responses";
            return Err(LoadError::setting(what, "one for each call of the mix"));
        }
        let kind = match bodies {
            Bodies::Prepared { bodies, verifier } => Kind::Prepared {
                bodies: vec![prepared(bodies, 0, trial)?],
                verifier: verifier.map(|codec| (codec, Samples::new())),
            },
            Bodies::Streamed(bodies) => {
                let bodies = bodies.map(|body| (0, body));
                Kind::Streamed(Prefetch::start(bodies, trial)?)
            }
            Bodies::Mixed(bodies) => Kind::mixed(bodies, trial)?,
            Bodies::PerCall(codec) => Kind::PerCall {
                compresses: codec.compresses(),
                codec,
                unverified: None,
            },
        };
        Ok(Messages {
            kind,
            checking: (!checks.is_empty()).then(|| Checking::new(checks)),
            pair_by: trial.pair_by.clone(),
            grpc,
            timed: trial.timing == Timing::Stages,
            streams: trial.streaming.is_some(),
            plain: Vec::new(),
            last: Outgoing::default(),
            sizes: Sizes::new(trial.expect.encoding.is_some()),
        })
    }

    /// Whether and when the response to a call is verified. In the warm-up, the first response to each
    /// message is verified. In the measured part, samples are stored for later. A codec that decodes each
    /// response verifies the last one instead.
    #[inline]
    pub(super) fn verifies(&mut self, number: u64, phase: Phase) -> Verify {
        let (now, later) = match &mut self.kind {
            Kind::Prepared { verifier: None, .. } | Kind::Streamed(_) => return Verify::Never,
            Kind::Prepared {
                bodies,
                verifier: Some((_, samples)),
            } => match phase {
                Phase::WarmUp => (number < bodies[0].len() as u64, false),
                _ => (false, samples.take()),
            },
            Kind::PerCall { .. } => (number < 1 && phase == Phase::WarmUp && !self.streams, false),
        };
        match (now, later) {
            (true, _) => Verify::Now,
            (false, true) => Verify::Later,
            (false, false) => Verify::Never,
        }
    }

    /// Begins a slice; one of its responses may become a sample.
    pub(super) fn begin_slice(&mut self) {
        if let Kind::Prepared {
            verifier: Some((_, samples)),
            ..
        } = &mut self.kind
        {
            samples.begin_slice();
        }
    }

    /// Verifies the samples. Nothing may be timed while this runs.
    ///
    /// # Errors
    /// A response is wrong. The error reports the first one.
    pub(super) fn verify_samples(&mut self) -> Result<(), LoadError> {
        match &mut self.kind {
            Kind::Prepared {
                verifier: Some((codec, samples)),
                ..
            } => samples.verify(&mut **codec, &mut self.plain),
            _ => Ok(()),
        }
    }

    /// Verifies the last response, if all responses are decoded. Nothing may be timed while this runs.
    ///
    /// # Errors
    /// The response is wrong.
    pub(super) fn verify_last(&mut self) -> Result<(), LoadError> {
        if let Kind::PerCall {
            codec, unverified, ..
        } = &mut self.kind
            && let Some((call, message)) = unverified.take()
        {
            let wrong = |error| LoadError::WrongResponse { call, error };
            codec.verify(call, message).map_err(wrong)?;
        }
        Ok(())
    }

    /// How many responses to measured calls had their content checked; `None` without such a check.
    pub(super) fn checked_responses(&self) -> Option<u64> {
        self.checking.as_ref().and_then(Checking::of_content)
    }

    /// Whether all responses are decoded, as opposed to only those that are verified.
    pub(super) fn decodes(&self) -> bool {
        matches!(self.kind, Kind::PerCall { .. })
    }

    pub(super) fn keep(&self, call: &Call) -> Keep {
        match &self.checking {
            _ if call.verify != Verify::Never || self.decodes() => Keep::Message,
            _ if self.pair_by.is_some() => Keep::Key,
            Some(checking) => checking.keep(call.mix_call),
            None => Keep::Nothing,
        }
    }

    /// Whether the next call has a body. Only streamed bodies can be missing.
    pub(super) fn next(&mut self) -> Next {
        match &mut self.kind {
            Kind::Streamed(prefetch) => prefetch.next(),
            Kind::Prepared { .. } | Kind::PerCall { .. } => Next::Ready,
        }
    }

    /// Takes the next body if bodies are streamed. The call owns it in case it must be sent again.
    pub(super) fn take_streamed(&mut self) -> Option<Made> {
        match &mut self.kind {
            Kind::Streamed(prefetch) => prefetch.batch.next(),
            Kind::Prepared { .. } | Kind::PerCall { .. } => None,
        }
    }

    /// The request of a call. If bodies are streamed, this is the call's own body.
    pub(super) fn request<'c>(
        &'c mut self,
        call: &'c mut Call,
    ) -> Result<&'c Outgoing, CodecError> {
        let counts = call.measured && call.retries == 0;
        let number = call.number;
        if self.decodes() {
            self.encode(number, &mut call.stamps)?;
        }
        let outgoing = match (&call.body, &self.kind) {
            (Some(own), _) => own,
            (None, Kind::Prepared { bodies, .. }) => {
                let bodies = &bodies[call.mix_call];
                &bodies[(number % bodies.len() as u64) as usize]
            }
            (None, Kind::Streamed(_)) => {
                return lost();
            }
            (None, Kind::PerCall { .. }) => &self.last,
        };
        if counts {
            self.sizes.request(outgoing);
        }
        Ok(outgoing)
    }

    /// Encodes a request into [`Messages::last`].
    #[inline(always)]
    fn encode(&mut self, number: u64, stamps: &mut Stamps) -> Result<(), CodecError> {
        let Kind::PerCall {
            codec, compresses, ..
        } = &mut self.kind
        else {
            return lost();
        };
        let mut body = reclaimed(std::mem::take(&mut self.last.body));
        // Reserves room for the prefix, so that the message is encoded in place. Moving it, which
        // only gRPC would need, would bias comparisons with HTTP.
        let prefix = if self.grpc {
            body.extend_from_slice(&ROOM);
            PREFIX_LENGTH
        } else {
            0
        };
        stamp(self.timed, &mut stamps.encoding);
        let plain = if *compresses {
            self.plain.clear();
            codec.encode(number, &mut self.plain)?;
            stamp(self.timed, &mut stamps.encoded);
            codec.compress(&self.plain, &mut body)?;
            stamp(self.timed, &mut stamps.compressed);
            self.plain.len()
        } else {
            codec.encode(number, &mut body)?;
            stamp(self.timed, &mut stamps.encoded);
            body.len().saturating_sub(prefix)
        };
        let carried = body.len().saturating_sub(prefix);
        if self.grpc {
            write_prefix(&mut body, carried, *compresses)?;
        }
        self.last = Outgoing {
            body: Bytes::from(body),
            plain: plain as u64,
            carried: carried as u64,
            own: None,
            key: None,
        };
        Ok(())
    }

    /// A message of a streaming call after its first one, by its number, and its key.
    pub(super) fn message(
        &mut self,
        number: u64,
        measured: bool,
    ) -> Result<(Bytes, Option<Key>), CodecError> {
        let streamed;
        let outgoing = match &mut self.kind {
            Kind::Prepared { bodies, .. } => &bodies[0][(number % bodies[0].len() as u64) as usize],
            Kind::Streamed(prefetch) => {
                streamed = prefetch.batch.next().unwrap_or_else(lost)?;
                &streamed
            }
            Kind::PerCall { .. } => {
                self.encode(number, &mut Stamps::default())?;
                &self.last
            }
        };
        if measured {
            self.sizes.request(outgoing);
        }
        Ok((outgoing.body.clone(), outgoing.key.clone()))
    }

    /// The key of a message of a response; `None` if it has none.
    pub(super) fn response_key(&self, call: &Call) -> Option<String> {
        self.pair_by.as_ref()?.response_key(&call.response.message)
    }

    /// The fields by which a call's head differs from that of the trial.
    #[cold]
    pub(super) fn own_fields<'c>(&'c self, call: &'c Call) -> &'c [(String, String)] {
        let outgoing = match (&call.body, &self.kind) {
            (Some(own), _) => Some(own),
            (None, Kind::Prepared { bodies, .. }) => {
                let bodies = &bodies[call.mix_call];
                bodies.get((call.number % bodies.len() as u64) as usize)
            }
            (None, Kind::Streamed(_) | Kind::PerCall { .. }) => None,
        };
        let own = outgoing.and_then(|outgoing| outgoing.own.as_ref());
        own.map_or(&[], |own| &own.fields)
    }

    /// Checks or decodes the message of a call's successful response, which arrived at `read_at` (ns), and
    /// counts its size. Returns when the call ended.
    ///
    /// Inlined for unary calls, like what it calls.
    #[inline(always)]
    pub(super) fn read(&mut self, call: &mut Call, read_at: u64) -> (u64, Result<(), Unread>) {
        if let Some(checking) = &mut self.checking
            && let Err(refused) = checking.check(call)
        {
            return (read_at, Err(refused));
        }
        let plain = self.decode(call, 0);
        let decodes = self.decodes();
        let done = if decodes && call.stamps.decoded != 0 {
            call.stamps.decoded
        } else if decodes || self.timed {
            clock::now()
        } else {
            read_at
        };
        (done, plain.map(|plain| self.sizes.response(call, plain)))
    }

    /// Like [`Messages::read`], for message number `message` of a stream. Returns when it was decoded or, if messages are
    /// not decoded, `read_at`.
    #[inline(never)]
    pub(super) fn read_of_stream(
        &mut self,
        call: &mut Call,
        message: u64,
        read_at: u64,
    ) -> (u64, Result<(), Unread>) {
        if let Some(checking) = &mut self.checking
            && let Err(refused) = checking.check(call)
        {
            return (read_at, Err(refused));
        }
        let plain = self.decode(call, message);
        let read = plain.map(|plain| self.sizes.response(call, plain));
        (self.decoded_at(read_at), read)
    }

    /// When a response that was read at `read_at` (ns) and has just been decoded is complete.
    pub(super) fn decoded_at(&self, read_at: u64) -> u64 {
        if self.decodes() {
            clock::now()
        } else {
            read_at
        }
    }

    /// Decodes or samples a response's message, if it is due. Returns its uncompressed length, if known.
    #[inline(always)]
    fn decode(&mut self, call: &mut Call, message: u64) -> Result<Option<u64>, Unread> {
        let compressed = call.response.is_compressed();
        let (codec, unverified) = match &mut self.kind {
            Kind::PerCall {
                codec, unverified, ..
            } => {
                *unverified = None;
                (codec, Some(unverified))
            }
            Kind::Prepared {
                verifier: Some((codec, _)),
                ..
            } if call.verify == Verify::Now => (codec, None),
            Kind::Prepared {
                verifier: Some((_, samples)),
                ..
            } if call.verify == Verify::Later => {
                samples.keep(call);
                return Ok((!compressed).then_some(call.response.carried));
            }
            Kind::Prepared { .. } | Kind::Streamed(_) => {
                return Ok((!compressed).then_some(call.response.carried));
            }
        };
        let (response, stamps) = (&call.response, &mut call.stamps);
        let plain = if compressed {
            self.plain.clear();
            codec
                .decompress(&response.message, &mut self.plain)
                .map_err(|error| Unread::Failed(FailureKind::Decompress, error))?;
            stamp(self.timed, &mut stamps.decompressed);
            self.plain.as_slice()
        } else {
            response.message.as_slice()
        };
        codec
            .decode(plain)
            .map_err(|error| Unread::Failed(FailureKind::Decode, error))?;
        stamp(self.timed, &mut stamps.decoded);
        if call.verify == Verify::Now {
            codec.verify(call.number, message).map_err(Unread::Wrong)?;
        } else if let Some(unverified) = unverified {
            *unverified = Some((call.number, message));
        }
        Ok(Some(plain.len() as u64))
    }
}

fn lost<T>() -> Result<T, CodecError> {
    Err(CodecError("the call has lost its body".to_owned()))
}

fn stamp(timed: bool, stamp: &mut u64) {
    if timed {
        *stamp = clock::now();
    }
}

/// Writes gRPC's prefix into the space reserved for it.
fn write_prefix(body: &mut [u8], length: usize, compressed: bool) -> Result<(), CodecError> {
    let length =
        u32::try_from(length).map_err(|_| CodecError(MessageTooLong(length).to_string()))?;
    let Some(prefix) = body.first_chunk_mut().filter(|room| **room == ROOM) else {
        return Err(CodecError(
            "the codec overwrote earlier output: it must only append".to_owned(),
        ));
    };
    prefix[0] = u8::from(compressed);
    prefix[1..].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Returns the emptied memory of a body if nothing else refers to it; otherwise new memory.
fn reclaimed(body: Bytes) -> Vec<u8> {
    let mut memory = body.try_into_mut().map(Vec::from).unwrap_or_default();
    memory.clear();
    memory
}

#[cfg(test)]
mod tests;
