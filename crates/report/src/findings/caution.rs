//! What a reader must know beside a figure or a verdict: one model of it for every output.
//!
//! A caution is a kind, what it is about, and how many of how many. Its letter, its name and its
//! sentence are in `words`, in one place.

use rpcgauge_study::settings::Placement;
use serde::Serialize;

/// What a reader must know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Caution {
    /// Which thing.
    #[serde(rename = "caution")]
    pub kind: CautionKind,
    /// The variant that it is about; absent where it is about a pair of them, or about the run.
    pub variant: Option<String>,
    /// Under which placement; absent where it is about the run.
    pub placement: Option<Placement>,
    /// How many, in the unit of the kind; absent where nothing is counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub count: u64,
    /// Of how many; absent if it is not a share.
    #[serde(skip_serializing_if = "is_zero")]
    pub of: u64,
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The kinds of cautions, in the order in which they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CautionKind {
    /// Idle states were to be disabled and were not.
    IdleNotHeld,
    /// The certificate of a live service was not verified.
    Unverified,
    /// Calls stalled in most of a run: the median of the slices' longest calls, of the median call, ns.
    Stalls,
    /// Most of the 99th percentile was over before its calls were sent: delay, of latency, ns.
    LateP99,
    /// The same of the 99.9th percentile.
    LateP999,
    /// Both services were running before, and nothing was restarted: the verdict holds for these
    /// two instances, and its blocks stand each for itself.
    RunningInstances,
    /// At a rate the variant can have one call in flight on each connection, and the
    /// other any number.
    Bounded,
    /// No A/A pair covers this metric and placement.
    NoControl,
    /// Blocks are left out of the estimate.
    BlocksLeftOut,
    /// The user ended trials; their figures are those of the part before.
    Interrupted,
    /// Trials ended early, since all calls failed for too long.
    GaveUp,
    /// Trials ended early, since they had sent all requests that they might.
    MaxRequests,
    /// Calls of the warm-ups that were due and not sent when the measured part began, and how many calls were
    /// measured behind them.
    Backlog,
    /// Calls failed; latency counts only those that succeeded.
    FailedCalls,
    /// Calls in flight that were reached, of those asked for, in the trial that reached the fewest.
    FewerInFlight,
    /// Idle states were not the same in all trials.
    MixedIdle,
    /// Trials in which the client used more than 80% of its core.
    ClientBound,
    /// Trials over a link that was not held: later than set, or with losses of its own.
    LinkNotHeld,
    /// Trials whose warm-up ended at its limit, before latency had settled.
    Unsettled,
    /// Responses that came uncompressed although a compression was asked for.
    Uncompressed,
    /// Attempts to open a connection that failed, those of the warm-ups included.
    FailedConnects,
    /// Connections that the server closed between slices; they were opened again outside the figures.
    Reopened,
    /// Failed calls among those that begin a slice and are left out of the figures.
    LeftOutFailed,
    /// Calls that were due but never begun.
    NeverBegun,
    /// Sends beyond a call's first: their latency has all sends in it.
    Retried,
    /// Calls that were due and had no body yet: their latency has the client's delay in it.
    BodiesLate,
    /// Trials that failed or did not run.
    Incomplete,
    /// A descriptor was interpreted to make and read messages: with generated code a verdict may be
    /// another.
    DynamicCode,
}

impl Caution {
    /// One about the whole run, or about a pair of variants.
    pub(crate) fn plain(kind: CautionKind, placement: Option<Placement>) -> Self {
        Self {
            kind,
            variant: None,
            placement,
            count: 0,
            of: 0,
        }
    }

    /// One about a variant.
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

    /// Whether it is about at most half of a variant's trials.
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
