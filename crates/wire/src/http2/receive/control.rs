//! Control frames: SETTINGS, GOAWAY, WINDOW_UPDATE, RST_STREAM, PRIORITY.

use crate::error::{Closing, Failure};
use crate::event::{Event, Sink};
use crate::http2::connection::Connection;
use crate::http2::error::Http2Violation;
use crate::http2::frame::{self, ACK, FrameHeader, PRIORITY_LENGTH, settings};

impl Connection {
    pub(super) fn priority<S: Sink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        if header.stream == 0 {
            return Err(Http2Violation::FrameStream("PRIORITY").into());
        }
        if payload.len() != PRIORITY_LENGTH {
            let violation = Http2Violation::FrameLength("PRIORITY");
            self.fail_stream(header.stream, violation, sink);
        }
        Ok(())
    }

    pub(super) fn rst_stream<S: Sink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        self.check_call_stream(&header, "RST_STREAM")?;
        let code = frame::read_rst_stream(payload)?;
        if let Some(stream) = self.remove(header.stream) {
            sink.take(Event::Failed {
                token: stream.token,
                failure: Failure::Reset { code },
            });
        }
        Ok(())
    }

    pub(super) fn settings(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Failure> {
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

    /// Applies the settings that take effect when the server acknowledges them (RFC 9113 §6.5.3).
    fn settings_acknowledged(&mut self) {
        if std::mem::replace(&mut self.receiver.settings_acknowledged, true) {
            return;
        }
        self.decoder.set_allowed_size(self.limits.header_table_size);
        let acknowledged = i64::from(self.limits.stream_window);
        let change = acknowledged - self.receiver.initial_window;
        self.receiver.initial_window = acknowledged;
        for stream in self.streams.iter_mut() {
            stream.receive_window += change;
        }
    }

    pub(super) fn goaway<S: Sink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        Self::check_stream_zero(&header, "GOAWAY")?;
        let (last, code) = frame::read_goaway(payload)?;
        if self.last_processed.is_some_and(|earlier| last > earlier) {
            return Err(Http2Violation::GoAwayIncreased.into());
        }
        self.last_processed = Some(last);
        for stream in self.streams.remove_above(last) {
            self.sender.forget(&stream);
            sink.take(Event::Failed {
                token: stream.token,
                failure: Failure::GoneAway { code },
            });
        }
        self.close(Closing::GoAway { code }, sink);
        Ok(())
    }

    pub(super) fn window_update<S: Sink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        let increment = frame::read_window_update(payload)?;
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
                self.fail_stream(header.stream, violation, sink);
            }
        }
        self.pump();
        Ok(())
    }
}
