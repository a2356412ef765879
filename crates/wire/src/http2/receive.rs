//! What the server sends, frame by frame, however the input is cut.
//!
//! DATA is handed on as it comes. Every other frame is looked at when it is whole, where it lies if
//! it came in one piece. Errors returned here end the connection; those of one call end that call
//! and are handled on the spot (RFC 9113 §5.4).

use super::connection::Connection;
use super::error::{ErrorCode, Http2Violation};
use super::frame::settings::DEFAULT_WINDOW;
use super::frame::{
    ACK, END_HEADERS, END_STREAM, FrameHeader, HEADER_LENGTH, PADDED, continuation, data, goaway,
    headers, ping, priority, push_promise, rst_stream, settings, window_update,
};
use super::response::{check_head, check_trailers};
use super::streams::Stream;
use crate::error::{Closing, Failure, LimitExceeded};
use crate::event::Event;

/// The receiving side of a connection.
#[derive(Debug)]
pub(super) struct Receiver {
    reading: Reading,
    /// What has come of a frame header or frame that is not whole yet.
    partial: Vec<u8>,
    /// The block that CONTINUATION must continue.
    block: Option<OpenBlock>,
    /// What the server may send on the connection, in bytes.
    window: i64,
    /// Received since the last WINDOW_UPDATE, in bytes.
    unannounced: u32,
    /// Each new stream's window, in bytes.
    pub(super) initial_window: i64,
    settings_seen: bool,
    settings_acknowledged: bool,
}

/// What the next bytes are.
#[derive(Debug, Clone, Copy)]
enum Reading {
    Header,
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

/// A field block whose end has not come.
#[derive(Debug)]
struct OpenBlock {
    stream: u32,
    end_stream: bool,
    bytes: Vec<u8>,
    continuations: u32,
}

impl Receiver {
    pub(super) fn new(connection_window: u32, stream_window: u32) -> Receiver {
        Receiver {
            reading: Reading::Header,
            partial: Vec::new(),
            block: None,
            window: i64::from(connection_window),
            unannounced: 0,
            // A server that has not seen our SETTINGS keeps to the default, which may be more.
            initial_window: i64::from(stream_window.max(DEFAULT_WINDOW)),
            settings_seen: false,
            settings_acknowledged: false,
        }
    }

    pub(super) fn release(&mut self) {
        if self.partial.is_empty() {
            self.partial = Vec::new();
        }
    }
}

impl Connection {
    /// Takes one part of a frame off the front of `bytes`, which is not empty.
    pub(super) fn receive<F: FnMut(Event<'_>)>(
        &mut self,
        bytes: &mut &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        match self.receiver.reading {
            Reading::Header => self.read_header(bytes, sink),
            Reading::Payload(header) => self.read_payload(header, bytes, sink),
            Reading::PadLength(header) => {
                let padding = u32::from(bytes[0]);
                *bytes = &bytes[1..];
                self.traffic.received.overhead += 1;
                let data = header.length - 1;
                let data = data.checked_sub(padding).ok_or(Http2Violation::Padding)?;
                self.receiver.reading = Reading::Data {
                    header,
                    data,
                    padding,
                };
                self.finish_data(sink);
                Ok(())
            }
            Reading::Data {
                header,
                data,
                padding,
            } => {
                self.read_data(header, data, padding, bytes, sink);
                Ok(())
            }
            Reading::Skip { left } => {
                let n = (left as usize).min(bytes.len());
                *bytes = &bytes[n..];
                self.traffic.received.overhead += n as u64;
                let left = left - n as u32;
                let done = left == 0;
                self.receiver.reading = if done {
                    Reading::Header
                } else {
                    Reading::Skip { left }
                };
                Ok(())
            }
        }
    }

    fn read_header<F: FnMut(Event<'_>)>(
        &mut self,
        bytes: &mut &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let partial = &mut self.receiver.partial;
        let n = (HEADER_LENGTH - partial.len()).min(bytes.len());
        let (new, rest) = bytes.split_at(n);
        *bytes = rest;
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
        self.traffic.received.overhead += HEADER_LENGTH as u64;
        let header = FrameHeader::read(whole);
        if !self.receiver.settings_seen {
            if whole.starts_with(b"HTTP/") {
                return Err(Http2Violation::Http1Answer.into());
            }
            if header.kind != settings::KIND || header.has(ACK) {
                return Err(Http2Violation::Preface.into());
            }
        }
        if header.length > self.limits.max_frame_size {
            return Err(Http2Violation::FrameTooLong.into());
        }
        self.check_continuation(&header)?;
        self.begin_frame(header, sink)
    }

    /// Nothing may stand inside a field block (RFC 9113 §4.3).
    fn check_continuation(&self, header: &FrameHeader) -> Result<(), Http2Violation> {
        match (&self.receiver.block, header.kind) {
            (Some(block), continuation::KIND) if block.stream == header.stream => Ok(()),
            (Some(_), _) => Err(Http2Violation::BlockInterrupted),
            (None, continuation::KIND) => Err(Http2Violation::UnexpectedContinuation),
            (None, _) => Ok(()),
        }
    }

    fn begin_frame<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        sink: &mut F,
    ) -> Result<(), Failure> {
        match header.kind {
            data::KIND => return self.begin_data(header, sink),
            headers::KIND => {
                self.check_call_stream(&header, "HEADERS")?;
                if let Some(stream) = self.streams.get(header.stream) {
                    note_first_byte(stream, sink);
                }
            }
            push_promise::KIND => return Err(Http2Violation::Push.into()),
            kind if kind > continuation::KIND => {
                // An unknown type is skipped (RFC 9113 §5.5).
                if header.length > 0 {
                    self.receiver.reading = Reading::Skip {
                        left: header.length,
                    };
                }
                return Ok(());
            }
            _ => {}
        }
        if header.length == 0 {
            return self.frame(header, &[], sink);
        }
        self.receiver.reading = Reading::Payload(header);
        Ok(())
    }

    /// A frame of a call must be on a stream that the client opened.
    fn check_call_stream(
        &self,
        header: &FrameHeader,
        name: &'static str,
    ) -> Result<(), Http2Violation> {
        if header.stream == 0 {
            return Err(Http2Violation::FrameStream(name));
        }
        if header.stream.is_multiple_of(2) || header.stream >= self.next_stream {
            return Err(Http2Violation::IdleStream);
        }
        Ok(())
    }

    /// A frame that is not of a call must be on stream 0.
    fn check_stream_zero(header: &FrameHeader, name: &'static str) -> Result<(), Http2Violation> {
        if header.stream == 0 {
            Ok(())
        } else {
            Err(Http2Violation::FrameStream(name))
        }
    }

    fn read_payload<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        bytes: &mut &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let length = header.length as usize;
        let have = self.receiver.partial.len();
        let n = (length - have).min(bytes.len());
        let (new, rest) = bytes.split_at(n);
        *bytes = rest;
        if have == 0 && n == length {
            self.receiver.reading = Reading::Header;
            return self.frame(header, new, sink);
        }
        self.receiver.partial.extend_from_slice(new);
        if have + n < length {
            return Ok(());
        }
        self.receiver.reading = Reading::Header;
        let mut payload = std::mem::take(&mut self.receiver.partial);
        let result = self.frame(header, &payload, sink);
        payload.clear();
        self.receiver.partial = payload;
        result
    }

    /// Takes a whole frame in, any but DATA.
    fn frame<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let overhead = &mut self.traffic.received.overhead;
        *overhead += payload.len() as u64;
        match header.kind {
            headers::KIND => {
                let fragment = headers::fragment(&header, payload)?;
                *overhead -= fragment.len() as u64;
                self.traffic.received.header += fragment.len() as u64;
                self.headers(header, fragment, sink)
            }
            continuation::KIND => {
                *overhead -= payload.len() as u64;
                self.traffic.received.header += payload.len() as u64;
                self.continuation(header, payload, sink)
            }
            priority::KIND => self.priority(header, payload, sink),
            rst_stream::KIND => self.rst_stream(header, payload, sink),
            settings::KIND => self.settings(header, payload),
            ping::KIND => {
                Self::check_stream_zero(&header, "PING")?;
                let payload = ping::read(payload)?;
                if !header.has(ACK) {
                    self.reply(|out| ping::write_ack(out, payload));
                }
                Ok(())
            }
            goaway::KIND => self.goaway(header, payload, sink),
            window_update::KIND => self.window_update(header, payload, sink),
            _ => Ok(()),
        }
    }

    fn headers<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        fragment: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let end_stream = header.has(END_STREAM);
        if header.has(END_HEADERS) {
            return self.block(header.stream, end_stream, fragment, sink);
        }
        self.check_block_size(fragment.len())?;
        self.receiver.block = Some(OpenBlock {
            stream: header.stream,
            end_stream,
            bytes: fragment.to_vec(),
            continuations: 0,
        });
        Ok(())
    }

    fn continuation<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let Some(mut block) = self.receiver.block.take() else {
            return Err(Http2Violation::UnexpectedContinuation.into());
        };
        block.continuations += 1;
        if block.continuations > self.limits.max_continuations {
            return Err(LimitExceeded::Continuations(self.limits.max_continuations).into());
        }
        self.check_block_size(block.bytes.len() + payload.len())?;
        block.bytes.extend_from_slice(payload);
        if header.has(END_HEADERS) {
            return self.block(block.stream, block.end_stream, &block.bytes, sink);
        }
        self.receiver.block = Some(block);
        Ok(())
    }

    fn check_block_size(&self, length: usize) -> Result<(), LimitExceeded> {
        let max = self.limits.max_head_bytes;
        if length > max {
            Err(LimitExceeded::HeadBytes(max))
        } else {
            Ok(())
        }
    }

    /// Takes a whole field block in. It is decoded whatever its stream is, to keep the table right.
    fn block<F: FnMut(Event<'_>)>(
        &mut self,
        id: u32,
        end_stream: bool,
        block: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        self.check_block_size(block.len())?;
        self.decoder
            .decode(block, &mut self.fields)
            .map_err(|error| Failure::Violation(error.into()))?;
        let Some(stream) = self.streams.get(id) else {
            return self.check_closed(id);
        };
        let fields = self.fields.fields();
        let max_fields = self.limits.max_fields;
        let result = if self.fields.is_over_limit() {
            Err(LimitExceeded::HeaderListBytes(self.limits.max_header_list_bytes).into())
        } else if fields.len() > max_fields {
            Err(LimitExceeded::Fields(max_fields).into())
        } else if stream.head_seen {
            let check = check_trailers(&fields).map_err(Failure::from);
            check
                .and_then(|()| check_end(stream, end_stream))
                .inspect(|()| {
                    if !fields.is_empty() {
                        sink(Event::Trailers {
                            token: stream.token,
                            fields,
                        });
                    }
                })
        } else {
            let most = self.limits.max_interim_responses;
            head(stream, &self.fields, end_stream, most, sink)
        };
        match result {
            Err(failure) => self.fail_stream(id, failure, sink),
            Ok(()) if end_stream => self.complete(id, sink),
            Ok(()) => {}
        }
        Ok(())
    }

    /// A frame on a stream that is over: fine when the client ended it, since the server may not
    /// have known.
    fn check_closed(&self, id: u32) -> Result<(), Failure> {
        if self.may_be_reset(id) {
            Ok(())
        } else {
            Err(Http2Violation::ClosedStream.into())
        }
    }

    fn complete<F: FnMut(Event<'_>)>(&mut self, id: u32, sink: &mut F) {
        let Some(stream) = self.remove(id) else {
            return;
        };
        if stream.is_sending() {
            // The answer does not need the rest of the request (RFC 9113 §8.1).
            self.reset(id, ErrorCode::CANCEL);
        }
        sink(Event::Complete {
            token: stream.token,
        });
    }

    fn begin_data<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        sink: &mut F,
    ) -> Result<(), Failure> {
        self.check_call_stream(&header, "DATA")?;
        if header.has(PADDED) && header.length == 0 {
            return Err(Http2Violation::FrameLength("DATA").into());
        }
        let length = i64::from(header.length);
        if length > self.receiver.window {
            return Err(Http2Violation::FlowControl.into());
        }
        self.receiver.window -= length;
        match self.streams.get(header.stream) {
            None => self.check_closed(header.stream)?,
            Some(stream) => {
                note_first_byte(stream, sink);
                if length > stream.receive_window {
                    let failure = Http2Violation::FlowControl.into();
                    self.fail_stream(header.stream, failure, sink);
                } else if !stream.head_seen {
                    let failure = Http2Violation::DataBeforeHead.into();
                    self.fail_stream(header.stream, failure, sink);
                } else {
                    stream.receive_window -= length;
                }
            }
        }
        if header.has(PADDED) {
            self.receiver.reading = Reading::PadLength(header);
            return Ok(());
        }
        self.receiver.reading = Reading::Data {
            header,
            data: header.length,
            padding: 0,
        };
        self.finish_data(sink);
        Ok(())
    }

    fn read_data<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        data: u32,
        padding: u32,
        bytes: &mut &[u8],
        sink: &mut F,
    ) {
        let n = (data as usize).min(bytes.len());
        let (piece, rest) = bytes.split_at(n);
        let skipped = (padding as usize).min(rest.len());
        *bytes = &rest[skipped..];
        self.traffic.received.body += n as u64;
        self.traffic.received.overhead += skipped as u64;
        let (data, padding) = (data - n as u32, padding - skipped as u32);
        self.receiver.reading = Reading::Data {
            header,
            data,
            padding,
        };
        let max_body = self.limits.max_body_bytes;
        if n > 0
            && let Some(stream) = self.streams.get(header.stream)
            && let Err(failure) = body(stream, piece, max_body, sink)
        {
            self.fail_stream(header.stream, failure, sink);
        }
        self.finish_data(sink);
    }

    /// Ends a DATA frame when all of it is read: gives its bytes back to the windows, and ends its
    /// call where it is the last.
    fn finish_data<F: FnMut(Event<'_>)>(&mut self, sink: &mut F) {
        let Reading::Data {
            header,
            data: 0,
            padding: 0,
        } = self.receiver.reading
        else {
            return;
        };
        self.receiver.reading = Reading::Header;
        self.announce_window(header.length);
        let Some(stream) = self.streams.get(header.stream) else {
            return;
        };
        if header.has(END_STREAM) {
            match check_end(stream, true) {
                Ok(()) => self.complete(header.stream, sink),
                Err(failure) => self.fail_stream(header.stream, failure, sink),
            }
            return;
        }
        stream.unannounced += header.length;
        // In batches: at half of the window, the other half is still in hand.
        if stream.unannounced > 0 && stream.unannounced >= self.limits.stream_window / 2 {
            let increment = std::mem::take(&mut stream.unannounced);
            stream.receive_window += i64::from(increment);
            self.reply(|out| window_update::write(out, header.stream, increment));
        }
    }

    fn announce_window(&mut self, received: u32) {
        let receiver = &mut self.receiver;
        receiver.unannounced += received;
        if receiver.unannounced >= self.limits.connection_window / 2 {
            let increment = std::mem::take(&mut receiver.unannounced);
            receiver.window += i64::from(increment);
            self.reply(|out| window_update::write(out, 0, increment));
        }
    }

    fn priority<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        if header.stream == 0 {
            return Err(Http2Violation::FrameStream("PRIORITY").into());
        }
        if payload.len() != priority::LENGTH {
            let failure = Http2Violation::FrameLength("PRIORITY").into();
            self.fail_stream(header.stream, failure, sink);
        }
        Ok(())
    }

    fn rst_stream<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        self.check_call_stream(&header, "RST_STREAM")?;
        let code = rst_stream::read(payload)?;
        if let Some(stream) = self.remove(header.stream) {
            sink(Event::Failed {
                token: stream.token,
                failure: Failure::Reset { code },
            });
        }
        Ok(())
    }

    fn settings(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Failure> {
        Self::check_stream_zero(&header, "SETTINGS")?;
        if header.has(ACK) {
            if !payload.is_empty() {
                return Err(Http2Violation::FrameLength("SETTINGS").into());
            }
            self.settings_acknowledged();
            return Ok(());
        }
        for setting in settings::read(payload)? {
            self.sender.set(setting?, &mut self.streams)?;
        }
        self.receiver.settings_seen = true;
        self.sender.settings_received();
        self.reply(settings::write_ack);
        self.pump();
        Ok(())
    }

    /// From here on the server keeps to what the client told (RFC 9113 §6.5.3).
    fn settings_acknowledged(&mut self) {
        if std::mem::replace(&mut self.receiver.settings_acknowledged, true) {
            return;
        }
        self.decoder.set_allowed_size(self.limits.header_table_size);
        let told = i64::from(self.limits.stream_window);
        let change = told - self.receiver.initial_window;
        self.receiver.initial_window = told;
        for stream in self.streams.iter_mut() {
            stream.receive_window += change;
        }
    }

    fn goaway<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        Self::check_stream_zero(&header, "GOAWAY")?;
        let (last, code) = goaway::read(payload)?;
        if self.last_processed.is_some_and(|earlier| last > earlier) {
            return Err(Http2Violation::GoAwayIncreased.into());
        }
        self.last_processed = Some(last);
        for stream in self.streams.remove_above(last) {
            self.sender.forget(&stream);
            sink(Event::Failed {
                token: stream.token,
                failure: Failure::GoneAway { code },
            });
        }
        self.close(Closing::GoAway { code }, sink);
        Ok(())
    }

    fn window_update<F: FnMut(Event<'_>)>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let increment = window_update::read(payload)?;
        if header.stream == 0 {
            self.sender.widen(increment)?;
        } else {
            self.check_call_stream(&header, "WINDOW_UPDATE")?;
            let Some(stream) = self.streams.get(header.stream) else {
                return Ok(());
            };
            let result = match increment {
                0 => Err(Http2Violation::WindowIncrement),
                _ => self.sender.widen_stream(stream, i64::from(increment)),
            };
            if let Err(violation) = result {
                self.fail_stream(header.stream, violation.into(), sink);
            }
        }
        self.pump();
        Ok(())
    }
}

fn note_first_byte<F: FnMut(Event<'_>)>(stream: &mut Stream, sink: &mut F) {
    if !std::mem::replace(&mut stream.first_byte_seen, true) {
        sink(Event::FirstByte {
            token: stream.token,
        });
    }
}

/// Takes a head in, interim or final.
fn head<F: FnMut(Event<'_>)>(
    stream: &mut Stream,
    decoded: &super::hpack::DecodedFields,
    end_stream: bool,
    max_interim: u32,
    sink: &mut F,
) -> Result<(), Failure> {
    let head = check_head(&decoded.fields())?;
    let (token, status) = (stream.token, head.status);
    if (100..200).contains(&status) {
        if status == 101 || end_stream {
            return Err(Http2Violation::Interim.into());
        }
        stream.interim += 1;
        if stream.interim > max_interim {
            return Err(LimitExceeded::InterimResponses(max_interim).into());
        }
        sink(Event::Interim { token, status });
        return Ok(());
    }
    stream.head_seen = true;
    let bodiless = stream.head_method || matches!(status, 204 | 304);
    stream.body_left = if bodiless {
        Some(0)
    } else {
        head.content_length
    };
    if end_stream {
        check_end(stream, true)?;
    }
    // `:status` is the first and only field of its kind.
    sink(Event::Head {
        token,
        status,
        fields: decoded.fields_after(1),
        end: end_stream,
    });
    Ok(())
}

/// Takes a piece of body in.
fn body<F: FnMut(Event<'_>)>(
    stream: &mut Stream,
    data: &[u8],
    max_body: u64,
    sink: &mut F,
) -> Result<(), Failure> {
    let stated = stream.body_left.unwrap_or(u64::MAX);
    let room = stated.min(max_body - stream.body_bytes);
    let within = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
    stream.body_bytes += within.len() as u64;
    if let Some(left) = &mut stream.body_left {
        *left -= within.len() as u64;
    }
    if !within.is_empty() {
        sink(Event::Body {
            token: stream.token,
            data: within,
        });
    }
    if within.len() == data.len() {
        Ok(())
    } else if room == stated {
        Err(Http2Violation::LengthMismatch.into())
    } else {
        Err(LimitExceeded::BodyBytes(max_body).into())
    }
}

/// Whether a stream may end here; for trailers, whether they end it.
fn check_end(stream: &Stream, end_stream: bool) -> Result<(), Failure> {
    if !end_stream {
        Err(Http2Violation::TrailersNotLast.into())
    } else if stream.body_left.is_some_and(|left| left > 0) {
        Err(Http2Violation::LengthMismatch.into())
    } else {
        Ok(())
    }
}
