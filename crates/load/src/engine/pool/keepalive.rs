//! Detects connections that have become silent (gRPC's keepalive).
//!
//! All connections are checked periodically. A connection is silent if it has received no bytes since the
//! last check. Keep-alive therefore costs nothing per call, and any byte is a sign of life, whether it
//! belongs to a response or to the acknowledgement of a PING.

use std::io;
use std::time::Duration;

use rpcgauge_trial::Keepalive;

use super::Pool;
use crate::clock::nanos;

/// Number of checks within the shorter of the two times. A silence is detected at most one interval late.
const CHECKS: u32 = 16;

/// The state of a connection at its last check.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Liveness {
    /// Bytes received by the last check.
    bytes: u64,
    /// Since when no bytes have been received, ns; `None` before the first check.
    silent_since: Option<u64>,
    /// When a PING was sent during this silence, ns.
    asked_at: Option<u64>,
    /// Whether the acknowledgement was already overdue at the previous check. A client that was itself
    /// delayed may find the timeout over but an acknowledgement unread, so it reads once more before it
    /// closes a connection.
    overdue: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Leave,
    Ask,
    End,
}

impl Liveness {
    /// Checks a connection at `now` that has received `bytes` so far.
    fn check(&mut self, bytes: u64, now: u64, keepalive: &Keepalive) -> Action {
        let since = match self.silent_since {
            Some(since) if bytes == self.bytes => since,
            _ => {
                *self = Liveness {
                    bytes,
                    silent_since: Some(now),
                    ..Liveness::default()
                };
                now
            }
        };
        let passed = |from: u64, time| now.saturating_sub(from) >= nanos(time);
        match self.asked_at {
            None if passed(since, keepalive.time()) => {
                self.asked_at = Some(now);
                Action::Ask
            }
            Some(asked) if passed(asked, keepalive.timeout()) => {
                if std::mem::replace(&mut self.overdue, true) {
                    Action::End
                } else {
                    Action::Leave
                }
            }
            _ => Action::Leave,
        }
    }
}

impl Pool<'_> {
    /// Whether it is time to check for silent connections. If so, sets the time of the next check. This needs
    /// no timer, because the loop runs often enough.
    pub(crate) fn checks_for_silence(&mut self, now: u64) -> bool {
        if now < self.keepalive_at {
            return false;
        }
        let between = self.trial.keepalive.map_or(Duration::MAX, |keepalive| {
            keepalive.time().min(keepalive.timeout()) / CHECKS
        });
        self.keepalive_at = now.saturating_add(nanos(between));
        true
    }

    /// Sends a PING if a connection is silent. Returns an error if the connection must be closed because the
    /// PING was not acknowledged.
    #[cold]
    pub(crate) fn check_liveness(&mut self, index: usize, now: u64) -> Option<io::Error> {
        let keepalive = self.trial.keepalive?;
        let open = self.places[index].open()?;
        let bytes = open.client.traffic().received.total();
        match open.liveness.check(bytes, now, &keepalive) {
            Action::Leave => None,
            Action::Ask => {
                if open.client.ping() {
                    self.mark_to_write(index);
                }
                None
            }
            // The same kind of error as from the system's own probes.
            Action::End => {
                let timeout = keepalive.timeout();
                let text = format!("nothing arrived for {timeout:?} after a PING (keep-alive)");
                Some(io::Error::new(io::ErrorKind::TimedOut, text))
            }
        }
    }

    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEPALIVE: Keepalive = Keepalive {
        time_ms: 30,
        timeout_ms: 20,
    };

    /// The action at each check, given as (bytes so far, time in ms).
    fn checks(looks: &[(u64, u64)]) -> Vec<Action> {
        let mut liveness = Liveness::default();
        looks
            .iter()
            .map(|(bytes, now)| liveness.check(*bytes, now * 1_000_000, &KEEPALIVE))
            .collect()
    }

    #[test]
    fn silence_is_asked_about_once_and_then_ended() {
        use Action::{Ask, End, Leave};
        let silent = [(5, 100), (5, 129), (5, 130), (5, 149), (5, 150), (5, 151)];
        assert_eq!(checks(&silent), [Leave, Leave, Ask, Leave, Leave, End]);
    }

    #[test]
    fn what_came_while_the_client_was_held_up_is_read_first() {
        use Action::{Ask, Leave};
        let held_up = [(5, 100), (5, 130), (5, 900), (22, 901), (22, 930)];
        assert_eq!(checks(&held_up), [Leave, Ask, Leave, Leave, Leave]);
    }

    #[test]
    fn any_byte_is_a_sign_of_life() {
        use Action::{Ask, Leave};
        let alive = [(0, 100), (0, 130), (1, 149), (1, 150), (1, 179), (2, 209)];
        assert_eq!(checks(&alive), [Leave, Ask, Leave, Leave, Ask, Leave]);
    }
}
