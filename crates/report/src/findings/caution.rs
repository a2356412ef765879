//! Cautions: what a reader must know to judge a figure or a verdict, in one model for all outputs.
//!
//! A caution has a kind, a subject and counts. Its letter, name and sentence are in `words::caution`.

use rpcgauge_study::settings::Placement;
use serde::Serialize;

/// A caution about a figure, a verdict or a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Caution {
    /// Its kind.
    #[serde(rename = "caution")]
    pub kind: CautionKind,
    /// The variant that it is about; absent if it is about a pair of variants or about the run.
    pub variant: Option<String>,
    /// The placement that it is about; absent if it is about the run.
    pub placement: Option<Placement>,
    /// The count, in the unit of the kind; absent if nothing is counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub count: u64,
    /// What `count` is compared with, usually its total; absent if it is not compared.
    #[serde(skip_serializing_if = "is_zero")]
    pub of: u64,
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The kinds of cautions, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CautionKind {
    /// The run requested to disable idle states, but they were not disabled.
    IdleNotHeld,
    /// The certificate of a live service was not verified.
    Unverified,
    /// Calls stalled in most of a run: `count` is the median of the slices' longest calls, `of` the median call, ns.
    Stalls,
    /// Most of the 99th percentile of latency passed before the calls were sent: `count` is the delay, `of` the
    /// latency, ns.
    LateP99,
    /// Most of the 99.9th percentile of latency passed before the calls were sent, with the same counts.
    LateP999,
    /// At a rate, calls waited for a connection for most of their latency, or of their time until they failed: `count` is
    /// the number of connections, `of` the median of the send delay, ns.
    TooFewConnections,
    /// Both services were already running and were not restarted: the verdict is only about these two instances, and
    /// blocks are its independent units.
    RunningInstances,
    /// At a rate, the variant can have one call in flight per connection, but the other variant any number.
    Bounded,
    /// No A/A pair covers this metric and placement.
    NoControl,
    /// Blocks are left out of the estimate.
    BlocksLeftOut,
    /// The user interrupted trials; their figures cover the part before that.
    Interrupted,
    /// Trials ended early because all calls failed for too long.
    GaveUp,
    /// Trials ended early because they had sent all requests that `max-requests` allows.
    MaxRequests,
    /// Calls that were due in the warm-ups but not yet sent when the measured part began; `of` is the number of
    /// measured calls, which waited for them.
    Backlog,
    /// Calls failed; latency covers only successful calls.
    FailedCalls,
    /// A trial had fewer calls in flight than requested: `count` is the minimum over trials.
    FewerInFlight,
    /// Idle states were not the same in all trials.
    MixedIdle,
    /// Trials in which the client used more than 80% of its core.
    ClientBound,
    /// Trials over a link that was not held: it was later than configured, or had losses of its own.
    LinkNotHeld,
    /// Trials whose warm-up ended at its limit, before latency had settled.
    Unsettled,
    /// Responses that were uncompressed although compression was requested.
    Uncompressed,
    /// Failed attempts to open a connection, including those of the warm-ups.
    FailedConnects,
    /// Connections that the server closed between slices; the client reopened them outside the measured time.
    Reopened,
    /// Failed calls among those that begin a slice and are left out of the figures.
    LeftOutFailed,
    /// Calls that were due but never begun.
    NeverBegun,
    /// Retries: the latency of a retried call includes all its attempts.
    Retried,
    /// Calls that started late because their body was not built in time: their latency includes this delay.
    BodiesLate,
    /// Trials that failed or did not run.
    Incomplete,
    /// Messages were encoded and decoded by interpreting a descriptor: generated code may lead to another verdict.
    DynamicCode,
}

impl Caution {
    /// A caution about the whole run, or about a pair of variants.
    pub(crate) fn plain(kind: CautionKind, placement: Option<Placement>) -> Self {
        Self {
            kind,
            variant: None,
            placement,
            count: 0,
            of: 0,
        }
    }

    /// A caution about a variant.
    pub(crate) fn about(kind: CautionKind, variant: &str, [count, of]: [u64; 2]) -> Self {
        Self {
            variant: Some(variant.to_owned()),
            count,
            of,
            ..Self::plain(kind, None)
        }
    }

    pub(crate) fn under(self, placement: Placement) -> Self {
        Self {
            placement: Some(placement),
            ..self
        }
    }

    /// Whether the caution is about at most half of a variant's trials.
    pub(crate) fn is_minor(&self) -> bool {
        let of_trials = matches!(
            self.kind,
            CautionKind::ClientBound
                | CautionKind::LinkNotHeld
                | CautionKind::Unsettled
                | CautionKind::Incomplete
        );
        of_trials && self.count * 2 <= self.of
    }
}
