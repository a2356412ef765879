//! Request bodies: prepared before calls are timed, or encoded by a codec while they are timed.

use std::fmt;

use rpcgauge_trial::FailureKind;

/// Why a codec failed, on one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(pub String);

/// Encodes requests and decodes responses on the calling thread. Its time is part of a call's latency.
///
/// Each call goes through `encode`, `compress` (if [`Codec::compresses`]) and, once the response has arrived,
/// `decompress` (if the response is marked as compressed) and `decode`. Some warm-up calls also go through
/// `verify`. A sample of the measured responses is verified after a slice or at the end, which is not timed.
/// None of these bytes include gRPC's message prefix.
///
/// Each message of a streaming call goes through the same steps, with a number of its own: the messages that a call
/// sends are numbered on from the number of the call, which is that of its first message.
///
/// A retried call is encoded and compressed again, and that time is included like the rest of the retry.
/// Storing the bytes of every call for the sake of a few retries would slow down all the others.
pub trait Codec {
    /// Appends request message number `number` (0 is that of the first warm-up call) to `out`. `out` may
    /// already contain bytes that are sent before the message; they must be preserved. Its memory is reused
    /// from call to call. The same number must always produce the same message.
    ///
    /// # Errors
    /// The call fails with kind `encode`.
    fn encode(&mut self, number: u64, out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Whether requests are compressed. Called once, at the start.
    fn compresses(&self) -> bool {
        false
    }

    /// Appends the compressed request to `out`, which may already contain bytes that are sent before it.
    ///
    /// # Errors
    /// The call fails with kind `encode`.
    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(plain);
        Ok(())
    }

    /// Decompresses a response into `out`, which is empty. The compression is [`crate::Expect::encoding`].
    ///
    /// # Errors
    /// The call fails with kind `decompress`.
    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Decodes a response's message.
    ///
    /// # Errors
    /// The call fails with kind `decode`.
    fn decode(&mut self, plain: &[u8]) -> Result<(), CodecError>;

    /// Compares the last decoded response with the expected one for call number `call`. Of a streaming call, it is
    /// message number `message`, from 0.
    ///
    /// # Errors
    /// The trial fails, because the latency of wrong responses is meaningless.
    fn verify(&mut self, call: u64, message: u64) -> Result<(), CodecError>;
}

/// Checks responses that are not decoded: the first one, and then as many as fit into 1% of the time. Once a
/// response has failed its check, all later ones are checked.
pub struct ResponseCheck<'a> {
    /// Which responses to check.
    pub of: Checked,
    /// Returns an error if a response is wrong.
    pub check: MessageCheck<'a>,
}

/// Returns the kind of failure and an error if a message is wrong.
pub type MessageCheck<'a> =
    Box<dyn FnMut(ToCheck<'_>) -> Result<(), (FailureKind, CodecError)> + 'a>;

/// Pairs the responses of a bidirectional stream with its messages: both have the same key. The messages are as carried,
/// without gRPC's prefix. They must not be compressed.
pub trait PairBy: fmt::Debug + Send + Sync {
    /// The key of a message. It is read before the call, from the body as it will be sent.
    ///
    /// # Errors
    /// It has none. Of bodies that are prepared in advance, the trial fails. Otherwise, the call or message does, with
    /// kind `encode`.
    fn request_key(&self, message: &[u8]) -> Result<String, CodecError>;

    /// The key of a response; `None` if it is not a response to a message.
    fn response_key(&self, message: &[u8]) -> Option<String>;
}

/// A response's message to check.
#[derive(Debug, Clone, Copy)]
pub struct ToCheck<'a> {
    /// The message as carried.
    pub carried: &'a [u8],
    /// Whether it is compressed.
    pub compressed: bool,
}

/// Which responses are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// Compressed responses.
    Compressed,
    /// All responses.
    All,
}

/// A request body that was prepared in advance, and what differs in the head of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The message as carried: encoded, and compressed if `compressed`, but without gRPC's prefix.
    pub bytes: Vec<u8>,
    /// Whether `bytes` is compressed.
    pub compressed: bool,
    /// Length of the message before compression, bytes.
    pub plain_len: u64,
    /// Header fields of this request alone. They follow those that all requests share.
    pub fields: Vec<(String, String)>,
}

/// Generates request bodies.
pub type BodyIterator = Box<dyn Iterator<Item = Result<Body, CodecError>> + Send>;

/// The bodies of a call of a mix.
pub enum MixBodies {
    /// At least one body; used in rotation.
    Prepared(Vec<Body>),
    /// Bodies that are each used once.
    Streamed(BodyIterator),
}

/// The source of request bodies, which also determines how responses are treated.
pub enum Bodies<'a> {
    /// Bodies that were prepared in advance and are used in rotation. The status, headers and length of a
    /// response are examined, but it is not decoded.
    Prepared {
        /// At least one body.
        bodies: Vec<Body>,
        /// Verifies the first responses of the warm-up, one for each body. Also verifies up to 32 responses
        /// of the measured part (16 MiB), which are stored until it is over. In a session, each of these is
        /// the first response of a slice, whose call is excluded from the figures.
        verifier: Option<&'a mut dyn Codec>,
    },
    /// Bodies that a separate thread generates ahead of the calls, each used once. Use this for more bodies
    /// than fit into memory. Responses are treated as with prepared bodies. At most about 18 MiB of bodies
    /// are buffered, or 18 bodies if each is larger than 1 MiB. The trial begins once the buffer is full, the
    /// iterator has ended, or one second has passed.
    ///
    /// If no body is ready for a call when it is due, the call waits and is counted in
    /// [`rpcgauge_trial::TrialFigures::bodies_late`]. The figures then reflect the iterator's speed, not the server's.
    /// If an item is an error, its call fails with kind `encode`. The trial is complete when the iterator
    /// ends. After the trial, the thread still finishes the bodies that it is generating.
    Streamed(BodyIterator),
    /// The bodies of each call of [`crate::Trial::mix`]. If all are prepared, this is like
    /// [`Bodies::Prepared`]; otherwise one thread generates all of them, as for [`Bodies::Streamed`].
    Mixed(Vec<MixBodies>),
    /// Each call encodes and decodes, and both are timed. The first response of the warm-up is verified, as
    /// is the last response of each slice and of the trial. For streaming calls, the first one is
    /// not.
    PerCall(&'a mut dyn Codec),
}
