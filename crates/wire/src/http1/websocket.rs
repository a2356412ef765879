//! A connection that becomes a WebSocket: from status 101 until the closing handshake.
//!
//! ```text
//!          101, checked             both have sent a close frame
//!   Head ───────────────► WebSocket ───────────────────────────► Idle, closing
//!     │ any other status              ▲  the client sends its own when its request has ended,
//!     └────────────────► Body, …      │  and as many messages were received as sent
//! ```

use std::sync::Arc;

use bytes::Bytes;

use super::connection::{Connection, State};
use crate::error::{Closing, Failure, LimitExceeded};
use crate::event::{Event, Fields, Sink};
use crate::websocket::{Frames, Key, Received, WebSocketViolation, check};

/// The status code of a normal end (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

/// What only the call of a WebSocket has.
#[derive(Debug)]
pub(super) struct WebSocket {
    pub(super) key: Key,
    /// The subprotocols that the request offers.
    offered: Arc<[String]>,
    /// The first message, until the handshake is complete.
    pub(super) first: Option<Bytes>,
    frames: Frames,
    sent: u64,
    received: u64,
    /// Whether the client has sent its close frame.
    has_closed: bool,
    /// Bytes of replies to control frames that may be unwritten.
    queued_replies: usize,
}

impl WebSocket {
    pub(super) fn new(offered: &Arc<[String]>, first: &Bytes, max_message_bytes: u64) -> Self {
        WebSocket {
            key: Key::random(),
            offered: Arc::clone(offered),
            first: Some(first.clone()),
            frames: Frames::new(max_message_bytes),
            sent: 0,
            received: 0,
            has_closed: false,
            queued_replies: 0,
        }
    }

    /// Checks the fields of a response with status 101.
    pub(super) fn check(&self, fields: &Fields<'_>) -> Result<(), WebSocketViolation> {
        check(fields, &self.key, &self.offered)
    }
}

impl Connection {
    /// Sends the first message after the opening handshake.
    pub(super) fn begin_frames(&mut self) {
        self.call.state = State::WebSocket;
        let websocket = self.call.websocket.as_mut();
        if let Some(first) = websocket.and_then(|websocket| websocket.first.take()) {
            self.send_frame(&first);
        }
        self.close_if_answered();
    }

    /// Queues a message in a frame.
    pub(super) fn send_frame(&mut self, message: &Bytes) {
        if let Some(websocket) = &mut self.call.websocket
            && websocket.frames.send(message)
        {
            websocket.sent += 1;
            self.queue_frames(message.len());
        }
    }

    /// Begins the closing handshake if the request has ended and is answered. A WebSocket cannot end only one direction:
    /// after a close frame, most servers send no more messages.
    pub(super) fn close_if_answered(&mut self) {
        let call = &mut self.call;
        let (Some(websocket), Some(messages)) = (&call.websocket, &call.exchange) else {
            return;
        };
        let is_answered = websocket.received >= websocket.sent;
        if matches!(call.state, State::WebSocket) && !messages.more && is_answered {
            self.send_close();
        }
    }

    /// Queues the client's close frame, unless it was sent before.
    pub(super) fn send_close(&mut self) {
        if let Some(websocket) = &mut self.call.websocket
            && !std::mem::replace(&mut websocket.has_closed, true)
        {
            websocket.frames.close();
            self.queue_frames(0);
        }
    }

    /// Processes bytes of the server's frames.
    pub(super) fn frames<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), Failure> {
        if let Some(websocket) = &mut self.call.websocket {
            websocket.frames.input(bytes, &mut self.traffic.received);
        }
        let token = self.call.token;
        while let Some(websocket) = &mut self.call.websocket {
            match websocket.frames.next()? {
                Some(Received::Message(data)) => {
                    websocket.received += 1;
                    if let Some(messages) = &mut self.call.exchange {
                        messages.held += data.len();
                    }
                    let data = &data[..];
                    sink.take(Event::Message { token, data });
                    self.close_if_answered();
                }
                Some(Received::Close(frame)) => {
                    self.queue_frames(0);
                    let code = frame.as_ref().map_or(NORMAL, |frame| frame.code.into());
                    let reason = frame.as_ref().map_or("", |frame| frame.reason.as_str());
                    // The answer to the client's close frame repeats its code, so another one is the server's own.
                    let event = if code == NORMAL {
                        Event::Complete { token }
                    } else {
                        Event::ClosedWith {
                            token,
                            code,
                            reason,
                        }
                    };
                    self.end_websocket(event, sink);
                    return Ok(());
                }
                None => return self.queue_replies(),
            }
        }
        Ok(())
    }

    /// Queues what the codec has framed, of which `payload` bytes are a message.
    fn queue_frames(&mut self, payload: usize) -> usize {
        let Some(websocket) = &mut self.call.websocket else {
            return 0;
        };
        let framed = Bytes::from(websocket.frames.take_output());
        let overhead = framed.len() - payload;
        if !framed.is_empty() {
            self.output.body(&framed, 0, framed.len());
            self.unsent.push(overhead, 0, payload);
        }
        overhead
    }

    /// Queues replies to pings.
    fn queue_replies(&mut self) -> Result<(), Failure> {
        let before = self.output.len();
        let queued = self.queue_frames(0);
        let Some(websocket) = &mut self.call.websocket else {
            return Ok(());
        };
        websocket.queued_replies = websocket.queued_replies.min(before) + queued;
        let most = self.limits.max_queued_replies;
        if websocket.queued_replies > most {
            return Err(LimitExceeded::QueuedReplies(most).into());
        }
        Ok(())
    }

    /// Ends the call with its last event. The reply to the server's close frame is still to be written.
    fn end_websocket<S: Sink>(&mut self, event: Event<'_>, sink: &mut S) {
        self.call.state = State::Idle;
        sink.take(event);
        if !std::mem::replace(&mut self.closing, true) {
            sink.take(Event::Closing {
                reason: Closing::ServerCloses,
            });
        }
    }
}
