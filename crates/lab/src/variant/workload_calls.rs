//! One variant's calls: their head, their messages, and what their responses must be.

use crate::error::{TrialFailure, TrialResult};
use crate::variant::call_spec::{
    CallSpec, USER_AGENT, coding_headers, expect, media_type, protocol,
};
use rpcgauge_load as load;
use rpcgauge_message::{
    Codec, EncodeError, Encoding, Limits, Message, MessageType, Workload, content_type,
    first_difference,
};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{Protocol, Settings};
use rpcgauge_trial::Address;

/// Requests that are made in advance where each call's differs, so that making them is not part of
/// a call. They are used in turn.
pub(crate) const REQUESTS: u64 = 256;

/// The host that calls by a Unix socket name.
pub(crate) const LOCALHOST: &str = "localhost";

/// What a content type of gRPC starts with when it names a subtype.
const GRPC_SUBTYPE: &str = "application/grpc+";

/// One variant's calls, ready to be made.
pub(crate) struct WorkloadCalls {
    settings: Settings,
    pub(crate) encoding: Encoding,
    limits: Limits,
    pub(crate) workload: Workload,
    requests: Vec<Message>,
    expected: Vec<Message>,
    request_codec: Codec,
    response_codec: Codec,
    response: Option<Message>,
}

impl WorkloadCalls {
    /// Makes a variant's calls out of its workload.
    ///
    /// # Errors
    /// The encoding or compression cannot carry the workload's messages.
    pub(crate) fn new(
        workload: Workload,
        settings: &Settings,
        limits: Limits,
    ) -> TrialResult<Self> {
        let encoding = encoding(settings)?;
        let codec = |of: &MessageType, compression| {
            Codec::new(of.clone(), encoding, compression, limits).map_err(refused)
        };
        let request_codec = codec(workload.request_type(), settings.request_compression)?;
        let response_codec = codec(workload.response_type(), settings.response_compression)?;
        let distinct = 0..distinct_requests(&workload, REQUESTS);
        let requests = distinct.clone().map(|call| workload.request(call));
        let requests = requests.collect();
        let expected = distinct.map(|call| workload.expected(call)).collect();
        Ok(Self {
            settings: settings.clone(),
            encoding,
            limits,
            workload,
            requests,
            expected,
            request_codec,
            response_codec,
            response: None,
        })
    }

    pub(crate) fn expected(&self, call: u64) -> &Message {
        Self::in_turn(&self.expected, call)
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
                tls,
                protocol: protocol(self.settings.http),
            },
            request: self.request(authority),
            expect: expect(&self.settings, self.limits),
            check: None,
        }
    }

    fn request(&self, authority: String) -> load::Request {
        let protocol = self.settings.protocol;
        let style = match protocol {
            Protocol::Grpc => {
                let subtype = content_type::grpc(self.encoding);
                let subtype = subtype.strip_prefix(GRPC_SUBTYPE).map(str::to_owned);
                load::CallStyle::Grpc { subtype }
            }
            Protocol::Rest | Protocol::Connect => load::CallStyle::Http {
                method: "POST".to_owned(),
            },
        };
        let path = match protocol {
            Protocol::Rest => self.workload.rest_path(),
            Protocol::Grpc | Protocol::Connect => self.workload.method_path(),
        };
        load::Request {
            style,
            path: path.to_owned(),
            authority,
            headers: self.headers(),
        }
    }

    fn headers(&self) -> Vec<(String, String)> {
        let settings = &self.settings;
        let mut headers = Vec::new();
        if let Some(media_type) = media_type(settings) {
            headers.push(("content-type", media_type));
            headers.push(match settings.protocol {
                // A response has the type of its request.
                Protocol::Connect => ("connect-protocol-version", "1"),
                Protocol::Rest | Protocol::Grpc => ("accept", media_type),
            });
        }
        headers.extend(coding_headers(settings));
        headers.push(("user-agent", USER_AGENT));
        headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// The requests' bodies, made ready: each one that differs, once.
    pub(crate) fn prepared(&mut self) -> TrialResult<Vec<load::Body>> {
        let compressed = !self.settings.request_compression.is_none();
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
            })
        });
        made.collect::<Result<_, EncodeError>>().map_err(refused)
    }

    /// The mean size of the right responses, encoded and not compressed, bytes.
    pub(crate) fn response_size(&mut self) -> f64 {
        let mut out = Vec::new();
        let mut total = 0;
        for expected in &self.expected {
            // A response that this program cannot encode came from a server that could: it has no
            // size here, and its calls are verified nevertheless.
            out.clear();
            if self.response_codec.encode(expected, &mut out).is_err() {
                return 0.0;
            }
            total += out.len();
        }
        total as f64 / self.expected.len() as f64
    }

    /// Whether compression makes the first right response smaller. Some libraries send a response as
    /// it is where it does not.
    pub(crate) fn compression_pays(&mut self) -> bool {
        let (mut plain, mut carried) = (Vec::new(), Vec::new());
        let codec = &mut self.response_codec;
        let made = codec.encode(&self.expected[0], &mut plain).is_ok()
            && codec.compress(&plain, &mut carried).is_ok();
        // A message that this program cannot encode counts as one that compression makes smaller.
        !made || carried.len() < plain.len()
    }

    fn in_turn<T>(list: &[T], call: u64) -> &T {
        &list[(call % list.len() as u64) as usize]
    }
}

/// The encoding of a subject's messages.
///
/// # Errors
/// The plan has none: it was written by hand.
pub(crate) fn encoding(settings: &Settings) -> TrialResult<Encoding> {
    settings
        .encoding
        .ok_or_else(|| refused("the plan names no encoding; make it again from its study"))
}

/// How many of a workload's first `most` requests differ.
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
        !self.settings.request_compression.is_none()
    }

    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        self.request_codec.compress(plain, out).map_err(wrong)
    }

    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        self.response_codec.decompress(carried, out).map_err(wrong)
    }

    /// Frees the message before in this stage too, as a service would.
    fn decode(&mut self, plain: &[u8]) -> Result<(), load::CodecError> {
        self.response = Some(self.response_codec.decode(plain).map_err(wrong)?);
        Ok(())
    }

    fn verify(&mut self, call: u64) -> Result<(), load::CodecError> {
        let expected = self.expected(call);
        let Some(response) = &self.response else {
            return Err(wrong("nothing was decoded"));
        };
        first_difference(expected, response).map_or(Ok(()), |difference| Err(wrong(difference)))
    }
}

#[cfg(test)]
mod tests;
