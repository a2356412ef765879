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
//! connection: `closing` is set and nothing more is read. [`super::receive`] parses the response, and
//! [`super::websocket`] goes on after status 101.

use bytes::Bytes;

use super::chunked::Chunked;
use super::head::LastHead;
use super::section::EndFinder;
use super::websocket::WebSocket;
use crate::error::{Closing, Failure, SendError, Stage, StartError};
use crate::event::{Event, Exchange, FieldRange, Sink, Token};
use crate::limits::Limits;
use crate::output::{ENOUGH_QUEUED, Output};
use crate::request::{Decimal, Head};
use crate::traffic::Traffic;
use crate::unsent::Unsent;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) limits: Limits,
    pub(super) output: Output,
    pub(super) traffic: Traffic,
    pub(super) call: Call,
    /// The bytes in `output`, by purpose.
    pub(super) unsent: Unsent,
    /// How many exchanges were opened.
    exchanges: u32,
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
    /// Body bytes that are within the limit.
    pub(super) body_room: u64,
    /// What only an exchange of messages has.
    pub(super) exchange: Option<Messages>,
    /// What only the exchange of a WebSocket has.
    pub(super) websocket: Option<Box<WebSocket>>,
}

/// The messages of an exchange.
#[derive(Debug)]
pub(super) struct Messages {
    name: Exchange,
    /// Whether the request goes on.
    pub(super) more: bool,
    /// Number of bytes at the start of each message that frame a higher layer's message.
    prefix: u32,
    /// Received bytes that the caller has not released.
    pub(super) held: usize,
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
    WebSocket,
}

impl Connection {
    pub(crate) fn new(limits: Limits) -> Self {
        Connection {
            limits,
            output: Output::default(),
            traffic: Traffic::default(),
            call: Call::default(),
            unsent: Unsent::default(),
            exchanges: 0,
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
        let call = Call {
            token,
            body_room: self.limits.max_body_bytes,
            ..Call::default()
        };
        self.begin(head, Some(body), call)
    }

    pub(crate) fn open(
        &mut self,
        head: &Head,
        first: &Bytes,
        last: bool,
        token: Token,
    ) -> Result<Exchange, StartError> {
        let name = Exchange(self.exchanges.wrapping_add(1));
        let call = Call {
            token,
            body_room: u64::MAX,
            exchange: Some(Messages {
                name,
                more: !last,
                prefix: head.body_prefix,
                held: 0,
            }),
            websocket: head.subprotocols.as_ref().map(|offered| {
                let most = self.limits.max_body_bytes;
                Box::new(WebSocket::new(offered, first, most))
            }),
            ..Call::default()
        };
        let is_websocket = call.websocket.is_some();
        let body = (last && !is_websocket).then_some(first);
        self.begin(head, body, call)?;
        self.exchanges = name.0;
        if !last && !is_websocket {
            self.chunk(first, head.body_prefix);
        }
        Ok(name)
    }

    /// Starts `call`, with the rest of its fields to be filled in. Without a body, chunks or
    /// frames follow.
    #[inline]
    fn begin(&mut self, head: &Head, body: Option<&Bytes>, call: Call) -> Result<(), StartError> {
        if self.closing {
            return Err(StartError::Closing);
        }
        if !self.is_idle() {
            return Err(StartError::Full);
        }
        let header = self.output.append(|out| {
            out.extend_from_slice(&head.http1);
            if let Some(websocket) = &call.websocket {
                return websocket.key.write(out);
            }
            let Some(body) = body else {
                return out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
            };
            if head.states_length(body.len()) {
                out.extend_from_slice(b"content-length: ");
                out.extend_from_slice(Decimal::new(body.len() as u64).as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"\r\n");
        });
        match body {
            // A single entry, because most requests are like this.
            Some(body) if head.body_prefix == 0 => {
                self.output.body(body, 0, body.len());
                self.unsent.push(0, header, body.len());
            }
            _ => {
                self.unsent.push(0, header, 0);
                if let Some(body) = body {
                    self.write_body(body, head.body_prefix);
                }
            }
        }
        self.call = Call {
            state: State::Head,
            head_method: head.is_head_method,
            close: head.close,
            ..call
        };
        Ok(())
    }

    pub(crate) fn send(
        &mut self,
        exchange: Exchange,
        message: &Bytes,
        last: bool,
    ) -> Result<(), SendError> {
        let is_waiting = self.is_waiting(exchange);
        let is_websocket = self.call.websocket.is_some();
        let messages = self.messages(exchange).ok_or(SendError::Ended)?;
        if !messages.more {
            return Err(SendError::AfterLast);
        }
        if is_waiting && (is_websocket || !message.is_empty()) {
            return Err(SendError::Waiting);
        }
        let prefix = messages.prefix;
        if is_websocket {
            self.send_frame(message);
        } else {
            self.chunk(message, prefix);
        }
        if last { self.end(exchange) } else { Ok(()) }
    }

    pub(crate) fn end(&mut self, exchange: Exchange) -> Result<(), SendError> {
        let messages = self.messages(exchange).ok_or(SendError::Ended)?;
        if !std::mem::take(&mut messages.more) {
            return Err(SendError::AfterLast);
        }
        if self.call.websocket.is_some() {
            self.close_if_answered();
        } else {
            self.framing(b"0\r\n\r\n");
        }
        Ok(())
    }

    /// Queues a message as a chunk (RFC 9112 §7.1), unless it is empty, which would end the body.
    fn chunk(&mut self, message: &Bytes, prefix: u32) {
        if message.is_empty() {
            return;
        }
        self.framing(format!("{:x}\r\n", message.len()).as_bytes());
        self.write_body(message, prefix);
        self.framing(b"\r\n");
    }

    /// Queues a body or message, of which the first `prefix` bytes are overhead.
    #[inline]
    fn write_body(&mut self, body: &Bytes, prefix: u32) {
        self.output.body(body, 0, body.len());
        let of_prefix = body.len().min(prefix as usize);
        self.unsent.push(of_prefix, 0, body.len() - of_prefix);
    }

    fn framing(&mut self, bytes: &[u8]) {
        self.output.copy(bytes);
        self.unsent.overhead(bytes.len());
    }

    /// The messages of an exchange, unless it has ended.
    fn messages(&mut self, exchange: Exchange) -> Option<&mut Messages> {
        let is_idle = self.is_idle();
        let messages = self.call.exchange.as_mut();
        messages.filter(|messages| messages.name == exchange && !is_idle)
    }

    pub(crate) fn is_waiting(&self, exchange: Exchange) -> bool {
        let messages = self.call.exchange.as_ref();
        messages.is_some_and(|messages| messages.name == exchange)
            && !self.is_idle()
            && (self.output.len() >= ENOUGH_QUEUED || self.is_opening())
    }

    /// Whether the opening handshake of a WebSocket is incomplete.
    fn is_opening(&self) -> bool {
        let websocket = self.call.websocket.as_ref();
        websocket.is_some_and(|websocket| websocket.first.is_some())
    }

    pub(crate) fn release(&mut self, exchange: Exchange, bytes: usize) {
        if let Some(messages) = self.messages(exchange) {
            messages.held = messages.held.saturating_sub(bytes);
        }
    }

    #[inline]
    pub(crate) fn input_room(&self) -> usize {
        match &self.call.exchange {
            Some(messages) if !self.is_idle() => {
                let window = usize::try_from(self.limits.stream_window).unwrap_or(usize::MAX);
                window.saturating_sub(messages.held)
            }
            _ => usize::MAX,
        }
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
        self.unsent.written(n, &mut self.traffic.sent);
    }

    #[inline]
    pub(crate) fn is_all_sent(&self) -> bool {
        self.output.len() == 0
    }

    pub(crate) fn cancel(&mut self, token: Token) -> bool {
        if self.is_idle() || self.call.token != token {
            return false;
        }
        if matches!(self.call.state, State::WebSocket) {
            self.send_close();
            self.closing = true;
        } else {
            self.give_up();
        }
        self.call.state = State::Idle;
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
            State::WebSocket => Some(Stage::InWebSocket),
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
        let exchange = self.call.exchange.as_ref();
        let unsent = self.output.len() > 0 || exchange.is_some_and(|messages| messages.more);
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
        self.unsent.clear();
    }
}
