//! Checks of compressed answers that nobody decodes: damaged ones are no answers.

use super::answer::Answer;
use crate::bodies::{AnswerCheck, CodecError};
use crate::clock;

/// Checks take at most one part in so many of the time. While one goes on, no call is begun and no answer
/// read: more would show in the 99th percentile.
const SHARE: u64 = 100;

/// Bytes of answers that are held for their checks at a time, at least.
const LEAST_HELD: usize = 16 << 20;

/// What is checked, and how long it took so far.
pub(super) struct Checking<'r> {
    check: AnswerCheck<'r>,
    /// When the first answer was checked, ns.
    since: Option<u64>,
    spent: u64,
    /// One was damaged: from there on each is checked, whatever it costs.
    damaged: bool,
}

impl<'r> Checking<'r> {
    pub(super) fn new(check: AnswerCheck<'r>) -> Self {
        Checking {
            check,
            since: None,
            spent: 0,
            damaged: false,
        }
    }

    /// Checks an answer, where it was held for that and there is time.
    pub(super) fn check(&mut self, answer: &Answer) -> Result<(), CodecError> {
        let Some(carried) = answer.to_check() else {
            return Ok(());
        };
        let now = clock::now();
        let lasted = now.saturating_sub(*self.since.get_or_insert(now));
        if !self.damaged && self.spent.saturating_mul(SHARE) > lasted {
            return Ok(());
        }
        let checked = (self.check)(carried);
        self.spent += clock::now().saturating_sub(now);
        self.damaged |= checked.is_err();
        checked
    }
}

/// How many bytes of answers are held for their checks, of all calls together.
#[derive(Debug)]
pub(super) struct Held {
    bytes: usize,
    most: usize,
}

impl Held {
    /// Room for one answer of `largest` bytes, at least.
    pub(super) fn new(largest: u32) -> Self {
        Held {
            bytes: 0,
            most: LEAST_HELD.max(largest as usize),
        }
    }

    /// Whether there is room for so many more, which it then holds.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let has_room = bytes <= self.most - self.bytes;
        if has_room {
            self.bytes += bytes;
        }
        has_room
    }

    pub(super) fn give_back(&mut self, bytes: usize) {
        self.bytes -= bytes;
    }
}
