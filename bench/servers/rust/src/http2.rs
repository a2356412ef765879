//! gRPC over HTTP/2, to the extent needed to respond to every call with the same message, or with streams of it.
//!
//! Header blocks are not decoded because the response does not depend on them. The responses' own header blocks
//! do not use the dynamic table, so neither side's table matters.

use std::collections::VecDeque;

use crate::behaviour::Response;
use crate::clock::Nanos;
use crate::streams::Streams;

/// The client's connection preface (RFC 9113, 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of a frame header (RFC 9113, 4.1).
const FRAME_HEADER_BYTES: usize = 9;

/// The maximum size of a client's frames, which this server's settings leave at the default (RFC 9113, 6.5.2).
const MAX_FRAME_BYTES: usize = 16_384;

/// The initial size of a window, before any setting or update (RFC 9113, 6.9.2).
pub(crate) const FIRST_WINDOW: i64 = 65_535;

/// The maximum size of a window (RFC 9113, 6.9.1).
const MAX_WINDOW: u32 = (1 << 31) - 1;

/// The number of received bytes after which the connection's window is updated.
const REFILL_BYTES: u32 = 1 << 30;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

const INITIAL_WINDOW_SIZE: u16 = 4;

/// `HelloReply { message: "Hello, world." }` from contract/proto/hello.proto as a gRPC message: the
/// uncompressed flag, 4 bytes of length, then field 1 with its 13 bytes.
pub(crate) const MESSAGE: &[u8] = b"\0\0\0\0\x0f\x0a\x0dHello, world.";

/// `:status: 200` and `content-type: application/grpc`: index 8, and index 31 for the name, in the static table
/// (RFC 7541, appendix A).
pub(crate) const HEAD_BLOCK: &[u8] = b"\x88\x0f\x10\x10application/grpc";

/// `grpc-status: 0`, as a literal.
pub(crate) const OK_BLOCK: &[u8] = b"\0\x0bgrpc-status\x010";

/// A stream identifier.
pub(crate) type Stream = u32;

/// What a client's frame completes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// A complete unary call.
    Call(Stream),
    /// Messages of a streaming call, and whether they are its last.
    Messages {
        stream: Stream,
        count: u64,
        ends: bool,
    },
    /// The client's cancellation of a call.
    Cancel(Stream),
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Http2 {
    /// How many bytes of DATA the client's window still allows.
    send_window: i64,
    /// How many bytes of DATA were received since the last window update.
    received: u32,
    /// Whether the unfinished header block, if there is one, ends the stream.
    unfinished_head: Option<bool>,
    /// Streams whose unary responses are waiting for the client's window.
    waiting: VecDeque<Stream>,
    /// The open streams, if calls stream.
    streams: Option<Streams>,
}

impl Http2 {
    /// Writes the server's preface. It makes the windows so large that streams need no updates, and the
    /// connection only a few. Calls may be streams of messages.
    pub(crate) fn new(out: &mut Vec<u8>, calls_stream: bool) -> Self {
        frame(
            out,
            SETTINGS,
            0,
            0,
            &[
                &INITIAL_WINDOW_SIZE.to_be_bytes(),
                &MAX_WINDOW.to_be_bytes(),
            ],
        );
        let opened = MAX_WINDOW - FIRST_WINDOW as u32;
        frame(out, WINDOW_UPDATE, 0, 0, &[&opened.to_be_bytes()]);
        Self {
            send_window: FIRST_WINDOW,
            received: 0,
            unfinished_head: None,
            waiting: VecDeque::new(),
            streams: calls_stream.then(Streams::new),
        }
    }

    /// Parses one frame from `bytes`. Returns its length, and the call or cancellation that it completes;
    /// `None` until the frame is complete.
    ///
    /// # Errors
    /// If the frame violates the protocol, or requires something that this server does not support.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, Option<Incoming>)>, &'static str> {
        let Some((header, rest)) = bytes.split_at_checked(FRAME_HEADER_BYTES) else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        if length > MAX_FRAME_BYTES {
            return Err("a frame that is larger than the settings allow");
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(None);
        };
        let (kind, flags) = (header[3], header[4]);
        let stream = number(&header[5..]) & MAX_WINDOW;
        let incoming = self.understand(kind, flags, stream, payload, out)?;
        Ok(Some((FRAME_HEADER_BYTES + length, incoming)))
    }

    fn understand(
        &mut self,
        kind: u8,
        flags: u8,
        stream: Stream,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Incoming>, &'static str> {
        let has = |flag: u8| flags & flag != 0;
        match kind {
            HEADERS if !has(END_HEADERS) => self.unfinished_head = Some(has(END_STREAM)),
            HEADERS => return Ok(self.opened(stream, has(END_STREAM))),
            CONTINUATION if has(END_HEADERS) => {
                let ends = self
                    .unfinished_head
                    .take()
                    .ok_or("a CONTINUATION frame without a HEADERS frame")?;
                return Ok(self.opened(stream, ends));
            }
            DATA if has(PADDED) => return Err("a padded DATA frame"),
            DATA => {
                self.received += payload.len() as u32;
                if self.received >= REFILL_BYTES {
                    frame(out, WINDOW_UPDATE, 0, 0, &[&self.received.to_be_bytes()]);
                    self.received = 0;
                }
                return Ok(self.received(stream, payload, has(END_STREAM)));
            }
            RST_STREAM => {
                self.waiting.retain(|&waiting| waiting != stream);
                if let Some(streams) = &mut self.streams {
                    streams.close(stream);
                }
                return Ok(Some(Incoming::Cancel(stream)));
            }
            SETTINGS if !has(ACK) => {
                self.apply_settings(payload)?;
                frame(out, SETTINGS, ACK, 0, &[]);
            }
            PING if !has(ACK) => frame(out, PING, ACK, 0, &[payload]),
            WINDOW_UPDATE if payload.len() != 4 => {
                return Err("a WINDOW_UPDATE frame of the wrong size");
            }
            WINDOW_UPDATE if stream != 0 => {
                if let Some(streams) = &mut self.streams {
                    streams.update_window(stream, number(payload));
                }
            }
            WINDOW_UPDATE => {
                self.send_window += i64::from(number(payload));
                while self.send_window >= MESSAGE.len() as i64 {
                    let Some(stream) = self.waiting.pop_front() else {
                        break;
                    };
                    self.write_message(stream, out);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Notes that a call was opened, and completed if it `ends`.
    fn opened(&mut self, stream: Stream, ends: bool) -> Option<Incoming> {
        if let Some(streams) = &mut self.streams {
            streams.open(stream);
        }
        ends.then(|| self.messages(stream, 0, true))
    }

    /// Notes a piece of a request. Returns what it completes.
    fn received(&mut self, stream: Stream, data: &[u8], ends: bool) -> Option<Incoming> {
        let streams = self.streams.as_mut();
        let count = streams.map_or(0, |streams| streams.completed(stream, data));
        (count > 0 || ends).then(|| self.messages(stream, count, ends))
    }

    fn messages(&self, stream: Stream, count: u64, ends: bool) -> Incoming {
        match self.streams {
            None => Incoming::Call(stream),
            Some(_) => Incoming::Messages {
                stream,
                count,
                ends,
            },
        }
    }

    /// The unary calls' windows are not tracked, so each must be large enough for a response.
    fn apply_settings(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        for setting in payload.chunks(6) {
            if setting.len() != 6 {
                return Err("a SETTINGS frame of the wrong size");
            }
            let (name, value) = (
                u16::from_be_bytes([setting[0], setting[1]]),
                number(&setting[2..]),
            );
            if name != INITIAL_WINDOW_SIZE {
                continue;
            }
            match &mut self.streams {
                Some(streams) => streams.set_initial_window(value),
                None if (value as usize) < MESSAGE.len() => {
                    return Err("a stream window that is too small for a response");
                }
                None => {}
            }
        }
        Ok(())
    }

    /// When a message of a stream is due that could be sent at `at`; see [`Streams::in_order`].
    pub(crate) fn in_order(&mut self, stream: Stream, at: Nanos) -> Option<Nanos> {
        self.streams.as_mut()?.in_order(stream, at)
    }

    /// Adds messages to the response of a streaming call; see [`Streams::send`].
    pub(crate) fn send(&mut self, stream: Stream, messages: u64, ends: bool) -> bool {
        let streams = self.streams.as_mut();
        streams.is_some_and(|streams| streams.send(stream, messages, ends))
    }

    /// Writes messages of streams as far as the client's windows allow. Returns their number.
    pub(crate) fn write_streams(&mut self, out: &mut Vec<u8>) -> u64 {
        let streams = self.streams.as_mut();
        streams.map_or(0, |streams| streams.write(&mut self.send_window, out))
    }

    pub(crate) fn respond(&mut self, stream: Stream, response: Response, out: &mut Vec<u8>) {
        match response {
            Response::Message if self.send_window >= MESSAGE.len() as i64 => {
                self.write_message(stream, out);
            }
            Response::Message => self.waiting.push_back(stream),
            Response::Refusal => {
                let blocks: [&[u8]; 2] = [HEAD_BLOCK, b"\0\x0bgrpc-status\x0214"];
                frame(out, HEADERS, END_HEADERS | END_STREAM, stream, &blocks);
            }
        }
    }

    fn write_message(&mut self, stream: Stream, out: &mut Vec<u8>) {
        self.send_window -= MESSAGE.len() as i64;
        frame(out, HEADERS, END_HEADERS, stream, &[HEAD_BLOCK]);
        frame(out, DATA, 0, stream, &[MESSAGE]);
        frame(out, HEADERS, END_HEADERS | END_STREAM, stream, &[OK_BLOCK]);
    }
}

pub(crate) fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: Stream, payload: &[&[u8]]) {
    let length: usize = payload.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    payload.iter().for_each(|part| out.extend_from_slice(part));
}

/// The first four bytes as a number.
pub(crate) fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's frames after the preface, with the server's state and output.
    struct Talk {
        http2: Http2,
        out: Vec<u8>,
    }

    impl Talk {
        fn new(calls_stream: bool) -> Self {
            let mut out = Vec::new();
            let http2 = Http2::new(&mut out, calls_stream);
            out.clear();
            Self { http2, out }
        }

        fn say(&mut self, kind: u8, flags: u8, stream: Stream, payload: &[u8]) -> Option<Incoming> {
            let mut bytes = Vec::new();
            frame(&mut bytes, kind, flags, stream, &[payload]);
            for whole in 0..bytes.len() {
                assert_eq!(self.http2.take(&bytes[..whole], &mut self.out), Ok(None));
            }
            let (length, incoming) = self.http2.take(&bytes, &mut self.out).unwrap().unwrap();
            assert_eq!(length, bytes.len());
            incoming
        }
    }

    #[test]
    fn a_call_ends_with_its_stream() {
        let mut talk = Talk::new(false);
        assert_eq!(talk.say(HEADERS, END_HEADERS, 1, b"block"), None);
        assert_eq!(talk.say(DATA, 0, 1, b"part"), None);
        assert_eq!(talk.say(DATA, END_STREAM, 1, b""), Some(Incoming::Call(1)));
        assert_eq!(talk.say(HEADERS, END_STREAM, 3, b"block"), None);
        assert_eq!(
            talk.say(CONTINUATION, END_HEADERS, 3, b"rest"),
            Some(Incoming::Call(3))
        );
        assert_eq!(
            talk.say(RST_STREAM, 0, 5, &[0; 4]),
            Some(Incoming::Cancel(5))
        );
        assert!(talk.out.is_empty());
    }

    #[test]
    fn a_streaming_call_arrives_message_by_message() {
        let mut talk = Talk::new(true);
        let messages = |count, ends| {
            Some(Incoming::Messages {
                stream: 1,
                count,
                ends,
            })
        };
        assert_eq!(talk.say(HEADERS, END_HEADERS, 1, b"block"), None);
        assert_eq!(talk.say(DATA, 0, 1, b"\0\0\0\0\x01a\0"), messages(1, false));
        assert_eq!(talk.say(DATA, 0, 1, b"\0\0\0\x01"), None);
        assert_eq!(talk.say(DATA, END_STREAM, 1, b"b"), messages(1, true));
        assert!(talk.http2.send(1, 2, true));
        assert_eq!(talk.http2.write_streams(&mut talk.out), 2);
        assert!(talk.out.ends_with(OK_BLOCK));
        talk.say(HEADERS, END_HEADERS, 3, b"block");
        talk.say(RST_STREAM, 0, 3, &[0; 4]);
        assert!(!talk.http2.send(3, 1, true), "the call was cancelled");
    }

    #[test]
    fn settings_and_pings_are_acknowledged() {
        let mut talk = Talk::new(false);
        talk.say(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]);
        talk.say(SETTINGS, ACK, 0, &[]);
        talk.say(PING, 0, 0, b"8 bytes.");
        assert_eq!(
            talk.out,
            b"\0\0\0\x04\x01\0\0\0\0\0\0\x08\x06\x01\0\0\0\08 bytes."
        );
    }

    #[test]
    fn a_response_waits_for_the_connections_window() {
        let mut talk = Talk::new(false);
        talk.http2.send_window = MESSAGE.len() as i64;
        talk.http2.respond(1, Response::Message, &mut talk.out);
        let whole = talk.out.len();
        talk.http2.respond(3, Response::Message, &mut talk.out);
        talk.http2.respond(5, Response::Message, &mut talk.out);
        assert_eq!(talk.out.len(), whole);
        talk.say(RST_STREAM, 0, 3, &[0; 4]);
        talk.say(WINDOW_UPDATE, 0, 0, &100u32.to_be_bytes());
        assert_eq!(talk.out.len(), 2 * whole);
        assert_eq!(talk.out[whole + 8], 5);
    }

    #[test]
    fn unsupported_frames_are_errors() {
        let mut out = Vec::new();
        let mut http2 = Http2::new(&mut out, false);
        let mut small_window = Vec::new();
        frame(&mut small_window, SETTINGS, 0, 0, &[&[0, 4, 0, 0, 0, 1]]);
        assert!(http2.take(&small_window, &mut out).is_err());
        assert!(http2.take(&[0xff; FRAME_HEADER_BYTES], &mut out).is_err());
    }
}
