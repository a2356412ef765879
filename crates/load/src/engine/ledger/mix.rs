//! Which call of the mix each call is, and their figures.

use rpcgauge_trial::{FailureKind, MixOrder};

use crate::steps::CallRecorder;
use crate::trial::Trial;

/// Without a mix, it is empty, and every call has index 0.
#[derive(Debug)]
pub(crate) struct Mix {
    order: MixOrder,
    /// The order of calls that end before they begin. They have an order of their own, since the body of the
    /// next call may have been generated already.
    unbegun: MixOrder,
    /// How many calls have begun, for each call of the mix.
    begun: Vec<u64>,
    /// The measured calls, for each call of the mix.
    pub(crate) figures: Vec<CallRecorder>,
}

impl Mix {
    pub(super) fn new(trial: &Trial) -> Mix {
        Mix {
            order: trial.mix_order(0),
            unbegun: trial.mix_order(1),
            begun: vec![0; trial.mix.len()],
            figures: trial.mix.iter().map(|_| CallRecorder::new()).collect(),
        }
    }

    /// The call of the mix that begins next, and its number among these; `None` without a mix.
    #[inline]
    pub(super) fn begin(&mut self) -> Option<(usize, u64)> {
        if self.begun.is_empty() {
            return None;
        }
        let mix_call = self.order.next()?;
        let begun = self.begun.get_mut(mix_call)?;
        let number = *begun;
        *begun += 1;
        Some((mix_call, number))
    }

    /// The call of the mix that ends next without having begun.
    pub(super) fn end_unbegun(&mut self) -> usize {
        self.unbegun.next().unwrap_or(0)
    }

    /// Counts calls that were due but never begun.
    pub(super) fn abandon(&mut self, calls: u64) {
        if self.figures.is_empty() {
            return;
        }
        let length = self.unbegun.one_cycle().len() as u64;
        // There can be too many to take one by one, and a cycle can be long.
        let cycles = calls / length;
        if cycles > 0 {
            for mix_call in self.unbegun.one_cycle() {
                self.figures[mix_call].started += cycles;
            }
        }
        for _ in 0..calls % length {
            let mix_call = self.end_unbegun();
            self.started(mix_call);
        }
    }

    #[inline]
    pub(super) fn started(&mut self, mix_call: usize) {
        if let Some(figures) = self.figures.get_mut(mix_call) {
            figures.started += 1;
        }
    }

    #[inline]
    pub(super) fn sent(&mut self, mix_call: usize) {
        if let Some(figures) = self.figures.get_mut(mix_call) {
            figures.sent += 1;
        }
    }

    pub(super) fn not_sent(&mut self, mix_call: usize) {
        if let Some(figures) = self.figures.get_mut(mix_call) {
            figures.sent -= 1;
        }
    }

    #[inline]
    pub(super) fn succeeded(&mut self, mix_call: usize, latency_ns: u64) {
        if let Some(figures) = self.figures.get_mut(mix_call) {
            figures.succeeded(latency_ns);
        }
    }

    pub(super) fn failed(&mut self, mix_call: usize, kind: FailureKind) {
        if let Some(figures) = self.figures.get_mut(mix_call) {
            figures.failed(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::{trial, unused};
    use crate::trial::MixCall;

    #[test]
    fn calls_that_are_never_begun_are_divided_by_weight_however_many() {
        let mut trial = trial(unused());
        let call = |weight| MixCall {
            name: String::new(),
            weight,
            request: trial.request.clone(),
            status: None,
        };
        trial.mix = vec![call(3), call(1)];
        for calls in [1, 6, 4_000_000_000_001] {
            let mut mix = Mix::new(&trial);
            mix.end_unbegun();
            mix.abandon(calls);
            let started: Vec<u64> = mix.figures.iter().map(|call| call.started).collect();
            assert_eq!(started[0] + started[1], calls);
            assert!(started[1].abs_diff(calls / 4) <= 2, "{started:?}");
        }
    }
}
