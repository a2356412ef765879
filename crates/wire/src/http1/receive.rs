//! Parses a response part by part, regardless of how the input is split.

use super::chunked::{Chunked, Part, take_up_to};
use super::connection::{Connection, State};
use super::error::Http1Violation;
use super::head::{self, Framing, Head};
use super::section::{CRLF, EndFinder, parse_fields};
use crate::error::{Failure, LimitExceeded};
use crate::event::{Event, Fields, Sink};

impl Connection {
    /// Parses one part of the response off the front of `bytes`.
    pub(super) fn step<S: Sink>(&mut self, bytes: &mut &[u8], sink: &mut S) -> Result<(), Failure> {
        let data = match &mut self.call.state {
            State::Idle => return Err(Http1Violation::UnaskedBytes.into()),
            State::Head | State::Trailers => return self.section(bytes, sink),
            State::Length { left } => take_up_to(left, bytes),
            // The body is everything until the connection ends.
            State::UntilClose => std::mem::take(bytes),
            State::WebSocket => return self.frames(std::mem::take(bytes), sink),
            State::Chunked(chunked) => {
                let part = chunked.take(bytes, self.limits.max_chunk_line_bytes)?;
                if *chunked == Chunked::Trailers {
                    self.call.state = State::Trailers;
                }
                match part {
                    Part::Data(data) => data,
                    Part::Framing(n) => {
                        self.traffic.received.overhead += n as u64;
                        return self.check_chunk();
                    }
                }
            }
        };
        self.body(data, sink)?;
        if let State::Length { left: 0 } = self.call.state {
            self.complete(sink);
        }
        Ok(())
    }

    /// Rejects a chunk that would exceed the limit, without waiting for its data.
    fn check_chunk(&self) -> Result<(), Failure> {
        let max = self.limits.max_body_bytes;
        match self.call.state {
            State::Chunked(Chunked::Data { left }) if left > self.call.body_room => {
                Err(LimitExceeded::BodyBytes(max).into())
            }
            _ => Ok(()),
        }
    }

    fn body<S: Sink>(&mut self, data: &[u8], sink: &mut S) -> Result<(), Failure> {
        let call = &mut self.call;
        let room = usize::try_from(call.body_room).unwrap_or(usize::MAX);
        let within = &data[..data.len().min(room)];
        call.body_room -= within.len() as u64;
        if let Some(messages) = &mut call.exchange {
            messages.held += within.len();
        }
        self.traffic.received.body += within.len() as u64;
        if !within.is_empty() {
            sink.take(Event::Body {
                token: call.token,
                data: within,
            });
        }
        if within.len() < data.len() {
            Err(LimitExceeded::BodyBytes(self.limits.max_body_bytes).into())
        } else {
            Ok(())
        }
    }

    /// Collects a head or trailer section until it is complete, then processes it. A section that
    /// arrives in one piece is parsed without a copy.
    fn section<S: Sink>(&mut self, bytes: &mut &[u8], sink: &mut S) -> Result<(), Failure> {
        let in_head = matches!(self.call.state, State::Head);
        if !std::mem::replace(&mut self.call.first_byte_seen, true) {
            let token = self.call.token;
            sink.take(Event::FirstByte { token });
        }
        if in_head
            && self.partial.is_empty()
            && let Some((head, length)) = self.last_head.begins(bytes)
        {
            let (text, rest) = bytes.split_at(length);
            *bytes = rest;
            self.traffic.received.header += length as u64;
            return self.take_head(head, text, sink);
        }
        let max = self.limits.max_head_bytes;
        let mut partial = std::mem::take(&mut self.partial);
        let before = partial.len();
        // One byte over the limit is enough to detect the excess. The rest is not searched.
        let room = max
            .saturating_add(1)
            .saturating_sub(before)
            .min(bytes.len());
        let text: &[u8] = if before == 0 {
            &bytes[..room]
        } else {
            partial.extend_from_slice(&bytes[..room]);
            &partial
        };
        // Bytes that may still be HTTP/2 are not searched, so that the failure is the same as when
        // they arrive in one piece.
        let is_start = if in_head {
            head::is_start(text)
        } else {
            Ok(true)
        };
        let found = is_start.and_then(|is_start| {
            if is_start {
                self.finder.find(text)
            } else {
                Ok(None)
            }
        });
        // Received bytes are counted even if the section is malformed or never completes.
        let looked_at = found.ok().flatten().unwrap_or(text.len());
        self.traffic.received.header += (looked_at - before) as u64;
        let found = found?;
        if found.unwrap_or(text.len()) > max {
            return Err(LimitExceeded::HeadBytes(max).into());
        }
        match found {
            None => {
                if before == 0 {
                    partial.extend_from_slice(bytes);
                }
                *bytes = &[];
                self.partial = partial;
            }
            Some(end) => {
                self.finder = EndFinder::default();
                // The empty line after the trailers is part of the chunked coding (RFC 9112 §7.1).
                let framing = if in_head { 0 } else { CRLF.len() };
                self.traffic.received.header_to_overhead(framing as u64);
                let whole = &text[..end];
                *bytes = &bytes[end - before..];
                let result = self.whole_section(whole, sink);
                partial.clear();
                self.partial = partial;
                result?;
            }
        }
        Ok(())
    }

    fn whole_section<S: Sink>(&mut self, text: &[u8], sink: &mut S) -> Result<(), Failure> {
        if let State::Head = self.call.state {
            let head = self.last_head.parse(text, &self.limits)?;
            return self.take_head(head, text, sink);
        }
        let max_fields = self.limits.max_fields;
        parse_fields(text, 0, max_fields, &mut self.ranges, |_, _| Ok(()))?;
        if !self.ranges.is_empty() {
            sink.take(Event::Trailers {
                token: self.call.token,
                fields: Fields::new(text, &self.ranges),
            });
        }
        self.complete(sink);
        Ok(())
    }

    /// Processes `head`, which was parsed from `text`.
    fn take_head<S: Sink>(&mut self, head: Head, text: &[u8], sink: &mut S) -> Result<(), Failure> {
        let call = &mut self.call;
        let (token, status) = (call.token, head.status);
        match status {
            101 => {
                let Some(websocket) = &call.websocket else {
                    return Err(Http1Violation::SwitchingProtocols.into());
                };
                let fields = self.last_head.fields(text);
                websocket.check(&fields)?;
                let end = false;
                sink.take(Event::Head {
                    token,
                    status,
                    fields,
                    end,
                });
                self.begin_frames();
                return Ok(());
            }
            100..=199 => {
                call.interim += 1;
                let most = self.limits.max_interim_responses;
                if call.interim > most {
                    return Err(LimitExceeded::InterimResponses(most).into());
                }
                sink.take(Event::Interim { token, status });
                return Ok(());
            }
            _ => {}
        }
        let bodiless = call.head_method || matches!(status, 204 | 304);
        let room = call.body_room;
        if !bodiless && matches!(head.framing, Framing::Length(stated) if stated > room) {
            return Err(LimitExceeded::BodyBytes(self.limits.max_body_bytes).into());
        }
        let end = bodiless || head.framing == Framing::Length(0);
        call.close |= head.close || (!bodiless && head.framing == Framing::UntilClose);
        call.state = match head.framing {
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::Chunked(Chunked::START),
            Framing::UntilClose => State::UntilClose,
        };
        let fields = self.last_head.fields(text);
        sink.take(Event::Head {
            token,
            status,
            fields,
            end,
        });
        if end {
            self.complete(sink);
        }
        Ok(())
    }
}
