//! The sizes of messages.

use rpcgauge_trial::Payload;

use crate::engine::ledger::Call;
use crate::engine::messages::Verify;
use crate::engine::outgoing::Outgoing;

/// Sums of message sizes over measured calls, bytes.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// Whether responses are expected to be compressed.
    encoding_asked: bool,
    requests: u64,
    request_plain: u64,
    request_carried: u64,
    responses: u64,
    response_carried: u64,
    /// Responses whose uncompressed length is known, including those of the warm-up.
    plain_responses: u64,
    response_plain: u64,
    /// Responses that were uncompressed although compressed ones were expected.
    pub(crate) uncompressed: u64,
}

impl Sizes {
    pub(super) fn new(encoding_asked: bool) -> Sizes {
        Sizes {
            encoding_asked,
            ..Sizes::default()
        }
    }

    /// Counts the request of a measured call. Must be called once per call.
    pub(super) fn request(&mut self, outgoing: &Outgoing) {
        self.requests += 1;
        self.request_plain += outgoing.plain;
        self.request_carried += outgoing.carried;
    }

    /// Counts a call's successful response, and its uncompressed length if known.
    pub(super) fn response(&mut self, call: &Call, plain: Option<u64>) {
        let response = &call.response;
        if call.measured {
            self.responses += 1;
            self.response_carried += response.carried;
            self.uncompressed += u64::from(self.encoding_asked && !response.is_compressed());
        }
        if let Some(plain) = plain.filter(|_| call.measured || call.verify == Verify::Now) {
            self.plain_responses += 1;
            self.response_plain += plain;
        }
    }

    pub(crate) fn means(&self) -> Payload {
        let mean = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
        Payload {
            request: Some(mean(self.request_plain, self.requests)),
            request_compressed: Some(mean(self.request_carried, self.requests)),
            response: (self.plain_responses > 0)
                .then(|| mean(self.response_plain, self.plain_responses)),
            response_compressed: Some(mean(self.response_carried, self.responses)),
        }
    }
}
