//! One HTTP/1.1 connection as a state machine.
//!
//! ```text
//!            start                final head               last byte
//!   Idle ───────────► Head ───────────────────► Body ───────────────────► Idle
//!                     │  ▲                       │ chunked: last chunk      ▲
//!                     └──┘ 1xx                   └────────► Trailers ───────┘
//! ```
//!
//! From any state a violation, a limit, the end of the transport or a cancelled call leads to the
//! end: `closing` is set and nothing is read any more.

use std::io::IoSlice;

use bytes::Bytes;

use super::chunked::{Chunked, Part};
use super::error::Http1Violation;
use super::head::{self, Framing};
use super::section::{EndFinder, parse_fields};
use crate::client::Token;
use crate::error::{Closing, Failure, LimitExceeded, Stage, StartError};
use crate::event::{Event, FieldRange, Fields};
use crate::limits::Limits;
use crate::output::Output;
use crate::request::{Decimal, Head};
use crate::traffic::Traffic;

#[derive(Debug)]
pub(crate) struct Connection {
    limits: Limits,
    output: Output,
    traffic: Traffic,
    call: Option<Call>,
    /// No call can be started any more.
    closing: bool,
    /// What has come of a head or trailer section that is not whole yet.
    partial: Vec<u8>,
    finder: EndFinder,
    ranges: Vec<FieldRange>,
}

/// The call in flight.
#[derive(Debug)]
struct Call {
    token: Token,
    state: State,
    head_method: bool,
    /// The request asks to close.
    close: bool,
    first_byte_seen: bool,
    interim: u32,
    body_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    Length { left: u64 },
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
            call: None,
            closing: false,
            partial: Vec::new(),
            finder: EndFinder::default(),
            ranges: Vec::new(),
        }
    }

    pub(crate) fn start(
        &mut self,
        head: &Head,
        body: &Bytes,
        token: Token,
    ) -> Result<(), StartError> {
        if self.closing {
            return Err(StartError::Closing);
        }
        if self.call.is_some() {
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
        let sent = &mut self.traffic.sent;
        sent.header += header as u64;
        sent.body += body.len() as u64;
        sent.body_to_overhead(head.body_prefix.min(body.len() as u64));
        self.call = Some(Call {
            token,
            state: State::Head,
            head_method: head.is_head_method,
            close: head.close,
            first_byte_seen: false,
            interim: 0,
            body_bytes: 0,
        });
        Ok(())
    }

    pub(crate) fn capacity(&self) -> usize {
        usize::from(!self.closing && self.call.is_none())
    }

    pub(crate) fn in_flight(&self) -> usize {
        usize::from(self.call.is_some())
    }

    pub(crate) fn output(&self) -> &[u8] {
        self.output.first()
    }

    pub(crate) fn output_slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.output.slices(slices)
    }

    pub(crate) fn consume_output(&mut self, n: usize) {
        self.output.consume(n);
    }

    pub(crate) fn is_all_sent(&self) -> bool {
        self.output.len() == 0
    }

    pub(crate) fn cancel(&mut self, token: Token) -> bool {
        if self.call.as_ref().is_none_or(|call| call.token != token) {
            return false;
        }
        self.call = None;
        self.give_up();
        true
    }

    pub(crate) fn shut_down(&mut self) {
        self.closing = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closing && self.call.is_none()
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(crate) fn traffic_mut(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    pub(crate) fn release_buffers(&mut self) {
        self.output.release();
        if self.partial.is_empty() {
            self.partial = Vec::new();
        }
        self.ranges = Vec::new();
    }

    pub(crate) fn input<F: FnMut(Event<'_>)>(&mut self, mut bytes: &[u8], sink: &mut F) {
        while !bytes.is_empty() {
            if self.is_closed() {
                return;
            }
            let Some(call) = &mut self.call else {
                return self.fail(
                    Failure::Violation(Http1Violation::UnaskedBytes.into()),
                    sink,
                );
            };
            if !call.first_byte_seen {
                call.first_byte_seen = true;
                sink(Event::FirstByte { token: call.token });
            }
            if let Err(failure) = self.step(&mut bytes, sink) {
                return self.fail(failure, sink);
            }
        }
    }

    pub(crate) fn end_of_input<F: FnMut(Event<'_>)>(&mut self, orderly: bool, sink: &mut F) {
        let was_closing = std::mem::replace(&mut self.closing, true);
        self.output.clear();
        if let Some(call) = self.call.take() {
            let token = call.token;
            let stage = match call.state {
                State::UntilClose if orderly => None,
                State::Head if !call.first_byte_seen => Some(Stage::BeforeHead),
                State::Head => Some(Stage::InHead),
                _ => Some(Stage::InBody),
            };
            sink(match stage {
                None => Event::Complete { token },
                Some(stage) => Event::Failed {
                    token,
                    failure: Failure::Closed { stage },
                },
            });
        }
        if !was_closing {
            sink(Event::Closing {
                reason: Closing::Ended,
            });
        }
    }

    /// Takes one part of the answer off the front of `bytes`.
    fn step<F: FnMut(Event<'_>)>(
        &mut self,
        bytes: &mut &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let Some(call) = &mut self.call else {
            return Ok(());
        };
        match &mut call.state {
            State::Head | State::Trailers => self.section(bytes, sink),
            State::UntilClose => {
                let data = std::mem::take(bytes);
                self.body(data, sink)
            }
            State::Length { left } => {
                let n = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let (data, rest) = bytes.split_at(n);
                *bytes = rest;
                *left -= n as u64;
                let last = *left == 0;
                self.body(data, sink)?;
                if last {
                    self.complete(sink);
                }
                Ok(())
            }
            State::Chunked(chunked) => {
                let part = chunked.take(bytes, self.limits.max_chunk_line_bytes)?;
                if *chunked == Chunked::Trailers {
                    call.state = State::Trailers;
                }
                match part {
                    Part::Data(data) => self.body(data, sink),
                    Part::Framing(n) => {
                        self.traffic.received.overhead += n as u64;
                        Ok(())
                    }
                }
            }
        }
    }

    fn body<F: FnMut(Event<'_>)>(&mut self, data: &[u8], sink: &mut F) -> Result<(), Failure> {
        let Some(call) = &mut self.call else {
            return Ok(());
        };
        let max = self.limits.max_body_bytes;
        let room = usize::try_from(max - call.body_bytes).unwrap_or(usize::MAX);
        let within = &data[..data.len().min(room)];
        call.body_bytes += within.len() as u64;
        self.traffic.received.body += within.len() as u64;
        if !within.is_empty() {
            sink(Event::Body {
                token: call.token,
                data: within,
            });
        }
        if within.len() < data.len() {
            Err(LimitExceeded::BodyBytes(max).into())
        } else {
            Ok(())
        }
    }

    /// Collects a head or trailer section until it is whole, then takes it in. It is parsed where
    /// it lies when it came in one piece.
    fn section<F: FnMut(Event<'_>)>(
        &mut self,
        bytes: &mut &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let max = self.limits.max_head_bytes;
        let mut partial = std::mem::take(&mut self.partial);
        let before = partial.len();
        // One byte over the limit shows that it is exceeded; more is not looked at.
        let room = (max + 1).saturating_sub(before).min(bytes.len());
        let text: &[u8] = if before == 0 {
            &bytes[..room]
        } else {
            partial.extend_from_slice(&bytes[..room]);
            &partial
        };
        if matches!(
            &self.call,
            Some(Call {
                state: State::Head,
                ..
            })
        ) {
            head::check_start(text).map_err(|v| Failure::Violation(v.into()))?;
        }
        let found = self
            .finder
            .find(text)
            .map_err(|v| Failure::Violation(v.into()))?;
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
                self.traffic.received.header += end as u64;
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

    fn whole_section<F: FnMut(Event<'_>)>(
        &mut self,
        text: &[u8],
        sink: &mut F,
    ) -> Result<(), Failure> {
        let Some(call) = &mut self.call else {
            return Ok(());
        };
        let token = call.token;
        if !matches!(call.state, State::Head) {
            parse_fields(text, 0, self.limits.max_fields, &mut self.ranges, |_, _| {
                Ok(())
            })?;
            if !self.ranges.is_empty() {
                sink(Event::Trailers {
                    token,
                    fields: Fields::new(text, &self.ranges),
                });
            }
            self.complete(sink);
            return Ok(());
        }
        let head = head::parse(text, &self.limits, &mut self.ranges)?;
        match head.status {
            101 => {
                return Err(Failure::Violation(
                    Http1Violation::SwitchingProtocols.into(),
                ));
            }
            100..=199 => {
                call.interim += 1;
                if call.interim > self.limits.max_interim_responses {
                    let most = self.limits.max_interim_responses;
                    return Err(LimitExceeded::InterimResponses(most).into());
                }
                sink(Event::Interim {
                    token,
                    status: head.status,
                });
                return Ok(());
            }
            _ => {}
        }
        let bodiless = call.head_method || matches!(head.status, 204 | 304);
        let end = bodiless || head.framing == Framing::Length(0);
        call.close |= head.close || (!bodiless && head.framing == Framing::UntilClose);
        call.state = match head.framing {
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::Chunked(Chunked::START),
            Framing::UntilClose => State::UntilClose,
        };
        let fields = Fields::new(text, &self.ranges);
        sink(Event::Head {
            token,
            status: head.status,
            fields,
            end,
        });
        if end {
            self.complete(sink);
        }
        Ok(())
    }

    fn complete<F: FnMut(Event<'_>)>(&mut self, sink: &mut F) {
        let Some(call) = self.call.take() else { return };
        sink(Event::Complete { token: call.token });
        // An answer that comes before the request is out leaves a rest that no server expects.
        let unsent = self.output.len() > 0;
        if (call.close || unsent) && !self.closing {
            let reason = if unsent {
                Closing::ClientCloses
            } else {
                Closing::ServerCloses
            };
            sink(Event::Closing { reason });
            self.give_up();
        }
    }

    fn fail<F: FnMut(Event<'_>)>(&mut self, failure: Failure, sink: &mut F) {
        if let Some(call) = self.call.take() {
            sink(Event::Failed {
                token: call.token,
                failure,
            });
        }
        if !self.closing {
            sink(Event::Closing {
                reason: Closing::Failed(failure),
            });
        }
        self.give_up();
    }

    fn give_up(&mut self) {
        self.closing = true;
        self.output.clear();
        self.partial = Vec::new();
    }
}
