//! Every call accounted for, and what was said of those that failed.

use std::collections::BTreeMap;

use crate::error::LoadError;
use crate::failure::{ErrorSample, FailureKind};
use crate::measurement::Calls;

/// Distinct error texts that are kept.
const MOST_SAMPLES: usize = 10;

/// Characters of an error text that are kept.
pub(crate) const MOST_SAMPLE_CHARS: usize = 200;

/// What becomes of every measured call. Each number is counted where it happens, apart from the
/// others, so that their sum proves something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) started: u64,
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) answered_late: u64,
    pub(crate) failed: BTreeMap<FailureKind, u64>,
    pub(crate) abandoned: u64,
    pub(crate) never_begun: u64,
    pub(crate) retried: u64,
    pub(crate) answered_after_retry: u64,
}

impl Account {
    /// Holds the sum against what was started.
    pub(crate) fn close(self) -> Result<Calls, LoadError> {
        let failed: u64 = self.failed.values().sum();
        let ended = self
            .answered
            .checked_add(failed)
            .and_then(|sum| sum.checked_add(self.abandoned));
        let never_sent = self.started.checked_sub(self.sent);
        let parts_hold = self.never_begun <= self.abandoned
            && never_sent.is_some_and(|unsent| self.never_begun <= unsent)
            && self.answered <= self.sent
            && self.answered_late <= self.answered
            && self.answered_after_retry <= self.answered;
        if ended != Some(self.started) || !parts_hold {
            return Err(LoadError::Accounting {
                started: self.started,
                answered: self.answered,
                failed,
                abandoned: self.abandoned,
            });
        }
        Ok(Calls {
            started: self.started,
            answered: self.answered,
            answered_late: self.answered_late,
            failed: self.failed,
            abandoned: self.abandoned,
            never_begun: self.never_begun,
            never_sent: self.started - self.sent,
            retried: self.retried,
            answered_after_retry: self.answered_after_retry,
        })
    }
}

/// Distinct error texts, a bounded number of them.
#[derive(Debug, Default)]
pub(crate) struct ErrorSamples {
    pub(crate) samples: Vec<ErrorSample>,
    /// Errors that found no place.
    pub(crate) without_sample: u64,
}

impl ErrorSamples {
    /// Counts a text under its kind.
    pub(crate) fn add(&mut self, kind: FailureKind, text: &str) {
        let text = shortened(text);
        let known = self
            .samples
            .iter_mut()
            .find(|sample| sample.kind == kind && sample.text == text);
        if let Some(sample) = known {
            sample.count += 1;
        } else if self.samples.len() < MOST_SAMPLES {
            self.samples.push(ErrorSample {
                kind,
                text: text.to_owned(),
                count: 1,
            });
        } else {
            self.without_sample += 1;
        }
    }
}

/// The first [`MOST_SAMPLE_CHARS`] characters.
pub(crate) fn shortened(text: &str) -> &str {
    match text.char_indices().nth(MOST_SAMPLE_CHARS) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_are_bounded_in_number_and_length() {
        let mut errors = ErrorSamples::default();
        for i in 0..30 {
            errors.add(FailureKind::Protocol, &format!("text {}", i % 15));
        }
        assert_eq!((errors.samples.len(), errors.without_sample), (10, 10));
        assert!(errors.samples.iter().all(|sample| sample.count == 2));
        assert_eq!(
            shortened(&"ä".repeat(300)).chars().count(),
            MOST_SAMPLE_CHARS
        );
    }
}
