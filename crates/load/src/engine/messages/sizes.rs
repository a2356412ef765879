//! The sizes of messages.

use crate::engine::ledger::Call;
use crate::engine::messages::Verify;
use crate::engine::outgoing::Outgoing;
use crate::measurement::MessageSizes;

/// Counts the sizes of messages.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// Whether responses are expected to be compressed.
    encoding_asked: bool,
    pub(crate) sums: MessageSizes,
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
        self.sums.requests += 1;
        self.sums.request_plain += outgoing.plain;
        self.sums.request_carried += outgoing.carried;
    }

    /// Counts a call's successful response, and its uncompressed length if known.
    pub(super) fn response(&mut self, call: &Call, plain: Option<u64>) {
        let response = &call.response;
        if call.measured {
            self.sums.responses += 1;
            self.sums.response_carried += response.carried;
            self.uncompressed += u64::from(self.encoding_asked && !response.is_compressed());
        }
        if let Some(plain) = plain.filter(|_| call.measured || call.verify == Verify::Now) {
            self.sums.plain_responses += 1;
            self.sums.response_plain += plain;
        }
    }
}
