//! How large the messages were.

use super::Outgoing;
use crate::engine::response::Response;
use crate::measurement::Payload;

/// Sums of message sizes over measured calls, bytes.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    requests: u64,
    request_plain: u64,
    request_carried: u64,
    responses: u64,
    response_carried: u64,
    /// Responses whose plain length is known, over the warm-up too.
    plain_responses: u64,
    response_plain: u64,
    pub(super) uncompressed: u64,
}

impl Sizes {
    /// Counts the request of a measured call, once.
    pub(super) fn request(&mut self, outgoing: &Outgoing) {
        self.requests += 1;
        self.request_plain += outgoing.plain;
        self.request_carried += outgoing.carried;
    }

    /// Counts a good response, whose plain length may be known.
    pub(super) fn response(
        &mut self,
        (measured, verified): (bool, bool),
        response: &Response,
        plain: Option<u64>,
        encoding_asked: bool,
    ) {
        if measured {
            self.responses += 1;
            self.response_carried += response.carried();
            self.uncompressed += u64::from(encoding_asked && !response.is_compressed());
        }
        if let Some(plain) = plain.filter(|_| measured || verified) {
            self.plain_responses += 1;
            self.response_plain += plain;
        }
    }

    pub(super) fn means(&self) -> Payload {
        let mean = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
        Payload {
            request: mean(self.request_plain, self.requests),
            request_carried: mean(self.request_carried, self.requests),
            response: (self.plain_responses > 0)
                .then(|| mean(self.response_plain, self.plain_responses)),
            response_carried: mean(self.response_carried, self.responses),
        }
    }
}
