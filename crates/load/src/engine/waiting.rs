//! Waiting for the network and for time.
//!
//! The loop waits for events of all connections and of its timer. A closed loop over one connection
//! waits in the read itself, as the floor's loop does: that spares a call to the system for every
//! call. It does so from its first call to its last, so that all are timed in one way: what else is due
//! meanwhile waits until the call ends, or for as long as a read waits.

use std::time::Duration;

use mio::Events;

use super::Engine;
use super::connection::State;
use crate::error::LoadError;
use crate::schedule::Dues;
use crate::trial::ConnectionUse;

/// The loop looks at the stop flag at least this often, ns.
const LOOK_UP_NS: u64 = 50_000_000;

/// How long until a body that is late is looked for again, ns. Nothing tells that it is there.
const LATE_BODY_REST_NS: u64 = 100_000;

/// How long a read waits. The kernel counts it in ticks of up to 10 ms, and adds one.
const READ_WAIT: Duration = Duration::from_millis(20);

/// A read waits only if no deadline passes within this time, ns.
const QUIET_NS: u64 = 45_000_000;

impl Engine<'_, '_, '_> {
    /// Waits until something can be read or written, or until it is time for something, and takes what
    /// came. `now` is when the turn began: what became due since then was not looked at and must not be
    /// waited for.
    pub(super) fn wait_and_read(&mut self, events: &mut Events, now: u64) -> Result<(), LoadError> {
        self.recorder.count_stages();
        if let Some(index) = self.lone_connection(now) {
            self.read(index, Some(READ_WAIT))?;
            self.read_told()?;
        } else {
            #[cfg(test)]
            if self.phase == super::phases::Phase::Measured {
                self.polled += 1;
            }
            let wake = self.wake_by(now);
            self.wait(events, wake, now)?;
            self.read_all(events)?;
        }
        self.work_through(events)
    }

    fn wait(&mut self, events: &mut Events, wake: u64, now: u64) -> Result<(), LoadError> {
        if wake <= now {
            return self.poll(events, Some(Duration::ZERO));
        }
        self.timer
            .wake_by(wake, now)
            .map_err(LoadError::machine("set a timer"))?;
        self.poll(events, None)
    }

    /// The connection that alone can bring anything, where a call in flight is all that is waited for.
    fn lone_connection(&self, now: u64) -> Option<usize> {
        let quiet_until = now.saturating_add(QUIET_NS);
        let (_, due) = self.calls.oldest()?;
        let is_busy = self.more_are_due || !self.unread.is_empty() || !self.dirty.is_empty();
        if is_busy
            || matches!(self.dues, Dues::Arrivals { .. })
            || due.saturating_add(self.deadline) < quiet_until
        {
            return None;
        }
        // A trial with one connection has a spare place beside it.
        let one = self.open == 1 && self.connections.len() <= 2;
        let reused = self.trial.connection_use == ConnectionUse::Reuse;
        if !one || !reused || self.connecting > 0 || !self.not_open.is_empty() {
            return None;
        }
        let is_lone = |state: &State| match state {
            State::Open(open) => !open.blocked && !open.ended && open.stream.can_wait(),
            State::Connecting(_) | State::Closed { .. } => false,
        };
        self.connections.iter().position(|c| is_lone(&c.state))
    }

    /// When the loop has something to do, whatever the network brings.
    fn wake_by(&self, now: u64) -> u64 {
        if self.more_are_due || !self.unread.is_empty() || !self.dirty.is_empty() {
            return now;
        }
        let mut wake = self.look_by().min(now + LOOK_UP_NS);
        wake = wake.min(self.phase_ends_by(now));
        if let Some((_, due)) = self.calls.oldest() {
            wake = wake.min(due.saturating_add(self.deadline));
        }
        if let Some(due) = self.dues.next().filter(|due| self.may_begin(*due)) {
            wake = wake.min(if due > now {
                due
            } else if self.waits_for_body {
                now + LATE_BODY_REST_NS
            } else {
                // It waits for room, which the network brings, or for its end.
                due.saturating_add(self.deadline)
            });
        }
        wake.min(self.tend_by(now))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::AtomicBool;

    use super::super::{EVENTS_A_TURN, Hooks};
    use super::*;
    use crate::bodies::{Bodies, Body};
    use crate::schedule::Schedule;
    use crate::stage::Timing;
    use crate::trial::{Address, CallStyle, Expect, Request, Stop, Target, Trial};
    use crate::warmup::Settling;

    /// A server that answers every read.
    fn answering() -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {
                    stream.write_all(answer).unwrap();
                }
            }
        });
        Address::Tcp(address)
    }

    #[test]
    fn all_calls_of_a_loop_over_one_connection_are_waited_for_in_one_way() {
        let second = Duration::from_secs(1);
        let trial = Trial {
            target: Target {
                address: answering(),
                protocol: rpcgauge_wire::Protocol::Http1,
                tls: None,
            },
            request: Request {
                style: CallStyle::Http {
                    method: "GET".to_owned(),
                },
                path: "/".to_owned(),
                authority: "localhost".to_owned(),
                headers: Vec::new(),
            },
            expect: Expect::default(),
            schedule: Schedule::Closed { in_flight: 1 },
            connections: 1,
            connection_use: ConnectionUse::Reuse,
            keepalive: None,
            timing: Timing::Calls,
            warmup: None,
            // It ends by time, sooner than a read may wait.
            stop: Stop {
                calls: None,
                time: Some(Duration::from_nanos(QUIET_NS) / 2),
            },
            deadline: second,
            drain: second,
            patience: second,
            limits: rpcgauge_wire::Limits::default(),
        };
        let body = Body {
            bytes: Vec::new(),
            compressed: false,
            plain_len: 0,
        };
        let bodies = Bodies::Prepared {
            bodies: vec![body],
            verifier: None,
        };
        let hooks = Hooks {
            settling: Box::new(|_| Settling::Settled),
            measuring: Box::new(|_| ()),
            check: None,
            progress: None,
        };
        let mut engine = Engine::checked(&trial, bodies, hooks).unwrap();
        let mut events = Events::with_capacity(EVENTS_A_TURN);
        engine.run(&mut events, &AtomicBool::new(false)).unwrap();
        assert!(engine.recorder.account.answered > 10);
        assert_eq!(engine.polled, 0, "the rest was waited for in the read");
    }
}
