//! Serves a workload at the level of bytes: accepts a request's bytes, and returns the response's bytes and
//! the handler's marks.
//!
//! Both protocols pass the body of a call to this module. Framing, headers and statuses differ, and stay
//! in [`crate::grpc`] and [`crate::rest`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rpcgauge_message::error::{DecodeError, EncodeError};
use rpcgauge_message::reflection::ReflectionServer;
use rpcgauge_message::workload::BadRequest;
use rpcgauge_message::{
    BrokenLimit, Compression, Compressor, Decompressor, Encoding, Limits, Message, Workload,
};

use crate::body::Piece;
use crate::budget::{Exhausted, Ledger};
use crate::grpc::method::Methods;
use crate::marks::Marks;
use crate::rest::negotiation::Accepted;
use crate::settings::ServerOptions;
use crate::timeouts::Timeouts;

/// A workload, its settings, and state that is reused between calls. Each serving thread has its own service,
/// so the lock is never contended.
pub(crate) struct Service {
    pub(crate) workload: Workload,
    /// gRPC methods in addition to the workload's.
    pub(crate) methods: Methods,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    /// This thread's part of the memory budget for calls.
    pub(crate) ledger: Arc<Ledger>,
    /// Server reflection, if enabled.
    pub(crate) reflected: Option<ReflectionServer>,
    /// How responses are compressed for clients that accept it.
    pub(crate) response_compression: Compression,
    /// The encoding to use if several share a content type.
    pub(crate) encoding: Encoding,
    /// Whether successful responses include the handler's marks.
    marks: bool,
    /// How long the handler spins before it returns. Used to compare the server with one that is slower by a
    /// known time.
    handler_spin: Duration,
    /// The number of messages in a server's stream.
    pub(crate) messages: u32,
    /// Whether REST clients may ask for a stream.
    pub(crate) streams_over_rest: bool,
    /// The last `accept` header of REST clients, and what was chosen for it.
    pub(crate) accepted: Accepted,
    kept: Mutex<Kept>,
}

/// One call's body and how to process it.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The request's bytes as received.
    pub(crate) request: &'a [u8],
    /// The compression of the request.
    pub(crate) request_compression: Compression,
    /// The encoding of the request.
    pub(crate) request_encoding: Encoding,
    /// The encoding of the response.
    pub(crate) response_encoding: Encoding,
    /// Whether to compress the response with [`Service::response_compression`].
    pub(crate) compress_response: bool,
    /// Number of zero bytes to insert before the response's bytes, for the protocol's framing.
    pub(crate) prefix_bytes: usize,
}

/// A successful call's response.
pub(crate) struct CallResponse {
    /// The prefix, followed by the encoded and optionally compressed response.
    pub(crate) bytes: Vec<u8>,
    /// The handler's times, if marks are enabled.
    pub(crate) marks: Option<Marks>,
}

/// Why a call has no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The request cannot be decompressed or decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The workload does not define a response to this request.
    #[error(transparent)]
    BadRequest(#[from] BadRequest),
    /// The response cannot be encoded or compressed.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The budget has no room for the call.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

impl CallError {
    /// Whether the request is larger, or expands to more, than this server accepts. A request that is nested
    /// too deeply is not included, because a smaller one would not help.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(
            self,
            Self::Decode(DecodeError::Limit(
                BrokenLimit::MessageBytes(_) | BrokenLimit::Memory(_) | BrokenLimit::Inflation(_)
            ))
        )
    }
}

/// Contexts and buffers that are allocated once and reused between calls.
struct Kept {
    gzip: Decompressor,
    zstd: Decompressor,
    compressor: Compressor,
    decompressed: Vec<u8>,
    encoded: Vec<u8>,
    /// Lengths of the last uncompressed and compressed response. In most workloads, responses have similar
    /// lengths, so the next buffer is allocated in one step.
    last_response_bytes: usize,
    last_compressed_bytes: usize,
}

/// The variable that `make bench-sharp` sets for one of the two servers it compares. Its value is how long to
/// spin before each response, ns.
const HANDLER_SPIN: &str = "RPCGAUGE_HANDLER_SPIN_NS";

fn handler_spin() -> Duration {
    let set = std::env::var(HANDLER_SPIN).ok();
    Duration::from_nanos(set.and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

fn spin(time: Duration) {
    if !time.is_zero() {
        let began = Instant::now();
        while began.elapsed() < time {
            std::hint::spin_loop();
        }
    }
}

impl Service {
    /// Creates a service for a workload; everything else comes from the settings. Fails if the compression
    /// level is invalid, or a compressor cannot be created.
    pub(crate) fn new(
        workload: Workload,
        methods: Methods,
        settings: &ServerOptions,
        ledger: Arc<Ledger>,
    ) -> Result<Self, CallError> {
        let limits = settings.limits;
        let kept = Kept {
            gzip: Decompressor::new(Compression::GZIP, limits)?,
            zstd: Decompressor::new(Compression::ZSTD, limits)?,
            compressor: Compressor::new(settings.response_compression)?,
            decompressed: Vec::new(),
            encoded: Vec::new(),
            last_response_bytes: 0,
            last_compressed_bytes: 0,
        };
        let reflected = settings.reflection.then(|| reflected(&workload));
        Ok(Self {
            workload,
            methods,
            reflected,
            limits,
            timeouts: settings.timeouts,
            ledger,
            response_compression: settings.response_compression,
            encoding: settings.encoding,
            marks: settings.marks,
            handler_spin: handler_spin(),
            messages: settings.messages(),
            streams_over_rest: settings.streams_over_rest(),
            accepted: Accepted::default(),
            kept: Mutex::new(kept),
        })
    }

    /// The encoding of the response to a request whose content type stands for `encoding`.
    pub(crate) fn named_as_set(&self, encoding: Encoding) -> Encoding {
        if encoding.is_json() && self.encoding.is_json() {
            self.encoding
        } else {
            encoding
        }
    }

    /// Decodes, handles and encodes one call.
    pub(crate) fn call(&self, call: &Call<'_>) -> Result<CallResponse, CallError> {
        let mut kept = self.kept();
        let request = kept.request(&self.workload, call, &self.limits)?;
        let handler = || {
            spin(self.handler_spin);
            self.workload.respond(&request)
        };
        let (response, marks) = if self.marks {
            let (response, marks) = Marks::around(handler);
            (response, Some(marks))
        } else {
            (handler(), None)
        };
        let bytes = kept.encode(&response?, call)?;
        Ok(CallResponse { bytes, marks })
    }

    /// Decodes the request of a call.
    pub(crate) fn request(&self, call: &Call<'_>) -> Result<Message, CallError> {
        Ok(self.kept().request(&self.workload, call, &self.limits)?)
    }

    /// Handles a request, and encodes the response with this number, from 0, in a stream.
    pub(crate) fn nth_response(
        &self,
        request: &Message,
        number: u64,
        agreed: &Call<'_>,
    ) -> Result<Vec<u8>, CallError> {
        spin(self.handler_spin);
        let response = self.workload.respond_nth(request, number)?;
        Ok(self.kept().encode(&response, agreed)?)
    }

    /// Decompresses a request, for a method that decodes it itself.
    pub(crate) fn decompress(
        &self,
        request: &[u8],
        compression: Compression,
    ) -> Result<Vec<u8>, CallError> {
        let mut kept = self.kept();
        Ok(kept.decompress(request, compression)?.to_vec())
    }

    /// Charges a response's bytes to the budget until they have been sent.
    pub(crate) fn charged(&self, bytes: Vec<u8>) -> Result<Piece, CallError> {
        Ok(Piece::charged(bytes, &self.ledger)?)
    }

    /// Returns zero bytes for a prefix, followed by an encoded response, compressed if `compress` is set.
    pub(crate) fn compress(
        &self,
        encoded: &[u8],
        compress: bool,
        prefix_bytes: usize,
    ) -> Result<Vec<u8>, CallError> {
        let mut bytes = vec![0; prefix_bytes];
        if compress {
            self.kept().compressor.compress(encoded, &mut bytes)?;
        } else {
            bytes.extend_from_slice(encoded);
        }
        Ok(bytes)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Every call overwrites the state that it uses, so a panic during a call leaves no damage.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Server reflection for a workload's service.
fn reflected(workload: &Workload) -> ReflectionServer {
    let path = workload.method_path().trim_start_matches('/');
    let service = path.split('/').next().map(str::to_owned);
    ReflectionServer::new(workload.schema(), service)
}

impl Kept {
    /// Decompresses and decodes the request of a call.
    fn request(
        &mut self,
        workload: &Workload,
        call: &Call<'_>,
        limits: &Limits,
    ) -> Result<Message, DecodeError> {
        let plain = self.decompress(call.request, call.request_compression)?;
        let request_type = workload.request_type();
        request_type.decode(plain, call.request_encoding, limits)
    }

    /// Returns a request's bytes, decompressed.
    fn decompress<'a>(
        &'a mut self,
        request: &'a [u8],
        compression: Compression,
    ) -> Result<&'a [u8], DecodeError> {
        let decompressor = match compression {
            Compression::None => return Ok(request),
            Compression::Gzip { .. } => &mut self.gzip,
            Compression::Zstd { .. } => &mut self.zstd,
        };
        decompressor.decompress(request, &mut self.decompressed)?;
        Ok(&self.decompressed)
    }

    /// Returns the prefix followed by the response's bytes.
    fn encode(&mut self, response: &Message, call: &Call<'_>) -> Result<Vec<u8>, EncodeError> {
        let last_bytes = if call.compress_response {
            &mut self.last_compressed_bytes
        } else {
            &mut self.last_response_bytes
        };
        let mut bytes = Vec::with_capacity(call.prefix_bytes + *last_bytes);
        bytes.resize(call.prefix_bytes, 0);
        if call.compress_response {
            self.encoded.clear();
            response.encode(call.response_encoding, &mut self.encoded)?;
            self.compressor.compress(&self.encoded, &mut bytes)?;
        } else {
            response.encode(call.response_encoding, &mut bytes)?;
        }
        *last_bytes = bytes.len() - call.prefix_bytes;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_over_a_bound_of_size_is_too_large() {
        for (limit, is_too_large) in [
            (BrokenLimit::MessageBytes(1), true),
            (BrokenLimit::Memory(1), true),
            (BrokenLimit::Inflation(1), true),
            (BrokenLimit::Depth(1), false),
        ] {
            let error = CallError::from(DecodeError::Limit(limit));
            assert_eq!(error.is_too_large(), is_too_large, "{limit}");
        }
    }
}
