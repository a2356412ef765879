//! Calls that exchange several messages.
//!
//! ```text
//! opened with its first message ──► a message is due ──► sent ──► … ──► the last one ends the request
//!                                      ▲   │ no room                        │
//!                                      └───┘                                ▼
//! every message received: counted, checked, released ──► … ──► the server ends the response
//!                                                          └─► enough messages or time: cancelled, succeeded
//! ```
//!
//! `send` decides when messages are sent, and `receive` reads them. The rest of the call is like that of any other:
//! the ledger owns it, and [`CallStream`] is its state here.
//!
//! Invariants between turns:
//!
//! - A call that has messages to send is in `ready`, in `blocked`, has an [`Alarm::Message`], or waits for the
//!   response to its last message ([`Pace::InTurn`]).
//! - Every byte of a response is released once it is processed, so that only this process's speed slows down a
//!   server.
//!
//! A WebSocket cannot end only its request. Its client begins the closing handshake when the request would end, and the
//! responses to all messages have arrived.

mod reader;
mod receive;
mod send;
mod unanswered;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rpcgauge_trial::{Pace, StreamForm, Streaming};
use rpcgauge_wire::Exchange;

use self::reader::StreamReader;
pub(super) use self::receive::{end_input, take_input};
use self::unanswered::Unanswered;
use super::ledger::InFlight;
use super::outgoing::Key;
use crate::trial::{CallStyle, Trial};

/// The exchanges of a trial's calls.
#[derive(Debug)]
pub(super) struct Streams {
    settings: Streaming,
    is_websocket: bool,
    /// Whether responses are paired with messages by a key.
    by_key: bool,
    /// The maximum size of a received message, bytes.
    max_message_bytes: u32,
    /// Time between two messages of a call at a rate, ns.
    interval: f64,
    /// What is due when: the time in ns, and the call. A call that has ended can still have alarms.
    alarms: BinaryHeap<Reverse<(u64, u64, Alarm)>>,
    /// Calls with messages to send.
    ready: VecDeque<u64>,
    /// Calls with a message for which there is no room.
    blocked: Vec<u64>,
    /// Bytes of the current input that were processed, by response. Empty between inputs.
    released: Vec<(Exchange, usize)>,
}

/// What happens to a call at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// A message is due.
    Message,
    /// The call's time is over.
    TimeOver,
    /// The call has waited long enough for a message, unless one arrived in the meantime.
    Silence,
}

/// The state of a streaming call.
#[derive(Debug)]
pub(crate) struct CallStream {
    exchange: Exchange,
    /// Reads the response; `None` if the server sends only one message.
    reader: Option<StreamReader>,
    sent: u64,
    received: u64,
    /// When the next message is due, ns.
    next_due: u64,
    /// Whether the request is ended, or will be with the next message.
    sends: Sends,
    /// The messages of a bidirectional call that have no response yet.
    unanswered: Unanswered,
    /// Whether a response came before its message was sent, or too many messages have no response.
    out_of_turn: bool,
    /// Whether a response was paired with its message.
    has_pair: bool,
    /// Whether the call's time is over.
    time_is_over: bool,
    /// Whether the next message is due but has no body yet.
    waits_for_body: bool,
    /// Whether the server has completed the response.
    is_complete: bool,
    /// Whether the rest of the response does not matter, and the call is about to end.
    is_over: bool,
    /// When the last message arrived or, before that, the call was opened, ns.
    last_at: u64,
}

/// Whether the server responded to each message with one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairing {
    Paired,
    Unpaired,
    /// The call ended before that could show.
    Unknown,
}

/// What a call still sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sends {
    /// More messages.
    Messages,
    /// Only the end of the request.
    End,
    Nothing,
}

impl Streams {
    /// `None` if the calls of `trial` do not stream.
    pub(super) fn new(trial: &Trial) -> Option<Streams> {
        let settings = trial.streaming?;
        Some(Streams {
            settings,
            is_websocket: trial.request.style == CallStyle::WebSocket,
            by_key: trial.pair_by.is_some(),
            max_message_bytes: trial.expect.max_response_bytes,
            interval: match settings.pace {
                Pace::Rate(per_second) => 1e9 / per_second,
                Pace::Unpaced | Pace::InTurn(_) => 0.0,
            },
            alarms: BinaryHeap::new(),
            ready: VecDeque::new(),
            blocked: Vec::new(),
            released: Vec::new(),
        })
    }

    /// Whether the request of a call ends with its first message.
    pub(super) fn ends_with_first(&self) -> bool {
        self.settings.messages == Some(1) && !self.is_closed_by_receiving()
    }

    /// Whether the call ends a WebSocket when it has received enough, or when its time is over. Otherwise, the WebSocket is
    /// closed once as many messages were received as sent.
    fn is_closed_by_receiving(&self) -> bool {
        let Streaming {
            messages,
            receive,
            time_ms,
            ..
        } = self.settings;
        let has_end = receive.is_some() || messages.is_some() && time_ms.is_some();
        self.is_websocket && has_end || self.ends_when_answered()
    }

    /// Whether the call ends when each message has its response. The number of messages of a WebSocket, by which it would
    /// otherwise be closed, does not say that if they have keys.
    fn ends_when_answered(&self) -> bool {
        self.is_websocket && self.by_key
    }

    /// Notes that bytes of a response are processed. Messages of one response usually follow each other, and returning
    /// them to the windows together costs less than one by one.
    fn release(&mut self, exchange: Exchange, bytes: usize) {
        match self.released.last_mut() {
            Some((last, sum)) if *last == exchange => *sum += bytes,
            _ => self.released.push((exchange, bytes)),
        }
    }

    /// When something is due next, ns.
    pub(super) fn next_at(&self) -> u64 {
        let first = self.alarms.peek();
        first.map_or(u64::MAX, |Reverse((at, ..))| *at)
    }

    /// Forgets the alarms of calls that have ended, if these are most of them.
    fn forget_alarms(&mut self, calls: &InFlight) {
        const MIN_ALARMS: usize = 1_024;
        // A call in flight has at most three alarms, except after retries.
        if self.alarms.len() > MIN_ALARMS.max(8 * calls.len()) {
            self.alarms
                .retain(|Reverse((_, token, _))| calls.peek(*token).is_some());
        }
    }

    fn set_alarm(&mut self, at: u64, token: u64, alarm: Alarm) {
        self.alarms.push(Reverse((at, token, alarm)));
    }

    /// Takes the next alarm that is due by `now`.
    fn take_alarm(&mut self, now: u64) -> Option<(u64, Alarm)> {
        let Reverse((at, token, alarm)) = *self.alarms.peek()?;
        (at <= now).then(|| {
            self.alarms.pop();
            (token, alarm)
        })
    }

    /// The state of a call that was due at `due` and has been opened with its first message, which has this key, at `now`.
    fn opened(
        &mut self,
        exchange: Exchange,
        token: u64,
        key: Option<Key>,
        (due, now): (u64, u64),
    ) -> CallStream {
        const NS_PER_MS: u64 = 1_000_000;
        let settings = self.settings;
        let mut stream = CallStream {
            exchange,
            reader: StreamReader::new(settings.form, self.is_websocket, self.max_message_bytes),
            sent: 0,
            received: 0,
            next_due: due,
            sends: Sends::Messages,
            unanswered: Unanswered::new(self.by_key),
            out_of_turn: false,
            has_pair: false,
            time_is_over: false,
            waits_for_body: false,
            is_complete: false,
            is_over: false,
            last_at: now,
        };
        stream.note_sent(self, key, due, due);
        if let Some(time) = settings.time_ms {
            let at = due.saturating_add(time.saturating_mul(NS_PER_MS));
            self.set_alarm(at, token, Alarm::TimeOver);
        }
        if let Some(timeout) = settings.message_timeout_ms {
            let at = now.saturating_add(timeout.saturating_mul(NS_PER_MS));
            self.set_alarm(at, token, Alarm::Silence);
        }
        if stream.sends == Sends::Messages && !matches!(settings.pace, Pace::InTurn(_)) {
            self.ready.push_back(token);
        }
        stream
    }
}

impl CallStream {
    /// Whether the next message is the last one.
    fn is_next_last(&self, streams: &Streams) -> bool {
        Some(self.sent + 1) == streams.settings.messages
    }

    /// Notes that a message with this key that was due at `due` was sent. `call_due` is when its call was due, ns.
    fn note_sent(&mut self, streams: &Streams, key: Option<Key>, due: u64, call_due: u64) {
        if self.is_next_last(streams) {
            self.sends = Sends::Nothing;
        }
        self.sent += 1;
        // In turn, the next message waits for the response even if others came without a message.
        let in_turn = matches!(streams.settings.pace, Pace::InTurn(_));
        if streams.settings.form == StreamForm::Bidirectional && (in_turn || !self.out_of_turn) {
            self.out_of_turn |= !self.unanswered.push(self.sent, key, due);
        }
        if let Pace::Rate(_) = streams.settings.pace {
            // Computed from the start, so that rounding errors do not add up.
            let offset = (self.sent as f64 * streams.interval) as u64;
            self.next_due = call_due.saturating_add(offset);
        }
    }

    /// Whether each message of a bidirectional call had its response, as far as that is known when the call ends. With keys,
    /// whether any had.
    fn pairing(&self, pace: Pace, succeeded: bool) -> Pairing {
        if self.unanswered.keyed().is_some() {
            return if self.has_pair {
                Pairing::Paired
            } else {
                Pairing::Unknown
            };
        }
        let waits_for_each = matches!(pace, Pace::InTurn(_)) && self.received > 0;
        let is_complete = self.is_complete && succeeded;
        if self.out_of_turn || is_complete && self.sent != self.received {
            Pairing::Unpaired
        } else if is_complete || waits_for_each {
            Pairing::Paired
        } else {
            Pairing::Unknown
        }
    }

    /// Whether the rest of the response does not matter.
    pub(in crate::engine) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the server ended the call before all messages were sent.
    fn was_ended_early(&self) -> bool {
        self.sends == Sends::Messages
    }
}
