//! HTTP/2: a whole connection with calls in flight, its server scripted.

mod sent;
pub mod server;

use rpcgauge_wire::Protocol;
use rpcgauge_wire::http2::hpack::Encoder;

use crate::conversation::{self, Conversation};
use crate::script::{Args, Cut, Script};
use server::Frame;

/// What a step does, by its number; higher numbers wrap around.
pub mod step {
    /// Server: the payload, as it is.
    pub const BYTES: u8 = 0;
    /// Server: a frame. Kind, flags, stream ([`super::server::stream`]), then its payload.
    pub const FRAME: u8 = 1;
    /// Server: a field block ([`super::server::fields`]) in HEADERS. Flags, stream, length of the
    /// first part (0 for all), then the fields. The rest is in CONTINUATION.
    pub const HEADERS: u8 = 2;
    /// Client: starts a call. Number of its head, number of its body's length.
    pub const START: u8 = 3;
    /// Client: gives a call up. Its number.
    pub const CANCEL: u8 = 4;
    /// Client: writes output. How many bytes, two bytes; 0 for all.
    pub const TAKE: u8 = 5;
    /// Client: shuts down.
    pub const SHUT_DOWN: u8 = 6;
    /// Does nothing. It stays, so that the numbers in recorded seeds keep their meaning.
    pub const NOTHING: u8 = 7;
    /// Server: SETTINGS. Numbers of one byte, values of four.
    pub const SETTINGS: u8 = 8;
    /// Server: DATA of zeros. Flags, stream, length of two bytes.
    pub const ZEROS: u8 = 9;
    /// Server: WINDOW_UPDATE. Stream, increment of four bytes.
    pub const WINDOW_UPDATE: u8 = 10;
    /// Server: acknowledges the client's SETTINGS.
    pub const SETTINGS_ACK: u8 = 11;
    /// Server: PING, many times. How often, one byte.
    pub const PINGS: u8 = 12;
    /// Server: GOAWAY. Last stream, code of four bytes.
    pub const GOAWAY: u8 = 13;
    /// Server: RST_STREAM. Stream, code of four bytes.
    pub const RST_STREAM: u8 = 14;
    /// The transport ends. 1 when it broke.
    pub const END: u8 = 15;
    /// How many kinds there are.
    pub const COUNT: u8 = 16;
}

/// Bit of the setup's third byte: the server begins with SETTINGS and acknowledges the client's.
pub const HANDSHAKE: u8 = 0x80;

/// A connection with calls in flight. Setup: limits, length of the pieces, calls started at once
/// (and [`HANDSHAKE`]), then a head's and a body's number for each of these. However the server's
/// bytes are cut, the caller and the server see the same; and what the client sent is HTTP/2.
pub fn http2(input: &[u8]) {
    let script = Script::read(input);
    let whole = play(&script, Cut::WHOLE);
    sent::check(&whole.taken, &whole.given, &whole.started);
    let pieces = 2 + usize::from(script.setup.get(1).copied().unwrap_or(0)) % 60;
    for cut in [Cut(1), Cut(pieces)] {
        // Every byte by itself takes long where there are many.
        let many = whole.given.len() > 1000 && cut == Cut(1);
        let again = play(&script, if many { Cut(509) } else { cut });
        assert!(
            again.seen() == whole.seen(),
            "cut {cut:?} makes a difference"
        );
    }
}

fn play(script: &Script, cut: Cut) -> Conversation {
    let mut setup = Args(&script.setup);
    let limits = conversation::limits(setup.u8());
    let _pieces = setup.u8();
    let mut talk = Conversation::new(Protocol::Http2, limits, cut);
    let mut encoder = Encoder::new(4096);
    let begin = setup.u8();
    if begin & HANDSHAKE != 0 {
        talk.give(&Frame::settings(&[]).bytes());
        talk.give(&Frame::settings_ack().bytes());
    }
    for _ in 0..begin & 0x7 {
        talk.start(setup.u8(), setup.u8());
    }
    for step in &script.steps {
        let mut args = Args(&step.payload);
        match step.kind % step::COUNT {
            step::BYTES => talk.give(&step.payload),
            step::START => talk.start(args.u8(), args.u8()),
            step::CANCEL => talk.cancel(args.u8()),
            step::TAKE => talk.take(args.u16()),
            step::SHUT_DOWN => talk.shut_down(),
            step::NOTHING => {}
            step::END => talk.end(args.u8() != 1),
            kind => talk.give(&server::frames(kind, args, &mut encoder)),
        }
    }
    talk.finish();
    talk
}
