//! Counts the messages of streaming calls.

use rpcgauge_trial::{MessageFigures, StreamForm};

use crate::Histogram;
use crate::histogram::histogram;

/// The messages of measured streaming calls so far.
#[derive(Debug)]
pub struct MessageRecorder {
    pub(crate) form: StreamForm,
    /// [`MessageFigures::sent`].
    pub sent: u64,
    /// [`MessageFigures::received`].
    pub received: u64,
    pub(crate) ended_early: u64,
    /// [`MessageFigures::paired`].
    pub paired: u64,
    pub(crate) unpaired: u64,
    pub(crate) unmatched: u64,
    pub(crate) unanswered: u64,
    /// [`MessageFigures::first`].
    pub first: Histogram,
    /// [`MessageFigures::gap`].
    pub gap: Histogram,
    /// [`MessageFigures::latency`]; empty unless streams are bidirectional.
    pub latency: Histogram,
}

impl MessageRecorder {
    /// No messages yet.
    pub fn new(form: StreamForm) -> MessageRecorder {
        MessageRecorder {
            form,
            sent: 0,
            received: 0,
            ended_early: 0,
            paired: 0,
            unpaired: 0,
            unmatched: 0,
            unanswered: 0,
            first: histogram(),
            gap: histogram(),
            latency: histogram(),
        }
    }

    /// The figures. The messages were counted for `over_ns`.
    pub fn finish(self, over_ns: u64) -> MessageFigures {
        let MessageRecorder {
            form,
            sent,
            received,
            ended_early,
            paired,
            unpaired,
            unmatched,
            unanswered,
            first,
            gap,
            latency,
        } = self;
        MessageFigures {
            form,
            sent,
            received,
            over_ns,
            ended_early,
            paired,
            unpaired,
            unmatched,
            unanswered,
            first: first.into(),
            gap: gap.into(),
            latency: rpcgauge_trial::Histogram::from(latency).non_empty(),
        }
    }
}
