//! Parses the server's frames, regardless of how the input is split.
//!
//! DATA is passed on as it arrives. Every other frame is parsed once it is complete, without a copy
//! if it arrived in one piece. Errors returned here end the connection. A stream error ends only
//! its call and is handled immediately (RFC 9113 §5.4).

mod bodies;
mod control;
mod heads;

use super::calls::Calls;
use super::error::Http2Violation;
use super::frame::settings::DEFAULT_WINDOW;
use super::frame::{self, ACK, FrameHeader, HEADER_LENGTH, headers, kind};
use super::hpack::Decoder;
use super::received_blocks::ReceivedBlocks;
use super::streams::Stream;
use crate::error::Failure;
use crate::event::{Event, Sink};
use crate::limits::Limits;

/// The receiving side of a connection.
#[derive(Debug)]
pub(super) struct Receiver {
    /// The part of a frame that the next bytes belong to; `None` at the start of a frame or inside
    /// its header.
    reading: Option<Reading>,
    /// The received bytes of an incomplete frame header or frame.
    partial: Vec<u8>,
    /// The field block that the next CONTINUATION must continue.
    block: Option<OpenBlock>,
    decoder: Decoder,
    blocks: ReceivedBlocks,
    /// The last stream named by the server's GOAWAY.
    last_processed: Option<u32>,
    /// The initial window of a new stream, in bytes.
    pub(super) initial_window: i64,
    settings_seen: bool,
    settings_acknowledged: bool,
}

/// The part of a frame that the next bytes belong to, once its header was read.
#[derive(Debug, Clone, Copy)]
enum Reading {
    Payload(FrameHeader),
    PadLength(FrameHeader),
    Data {
        header: FrameHeader,
        data: u32,
        padding: u32,
    },
    Skip {
        left: u32,
    },
}

/// A field block whose last fragment has not arrived.
#[derive(Debug)]
struct OpenBlock {
    stream: u32,
    end_stream: bool,
    bytes: Vec<u8>,
    continuations: u32,
}

impl Receiver {
    pub(super) fn new(limits: &Limits) -> Receiver {
        Receiver {
            reading: None,
            partial: Vec::new(),
            block: None,
            decoder: Decoder::new(),
            blocks: ReceivedBlocks::new(limits.max_header_list_bytes),
            last_processed: None,
            // Until the server has received our SETTINGS, it uses the default window, which may be
            // larger.
            initial_window: i64::from(limits.stream_window.max(DEFAULT_WINDOW)),
            settings_seen: false,
            settings_acknowledged: false,
        }
    }

    /// Takes a frame, or a part of one, off the front of `bytes`, which must not be empty.
    #[inline]
    pub(super) fn receive<S: Sink>(
        &mut self,
        calls: &mut Calls,
        bytes: &mut &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        match self.reading {
            None => self.read_header(calls, bytes, sink),
            Some(reading) => self.go_on_reading(calls, reading, bytes, sink),
        }
    }

    /// Continues with a frame that did not arrive in one piece with its header.
    fn go_on_reading<S: Sink>(
        &mut self,
        calls: &mut Calls,
        reading: Reading,
        bytes: &mut &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        match reading {
            Reading::Payload(header) => self.read_payload(calls, header, bytes, sink),
            Reading::PadLength(header) => {
                let padding = u32::from(bytes[0]);
                *bytes = &bytes[1..];
                calls.traffic.received.overhead += 1;
                let data = header.length - 1;
                let data = data.checked_sub(padding).ok_or(Http2Violation::Padding)?;
                self.read_data(calls, header, data, padding, bytes, sink);
                Ok(())
            }
            Reading::Data {
                header,
                data,
                padding,
            } => {
                self.read_data(calls, header, data, padding, bytes, sink);
                Ok(())
            }
            Reading::Skip { left } => {
                let n = (left as usize).min(bytes.len());
                *bytes = &bytes[n..];
                calls.traffic.received.overhead += n as u64;
                let left = left - n as u32;
                self.reading = (left > 0).then_some(Reading::Skip { left });
                Ok(())
            }
        }
    }

    #[inline]
    fn read_header<S: Sink>(
        &mut self,
        calls: &mut Calls,
        bytes: &mut &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        let partial = &mut self.partial;
        let n = (HEADER_LENGTH - partial.len()).min(bytes.len());
        let (new, rest) = bytes.split_at(n);
        *bytes = rest;
        calls.traffic.received.overhead += n as u64;
        let whole: [u8; HEADER_LENGTH] = match new.try_into() {
            Ok(whole) => whole,
            Err(_) => {
                partial.extend_from_slice(new);
                let Ok(whole) = partial.as_slice().try_into() else {
                    return Ok(());
                };
                partial.clear();
                whole
            }
        };
        let header = FrameHeader::read(whole);
        if !self.settings_seen {
            if whole.starts_with(b"HTTP/") {
                return Err(Http2Violation::Http1Response.into());
            }
            if header.kind != kind::SETTINGS || header.has(ACK) {
                return Err(Http2Violation::Preface.into());
            }
        }
        if header.length > calls.limits.max_frame_size {
            return Err(Http2Violation::FrameTooLong.into());
        }
        if self.block.is_some() || header.kind == kind::CONTINUATION {
            self.check_continuation(&header)?;
        }
        self.begin_frame(calls, header, bytes, sink)
    }

    /// Checks that no other frame interrupts a field block (RFC 9113 §4.3).
    fn check_continuation(&self, header: &FrameHeader) -> Result<(), Http2Violation> {
        match (&self.block, header.kind) {
            (Some(block), kind::CONTINUATION) if block.stream == header.stream => Ok(()),
            (Some(_), _) => Err(Http2Violation::BlockInterrupted),
            (None, kind::CONTINUATION) => Err(Http2Violation::UnexpectedContinuation),
            (None, _) => Ok(()),
        }
    }

    #[inline]
    fn begin_frame<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        bytes: &mut &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        match header.kind {
            kind::DATA => return self.begin_data(calls, header, bytes, sink),
            kind::HEADERS => {
                calls.check_opened(&header, "HEADERS")?;
                if let Some(stream) = calls.streams.get(header.stream) {
                    note_first_byte(stream, sink);
                }
            }
            kind::PUSH_PROMISE => return Err(Http2Violation::Push.into()),
            unknown if unknown > kind::CONTINUATION => {
                // An unknown type is skipped (RFC 9113 §5.5).
                if header.length > 0 {
                    self.reading = Some(Reading::Skip {
                        left: header.length,
                    });
                }
                return Ok(());
            }
            _ => {}
        }
        match bytes.split_at_checked(header.length as usize) {
            Some((payload, rest)) => {
                *bytes = rest;
                self.count_payload(calls, &header, payload.len());
                self.frame(calls, header, payload, sink)
            }
            None => {
                self.reading = Some(Reading::Payload(header));
                Ok(())
            }
        }
    }

    /// Counts received payload bytes, even if the frame never completes.
    fn count_payload(&mut self, calls: &mut Calls, header: &FrameHeader, n: usize) {
        let received = &mut calls.traffic.received;
        match header.kind {
            kind::HEADERS | kind::CONTINUATION => received.header += n as u64,
            _ => received.overhead += n as u64,
        }
    }

    /// Checks that a connection's frame is on stream 0.
    pub(super) fn check_stream_zero(
        header: &FrameHeader,
        name: &'static str,
    ) -> Result<(), Http2Violation> {
        if header.stream == 0 {
            Ok(())
        } else {
            Err(Http2Violation::FrameStream(name))
        }
    }

    fn read_payload<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        bytes: &mut &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        let length = header.length as usize;
        let have = self.partial.len();
        let n = (length - have).min(bytes.len());
        let (new, rest) = bytes.split_at(n);
        *bytes = rest;
        self.count_payload(calls, &header, n);
        if have == 0 && n == length {
            self.reading = None;
            return self.frame(calls, header, new, sink);
        }
        self.partial.extend_from_slice(new);
        if have + n < length {
            return Ok(());
        }
        self.reading = None;
        let mut payload = std::mem::take(&mut self.partial);
        let result = self.frame(calls, header, &payload, sink);
        payload.clear();
        self.partial = payload;
        result
    }

    /// Processes a complete frame other than DATA. Its bytes are already counted.
    fn frame<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        if header.kind != kind::HEADERS {
            return self.other_frame(calls, header, payload, sink);
        }
        let fragment = headers::fragment(&header, payload)?;
        let around = payload.len() - fragment.len();
        calls.traffic.received.header_to_overhead(around as u64);
        self.headers(calls, header, fragment, sink)
    }

    /// Processes a frame that is neither DATA nor HEADERS.
    fn other_frame<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        match header.kind {
            kind::CONTINUATION => self.continuation(calls, header, payload, sink),
            kind::PRIORITY => self.priority(calls, header, payload, sink),
            kind::RST_STREAM => self.rst_stream(calls, header, payload, sink),
            kind::SETTINGS => self.settings(calls, header, payload),
            kind::PING => {
                Self::check_stream_zero(&header, "PING")?;
                let payload = frame::read_ping(payload)?;
                if !header.has(ACK) {
                    calls.reply(|out| frame::write_ping(out, ACK, payload));
                }
                Ok(())
            }
            kind::GOAWAY => self.goaway(calls, header, payload, sink),
            kind::WINDOW_UPDATE => self.window_update(calls, header, payload, sink),
            _ => Ok(()),
        }
    }
}

fn note_first_byte<S: Sink>(stream: &mut Stream, sink: &mut S) {
    if !std::mem::replace(&mut stream.first_byte_seen, true) {
        sink.take(Event::FirstByte {
            token: stream.token,
        });
    }
}
