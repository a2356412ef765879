//! Finding connections on which nothing comes any more (gRPC's keepalive).
//!
//! All connections are looked through from time to time: one whose received bytes have not grown since
//! is silent. So a call costs nothing for it, and any byte is a sign of life, the acknowledgement of a
//! PING as well as a response.

use std::io;
use std::time::Duration;

use rpcgauge_trial::Keepalive;

use super::Pool;
use crate::clock::nanos;

/// Checks are made this often within the shorter of the two times: a silence is found at most that part too late.
const CHECKS: u32 = 16;

/// What was known of a connection when it was last looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Liveness {
    /// Bytes received until then.
    bytes: u64,
    /// Since when they have not grown, ns; `None` before the first check.
    silent_since: Option<u64>,
    /// When it was asked for a sign of life since then, ns.
    asked_at: Option<u64>,
    /// Whether the sign was already overdue at the check before. A client that was itself held up
    /// finds the time over and what came unread: it reads once more before it ends a connection.
    overdue: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Leave,
    Ask,
    End,
}

impl Liveness {
    /// Looks at `now` at a connection that has received `bytes` so far.
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
    /// Whether it is time to look for silent connections. Sets when that is next: the loop turns often
    /// enough by itself, so that no wake-up is asked for.
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

    /// Asks the connection of a place for a sign of life where it is silent. Returns why it is to be
    /// ended, where it gave none.
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
            // In the system's words for its own probes, with the time-out.
            Action::End => {
                let timeout = keepalive.timeout();
                let text = format!("nothing came for {timeout:?} after a PING (keep-alive)");
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

    /// What is done at each check, given as (bytes so far, when in ms).
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
