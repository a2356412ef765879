//! One HTTP/1.1 connection as a state machine.
//!
//! ```text
//!            start                final head               last byte
//!   Idle ───────────► Head ───────────────────► Body ───────────────────► Idle
//!                     │  ▲                       │ chunked: last chunk      ▲
//!                     └──┘ 1xx                   └────────► Trailers ───────┘
//! ```
//!
//! In any state a violation, a limit, the end of the transport or a cancelled call ends the
//! connection: `closing` is set and nothing more is read. [`super::receive`] parses the response.

use bytes::Bytes;

use super::chunked::Chunked;
use super::head::LastHead;
use super::section::EndFinder;
use crate::error::{Closing, Failure, Stage, StartError};
use crate::event::{Event, FieldRange, Sink, Token};
use crate::limits::Limits;
use crate::output::Output;
use crate::request::{Decimal, Head};
use crate::traffic::{ByteCount, Traffic};

#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) limits: Limits,
    output: Output,
    pub(super) traffic: Traffic,
    pub(super) call: Call,
    /// Counts the bytes in `output`, in the order head, prefix of a higher layer (overhead), body.
    unsent: ByteCount,
    /// Whether no more calls can be started.
    pub(super) closing: bool,
    /// The received bytes of an incomplete head or trailer section.
    pub(super) partial: Vec<u8>,
    pub(super) finder: EndFinder,
    pub(super) last_head: LastHead,
    /// The fields of a trailer section.
    pub(super) ranges: Vec<FieldRange>,
}

/// The call in flight, or the previous one while the state is `Idle`.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) token: Token,
    pub(super) state: State,
    pub(super) head_method: bool,
    /// Whether the connection must close after the call.
    pub(super) close: bool,
    pub(super) first_byte_seen: bool,
    pub(super) interim: u32,
    pub(super) body_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) enum State {
    #[default]
    Idle,
    Head,
    Length {
        left: u64,
    },
    UntilClose,
    Chunked(Chunked),
    Trailers,
}

impl Connection {
    pub(crate) fn new(limits: Limits) -> Self {
        Connection {
            limits,
            output: Output::default(),
            traffic: Traffic::default(),
            call: Call::default(),
            unsent: ByteCount::default(),
            closing: false,
            partial: Vec::new(),
            finder: EndFinder::default(),
            last_head: LastHead::default(),
            ranges: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn start(
        &mut self,
        head: &Head,
        body: &Bytes,
        token: Token,
    ) -> Result<(), StartError> {
        if self.closing {
            return Err(StartError::Closing);
        }
        if !self.is_idle() {
            return Err(StartError::Full);
        }
        let header = self.output.append(|out| {
            out.extend_from_slice(&head.http1);
            if head.states_length(body.len()) {
                out.extend_from_slice(b"content-length: ");
                out.extend_from_slice(Decimal::new(body.len() as u64).as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"\r\n");
        });
        self.output.body(body, 0, body.len());
        self.unsent.header += header as u64;
        self.unsent.body += body.len() as u64;
        self.unsent.body_to_overhead(head.body_prefix);
        self.call = Call {
            token,
            state: State::Head,
            head_method: head.is_head_method,
            close: head.close,
            ..Call::default()
        };
        Ok(())
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        usize::from(!self.closing && self.is_idle())
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        usize::from(!self.is_idle())
    }

    #[inline]
    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    #[inline]
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    #[inline]
    pub(crate) fn traffic_mut(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    #[inline]
    pub(crate) fn consume_output(&mut self, n: usize) {
        self.output.consume(n);
        let (sent, unsent) = (&mut self.traffic.sent, &mut self.unsent);
        let header = unsent.header.min(n as u64);
        let overhead = unsent.overhead.min(n as u64 - header);
        let body = n as u64 - header - overhead;
        sent.header += header;
        sent.overhead += overhead;
        sent.body += body;
        unsent.header -= header;
        unsent.overhead -= overhead;
        unsent.body -= body;
    }

    #[inline]
    pub(crate) fn is_all_sent(&self) -> bool {
        self.output.len() == 0
    }

    pub(crate) fn cancel(&mut self, token: Token) -> bool {
        if self.is_idle() || self.call.token != token {
            return false;
        }
        self.call.state = State::Idle;
        self.give_up();
        true
    }

    pub(crate) fn shut_down(&mut self) {
        self.closing = true;
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closing && self.is_idle()
    }

    fn is_idle(&self) -> bool {
        matches!(self.call.state, State::Idle)
    }

    pub(crate) fn input<S: Sink>(&mut self, mut bytes: &[u8], sink: &mut S) {
        while !bytes.is_empty() && !self.is_closed() {
            if let Err(failure) = self.step(&mut bytes, sink) {
                return self.fail(failure, sink);
            }
        }
    }

    pub(crate) fn end_of_input<S: Sink>(&mut self, orderly: bool, sink: &mut S) {
        let was_closing = std::mem::replace(&mut self.closing, true);
        self.drop_output();
        let state = std::mem::take(&mut self.call.state);
        let token = self.call.token;
        let stage = match state {
            State::Idle => None,
            State::UntilClose if orderly => {
                sink.take(Event::Complete { token });
                None
            }
            State::Head if !self.call.first_byte_seen => Some(Stage::BeforeHead),
            State::Head => Some(Stage::InHead),
            _ => Some(Stage::InBody),
        };
        if let Some(stage) = stage {
            let failure = Failure::Closed { stage };
            sink.take(Event::Failed { token, failure });
        }
        if !was_closing {
            sink.take(Event::Closing {
                reason: Closing::Ended,
            });
        }
    }

    pub(super) fn complete<S: Sink>(&mut self, sink: &mut S) {
        self.call.state = State::Idle;
        let token = self.call.token;
        sink.take(Event::Complete { token });
        // If the response arrived before the whole request was sent, the server cannot tell the
        // rest from another request.
        let unsent = self.output.len() > 0;
        if (self.call.close || unsent) && !self.closing {
            let reason = if unsent {
                Closing::ClientCloses
            } else {
                Closing::ServerCloses
            };
            sink.take(Event::Closing { reason });
            self.give_up();
        }
    }

    fn fail<S: Sink>(&mut self, failure: Failure, sink: &mut S) {
        if !self.is_idle() {
            self.call.state = State::Idle;
            let token = self.call.token;
            sink.take(Event::Failed { token, failure });
        }
        if !self.closing {
            sink.take(Event::Closing {
                reason: Closing::Failed(failure),
            });
        }
        self.give_up();
    }

    fn give_up(&mut self) {
        self.closing = true;
        self.drop_output();
        self.partial = Vec::new();
    }

    /// Drops unwritten output, so that it is never counted as sent.
    fn drop_output(&mut self) {
        self.output.clear();
        self.unsent = ByteCount::default();
    }
}
