//! Makes one unary gRPC call with the engine's client, over its own socket.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rpcgauge_message::{
    BrokenLimit, Compression, Compressor, DecodeError, Decompressor, Encoding, Limits, content_type,
};
use rpcgauge_wire::grpc::{self, Code, StatusSource, UnaryResponse};
use rpcgauge_wire::{Client, Event, Failure, Fields, Head, Protocol};

use crate::tls::{ClientTls, Stream};

/// The only call on its connection.
const TOKEN: rpcgauge_wire::Token = 0;

/// A call that does not end within this time fails; every call of the suites ends far earlier.
const PATIENCE: Duration = Duration::from_secs(20);

/// Names and values, in order.
pub(crate) type Metadata = Vec<(String, String)>;

/// A call to be made.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// TLS, if the server uses it.
    pub(crate) tls: Option<ClientTls>,
    /// `/package.Service/Method`.
    pub(crate) path: &'a str,
    pub(crate) metadata: Metadata,
    /// The encoding of the request and the response.
    pub(crate) encoding: Encoding,
    /// The encoded request.
    pub(crate) message: &'a [u8],
    /// The compression of the request, which the response may use too.
    pub(crate) compression: Compression,
    /// The call's deadline, from its start.
    pub(crate) timeout: Option<Duration>,
    /// When the client cancels the call, from its start.
    pub(crate) cancel_after: Option<Duration>,
    /// The maximum size of a message in bytes, both as received and decompressed.
    pub(crate) max_message_bytes: u32,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) code: Code,
    /// The server's message, or the client's.
    pub(crate) text: String,
    pub(crate) initial_metadata: Metadata,
    pub(crate) trailing_metadata: Metadata,
    /// The response, decompressed. Empty if the call failed.
    pub(crate) message: Vec<u8>,
}

/// Why a call could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Head(#[from] rpcgauge_wire::PrepareError),
    #[error(transparent)]
    Start(#[from] rpcgauge_wire::StartError),
    #[error(transparent)]
    Compress(#[from] rpcgauge_message::EncodeError),
    #[error(transparent)]
    Message(#[from] grpc::MessageTooLong),
}

impl Call<'_> {
    /// Makes the call on its own connection and waits for its end.
    pub(crate) fn make(&self) -> Result<Ended, CallError> {
        let (head, body) = (self.head()?, self.body()?);
        let mut client = Client::new(Protocol::Http2, rpcgauge_wire::Limits::default());
        client.start(&head, &body, TOKEN)?;
        let mut response = Response::new(self.subtype(), self.max_message_bytes);
        let failed = match self.exchange(&mut client, &mut response) {
            Ok(given_up) => given_up.map(GivenUp::status),
            Err(error) => Some((Code::UNAVAILABLE, error.to_string())),
        };
        Ok(response.end(failed))
    }

    fn head(&self) -> Result<Head, CallError> {
        let authority = format!("{}:{}", self.host, self.port);
        let mut head = grpc::head(self.path, &authority, self.subtype())
            .field("user-agent", "rpcgauge-conformance");
        if !self.compression.is_none() {
            head = head
                .field("grpc-encoding", self.compression.coding())
                .field("grpc-accept-encoding", self.compression.coding());
        }
        if let Some(timeout) = self.timeout {
            head = head.field("grpc-timeout", grpc::encode_timeout(timeout));
        }
        let head = self
            .metadata
            .iter()
            .fold(head, |head, (name, value)| head.field(name, value));
        Ok(head.build()?)
    }

    /// The content-subtype for the encoding.
    fn subtype(&self) -> Option<&'static str> {
        content_type::grpc(self.encoding).strip_prefix("application/grpc+")
    }

    fn body(&self) -> Result<Bytes, CallError> {
        if self.compression.is_none() {
            return Ok(grpc::frame_message(self.message, false)?);
        }
        let mut compressed = Vec::new();
        Compressor::new(self.compression)?.compress(self.message, &mut compressed)?;
        Ok(grpc::frame_message(&compressed, true)?)
    }

    /// Transfers bytes both ways until the call has ended or its time is up; bytes that arrive after that are
    /// ignored.
    fn exchange(
        &self,
        client: &mut Client,
        response: &mut Response,
    ) -> io::Result<Option<GivenUp>> {
        let begin = Instant::now();
        let mut stream = Stream::connect((self.host, self.port), self.tls.as_ref(), PATIENCE)?;
        let mut buffer = vec![0; 64 * 1024];
        while !response.has_ended {
            send(client, &mut stream)?;
            let (time, _) = self.time_left(begin.elapsed());
            // Zero would mean no limit.
            stream.set_read_timeout(Some(time.max(Duration::from_micros(1))))?;
            let read = stream.read(&mut buffer);
            match (self.time_left(begin.elapsed()), read) {
                ((Duration::ZERO, given_up), _) => {
                    client.cancel(TOKEN);
                    send(client, &mut stream)?;
                    return Ok(Some(given_up));
                }
                (_, Ok(0)) => {
                    client.end_of_input(true, &mut |event: Event<'_>| response.take(event))
                }
                (_, Ok(n)) => {
                    client.input(&buffer[..n], &mut |event: Event<'_>| response.take(event))
                }
                (_, Err(error)) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => client.end_of_input(false, &mut |event: Event<'_>| response.take(event)),
                },
            }
        }
        Ok(None)
    }

    /// How much time the call has left, and how it ends after that.
    fn time_left(&self, elapsed: Duration) -> (Duration, GivenUp) {
        let deadline = self.timeout.map(|time| (time, GivenUp::Deadline));
        let cancel = self.cancel_after.map(|time| (time, GivenUp::Cancelled));
        let (time, given_up) = deadline
            .into_iter()
            .chain(cancel)
            .min_by_key(|(time, _)| *time)
            .unwrap_or((PATIENCE, GivenUp::Silent));
        (time.saturating_sub(elapsed), given_up)
    }
}

/// Why the client ended a call.
#[derive(Debug, Clone, Copy)]
enum GivenUp {
    Deadline,
    Cancelled,
    /// The call did not end within [`PATIENCE`].
    Silent,
}

impl GivenUp {
    fn status(self) -> (Code, String) {
        let (code, text) = match self {
            Self::Deadline => (Code::DEADLINE_EXCEEDED, "the deadline has passed"),
            Self::Cancelled => (Code::CANCELLED, "the call was cancelled"),
            Self::Silent => (Code::UNAVAILABLE, "the server does not end the call"),
        };
        (code, text.to_owned())
    }
}

/// Writes all pending output.
fn send(client: &mut Client, stream: &mut impl Write) -> io::Result<()> {
    while !client.output().is_empty() {
        let written = stream.write(client.output())?;
        client.consume_output(written);
    }
    Ok(())
}

/// The response so far.
struct Response {
    grpc: UnaryResponse,
    subtype: Option<&'static str>,
    max_message_bytes: u32,
    initial_metadata: Metadata,
    trailing_metadata: Metadata,
    /// The message as received.
    message: Vec<u8>,
    failure: Option<Failure>,
    has_ended: bool,
}

impl Response {
    fn new(subtype: Option<&'static str>, max_message_bytes: u32) -> Self {
        Self {
            grpc: UnaryResponse::new(max_message_bytes),
            subtype,
            max_message_bytes,
            initial_metadata: Vec::new(),
            trailing_metadata: Vec::new(),
            message: Vec::new(),
            failure: None,
            has_ended: false,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Head {
                status,
                fields,
                end,
                ..
            } => {
                // `finish` reports what is wrong with it.
                let _ = self.grpc.head(status, &fields, end, self.subtype);
                let trailers_only = end && fields.get(b"grpc-status").is_some();
                if trailers_only {
                    self.trailing_metadata = metadata(fields);
                } else {
                    self.initial_metadata = metadata(fields);
                }
            }
            Event::Body { data, .. } => {
                let payload = self.grpc.body(data).unwrap_or_default();
                self.message.extend_from_slice(payload);
            }
            Event::Trailers { fields, .. } => {
                self.grpc.trailers(&fields);
                self.trailing_metadata = metadata(fields);
            }
            Event::Complete { .. } => self.has_ended = true,
            Event::Failed { failure, .. } => {
                self.failure = Some(failure);
                self.has_ended = true;
            }
            // The last two are of WebSockets.
            Event::FirstByte { .. }
            | Event::Interim { .. }
            | Event::Closing { .. }
            | Event::Message { .. }
            | Event::ClosedWith { .. } => {}
        }
    }

    /// Returns how the call ended; `failed` is set if the client ended it before the server did.
    fn end(mut self, failed: Option<(Code, String)>) -> Ended {
        let failure = self.failure.as_ref();
        let failed = failed.or_else(|| failure.map(|f| (Code::from_failure(f), f.to_string())));
        let result = match failed {
            Some(failed) => Err(failed),
            None => self.finish(),
        };
        let ((code, text), message) = match result {
            Ok(message) => ((Code::OK, String::new()), message),
            Err(failed) => (failed, Vec::new()),
        };
        Ended {
            code,
            text,
            initial_metadata: self.initial_metadata,
            trailing_metadata: self.trailing_metadata,
            message,
        }
    }

    /// Returns the message of a successful response, or the status of a failed one.
    fn finish(&mut self) -> Result<Vec<u8>, (Code, String)> {
        let outcome = self.grpc.finish();
        match outcome.source {
            _ if outcome.code == Code::OK => self.decompressed(),
            StatusSource::Server => Err((outcome.code, outcome.message.to_owned())),
            StatusSource::Client(violation) => Err((outcome.code, violation.to_string())),
        }
    }

    /// Returns the message, decompressed as the head says.
    fn decompressed(&mut self) -> Result<Vec<u8>, (Code, String)> {
        if !self.grpc.is_compressed() {
            return Ok(std::mem::take(&mut self.message));
        }
        let coding = value(&self.initial_metadata, "grpc-encoding").unwrap_or_default();
        let compression = Compression::from_coding(coding)
            .ok_or_else(|| (Code::INTERNAL, format!("unknown grpc-encoding {coding:?}")))?;
        let limits = Limits {
            max_message_bytes: self.max_message_bytes as usize,
            ..Limits::DEFAULT
        };
        let mut message = Vec::new();
        Decompressor::new(compression, limits)
            .and_then(|mut decompressor| decompressor.decompress(&self.message, &mut message))
            .map_err(|error| (decompression_code(&error), error.to_string()))?;
        Ok(message)
    }
}

/// A response that exceeds the limit when decompressed fails like one whose prefix announces that.
fn decompression_code(error: &DecodeError) -> Code {
    match error {
        DecodeError::Limit(BrokenLimit::MessageBytes(_)) => Code::RESOURCE_EXHAUSTED,
        _ => Code::INTERNAL,
    }
}

fn metadata(fields: Fields<'_>) -> Metadata {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    fields
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

/// The first value of this name.
pub(crate) fn value<'a>(metadata: &'a Metadata, name: &str) -> Option<&'a str> {
    metadata
        .iter()
        .find(|(n, _)| n == name)
        .map(|(_, value)| value.as_str())
}
