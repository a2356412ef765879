//! HTTP/2: a whole connection with calls in flight and a scripted server.

mod sent;
pub mod server;

use rpcgauge_wire::Protocol;
use rpcgauge_wire::http2::hpack::Encoder;

use crate::conversation::{self, Conversation};
use crate::script::{Args, Cut, Script};
use server::Frame;

/// The kinds of steps. Higher numbers wrap around.
pub mod step {
    /// Server: sends the payload unchanged.
    pub const BYTES: u8 = 0;
    /// Server: sends a frame. Arguments: kind, flags, stream ([`super::server::stream`]) and payload.
    pub const FRAME: u8 = 1;
    /// Server: sends a field block ([`super::server::fields`]) in HEADERS. Arguments: flags, stream, length of
    /// the first part (0 for all) and fields. The rest is sent in CONTINUATION.
    pub const HEADERS: u8 = 2;
    /// Client: starts a call. Arguments: the numbers of its head and of its body's length.
    pub const START: u8 = 3;
    /// Client: cancels a call. Arguments: its number.
    pub const CANCEL: u8 = 4;
    /// Client: writes output. Arguments: the number of bytes in two bytes, or 0 for all.
    pub const TAKE: u8 = 5;
    /// Client: shuts down.
    pub const SHUT_DOWN: u8 = 6;
    /// Does nothing. It remains so that the numbers in recorded seeds keep their meaning.
    pub const NOTHING: u8 = 7;
    /// Server: sends SETTINGS. Arguments: one-byte identifiers, each with a four-byte value.
    pub const SETTINGS: u8 = 8;
    /// Server: sends DATA filled with zeros. Arguments: flags, stream, and the length in two bytes.
    pub const ZEROS: u8 = 9;
    /// Server: sends WINDOW_UPDATE. Arguments: stream, and the increment in four bytes.
    pub const WINDOW_UPDATE: u8 = 10;
    /// Server: acknowledges the client's SETTINGS.
    pub const SETTINGS_ACK: u8 = 11;
    /// Server: sends PING repeatedly. Arguments: the number of times, one byte.
    pub const PINGS: u8 = 12;
    /// Server: sends GOAWAY. Arguments: last stream, and the code in four bytes.
    pub const GOAWAY: u8 = 13;
    /// Server: sends RST_STREAM. Arguments: stream, and the code in four bytes.
    pub const RST_STREAM: u8 = 14;
    /// Ends the transport. Arguments: 1 to end it with an error.
    pub const END: u8 = 15;
    /// Client: opens an exchange. Arguments: the numbers of its head and of its first message's length.
    pub const OPEN: u8 = 16;
    /// Client: sends a message. Arguments: the number of the call, the number of its length, and 1 if it is the last.
    pub const SEND: u8 = 17;
    /// Client: releases received bytes. Arguments: the number of the call, and of bytes in four bytes.
    pub const RELEASE: u8 = 18;
    /// The number of kinds.
    pub const COUNT: u8 = 19;
}

/// A bit of the setup's third byte: the server starts with SETTINGS and acknowledges the client's.
pub const HANDSHAKE: u8 = 0x80;

/// Runs a connection with calls in flight. Checks that the caller and the server see the same no matter how the
/// server's bytes are cut, and that the client's output is valid HTTP/2. Setup: the limits, the length of the
/// pieces, and the number of calls to start initially (plus [`HANDSHAKE`]), then the numbers of a head and a
/// body for each of these calls.
pub fn http2(input: &[u8]) {
    let script = Script::read(input);
    let whole = play(&script, Cut::WHOLE);
    sent::check(&whole.taken, &whole.given, &whole.started);
    let pieces = 2 + usize::from(script.setup.get(1).copied().unwrap_or(0)) % 60;
    for cut in [Cut(1), Cut(pieces)] {
        // Single bytes take too long if there are many of them.
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
        talk.start(setup.u8(), setup.u8(), false);
    }
    for step in &script.steps {
        let mut args = Args(&step.payload);
        match step.kind % step::COUNT {
            step::BYTES => talk.give(&step.payload),
            step::START => talk.start(args.u8(), args.u8(), false),
            step::OPEN => talk.start(args.u8(), args.u8(), true),
            step::SEND => talk.send(args.u8(), args.u8(), args.u8() == 1),
            step::RELEASE => talk.release(args.u8(), args.u32()),
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
