//! Request bodies: prepared before calls are timed, or made by a codec while they are timed.

use rpcgauge_trial::FailureKind;

/// Why a codec failed, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(pub String);

/// Makes requests and reads responses on the calling thread. Its time is part of a call's latency.
///
/// Each call goes through `encode`, `compress` (if [`Codec::compresses`]) and, once the response has arrived,
/// `decompress` (if the response says that it is compressed) and `decode`. Some calls of the warm-up also go
/// through `verify`. A sample of the measured responses is verified after a slice or at the end, which is not
/// timed. gRPC's message prefix is not part of any of these bytes.
///
/// A retried call is encoded and compressed again, which is timed like the rest of the retry: keeping every
/// call's bytes for the few retries would slow the other calls.
pub trait Codec {
    /// Appends the request message of call number `call` (0 is the first of the warm-up) to `out`. `out` may
    /// already hold bytes that are sent before it, and those must stay; its memory is reused from call to
    /// call. The same number must always give the same message.
    ///
    /// # Errors
    /// The call fails as `encode`.
    fn encode(&mut self, call: u64, out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Whether requests are compressed. Called once, at the start.
    fn compresses(&self) -> bool {
        false
    }

    /// Appends the compressed request to `out`, which may already hold bytes that are sent before it.
    ///
    /// # Errors
    /// The call fails as `encode`.
    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(plain);
        Ok(())
    }

    /// Decompresses a response into `out`, which is empty. Its encoding is [`crate::Expect::encoding`].
    ///
    /// # Errors
    /// The call fails as `decompress`.
    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Reads a response's message.
    ///
    /// # Errors
    /// The call fails as `decode`.
    fn decode(&mut self, plain: &[u8]) -> Result<(), CodecError>;

    /// Compares the last decoded response with the right one for call number `call`.
    ///
    /// # Errors The trial ends: the latency of a wrong response means nothing.
    fn verify(&mut self, call: u64) -> Result<(), CodecError>;
}

/// Checks responses that are not decoded: the first one, then as many as take 1% of the time, and all of them
/// once one was refused.
pub struct ResponseCheck<'a> {
    /// Which responses are checked.
    pub of: Checked,
    /// Returns an error if a response is wrong.
    pub check: MessageCheck<'a>,
}

/// Returns an error if a message, as carried, is wrong.
pub type MessageCheck<'a> = Box<dyn FnMut(&[u8]) -> Result<(), CodecError> + 'a>;

/// Which responses are checked, and how a refused one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// Compressed responses; they fail as [`FailureKind::Decompress`].
    Compressed,
    /// All responses; they fail as [`FailureKind::Decode`].
    All,
}

impl Checked {
    pub(crate) fn fails_as(self) -> FailureKind {
        match self {
            Self::Compressed => FailureKind::Decompress,
            Self::All => FailureKind::Decode,
        }
    }
}

/// A request body made in advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The message as carried: encoded, and compressed if `compressed`; without gRPC's prefix.
    pub bytes: Vec<u8>,
    /// Whether `bytes` is compressed.
    pub compressed: bool,
    /// The message's length before compression, bytes.
    pub plain_len: u64,
}

/// Where request bodies come from, and how responses are treated.
pub enum Bodies<'a> {
    /// Bodies made in advance, used in turn. Responses are checked by status and headers and
    /// counted, not decoded.
    Prepared {
        /// At least one body.
        bodies: Vec<Body>,
        /// Verifies the first responses of the warm-up, one for each body, and up to 32 responses of the
        /// measured part (16 MiB), which are kept until it is over. In a session each is the first response
        /// of a slice, whose call is left out of the figures.
        verifier: Option<&'a mut dyn Codec>,
    },
    /// Bodies that a thread of its own makes ahead of the calls, each used once: for more bodies than memory
    /// holds. Responses are treated as with prepared bodies. At most about 18 MiB of bodies are held, or 18
    /// bodies if each is larger than 1 MiB. The trial begins once that many are ready, the iterator has
    /// ended, or a second has passed.
    ///
    /// A call for which no body is ready when it is due waits, and is counted in
    /// [`crate::Measurement::bodies_late`]: the figures then show the iterator's speed and not the server's.
    /// An item that is an error fails its call as `encode`. When the iterator ends, the trial is complete.
    /// After the trial, the thread still finishes the bodies that it is making.
    Streamed(Box<dyn Iterator<Item = Result<Body, CodecError>> + Send>),
    /// Each call encodes and decodes, which is timed. The first response of the warm-up is verified, and the
    /// last one of each slice and of the trial.
    PerCall(&'a mut dyn Codec),
}
