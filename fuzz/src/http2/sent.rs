//! Checks that the client's output is valid HTTP/2 and stays within what the server has allowed.

use std::collections::BTreeMap;

use rpcgauge_wire::http2::hpack::{DecodedFields, Decoder};

use super::server::{flag, kind};
use crate::conversation::Started;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocol's defaults until SETTINGS changes them (RFC 9113 §6.5.2).
const WINDOW: u64 = 65_535;
const FRAME_SIZE: usize = 16_384;

/// The identifiers of the settings for each stream's window and for the maximum frame size.
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;

/// A frame's header fields and payload.
struct Seen<'a> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'a [u8],
}

/// Removes the next complete frame from the front.
fn next<'a>(bytes: &mut &'a [u8]) -> Option<Seen<'a>> {
    let [l0, l1, l2, kind, flags, s0, s1, s2, s3, after @ ..] = *bytes else {
        return None;
    };
    let length = u32::from_be_bytes([0, *l0, *l1, *l2]) as usize;
    let (payload, rest) = after.split_at_checked(length)?;
    *bytes = rest;
    Some(Seen {
        kind: *kind,
        flags: *flags,
        stream: u32::from_be_bytes([*s0, *s1, *s2, *s3]) & 0x7fff_ffff,
        payload,
    })
}

/// The most that the server may have allowed: as if every window change had come first, and none had decreased
/// the window.
struct Allowed {
    connection: u64,
    each_stream: u64,
    /// The total increment by WINDOW_UPDATE for each stream.
    more: BTreeMap<u32, u64>,
    frame_size: usize,
}

fn allowed(mut given: &[u8]) -> Allowed {
    let mut allowed = Allowed {
        connection: WINDOW,
        each_stream: WINDOW,
        more: BTreeMap::new(),
        frame_size: FRAME_SIZE,
    };
    while let Some(frame) = next(&mut given) {
        match (frame.kind, frame.payload) {
            (kind::WINDOW_UPDATE, [a, b, c, d]) => {
                let by = u64::from(u32::from_be_bytes([*a, *b, *c, *d]) & 0x7fff_ffff);
                match frame.stream {
                    0 => allowed.connection += by,
                    stream => *allowed.more.entry(stream).or_default() += by,
                }
            }
            (kind::SETTINGS, payload) => {
                for setting in payload.chunks_exact(6) {
                    let id = u16::from_be_bytes([setting[0], setting[1]]);
                    let value =
                        u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]);
                    match id {
                        INITIAL_WINDOW_SIZE => {
                            allowed.each_stream = allowed.each_stream.max(value.into());
                        }
                        MAX_FRAME_SIZE => {
                            allowed.frame_size = allowed.frame_size.max(value as usize)
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    allowed
}

/// The state of a stream.
#[derive(Default)]
struct Stream {
    body: u64,
    ended: bool,
    reset: bool,
}

/// Checks all of the client's output, given its input. Calls use streams 1, 3, 5 and so on, in the order in
/// which they were started.
pub(super) fn check(taken: &[u8], given: &[u8], started: &[Started]) {
    let Some(mut rest) = taken.strip_prefix(PREFACE) else {
        // Output that has not been written when the transport ends is dropped, including the preface.
        return assert!(PREFACE.starts_with(taken), "the preface comes first");
    };
    let mut sent = Sent::new(allowed(given), started);
    while let Some(frame) = next(&mut rest) {
        sent.frame(&frame);
    }
}

/// The client's output so far.
struct Sent<'a> {
    allowed: Allowed,
    started: &'a [Started],
    decoder: Decoder,
    streams: Vec<Stream>,
    /// The stream of the unfinished field block, and the block so far.
    open_block: Option<(u32, Vec<u8>)>,
    /// The number of DATA bytes on all streams.
    data: u64,
    settings_seen: bool,
}

impl<'a> Sent<'a> {
    fn new(allowed: Allowed, started: &'a [Started]) -> Sent<'a> {
        let mut decoder = Decoder::new();
        // The server may choose any size up to the one that the client announces. Here, every size is allowed.
        decoder.set_allowed_size(u32::MAX);
        Sent {
            allowed,
            started,
            decoder,
            streams: Vec::new(),
            open_block: None,
            data: 0,
            settings_seen: false,
        }
    }

    fn frame(&mut self, frame: &Seen<'_>) {
        self.settings_seen |= frame.kind == kind::SETTINGS;
        assert!(self.settings_seen, "SETTINGS come first");
        let length = frame.payload.len();
        assert!(length <= self.allowed.frame_size, "a frame's length");
        let continues = frame.kind == kind::CONTINUATION;
        assert_eq!(
            self.open_block.is_some(),
            continues,
            "nothing interrupts a field block"
        );
        match frame.kind {
            kind::HEADERS => {
                let next = self.streams.len() * 2 + 1;
                assert_eq!(frame.stream as usize, next, "the next stream");
                self.streams.push(Stream {
                    ended: frame.flags & flag::END_STREAM != 0,
                    ..Stream::default()
                });
                self.block(frame, Vec::new());
            }
            kind::CONTINUATION => {
                let (stream, block) = self.open_block.take().expect("checked above");
                assert_eq!(stream, frame.stream);
                self.block(frame, block);
            }
            kind::DATA => self.data(frame),
            kind::RST_STREAM => {
                // A PRIORITY frame of the wrong size makes the client reset that frame's stream, even if the
                // client has not opened it.
                if let Some(stream) = self.streams.get_mut((frame.stream / 2) as usize) {
                    stream.reset = true;
                }
            }
            _ => {}
        }
    }

    fn data(&mut self, frame: &Seen<'_>) {
        let number = (frame.stream / 2) as usize;
        let stream = self.streams.get_mut(number);
        let stream = stream.expect("data is on an opened stream");
        assert!(!stream.ended && !stream.reset, "data after the end");
        stream.body += frame.payload.len() as u64;
        stream.ended = frame.flags & flag::END_STREAM != 0;
        let call = &self.started[number];
        let whole = stream.body == call.body as u64 && !call.more;
        assert!(whole || !stream.ended, "nothing is left out");
        let late = call.exchange.is_some();
        assert!(
            stream.ended || !whole || late,
            "the end comes with the last byte"
        );
        let more = self.allowed.more.get(&frame.stream).copied();
        let window = self.allowed.each_stream + more.unwrap_or(0);
        assert!(stream.body <= window, "a stream's window");
        self.data += frame.payload.len() as u64;
        assert!(self.data <= self.allowed.connection, "the window");
    }

    /// Appends the next part of a field block, and decodes the block once it is complete.
    fn block(&mut self, frame: &Seen<'_>, mut block: Vec<u8>) {
        block.extend_from_slice(frame.payload);
        if frame.flags & flag::END_HEADERS == 0 {
            self.open_block = Some((frame.stream, block));
            return;
        }
        let mut fields = DecodedFields::new(u32::MAX);
        let decoded = self.decoder.decode(&block, &mut fields);
        decoded.expect("a block that decodes");
        let names: Vec<&[u8]> = fields.fields().iter().map(|(name, _)| name).collect();
        let pseudo: [&[u8]; 4] = [b":method", b":scheme", b":authority", b":path"];
        assert_eq!(names[..4], pseudo);
    }
}
