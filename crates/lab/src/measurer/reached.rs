//! Checks that the calls a client reports have reached its server, using the kernel's counters for the
//! server's TCP connections, which the client cannot forge.

use rpcgauge_trial::Address;

use crate::machine::connections::{Connections, Sent};
use crate::variant::server::{Up, enter_server};

/// The response that verified a client may be larger than its other responses by at most this factor:
/// messages differ in length, and HTTP/2 occasionally adds PING, WINDOW_UPDATE or SETTINGS frames.
const BYTES_FACTOR: u64 = 3;

/// The kernel's counts for the slices of a trial.
pub(super) struct Reached {
    connections: Connections,
    /// Each call opens its own connection, so connections are counted instead of bytes.
    is_per_call: bool,
    seen: Seen,
}

#[derive(Debug, Default)]
struct Seen {
    /// Successful calls reported by the client, in slices with known counts.
    answered: u64,
    /// Connections accepted in these slices, on any port.
    accepted: u64,
    /// Bytes that the server sent in these slices, and for the one call that was verified.
    sent: u64,
    sent_for_one: Option<u64>,
}

/// The kernel's counts at one moment.
pub(super) struct Look {
    accepted: u64,
    sent: Sent,
}

impl Look {
    /// The bytes that the server sent since `before`; `None` if its connections changed, because the counts
    /// of closed connections are lost.
    fn sent_since(&self, before: &Self) -> Option<u64> {
        let are_same = self.accepted == before.accepted && self.sent.keys().eq(before.sent.keys());
        let sum = |look: &Self| look.sent.values().sum::<u64>();
        are_same.then(|| sum(self).saturating_sub(sum(before)))
    }
}

impl Reached {
    /// `None` unless the server listens on TCP and the kernel provides the counts.
    pub(super) fn of(server: &Up, is_per_call: bool) -> Option<Self> {
        let Address::Tcp(at) = server.subject.said().address.as_ref()? else {
            return None;
        };
        let _entered = enter_server(server.link.as_deref()).ok()?;
        Some(Self {
            connections: Connections::of(*at).ok()?,
            is_per_call,
            seen: Seen::default(),
        })
    }

    pub(super) fn look(&self) -> Option<Look> {
        let sent = if self.is_per_call {
            Sent::new()
        } else {
            self.connections.sent().ok()?
        };
        let accepted = self.connections.accepted().ok()?;
        Some(Look { accepted, sent })
    }

    /// Adds a slice with `answered` successful calls, given the looks before and after it.
    pub(super) fn add_slice(&mut self, looks: (Option<Look>, Option<Look>), answered: u64) {
        let (Some(before), Some(after)) = looks else {
            return;
        };
        let sent = after.sent_since(&before);
        if self.is_per_call || sent.is_some() {
            self.seen.answered += answered;
            self.seen.accepted += after.accepted.saturating_sub(before.accepted);
            self.seen.sent += sent.unwrap_or_default();
        }
    }

    /// Adds the call that verified the client.
    pub(super) fn add_one(&mut self, looks: (Option<Look>, Option<Look>)) {
        if let (Some(before), Some(after)) = looks {
            self.seen.sent_for_one = after.sent_since(&before);
        }
    }

    /// Why the calls that the client reports cannot all have reached the server; `None` if there is no
    /// contradiction.
    pub(super) fn contradiction(&self) -> Option<String> {
        self.seen.contradiction(self.is_per_call)
    }
}

impl Seen {
    fn contradiction(&self, is_per_call: bool) -> Option<String> {
        let Self {
            answered,
            accepted,
            sent,
            sent_for_one,
        } = self;
        if is_per_call {
            return (accepted < answered).then(|| {
                format!(
                    "the client reports that {answered} calls succeeded, each on its own connection, but this \
                     machine accepted only {accepted} connections in that time: the other calls did not reach \
                     the server"
                )
            });
        }
        let one = (*sent_for_one)?;
        let is_too_little = sent.saturating_mul(BYTES_FACTOR) < answered.saturating_mul(one);
        (is_too_little || one == 0).then(|| {
            format!(
                "the client reports that {answered} calls succeeded, but the server sent only {sent} bytes in that \
                 time, and {one} bytes for one verified call: the other calls did not reach it"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_the_kernel_did_not_see_are_told() {
        let seen = |answered, accepted, sent, sent_for_one| Seen {
            answered,
            accepted,
            sent,
            sent_for_one,
        };
        for (seen, is_per_call, is_told) in [
            (seen(100, 0, 10_000, Some(100)), false, false),
            // Large responses among short ones, and frames that do not belong to a call.
            (seen(100, 0, 3_334, Some(100)), false, false),
            (seen(100, 0, 3_333, Some(100)), false, true),
            (seen(100, 0, 0, Some(0)), false, true),
            // The connections changed during every slice, or during the verified call.
            (seen(0, 0, 0, Some(100)), false, false),
            (seen(100, 0, 10, None), false, false),
            (seen(100, 100, 0, None), true, false),
            (seen(100, 120, 0, None), true, false),
            (seen(100, 99, 0, None), true, true),
        ] {
            let told = seen.contradiction(is_per_call);
            assert_eq!(told.is_some(), is_told, "{seen:?}: {told:?}");
        }
    }

    #[test]
    fn connections_that_changed_show_nothing() {
        let look = |accepted, sent: &[(u64, u64)]| Look {
            accepted,
            sent: sent.iter().copied().collect(),
        };
        let before = look(5, &[(1, 100), (2, 50)]);
        for (after, sent) in [
            (look(5, &[(1, 130), (2, 70)]), Some(50)),
            (look(6, &[(1, 130), (2, 70)]), None),
            (look(5, &[(1, 130)]), None),
            (look(5, &[(1, 130), (2, 70), (3, 0)]), None),
        ] {
            assert_eq!(after.sent_since(&before), sent);
        }
    }
}
