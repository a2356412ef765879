//! Computes the time spent in each stage from a call's stamps.

use super::response::{Mark, Response};
use crate::recorder::{MarkTimes, StageTimes};

/// When a call passed each point, ns; 0 if it has not passed it, or if the point is not stamped.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamps {
    pub(super) begun: u64,
    pub(super) connected: u64,
    /// When the encoder was called, if stages are timed.
    pub(super) encoding: u64,
    pub(super) encoded: u64,
    pub(super) compressed: u64,
    /// Just before the first write that can contain some of its bytes, if the trial keeps detail.
    pub(super) written: u64,
    pub(super) sent: u64,
    pub(super) first_byte: u64,
    pub(super) received: u64,
    pub(super) decompressed: u64,
    pub(super) decoded: u64,
}

pub(super) fn stage_times(stamps: &Stamps, response: &Response, done: u64) -> StageTimes {
    let optional = |stamp: u64, from: u64| (stamp != 0).then(|| stamp.saturating_sub(from));
    // A stage that a call did not go through passes its start on to the next.
    let next = |stamp: u64, from: u64| if stamp == 0 { from } else { stamp };
    let connected = next(stamps.connected, stamps.begun);
    // The time between these two is rpcgauge's own and belongs to no stage.
    let encoding = next(stamps.encoding, connected);
    let encoded = next(stamps.encoded, encoding);
    let compressed = next(stamps.compressed, encoded);
    // A response may arrive before its request is completely sent.
    let sent = next(stamps.sent, stamps.first_byte).min(stamps.first_byte);
    let decompressed = next(stamps.decompressed, stamps.received);
    let server = match (response.handler_start, response.handler_end) {
        (Mark::At(start), Mark::At(end)) => MarkTimes::from_marks((start, end), encoding, done),
        (Mark::Damaged, _) | (_, Mark::Damaged) => MarkTimes::Implausible,
        _ => MarkTimes::Absent,
    };
    StageTimes {
        client: [
            optional(stamps.connected, stamps.begun),
            optional(stamps.encoded, encoding),
            optional(stamps.compressed, encoded),
            Some(sent.saturating_sub(compressed)),
            Some(stamps.first_byte.saturating_sub(sent)),
            Some(stamps.received.saturating_sub(stamps.first_byte)),
            optional(stamps.decompressed, stamps.received),
            optional(stamps.decoded, decompressed),
        ],
        server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(stamps: Stamps, done: u64) -> StageTimes {
        stage_times(&stamps, &Response::default(), done)
    }

    #[test]
    fn stages_add_up_to_the_call() {
        let stamps = Stamps {
            begun: 100,
            connected: 110,
            encoding: 112,
            encoded: 125,
            compressed: 145,
            written: 0,
            sent: 150,
            first_byte: 200,
            received: 220,
            decompressed: 250,
            decoded: 290,
        };
        let times = times(stamps, 290);
        assert_eq!(
            times.client,
            [10, 13, 20, 5, 50, 20, 30, 40].map(Some),
            "the encoder was called 2 ns after the connection was there"
        );
        assert_eq!(times.server, MarkTimes::Absent);
    }

    #[test]
    fn a_stage_that_was_not_there_leaves_no_gap() {
        let stamps = Stamps {
            begun: 100,
            sent: 150,
            first_byte: 200,
            received: 220,
            ..Stamps::default()
        };
        let [send, wait, receive] = [50, 50, 20].map(Some);
        assert_eq!(
            times(stamps, 220).client,
            [None, None, None, send, wait, receive, None, None]
        );
    }

    #[test]
    fn a_response_before_the_request_is_sent_has_no_wait() {
        let stamps = Stamps {
            begun: 100,
            sent: 0,
            first_byte: 200,
            received: 220,
            ..Stamps::default()
        };
        assert_eq!(times(stamps, 220).client[3..5], [Some(100), Some(0)]);
    }
}
