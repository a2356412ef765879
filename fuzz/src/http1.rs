//! HTTP/1.1: a connection with its calls, and heads compared with another parser.

use rpcgauge_wire::{Client, Event, Head, Limits, Protocol};

use crate::conversation::{self, Conversation};
use crate::script::{Args, Cut, Script};

/// The kinds of steps. Higher numbers wrap around.
pub mod step {
    /// Server: sends the payload unchanged.
    pub const BYTES: u8 = 0;
    /// Client: starts a call. Arguments: the numbers of its head and of its body's length.
    pub const START: u8 = 1;
    /// Client: cancels a call. Arguments: its number.
    pub const CANCEL: u8 = 2;
    /// Client: writes output. Arguments: the number of bytes in two bytes, or 0 for all.
    pub const TAKE: u8 = 3;
    /// Client: shuts down.
    pub const SHUT_DOWN: u8 = 4;
    /// Does nothing. It remains so that the numbers in recorded seeds keep their meaning.
    pub const NOTHING: u8 = 5;
    /// Ends the transport. Arguments: 1 to end it with an error.
    pub const END: u8 = 6;
    /// Server: sends a correctly framed chunk of the payload.
    pub const CHUNK: u8 = 7;
    /// The number of kinds.
    pub const COUNT: u8 = 8;
}

/// Runs a connection with several calls. Checks that the caller sees the same no matter how the server's bytes
/// are cut. Setup: the limits, the length of the pieces, and whether to start a call at the beginning.
pub fn http1(input: &[u8]) {
    let script = Script::read(input);
    let whole = play(&script, Cut::WHOLE);
    let pieces = 2 + usize::from(script.setup.get(1).copied().unwrap_or(0)) % 60;
    for cut in [Cut(1), Cut(pieces)] {
        let again = play(&script, cut);
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
    let mut talk = Conversation::new(Protocol::Http1, limits, cut);
    if setup.u8() % 2 == 0 {
        talk.start(setup.u8(), 0, false);
    }
    for step in &script.steps {
        let mut args = Args(&step.payload);
        match step.kind % step::COUNT {
            step::BYTES => talk.give(&step.payload),
            step::START => talk.start(args.u8(), args.u8(), false),
            step::CANCEL => talk.cancel(args.u8()),
            step::TAKE => talk.take(args.u16()),
            step::SHUT_DOWN => talk.shut_down(),
            step::NOTHING => {}
            step::END => talk.end(args.u8() != 1),
            _ => {
                let size = format!("{:x}\r\n", step.payload.len());
                talk.give(&[size.as_bytes(), &step.payload, b"\r\n"].concat());
            }
        }
    }
    talk.finish();
    talk
}

/// Parses the first head of a response with httparse as well. Checks that httparse accepts what we accept, with
/// the same status and fields. (httparse accepts more: we are strict where RFC 9112 lets a client be strict.)
pub fn http1_head(input: &[u8]) {
    const MAX_FIELDS: usize = 64;
    let limits = Limits {
        max_fields: MAX_FIELDS,
        ..Limits::default()
    };
    let head = Head::builder("GET", "/", "a").build().expect("a head");
    let mut client = Client::new(Protocol::Http1, limits);
    client
        .start(&head, &bytes::Bytes::new(), 1)
        .expect("a call can be started");
    let mut ours = None;
    client.input(input, &mut |event: Event<'_>| match event {
        Event::Interim { status, .. } => {
            ours.get_or_insert((status, None));
        }
        Event::Head { status, fields, .. } => {
            let fields = fields.iter().map(|(n, v)| (n.to_vec(), v.to_vec()));
            ours.get_or_insert((status, Some(fields.collect::<Vec<_>>())));
        }
        _ => {}
    });
    let Some((status, fields)) = ours else { return };
    let mut space = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut theirs = httparse::Response::new(&mut space);
    let parsed = theirs.parse(input).expect("httparse accepts the head");
    assert!(parsed.is_complete(), "httparse sees the head's end");
    assert_eq!(theirs.code, Some(status));
    let Some(fields) = fields else { return };
    assert_eq!(fields.len(), theirs.headers.len());
    for ((name, value), header) in fields.iter().zip(theirs.headers.iter()) {
        assert_eq!(name, header.name.as_bytes());
        assert_eq!(value, header.value);
    }
}
