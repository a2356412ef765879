//! The frames that a server's steps send.

use rpcgauge_wire::http2::hpack::{Encoder, FieldList};

use super::step;
use crate::script::Args;

/// Frame types (RFC 9113 §6).
pub mod kind {
    #![allow(missing_docs)]
    pub const DATA: u8 = 0x0;
    pub const HEADERS: u8 = 0x1;
    pub const RST_STREAM: u8 = 0x3;
    pub const SETTINGS: u8 = 0x4;
    pub const PING: u8 = 0x6;
    pub const GOAWAY: u8 = 0x7;
    pub const WINDOW_UPDATE: u8 = 0x8;
    pub const CONTINUATION: u8 = 0x9;
}

/// Frame flags (RFC 9113 §6).
pub mod flag {
    #![allow(missing_docs)]
    pub const END_STREAM: u8 = 0x1;
    pub const ACK: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
}

/// A frame that a server sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// See [`kind`].
    pub kind: u8,
    /// See [`flag`].
    pub flags: u8,
    /// The stream identifier.
    pub stream: u32,
    /// The frame's payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Creates a frame with a copy of the payload.
    pub fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Frame {
        Frame {
            kind,
            flags,
            stream,
            payload: payload.to_vec(),
        }
    }

    /// Creates SETTINGS with these identifiers and values.
    pub fn settings(settings: &[(u16, u32)]) -> Frame {
        let mut payload = Vec::new();
        for (id, value) in settings {
            payload.extend(id.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        Frame::new(kind::SETTINGS, 0, 0, &payload)
    }

    /// Creates the acknowledgement of SETTINGS.
    pub fn settings_ack() -> Frame {
        Frame::new(kind::SETTINGS, flag::ACK, 0, &[])
    }

    /// Encodes the frame.
    pub fn bytes(&self) -> Vec<u8> {
        let length = (self.payload.len() as u32).to_be_bytes();
        let stream = self.stream.to_be_bytes();
        let head = [&length[1..], &[self.kind, self.flags], &stream].concat();
        [&head[..], &self.payload].concat()
    }
}

/// Maps a byte to a stream. Values below 0x80 select one of the first calls' streams, which are 1, 3, 5 and so
/// on. Higher values select any low number, and 0xff selects the maximum stream number.
pub fn stream(byte: u8) -> u32 {
    match byte {
        0..0x80 => u32::from(byte % 8) * 2 + 1,
        0x80..=0xfe => u32::from(byte - 0x80),
        0xff => (1 << 31) - 1,
    }
}

/// Fields that responses contain, and some that they must not contain.
const FIELDS: [(&str, &str); 24] = [
    (":status", "200"),
    ("content-type", "application/grpc"),
    ("grpc-status", "0"),
    ("grpc-message", "a%20b"),
    ("content-length", "0"),
    ("content-length", "1"),
    ("content-length", "5"),
    (":status", "100"),
    (":status", "103"),
    (":status", "204"),
    (":status", "404"),
    ("x-a", "some value that is long enough to be indexed"),
    ("x-b", ""),
    ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
    ("set-cookie", "a=b"),
    (":status", "101"),
    (":path", "/"),
    ("connection", "close"),
    ("transfer-encoding", "chunked"),
    ("te", "trailers"),
    ("Upper", "x"),
    ("", "x"),
    ("x-c", " blank "),
    ("x-d", "line\nend"),
];

/// Encodes a block of the fields with these numbers. A number from 0x80 on repeats the previous field (number -
/// 0x80) times; each repetition takes only one byte in the block.
pub fn fields(numbers: &[u8], encoder: &mut Encoder) -> Vec<u8> {
    let mut list = FieldList::default();
    let mut last = FIELDS[0];
    for number in numbers {
        let (field, times) = match number {
            0..0x80 => (FIELDS[usize::from(*number) % FIELDS.len()], 1),
            _ => (last, number - 0x80),
        };
        for _ in 0..times {
            list.push(field.0.as_bytes(), field.1.as_bytes());
        }
        last = field;
    }
    let mut block = Vec::new();
    encoder.encode(list.iter(), &mut block);
    block
}

/// Returns the bytes that a server's step sends.
pub(super) fn frames(kind: u8, mut args: Args<'_>, encoder: &mut Encoder) -> Vec<u8> {
    match kind {
        step::HEADERS => {
            let (flags, stream, first) = (args.u8(), stream(args.u8()), args.u8());
            headers(flags, stream, first, &fields(args.rest(), encoder))
        }
        step::SETTINGS => {
            let mut settings = Vec::new();
            while !args.rest().is_empty() {
                settings.push((u16::from(args.u8()), args.u32()));
            }
            Frame::settings(&settings).bytes()
        }
        step::ZEROS => {
            let (flags, stream, length) = (args.u8(), stream(args.u8()), args.u16());
            Frame::new(kind::DATA, flags, stream, &vec![0; usize::from(length)]).bytes()
        }
        step::WINDOW_UPDATE => {
            let (stream, by) = (stream(args.u8()), args.u32());
            Frame::new(kind::WINDOW_UPDATE, 0, stream, &by.to_be_bytes()).bytes()
        }
        step::SETTINGS_ACK => Frame::settings_ack().bytes(),
        step::PINGS => {
            let times = usize::from(args.u8());
            Frame::new(kind::PING, 0, 0, b"12345678")
                .bytes()
                .repeat(times)
        }
        step::GOAWAY => {
            let (last, code) = (stream(args.u8()), args.u32());
            let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
            Frame::new(kind::GOAWAY, 0, 0, &payload).bytes()
        }
        step::RST_STREAM => {
            let (stream, code) = (stream(args.u8()), args.u32());
            Frame::new(kind::RST_STREAM, 0, stream, &code.to_be_bytes()).bytes()
        }
        _ => {
            let (kind, flags, stream) = (args.u8(), args.u8(), stream(args.u8()));
            Frame::new(kind, flags, stream, args.rest()).bytes()
        }
    }
}

/// Splits a block into HEADERS and CONTINUATION frames with `first` bytes each, or uses a single frame if
/// `first` is 0.
fn headers(flags: u8, stream: u32, first: u8, block: &[u8]) -> Vec<u8> {
    let size = match usize::from(first) {
        0 => block.len(),
        size => size,
    };
    let mut parts = block.chunks(size.max(1)).peekable();
    let mut bytes = Vec::new();
    let (mut kind, mut flags) = (kind::HEADERS, flags & !flag::END_HEADERS);
    loop {
        let part = parts.next().unwrap_or_default();
        let last = parts.peek().is_none();
        let end = if last { flag::END_HEADERS } else { 0 };
        bytes.extend(Frame::new(kind, flags | end, stream, part).bytes());
        if last {
            return bytes;
        }
        (kind, flags) = (kind::CONTINUATION, 0);
    }
}
