//! Responses of the measured part that are stored, and verified once it is over.

use crate::bodies::{Codec, CodecError};
use crate::engine::ledger::Call;
use crate::error::LoadError;

/// Maximum number of responses stored in a trial.
const MAX_SAMPLES: usize = 32;

/// Maximum size of all stored responses, bytes. A single response may be larger.
const MAX_BYTES: usize = 16 << 20;

/// The samples of a trial: the response to every n-th call. In a session, it is the response to the first
/// call of every n-th slice, which is excluded from the figures. The number of calls is not known in advance,
/// so whenever there are too many samples, every second one is dropped and n doubles.
#[derive(Debug)]
pub(super) struct Samples {
    kept: Vec<Sample>,
    /// Calls that were begun or, in a session, slices.
    turns: u64,
    /// One in `every` calls or slices is sampled; a power of two.
    every: u64,
    /// In a session, whether the next call is the sample of its slice.
    of_slice: Option<bool>,
}

#[derive(Debug)]
struct Sample {
    call: u64,
    compressed: bool,
    /// The message as carried.
    message: Vec<u8>,
}

impl Samples {
    pub(super) fn new() -> Self {
        Samples {
            kept: Vec::new(),
            turns: 0,
            every: 1,
            of_slice: None,
        }
    }

    pub(super) fn begin_slice(&mut self) {
        self.of_slice = Some(self.is_sampled());
    }

    /// Whether to store the response to the next call.
    #[inline]
    pub(super) fn take(&mut self) -> bool {
        match &mut self.of_slice {
            Some(is_next) => std::mem::take(is_next),
            None => self.is_sampled(),
        }
    }

    #[inline]
    fn is_sampled(&mut self) -> bool {
        let turn = self.turns;
        self.turns += 1;
        turn & (self.every - 1) == 0
    }

    /// Stores the message of a complete response, taking over its memory.
    #[cold]
    pub(super) fn keep(&mut self, call: &mut Call) {
        self.kept.push(Sample {
            call: call.number,
            compressed: call.response.is_compressed(),
            message: std::mem::take(&mut call.response.message),
        });
        while self.kept.len() > 1 && self.is_full() {
            let mut keeps = false;
            self.kept.retain(|_| {
                keeps = !keeps;
                keeps
            });
            self.every = self.every.saturating_mul(2);
        }
    }

    fn is_full(&self) -> bool {
        let bytes = self.kept.iter().map(|sample| sample.message.len());
        self.kept.len() > MAX_SAMPLES || bytes.sum::<usize>() > MAX_BYTES
    }

    /// Verifies the stored responses.
    ///
    /// # Errors
    /// A response cannot be decoded or is wrong. The error reports the first one.
    pub(super) fn verify(
        &mut self,
        codec: &mut dyn Codec,
        plain: &mut Vec<u8>,
    ) -> Result<(), LoadError> {
        for sample in self.kept.drain(..) {
            let call = sample.call;
            sample
                .verify(codec, plain)
                .map_err(|error| LoadError::WrongResponse { call, error })?;
        }
        Ok(())
    }
}

impl Sample {
    fn verify(self, codec: &mut dyn Codec, plain: &mut Vec<u8>) -> Result<(), CodecError> {
        if self.compressed {
            plain.clear();
            codec.decompress(&self.message, plain)?;
            codec.decode(plain)?;
        } else {
            codec.decode(&self.message)?;
        }
        codec.verify(self.call, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(samples: &mut Samples, number: u64, bytes: usize) {
        if samples.take() {
            let mut call = Call::default();
            call.number = number;
            call.response.message = vec![0; bytes];
            samples.keep(&mut call);
        }
    }

    /// The numbers of the calls whose responses are stored, out of `calls` calls with responses of `bytes`
    /// bytes.
    fn kept(calls: u64, bytes: usize) -> Vec<u64> {
        let mut samples = Samples::new();
        for number in 0..calls {
            keep(&mut samples, number, bytes);
        }
        samples.kept.iter().map(|sample| sample.call).collect()
    }

    #[test]
    fn samples_are_spread_over_all_calls_however_many() {
        for calls in [1, 32, 33, 1_000, 1_000_000] {
            let kept = kept(calls, 10);
            assert!(kept.len() <= MAX_SAMPLES, "{calls}: {kept:?}");
            assert!(kept.len() as u64 >= calls.min(16), "{calls}: {kept:?}");
            let gap = kept.get(1).map_or(1, |second| second - kept[0]);
            let even: Vec<u64> = (0..calls).step_by(gap as usize).collect();
            assert_eq!(kept, even, "{calls}");
        }
    }

    #[test]
    fn at_least_one_large_response_is_kept() {
        let few = kept(1_000, MAX_BYTES / 3);
        assert!((2..=3).contains(&few.len()), "{few:?}");
        assert_eq!(kept(1_000, MAX_BYTES + 1), [0]);
    }

    #[test]
    fn the_samples_of_slices_are_their_first_calls() {
        let mut samples = Samples::new();
        for slice in 0..100 {
            samples.begin_slice();
            for call in 0..10 {
                keep(&mut samples, 10 * slice + call, 10);
            }
        }
        let kept: Vec<u64> = samples.kept.iter().map(|sample| sample.call).collect();
        assert_eq!(kept, (0..1_000).step_by(40).collect::<Vec<u64>>());
    }
}
