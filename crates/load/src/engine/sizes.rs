//! How large the messages were.

use super::calls::Call;
use crate::measurement::Payload;

/// Sums of message sizes over measured calls, bytes.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    pub(super) requests: u64,
    pub(super) request_plain: u64,
    pub(super) request_carried: u64,
    pub(super) answers: u64,
    pub(super) answer_carried: u64,
    /// Answers whose plain length is known, over the warm-up too.
    pub(super) plain_answers: u64,
    pub(super) answer_plain: u64,
    pub(super) uncompressed: u64,
}

impl Sizes {
    /// Counts a good answer, whose plain length may be known.
    pub(super) fn answer(&mut self, call: &Call, plain: Option<u64>, encoding_asked: bool) {
        if call.measured {
            self.answers += 1;
            self.answer_carried += call.answer.carried();
            self.uncompressed += u64::from(encoding_asked && !call.answer.is_compressed());
        }
        if let Some(plain) = plain.filter(|_| call.measured || call.verified) {
            self.plain_answers += 1;
            self.answer_plain += plain;
        }
    }

    pub(super) fn means(&self) -> Payload {
        let mean = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
        Payload {
            request: mean(self.request_plain, self.requests),
            request_carried: mean(self.request_carried, self.requests),
            response: (self.plain_answers > 0).then(|| mean(self.answer_plain, self.plain_answers)),
            response_carried: mean(self.answer_carried, self.answers),
        }
    }
}
