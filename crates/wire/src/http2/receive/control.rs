//! Control frames: SETTINGS, GOAWAY, WINDOW_UPDATE, RST_STREAM, PRIORITY.

use super::Receiver;
use crate::error::{Closing, Failure};
use crate::event::{Event, Sink};
use crate::http2::calls::Calls;
use crate::http2::error::Http2Violation;
use crate::http2::frame::{self, ACK, FrameHeader, PRIORITY_LENGTH, settings};

impl Receiver {
    pub(super) fn priority<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        if header.stream == 0 {
            return Err(Http2Violation::FrameStream("PRIORITY").into());
        }
        if payload.len() != PRIORITY_LENGTH {
            let violation = Http2Violation::FrameLength("PRIORITY");
            calls.fail_stream(header.stream, violation, sink);
        }
        Ok(())
    }

    pub(super) fn rst_stream<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        calls.check_opened(&header, "RST_STREAM")?;
        let code = frame::read_rst_stream(payload)?;
        if let Some(stream) = calls.remove(header.stream) {
            sink.take(Event::Failed {
                token: stream.token,
                failure: Failure::Reset { code },
            });
        }
        Ok(())
    }

    pub(super) fn settings(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<(), Failure> {
        Self::check_stream_zero(&header, "SETTINGS")?;
        if header.has(ACK) {
            if !payload.is_empty() {
                return Err(Http2Violation::FrameLength("SETTINGS").into());
            }
            self.settings_acknowledged(calls);
            return Ok(());
        }
        for setting in settings::read(payload)? {
            calls.sender.set(setting?, &mut calls.streams)?;
        }
        self.settings_seen = true;
        calls.sender.settings_received();
        calls.reply(settings::write_ack);
        calls.pump();
        Ok(())
    }

    /// Applies the settings that take effect when the server acknowledges them (RFC 9113 §6.5.3).
    fn settings_acknowledged(&mut self, calls: &mut Calls) {
        if std::mem::replace(&mut self.settings_acknowledged, true) {
            return;
        }
        self.decoder
            .set_allowed_size(calls.limits.header_table_size);
        let acknowledged = i64::from(calls.limits.stream_window);
        let change = acknowledged - self.initial_window;
        self.initial_window = acknowledged;
        for stream in calls.streams.iter_mut() {
            stream.receive_window.change(change);
        }
    }

    pub(super) fn goaway<S: Sink>(
        &mut self,
        calls: &mut Calls,
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
        let held = calls.fail_above(last, sink, |_| Failure::GoneAway { code });
        calls.give_back(held);
        calls.close(Closing::GoAway { code }, sink);
        Ok(())
    }

    pub(super) fn window_update<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        let increment = frame::read_window_update(payload)?;
        if header.stream == 0 {
            calls.sender.widen(increment)?;
        } else {
            calls.check_opened(&header, "WINDOW_UPDATE")?;
            let Some(stream) = calls.streams.get(header.stream) else {
                return Ok(());
            };
            let result = match increment {
                0 => Err(Http2Violation::WindowIncrement),
                _ => calls.sender.widen_stream(stream, i64::from(increment)),
            };
            if let Err(violation) = result {
                calls.fail_stream(header.stream, violation, sink);
            }
        }
        calls.pump();
        Ok(())
    }
}
