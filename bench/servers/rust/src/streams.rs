//! The streams of a connection whose calls exchange several messages.

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::deframer::Deframer;
use crate::http2::{
    self, DATA, END_HEADERS, END_STREAM, FIRST_WINDOW, HEAD_BLOCK, HEADERS, MESSAGE, OK_BLOCK,
    Stream,
};

/// The output from which on no messages are added until it is written, in bytes. A stream may be much longer than
/// what the kernel accepts.
const OUTPUT_BYTES: usize = 64 * 1024;

/// The messages of a request. Each has a prefix: a flag and its length.
type Messages = Deframer<5>;

/// The open streams, with the client's windows for them (RFC 9113, 6.9).
#[derive(Debug)]
pub(crate) struct Streams {
    /// The window of a new stream, in bytes.
    initial_window: i64,
    open: BTreeMap<Stream, Open>,
}

#[derive(Debug)]
struct Open {
    /// How many bytes of DATA the client still allows. A setting can make it negative.
    window: i64,
    is_head_written: bool,
    /// Messages that are left to write.
    messages: u64,
    /// Whether the response ends with them.
    ends: bool,
    /// When its last message is due.
    due: Nanos,
    request: Messages,
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self {
            initial_window: FIRST_WINDOW,
            open: BTreeMap::new(),
        }
    }

    pub(crate) fn open(&mut self, stream: Stream) {
        let open = Open {
            window: self.initial_window,
            is_head_written: false,
            messages: 0,
            ends: false,
            due: 0,
            request: Messages::new(|prefix| http2::number(&prefix[1..]) as usize),
        };
        self.open.insert(stream, open);
    }

    pub(crate) fn close(&mut self, stream: Stream) {
        self.open.remove(&stream);
    }

    /// Applies the client's setting, also to the open streams (RFC 9113, 6.9.2).
    pub(crate) fn set_initial_window(&mut self, bytes: u32) {
        let change = i64::from(bytes) - self.initial_window;
        self.initial_window += change;
        self.open
            .values_mut()
            .for_each(|open| open.window += change);
    }

    pub(crate) fn update_window(&mut self, stream: Stream, bytes: u32) {
        if let Some(open) = self.open.get_mut(&stream) {
            open.window += i64::from(bytes);
        }
    }

    /// The number of messages that a piece of a request completes.
    pub(crate) fn completed(&mut self, stream: Stream, data: &[u8]) -> u64 {
        let open = self.open.get_mut(&stream);
        open.map_or(0, |open| open.request.completed(data))
    }

    /// When a message is due that could be sent at `at`, but not before those that precede it in its stream;
    /// `None` if the stream is closed.
    pub(crate) fn in_order(&mut self, stream: Stream, at: Nanos) -> Option<Nanos> {
        let open = self.open.get_mut(&stream)?;
        open.due = open.due.max(at);
        Some(open.due)
    }

    /// Adds messages to a response, and its end if it `ends`. Returns whether the stream is open.
    pub(crate) fn send(&mut self, stream: Stream, messages: u64, ends: bool) -> bool {
        let open = self.open.get_mut(&stream);
        if let Some(open) = open {
            open.messages += messages;
            open.ends |= ends;
            return true;
        }
        false
    }

    /// Writes what the windows allow. Returns the number of messages.
    pub(crate) fn write(&mut self, connection_window: &mut i64, out: &mut Vec<u8>) -> u64 {
        let mut written = 0;
        self.open.retain(|&stream, open| {
            written += open.write(stream, connection_window, out);
            !open.is_over()
        });
        written
    }
}

impl Open {
    fn is_over(&self) -> bool {
        self.ends && self.messages == 0
    }

    fn write(&mut self, stream: Stream, connection_window: &mut i64, out: &mut Vec<u8>) -> u64 {
        const LENGTH: i64 = MESSAGE.len() as i64;
        let has_output = self.messages > 0 || self.ends;
        if has_output && !self.is_head_written {
            http2::frame(out, HEADERS, END_HEADERS, stream, &[HEAD_BLOCK]);
            self.is_head_written = true;
        }
        let before = self.messages;
        while self.messages > 0
            && self.window.min(*connection_window) >= LENGTH
            && out.len() < OUTPUT_BYTES
        {
            http2::frame(out, DATA, 0, stream, &[MESSAGE]);
            self.messages -= 1;
            self.window -= LENGTH;
            *connection_window -= LENGTH;
        }
        if self.is_over() {
            http2::frame(out, HEADERS, END_HEADERS | END_STREAM, stream, &[OK_BLOCK]);
        }
        before - self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: i64 = MESSAGE.len() as i64;

    /// Streams with one open stream that responds with three messages.
    fn three_messages() -> Streams {
        let mut streams = Streams::new();
        streams.open(1);
        assert!(streams.send(1, 3, true));
        streams
    }

    fn ends(out: &[u8]) -> bool {
        out.ends_with(OK_BLOCK)
    }

    #[test]
    fn messages_wait_for_both_windows() {
        let (mut streams, mut out) = (three_messages(), Vec::new());
        streams.set_initial_window(LENGTH as u32);
        assert_eq!(streams.write(&mut (LENGTH - 1), &mut out), 0);
        assert_eq!(streams.write(&mut (5 * LENGTH), &mut out), 1);
        streams.update_window(1, 2 * LENGTH as u32);
        assert_eq!(streams.write(&mut { LENGTH }, &mut out), 1);
        assert!(!ends(&out));
        assert_eq!(streams.write(&mut { LENGTH }, &mut out), 1);
        assert!(ends(&out));
        assert!(!streams.send(1, 1, false), "the stream has ended");
    }

    #[test]
    fn a_long_stream_is_written_in_pieces() {
        let (mut streams, mut out, mut window) = (Streams::new(), Vec::new(), i64::MAX);
        streams.set_initial_window(i32::MAX as u32);
        streams.open(1);
        streams.send(1, 10_000, true);
        let mut written = 0;
        while !ends(&out) {
            out.clear();
            written += streams.write(&mut window, &mut out);
            assert!(out.len() < OUTPUT_BYTES + 100, "{} bytes", out.len());
        }
        assert_eq!(written, 10_000);
    }

    #[test]
    fn messages_of_a_stream_are_due_in_order() {
        let mut streams = three_messages();
        assert_eq!(streams.in_order(1, 20), Some(20));
        assert_eq!(streams.in_order(1, 10), Some(20));
        assert_eq!(streams.in_order(3, 10), None);
    }
}
