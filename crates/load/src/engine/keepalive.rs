//! Finding connections on which nothing comes any more (gRPC's keepalive).
//!
//! All connections are looked through from time to time: one whose received bytes have not grown since
//! is silent. So a call costs nothing for it, and any byte is a sign of life, the acknowledgement of a
//! PING as well as an answer.

use std::io;
use std::time::Duration;

use rpcgauge_wire::Protocol;

use super::Engine;
use crate::clock::nanos;
use crate::error::LoadError;
use crate::trial::Keepalive;

/// Looks within the shorter of the two times: a silence is seen at most this part of it too late.
const LOOKS: u32 = 16;

/// What was heard of a connection when it was last looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hearing {
    /// Bytes received until then.
    bytes: u64,
    /// Since when they have not grown, ns; `None` before the first look.
    silent_since: Option<u64>,
    /// When it was asked for a sign of life since then, ns.
    asked_at: Option<u64>,
    /// Whether the answer was already overdue at the look before. A client that was itself held up
    /// finds the time over and what came unread: it reads once more before it ends a connection.
    overdue: bool,
}

/// What is to be done about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Leave,
    Ask,
    End,
}

impl Hearing {
    /// Looks at `now` at a connection that has received `bytes` so far.
    fn look(&mut self, bytes: u64, now: u64, keepalive: &Keepalive) -> Verdict {
        let since = match self.silent_since {
            Some(since) if bytes == self.bytes => since,
            _ => {
                *self = Hearing {
                    bytes,
                    silent_since: Some(now),
                    asked_at: None,
                    overdue: false,
                };
                now
            }
        };
        let passed = |from: u64, time| now.saturating_sub(from) >= nanos(time);
        match self.asked_at {
            None if passed(since, keepalive.time) => {
                self.asked_at = Some(now);
                Verdict::Ask
            }
            Some(asked) if passed(asked, keepalive.timeout) => {
                match std::mem::replace(&mut self.overdue, true) {
                    true => Verdict::End,
                    false => Verdict::Leave,
                }
            }
            _ => Verdict::Leave,
        }
    }
}

impl Engine<'_, '_, '_> {
    /// Asks silent connections for a sign of life and ends those that gave none.
    ///
    /// The loop turns often enough by itself for this: no time of its own is waited for.
    #[cold]
    pub(super) fn look_for_silence(&mut self, now: u64) -> Result<(), LoadError> {
        let Some(keepalive) = self
            .trial
            .keepalive
            .filter(|_| self.trial.target.protocol == Protocol::Http2)
        else {
            // HTTP/1.1 has nothing to ask with: the system's probes are all.
            self.listen_at = u64::MAX;
            return Ok(());
        };
        let rest = keepalive.time.min(keepalive.timeout) / LOOKS;
        self.listen_at = now.saturating_add(nanos(rest));
        for index in 0..self.connections.len() {
            let Some(open) = self.connections[index].open() else {
                continue;
            };
            let bytes = open.client.traffic().received.total();
            match open.hearing.look(bytes, now, &keepalive) {
                Verdict::Leave => {}
                Verdict::Ask => {
                    if open.client.ping() {
                        self.mark_dirty(index);
                    }
                }
                Verdict::End => {
                    self.lose(index, Some(silence(keepalive.timeout)), now)?;
                }
            }
        }
        Ok(())
    }
}

/// As the system says it of its own probes, with what was waited for.
fn silence(timeout: Duration) -> io::Error {
    let text = format!("nothing came for {timeout:?} after a PING (keep-alive)");
    io::Error::new(io::ErrorKind::TimedOut, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEPALIVE: Keepalive = Keepalive {
        time: Duration::from_nanos(30),
        timeout: Duration::from_nanos(20),
    };

    /// What is done at each look, given as (bytes so far, when).
    fn looks(looks: &[(u64, u64)]) -> Vec<Verdict> {
        let mut hearing = Hearing::default();
        looks
            .iter()
            .map(|(bytes, now)| hearing.look(*bytes, *now, &KEEPALIVE))
            .collect()
    }

    #[test]
    fn silence_is_asked_about_once_and_then_ended() {
        use Verdict::{Ask, End, Leave};
        let silent = [(5, 100), (5, 129), (5, 130), (5, 149), (5, 150), (5, 151)];
        assert_eq!(looks(&silent), [Leave, Leave, Ask, Leave, Leave, End]);
    }

    #[test]
    fn what_came_while_the_client_was_held_up_is_read_first() {
        use Verdict::{Ask, Leave};
        let held_up = [(5, 100), (5, 130), (5, 900), (22, 901), (22, 930)];
        assert_eq!(looks(&held_up), [Leave, Ask, Leave, Leave, Leave]);
    }

    #[test]
    fn any_byte_is_a_sign_of_life() {
        use Verdict::{Ask, Leave};
        let alive = [(0, 100), (0, 130), (1, 149), (1, 150), (1, 179), (2, 209)];
        assert_eq!(looks(&alive), [Leave, Ask, Leave, Leave, Ask, Leave]);
    }
}
