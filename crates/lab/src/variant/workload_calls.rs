//! The calls of one variant: request head, messages, and expected responses.

use crate::error::{TrialFailure, TrialResult};
use crate::variant::call_spec::{CallSpec, USER_AGENT, coding_headers, expect, protocol};
use crate::variant::responses::Responses;
use rpcgauge_contract::Stream;
use rpcgauge_load as load;
use rpcgauge_message::{
    Codec, EncodeError, Limits, Message, MessageType, MethodKind, Workload, content_type,
    first_difference,
};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{CallOptions, SubjectCall, Wire};
use rpcgauge_trial::{Address, Pace, StreamForm, Streaming};

/// The number of requests built in advance if a workload's requests differ, so that building them is not part of a
/// call. Calls cycle through them.
pub(crate) const REQUESTS: u64 = 256;

/// The host name sent over a Unix socket.
pub(crate) const LOCALHOST: &str = "localhost";

/// The prefix of a gRPC content type with a subtype.
const GRPC_SUBTYPE: &str = "application/grpc+";

/// The calls of one variant, ready to be made.
pub(crate) struct WorkloadCalls {
    pub(crate) wire: Wire,
    options: CallOptions,
    limits: Limits,
    pub(crate) workload: Workload,
    responses: Responses,
    requests: Vec<Message>,
    /// The responses of unary calls.
    expected: Vec<Message>,
    request_codec: Codec,
    response_codec: Codec,
    response: Option<Message>,
}

impl WorkloadCalls {
    /// Builds a variant's calls from its workload.
    ///
    /// # Errors
    /// The encoding or compression cannot represent the workload's messages.
    pub(crate) fn new(workload: Workload, call: &SubjectCall, limits: Limits) -> TrialResult<Self> {
        let (wire, options) = (call.wire, call.options.clone());
        let codec = |of: &MessageType, compression| {
            Codec::new(of.clone(), wire.encoding(), compression, limits).map_err(refused)
        };
        let request_codec = codec(workload.request_type(), options.request_compression)?;
        let response_codec = codec(workload.response_type(), options.response_compression)?;
        let distinct = 0..distinct_requests(&workload, REQUESTS);
        let responses = Responses::new(workload.clone(), distinct.end, call.stream);
        let requests = distinct.clone().map(|call| workload.request(call));
        let requests = requests.collect();
        let expected = distinct.map(|call| workload.expected(call)).collect();
        Ok(Self {
            wire,
            options,
            limits,
            workload,
            responses,
            requests,
            expected,
            request_codec,
            response_codec,
            response: None,
        })
    }

    pub(crate) fn responses(&self) -> &Responses {
        &self.responses
    }

    /// Response number `message` of the call whose first request has the number `call`.
    pub(crate) fn expected(&self, call: u64, message: u64) -> Message {
        match self.responses.stream() {
            None => Self::in_turn(&self.expected, call).clone(),
            Some(_) => self.responses.message(call, message),
        }
    }

    /// The calls to a subject that listens at `address`.
    pub(crate) fn calls(&self, address: Address, tls: Option<load::Tls>) -> CallSpec {
        let authority = match &address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(_) => LOCALHOST.to_owned(),
        };
        CallSpec {
            endpoint: load::Endpoint {
                address,
                more_addresses: Vec::new(),
                tls,
                protocol: protocol(self.wire.http()),
            },
            streaming: self.responses.stream().map(streaming),
            pair_by: None,
            request: self.request(authority),
            expect: self.expect(),
            check: None,
            options: self.options.clone(),
            keepalive: None,
        }
    }

    fn expect(&self) -> load::Expect {
        let compression = self.options.response_compression;
        load::Expect {
            messages: self
                .responses
                .stream()
                .filter(|stream| stream.form().server_streams())
                .map(|stream| stream.responses().into()),
            all_sent: true,
            ..expect(compression, self.response_type(), self.limits)
        }
    }

    /// The media type of the body of a response; `None` for gRPC, which frames messages.
    fn response_type(&self) -> Option<&'static str> {
        match self.responses.stream().map(|stream| stream.form()) {
            Some(StreamForm::Ndjson) => Some("application/x-ndjson"),
            Some(StreamForm::Sse) => Some("text/event-stream"),
            Some(StreamForm::Client | StreamForm::Server | StreamForm::Bidirectional) | None => {
                media_type(self.wire)
            }
        }
    }

    fn path(&self) -> &str {
        let kind = match (self.wire, self.responses.stream()) {
            (Wire::Rest { .. }, _) => return self.workload.rest_path(),
            (_, None) => MethodKind::Unary,
            (_, Some(stream)) => stream.method_kind().unwrap_or(MethodKind::Unary),
        };
        // A study whose workload has no method of this kind was refused.
        let path = self.workload.method_of_kind(kind);
        path.unwrap_or_else(|| self.workload.method_path())
    }

    fn request(&self, authority: String) -> load::Request {
        let style = match self.wire {
            Wire::Grpc { encoding } => {
                let subtype = content_type::grpc(encoding);
                let subtype = subtype.strip_prefix(GRPC_SUBTYPE).map(str::to_owned);
                load::CallStyle::Grpc { subtype }
            }
            wire if wire.is_websocket(self.responses.stream()) => load::CallStyle::WebSocket,
            Wire::Rest { .. } | Wire::Connect { .. } => load::CallStyle::Http {
                method: "POST".to_owned(),
            },
        };
        load::Request {
            style,
            path: self.path().to_owned(),
            authority,
            headers: self.headers(),
        }
    }

    fn headers(&self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let has_body = !self.wire.is_websocket(self.responses.stream());
        if let Some(media_type) = media_type(self.wire).filter(|_| has_body) {
            headers.push(("content-type", media_type));
            headers.push(match self.wire {
                // A Connect response has the same type as its request.
                Wire::Connect { .. } => ("connect-protocol-version", "1"),
                Wire::Rest { .. } | Wire::Grpc { .. } => {
                    ("accept", self.response_type().unwrap_or(media_type))
                }
            });
        }
        headers.extend(coding_headers(self.wire.protocol(), &self.options));
        headers.push(("user-agent", USER_AGENT));
        headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// The bodies of all distinct requests, ready to be sent.
    pub(crate) fn prepared(&mut self) -> TrialResult<Vec<load::Body>> {
        let compressed = !self.options.request_compression.is_none();
        let codec = &mut self.request_codec;
        let made = self.requests.iter().map(|request| {
            let mut bytes = Vec::new();
            codec.encode(request, &mut bytes)?;
            let plain_len = bytes.len() as u64;
            if compressed {
                let plain = std::mem::take(&mut bytes);
                codec.compress(&plain, &mut bytes)?;
            }
            Ok(load::Body {
                bytes,
                compressed,
                plain_len,
                fields: Vec::new(),
            })
        });
        made.collect::<Result<_, EncodeError>>().map_err(refused)
    }

    /// The mean size of the expected responses, encoded but not compressed, bytes. `None` if this program cannot
    /// encode one of them; calls are verified even then.
    pub(crate) fn response_size(&mut self) -> Option<f64> {
        let mut out = Vec::new();
        let mut total = 0;
        for expected in &self.expected {
            out.clear();
            self.response_codec.encode(expected, &mut out).ok()?;
            total += out.len();
        }
        Some(total as f64 / self.expected.len() as f64)
    }

    /// Whether compression makes the first expected response smaller. If it does not, some libraries send the
    /// response uncompressed.
    pub(crate) fn compression_pays(&mut self) -> bool {
        let (mut plain, mut carried) = (Vec::new(), Vec::new());
        let codec = &mut self.response_codec;
        let made = codec.encode(&self.expected[0], &mut plain).is_ok()
            && codec.compress(&plain, &mut carried).is_ok();
        // If this program cannot encode the message, assume that compression makes it smaller.
        !made || carried.len() < plain.len()
    }

    fn in_turn<T>(list: &[T], call: u64) -> &T {
        &list[(call % list.len() as u64) as usize]
    }
}

/// How the engine exchanges the messages of a stream.
fn streaming(stream: &Stream) -> Streaming {
    Streaming {
        messages: Some(stream.requests().into()),
        pace: if stream.is_in_turn() {
            Pace::InTurn(0)
        } else {
            Pace::Unpaced
        },
        ..Streaming::of(stream.form())
    }
}

/// The media type of a message that is the whole body; `None` for gRPC, which frames messages.
fn media_type(wire: Wire) -> Option<&'static str> {
    match wire {
        Wire::Grpc { .. } => None,
        Wire::Rest { encoding, .. } => Some(content_type::rest(encoding)),
        Wire::Connect { encoding, .. } => Some(content_type::connect(encoding)),
    }
}

/// How many of a workload's first `most` requests are distinct.
pub(crate) fn distinct_requests(workload: &Workload, most: u64) -> u64 {
    if workload.request_varies() { most } else { 1 }
}

fn refused(error: impl ToString) -> TrialFailure {
    TrialFailure::new(Fault::User, error.to_string())
}

fn wrong(error: impl ToString) -> load::CodecError {
    load::CodecError(error.to_string())
}

impl load::Codec for WorkloadCalls {
    fn encode(&mut self, call: u64, out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        let request = Self::in_turn(&self.requests, call);
        self.request_codec.encode(request, out).map_err(wrong)
    }

    fn compresses(&self) -> bool {
        !self.options.request_compression.is_none()
    }

    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        self.request_codec.compress(plain, out).map_err(wrong)
    }

    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        self.response_codec.decompress(carried, out).map_err(wrong)
    }

    /// Decodes the response. Also drops the previous message, so that this stage includes freeing it, as in a
    /// service.
    fn decode(&mut self, plain: &[u8]) -> Result<(), load::CodecError> {
        self.response = Some(self.response_codec.decode(plain).map_err(wrong)?);
        Ok(())
    }

    fn verify(&mut self, call: u64, message: u64) -> Result<(), load::CodecError> {
        let expected = self.expected(call, message);
        let Some(response) = &self.response else {
            return Err(wrong("nothing was decoded"));
        };
        first_difference(&expected, response).map_or(Ok(()), |difference| Err(wrong(difference)))
    }
}

#[cfg(test)]
mod tests;
