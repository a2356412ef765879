//! What a trial counts: calls and CPU time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::FailureKind;
use crate::is_default;

/// The outcomes of all measured calls: `started = answered + failed + abandoned`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calls {
    /// Calls that were due in the measured part of the trial.
    pub started: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Answered calls that ended after the time in which calls were due. 0 in a closed loop, whose
    /// time lasts until the last call ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answered_late: u64,
    /// Calls that failed, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<FailureKind, u64>,
    /// Calls that had not ended when the trial ended.
    pub abandoned: u64,
    /// Abandoned calls that were due but never begun because the trial ended first. At most ten
    /// million are counted, both here and in the sums.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_begun: u64,
    /// Failed and abandoned calls that were never given to the transport: those that were [never
    /// begun](Self::never_begun), and those for which there was no connection, no body or no room.
    /// All others were sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_sent: u64,
    /// Calls at a rate that had to wait and were sent after the time in which calls were due.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sent_late: u64,
    /// The number of retries. Retried are calls that the server declared unprocessed (GOAWAY,
    /// REFUSED_STREAM) and, in HTTP/1.1, calls with an idempotent method on a persistent connection
    /// that the server closed before sending any byte of the response. A call is retried at most
    /// three times, keeps its due time and deadline, and counts once in every other number.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retried: u64,
    /// Answered calls that were sent more than once. Their stages are omitted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answered_after_retry: u64,
}

impl Calls {
    /// The number of calls that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().copied().fold(0, u64::saturating_add)
    }

    /// The number of calls that were given to the transport.
    pub fn sent(&self) -> u64 {
        self.started.saturating_sub(self.never_sent)
    }

    /// The number of calls that were sent within the time in which calls were due.
    pub fn sent_in_time(&self) -> u64 {
        self.sent().saturating_sub(self.sent_late)
    }

    /// The number of calls that failed because the client itself was not running. They reveal
    /// nothing about the server.
    pub fn stalled(&self) -> u64 {
        self.failed
            .get(&FailureKind::ClientStalled)
            .copied()
            .unwrap_or(0)
    }

    /// The number of calls whose outcome reveals something about the server: all except the stalled
    /// ones.
    pub fn attributable(&self) -> u64 {
        self.started.saturating_sub(self.stalled())
    }

    /// The number of calls that succeeded or failed.
    pub fn ended(&self) -> u64 {
        self.answered.saturating_add(self.failed_total())
    }

    /// Adds the counts of another trial.
    pub fn add(&mut self, other: &Self) {
        // Name every field, so that a new one cannot be forgotten here.
        let Self {
            started,
            answered,
            answered_late,
            failed,
            abandoned,
            never_begun,
            never_sent,
            sent_late,
            retried,
            answered_after_retry,
        } = other;
        for (sum, more) in [
            (&mut self.started, started),
            (&mut self.answered, answered),
            (&mut self.answered_late, answered_late),
            (&mut self.abandoned, abandoned),
            (&mut self.never_begun, never_begun),
            (&mut self.never_sent, never_sent),
            (&mut self.sent_late, sent_late),
            (&mut self.retried, retried),
            (&mut self.answered_after_retry, answered_after_retry),
        ] {
            *sum = sum.saturating_add(*more);
        }
        for (kind, more) in failed {
            let sum = self.failed.entry(*kind).or_default();
            *sum = sum.saturating_add(*more);
        }
    }

    /// Checks that the counts are consistent: every call ends exactly once, and no part exceeds its
    /// whole. The error is the rest of a sentence.
    pub fn check(&self) -> Result<(), String> {
        // Sums saturate, so that an overflow cannot pass for a small number.
        let failed = self.failed_total();
        if self.ended().saturating_add(self.abandoned) != self.started {
            return Err(format!(
                "{} calls were started, but {} succeeded, {failed} failed and {} were abandoned",
                self.started, self.answered, self.abandoned
            ));
        }
        let holds = self.never_begun <= self.abandoned
            && self.never_begun <= self.never_sent
            && self.never_sent <= self.started - self.answered
            && self.sent_late <= self.started - self.never_sent
            && self.answered_after_retry <= self.answered
            && self.answered_late <= self.answered;
        if holds {
            Ok(())
        } else {
            Err(
                "the numbers of calls that were never begun, never sent, sent late, ended late or succeeded after a retry are inconsistent"
                    .to_owned(),
            )
        }
    }
}

/// Why the measured part of a trial ended. All figures are valid for what was measured until then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The trial reached its [`crate::Stop`], the end of its ramp or its last body.
    #[default]
    Complete,
    /// The user interrupted the trial.
    Interrupted,
    /// All calls failed for too long.
    GaveUp,
    /// The maximum number of requests was reached while another one was due.
    MaxRequests,
}

impl Ending {
    /// Whether the trial reached its planned end.
    pub fn is_complete(&self) -> bool {
        *self == Self::Complete
    }
}

/// Times in which the client did not run because it was stopped, the machine was suspended, or no
/// core was available. Gaps shorter than 0.3 s are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stalls {
    /// The number of stalls.
    pub count: u64,
    /// Their total length in ns.
    pub total_ns: u64,
    /// The length of the longest stall in ns.
    pub longest_ns: u64,
    /// When the longest stall began, in ns after the first measured call was due.
    pub longest_at_ns: u64,
}

impl Stalls {
    /// Adds a stall that began at `at_ns` and lasted for `lasted_ns`.
    pub fn add(&mut self, at_ns: u64, lasted_ns: u64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(lasted_ns);
        if lasted_ns > self.longest_ns {
            (self.longest_ns, self.longest_at_ns) = (lasted_ns, at_ns);
        }
    }
}

/// The warm-up of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warmup {
    /// Calls begun before the first measured one. At a rate, this includes calls that were due
    /// during the warm-up but begun, or failed, after it.
    pub calls: u64,
    /// How many of these calls failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failed: u64,
    /// The length of the warm-up in ns.
    pub elapsed_ns: u64,
    /// Whether latency had settled. False without a warm-up.
    pub settled: bool,
}

/// At a rate: warm-up calls that had not ended when the measured part began. The measured bytes and
/// CPU time include what these calls used from then on. Older records store only their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateCalls {
    /// The number of such calls.
    #[serde(
        rename = "warmup_ended_after",
        default,
        skip_serializing_if = "is_default"
    )]
    pub ended: u64,
    /// How many of them failed or were still in flight at the end of the trial.
    #[serde(
        rename = "warmup_failed_after",
        default,
        skip_serializing_if = "is_default"
    )]
    pub failed: u64,
    /// How many of the failed calls were never given to the transport.
    #[serde(
        rename = "warmup_never_sent_after",
        default,
        skip_serializing_if = "is_default"
    )]
    pub never_sent: u64,
    /// How many were sent before the measured part began, so that the measured bytes do not include
    /// their requests.
    #[serde(
        rename = "warmup_sent_before",
        default,
        skip_serializing_if = "is_default"
    )]
    pub sent_before: u64,
}

impl LateCalls {
    /// The number of calls whose requests are included in the bytes of the measured part.
    pub fn sent_after(&self) -> u64 {
        self.sent().saturating_sub(self.sent_before)
    }

    /// The number of calls that were waiting to be sent when the measured part began.
    pub fn unsent_at_start(&self) -> u64 {
        self.ended.saturating_sub(self.sent_before)
    }

    /// The number of calls that were given to the transport, before or after the measured part
    /// began.
    pub fn sent(&self) -> u64 {
        self.ended.saturating_sub(self.never_sent)
    }

    /// The number of calls that succeeded.
    pub fn answered(&self) -> u64 {
        self.ended.saturating_sub(self.failed)
    }

    /// Whether the counts are consistent: no part exceeds its whole.
    pub fn is_sound(&self) -> bool {
        self.never_sent <= self.failed
            && self.failed <= self.ended
            && self.sent_before <= self.sent()
    }
}

/// Mean sizes of measured calls' messages in bytes, without framing. Absent if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Payload {
    /// The encoded request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<f64>,
    /// The request as sent, after compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_compressed: Option<f64>,
    /// The encoded response; absent if it was compressed and not decompressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<f64>,
    /// The response as received, still compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_compressed: Option<f64>,
}

/// CPU time of a thread or process, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// User and system together.
    pub total_ns: u64,
    /// In user mode, as estimated by the kernel. Like `system_ns`, absent if the split is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_ns: Option<u64>,
    /// In the kernel, as estimated by the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_ns: Option<u64>,
}

impl Cpu {
    /// User and system time; `None` if the split is unknown. It is also unknown if both are 0 but
    /// the total is not, because then the kernel counted no tick.
    pub fn split(&self) -> Option<[u64; 2]> {
        let split = [self.user_ns?, self.system_ns?];
        (split != [0, 0] || self.total_ns == 0).then_some(split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls with every outcome and every attribute.
    fn calls() -> Calls {
        Calls {
            started: 4,
            answered: 1,
            answered_late: 1,
            failed: [(FailureKind::Deadline, 1), (FailureKind::Encode, 1)].into(),
            abandoned: 1,
            never_begun: 1,
            never_sent: 2,
            sent_late: 1,
            retried: 3,
            answered_after_retry: 1,
        }
    }

    #[test]
    fn calls_of_two_trials_add_up() {
        let mut sum = calls();
        sum.add(&calls());
        assert_eq!(sum.check(), Ok(()));
        assert_eq!((sum.started, sum.ended(), sum.never_sent), (8, 6, 4));
        assert_eq!((sum.retried, sum.failed[&FailureKind::Encode]), (6, 2));
        let mut all = Calls::default();
        all.add(&sum);
        assert_eq!(all, sum);
    }

    #[test]
    fn a_part_is_no_more_than_its_whole() {
        type Change = fn(&mut Calls);
        let changes: [Change; 8] = [
            |calls| calls.started = 5,
            |calls| calls.abandoned = u64::MAX,
            |calls| calls.never_begun = 2,
            |calls| calls.never_sent = 0,
            |calls| calls.never_sent = 4,
            |calls| calls.sent_late = 3,
            |calls| calls.answered_late = 2,
            |calls| calls.answered_after_retry = 2,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut calls = calls();
            change(&mut calls);
            assert!(calls.check().is_err(), "change {number}");
        }
    }
}
