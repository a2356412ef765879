//! Serves a workload on bytes: takes the bytes of a request, returns the bytes of the response and the
//! handler's marks.
//!
//! Both protocols pass the body of a call to this module; framing, headers and statuses, in which they differ,
//! stay in [`crate::grpc`] and [`crate::rest`].

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

/// A workload, its settings, and state that is reused between calls. Each serving thread has its own, so its
/// lock is never contended.
pub(crate) struct Service {
    pub(crate) workload: Workload,
    /// gRPC methods besides the workload's.
    pub(crate) methods: Methods,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    /// The memory budget for waiting calls.
    pub(crate) ledger: Arc<Ledger>,
    /// Server reflection, if it is offered.
    pub(crate) reflected: Option<ReflectionServer>,
    /// How responses are compressed for a client that accepts it.
    pub(crate) response_compression: Compression,
    /// The encoding that a content type stands for if several encodings share it.
    pub(crate) encoding: Encoding,
    /// Whether successful responses carry the handler's marks.
    marks: bool,
    /// How long the handler spins before it returns: for comparing the server with one that is slower by a
    /// known time.
    handler_spin: Duration,
    /// The last `accept` header of REST clients.
    pub(crate) accepted: Accepted,
    kept: Mutex<Kept>,
}

/// One call's body and what to do with it.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The request's bytes as received.
    pub(crate) request: &'a [u8],
    /// The compression of the request.
    pub(crate) request_compression: Compression,
    /// The encoding of the request.
    pub(crate) request_encoding: Encoding,
    /// The response's encoding.
    pub(crate) response_encoding: Encoding,
    /// Whether to compress the response with [`Service::response_compression`].
    pub(crate) compress_response: bool,
    /// How many zero bytes to put before the response's bytes, for the protocol's framing.
    pub(crate) prefix_bytes: usize,
}

/// A successful call's response.
pub(crate) struct CallResponse {
    /// The prefix, then the encoded and compressed response.
    pub(crate) bytes: Vec<u8>,
    /// The handler's times, if responses carry marks.
    pub(crate) marks: Option<Marks>,
}

/// Why a call has no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The request cannot be decompressed or decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The workload has no response to this request.
    #[error(transparent)]
    BadRequest(#[from] BadRequest),
    /// The response cannot be encoded or compressed.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// There is no memory for the response.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

impl CallError {
    /// Whether the request is larger, or expands to more, than is accepted. One that nests too deep does not
    /// count: a smaller request would not help.
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
    /// The lengths of the last uncompressed and compressed response. Most workloads' responses are alike, so
    /// that the buffer of the next one is allocated in one step.
    last_response_bytes: usize,
    last_compressed_bytes: usize,
}

/// The variable that `make bench-sharp` sets for one of two servers that it compares: nanoseconds of work
/// before each response.
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
    /// A service of a workload, with everything else from the settings. Fails if the compression level does not
    /// exist, or a compressor cannot be created.
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
            accepted: Accepted::default(),
            kept: Mutex::new(kept),
        })
    }

    /// The encoding of the response if the content type stands for `encoding`.
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
        let plain = kept.decompress(call.request, call.request_compression)?;
        let request =
            self.workload
                .request_type()
                .decode(plain, call.request_encoding, &self.limits)?;
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

    /// Returns a request's bytes decompressed, for a method that decodes them itself.
    pub(crate) fn decompress(
        &self,
        request: &[u8],
        compression: Compression,
    ) -> Result<Vec<u8>, CallError> {
        let mut kept = self.kept();
        Ok(kept.decompress(request, compression)?.to_vec())
    }

    /// A response's bytes with their share of the budget, until they have been sent.
    pub(crate) fn charged(&self, bytes: Vec<u8>) -> Result<Piece, CallError> {
        Ok(Piece::charged(bytes, &self.ledger)?)
    }

    /// Returns zero bytes for a prefix, then an encoded response, compressed or not.
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
        // Every call overwrites what it uses, so an interrupted call leaves no damage.
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
    /// Returns a request's bytes decompressed.
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

    /// Returns the prefix and the response's bytes.
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
