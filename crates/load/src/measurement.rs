//! The result of a trial.

use std::time::Duration;

use rpcgauge_trial::{Bytes, BytesByClass, Concurrency, Payload, TrialFigures};
use rpcgauge_wire::{ByteCount, Traffic};

use crate::error::LoadError;
use crate::secrets::without_values;
use crate::slow::SlowCalls;

/// The result of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What the engine counted. What only the caller knows is left at its default, such as the figures of processes.
    pub figures: TrialFigures,
    /// The time over which CPU time was used: [`TrialFigures::elapsed_ns`] plus, at a rate, the time until the last
    /// calls ended.
    pub spent_over: Duration,
    /// How many of the server's marks were usable.
    pub marks: Marks,
    /// When the first measured call was due, by CLOCK_MONOTONIC. The timeline begins at this time.
    pub began: Option<u64>,
    /// Calls that took far longer than those before them; empty unless they were requested
    /// ([`crate::Trial::keeps_slow`]).
    pub slow: SlowCalls,
    /// How many calls of [`TrialFigures::late`] succeeded while measured calls were due. Only at a rate. Together
    /// with the measured calls that did not end late, these are all the calls that succeeded in that time.
    pub late_answered: u64,
    /// The sizes of the messages. [`TrialFigures::payload`] contains their means.
    pub sizes: MessageSizes,
}

impl Measurement {
    /// Replaces the values of header fields in the error texts ([`without_values`]).
    pub fn hide_values(&mut self, headers: &[(String, String)]) {
        for sample in &mut self.figures.error_samples {
            sample.text = without_values(&sample.text, headers);
        }
    }

    /// Adds what another thread of the trial measured.
    pub(crate) fn merge(&mut self, other: Measurement) -> Result<(), LoadError> {
        // Name every field, so that a new one cannot be forgotten here.
        let Measurement {
            figures,
            spent_over,
            marks,
            began,
            slow,
            late_answered,
            sizes,
        } = other;
        let merged = self.figures.merge(figures, Concurrency::Threads);
        merged.map_err(LoadError::Accounting)?;
        self.spent_over = self.spent_over.max(spent_over);
        self.marks.add(marks);
        // All threads begin to measure at the same time.
        self.began = [self.began, began].into_iter().flatten().min();
        self.slow.merge(slow);
        self.late_answered += late_answered;
        self.sizes.add(sizes);
        self.figures.payload = self.sizes.means();
        Ok(())
    }
}

/// The bytes on connections, as records contain them.
pub fn bytes_of(traffic: &Traffic) -> Bytes {
    let by_class = |of: &ByteCount| BytesByClass {
        headers: of.header,
        bodies: of.body,
        overhead: of.overhead,
        marks: of.marks,
    };
    Bytes {
        sent: by_class(&traffic.sent),
        received: by_class(&traffic.received),
    }
}

/// Sums of message sizes over measured calls, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageSizes {
    /// Requests that were sent.
    pub requests: u64,
    /// Their messages before compression.
    pub request_plain: u64,
    /// Their messages as carried.
    pub request_carried: u64,
    /// Successful responses.
    pub responses: u64,
    /// Their messages as carried.
    pub response_carried: u64,
    /// Responses whose uncompressed size is known, including verified ones of the warm-up.
    pub plain_responses: u64,
    /// Their uncompressed messages.
    pub response_plain: u64,
}

impl MessageSizes {
    /// The mean sizes.
    pub fn means(&self) -> Payload {
        let mean = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
        Payload {
            request: Some(mean(self.request_plain, self.requests)),
            request_compressed: Some(mean(self.request_carried, self.requests)),
            response: (self.plain_responses > 0)
                .then(|| mean(self.response_plain, self.plain_responses)),
            response_compressed: Some(mean(self.response_carried, self.responses)),
        }
    }

    fn add(&mut self, other: MessageSizes) {
        let MessageSizes {
            requests,
            request_plain,
            request_carried,
            responses,
            response_carried,
            plain_responses,
            response_plain,
        } = other;
        self.requests += requests;
        self.request_plain += request_plain;
        self.request_carried += request_carried;
        self.responses += responses;
        self.response_carried += response_carried;
        self.plain_responses += plain_responses;
        self.response_plain += response_plain;
    }
}

/// How many successful calls of a stage trial had usable marks of the server's handler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Both marks are within the call and in order.
    pub used: u64,
    /// No marks, or only one.
    pub absent: u64,
    /// Marks that are not numbers, are out of order, or lie outside the call, for example because of another
    /// host's clock.
    pub implausible: u64,
}

impl Marks {
    fn add(&mut self, other: Marks) {
        let Marks {
            used,
            absent,
            implausible,
        } = other;
        self.used += used;
        self.absent += absent;
        self.implausible += implausible;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread measured whose calls were due from `began` on.
    fn measurement(began: u64, requests: u64) -> Measurement {
        let mut slow = SlowCalls::default();
        (0..16).for_each(|call| slow.succeeded(call, 10));
        slow.succeeded(began, 90);
        Measurement {
            figures: TrialFigures::default(),
            spent_over: Duration::from_nanos(100 - began),
            marks: Marks {
                used: 1,
                absent: 2,
                implausible: 3,
            },
            began: Some(began),
            slow,
            late_answered: began,
            sizes: MessageSizes {
                requests,
                request_plain: 10,
                ..MessageSizes::default()
            },
        }
    }

    #[test]
    fn the_threads_of_a_trial_add_up_in_any_order() {
        let (one, other) = (measurement(30, 1), measurement(50, 3));
        let [mut merged, mut reversed] = [one.clone(), other.clone()];
        merged.merge(other).unwrap();
        reversed.merge(one).unwrap();
        assert_eq!(merged, reversed);
        assert_eq!((merged.began, merged.late_answered), (Some(30), 80));
        assert_eq!(merged.spent_over, Duration::from_nanos(70), "they share it");
        assert_eq!((merged.marks.used, merged.marks.implausible), (2, 6));
        let due: Vec<_> = merged.slow.kept().iter().map(|call| call.due_ns).collect();
        assert_eq!(due, [30, 50]);
        let mean = merged.figures.payload.request;
        assert_eq!(
            mean,
            Some(5.0),
            "of all requests, not the mean of both means"
        );
    }
}
