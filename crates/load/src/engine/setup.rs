//! What a trial's settings mean for the engine.

use rpcgauge_wire::{Limits, Protocol};

use super::connection::Connection;
use crate::schedule::{MOST_IN_FLIGHT, Schedule};
use crate::trial::{CallStyle, ConnectionUse, Trial};

/// The places for a trial's connections, with the calls in flight that the schedule allows each.
pub(super) fn places(trial: &Trial) -> Vec<Connection> {
    let connections = trial.connections as usize;
    match (trial.connection_use, &trial.schedule) {
        (ConnectionUse::PerCall, Schedule::Closed { in_flight }) => {
            (0..*in_flight).map(|_| Connection::new(1)).collect()
        }
        (ConnectionUse::PerCall, Schedule::Rate { .. } | Schedule::Ramp { .. }) => {
            (0..connections).map(|_| Connection::new(1)).collect()
        }
        (ConnectionUse::Reuse, Schedule::Rate { .. } | Schedule::Ramp { .. }) => (0..connections)
            .map(|_| Connection::new(MOST_IN_FLIGHT as usize))
            .collect(),
        (ConnectionUse::Reuse, Schedule::Closed { in_flight }) => {
            // An equal share each; the first ones take what is left.
            let (share, left) = (
                *in_flight as usize / connections,
                *in_flight as usize % connections,
            );
            (0..connections)
                .map(|index| Connection::new(share + usize::from(index < left)))
                .collect()
        }
    }
}

/// Whether requests say that their connection ends with them: HTTP/1.1 has a header for it.
pub(super) fn closes_after_call(trial: &Trial) -> bool {
    trial.connection_use == ConnectionUse::PerCall && trial.target.protocol == Protocol::Http1
}

/// The limits of a connection, with the trial's own bound on answers. Its calls in flight are
/// bounded by the quota of its place: a limit below that would cap the schedule without a word.
pub(super) fn limits(trial: &Trial) -> Limits {
    let prefix = match trial.request.style {
        CallStyle::Http { .. } => 0,
        CallStyle::Grpc { .. } => rpcgauge_wire::grpc::PREFIX_LENGTH as u64,
    };
    let bound = u64::from(trial.expect.max_answer_bytes) + prefix;
    Limits {
        max_body_bytes: trial.limits.max_body_bytes.min(bound),
        max_calls_in_flight: MOST_IN_FLIGHT,
        ..trial.limits.clone()
    }
}
