//! What calls carry: bodies made ready before the clock starts, or a codec that works inside it.

use rpcgauge_trial::FailureKind;

/// Why a codec failed, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(pub String);

/// Makes requests and reads responses, on the calling thread and inside the clock.
///
/// Each call goes through `encode`, `compress` (where [`Codec::compresses`]), then, once the response
/// is there, `decompress` (where the response says that it is compressed), `decode`, and for the
/// calls that are verified `verify`. A sample of the measured responses is verified outside the clock:
/// after a slice, or at the end. gRPC's message prefix is not part of any of these bytes.
///
/// A call that is sent again is encoded and compressed again, inside its clock like all that a
/// retry takes: keeping every call's bytes for the few that are retried would cost the others.
pub trait Codec {
    /// Appends the request message of the `call`-th call (0 is the first of the warm-up) to `out`,
    /// which may hold what is sent before it, and whose memory is kept from call to call. What it
    /// holds must stay. Asked again for the same call, it must make the same.
    ///
    /// # Errors
    /// The call fails as `encode`.
    fn encode(&mut self, call: u64, out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Whether requests are compressed. Asked once, at the start.
    fn compresses(&self) -> bool {
        false
    }

    /// Appends a request, compressed, to `out`, which may hold what is sent before it.
    ///
    /// # Errors
    /// The call fails as `encode`.
    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(plain);
        Ok(())
    }

    /// Restores a compressed response into `out`, which is empty. Its encoding is [`crate::Expect::encoding`].
    ///
    /// # Errors
    /// The call fails as `decompress`.
    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Reads a response's message.
    ///
    /// # Errors
    /// The call fails as `decode`.
    fn decode(&mut self, plain: &[u8]) -> Result<(), CodecError>;

    /// Compares the last decoded response with the right one for the `call`-th call.
    ///
    /// # Errors
    /// The trial ends: a wrong response's time means nothing.
    fn verify(&mut self, call: u64) -> Result<(), CodecError>;
}

/// Checks responses that are not decoded: the first one, then as many as fit into a hundredth of the time, and all
/// after the first one that it refuses.
pub struct ResponseCheck<'a> {
    /// Which responses.
    pub of: Checked,
    /// Says what is wrong with one.
    pub check: MessageCheck<'a>,
}

/// Says what is wrong with a message as carried.
pub type MessageCheck<'a> = Box<dyn FnMut(&[u8]) -> Result<(), CodecError> + 'a>;

/// Which responses are checked, and the kind of failure of a refused one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// Those that come compressed; as [`FailureKind::Decompress`].
    Compressed,
    /// All of them; as [`FailureKind::Decode`].
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

/// Where request bodies come from and what becomes of responses.
pub enum Bodies<'a> {
    /// Bodies made in advance, used in turn. Responses are checked by status and headers and
    /// counted, not decoded.
    Prepared {
        /// At least one body.
        bodies: Vec<Body>,
        /// Verifies the first responses of the warm-up, one for each body, and up to 32 responses of the
        /// measured part (16 MiB), which are kept until it is over. In a session each is the first one of
        /// a slice, which is left out of the figures.
        verifier: Option<&'a mut dyn Codec>,
    },
    /// Made ahead of the calls on its own thread, each used once: for more than memory holds.
    /// Responses are treated as those to prepared bodies. About 18 MiB of bodies are held at
    /// most, or 18 bodies where each is larger than 1 MiB. The trial begins when that many are ready,
    /// the iterator has ended, or a second has passed.
    ///
    /// A call for which no body is ready when it is due waits, and is counted in
    /// [`crate::Measurement::bodies_late`]: the figures then show the iterator and not the server.
    /// An item that is an error fails its call as `encode`. When the iterator ends, the trial is
    /// complete. The thread outlives the trial until its next bodies are made.
    Streamed(Box<dyn Iterator<Item = Result<Body, CodecError>> + Send>),
    /// Encoded and decoded inside each call. The first response of the warm-up is verified, and the last
    /// one of each slice and of the trial.
    PerCall(&'a mut dyn Codec),
}
