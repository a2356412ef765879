//! gRPC: responses with their messages and status, and header text.

use std::time::Duration;

use rpcgauge_wire::grpc::{
    Code, Deframer, GrpcViolation, Outcome, PREFIX_LENGTH, Piece, StatusSource, UnaryResponse,
    decode_message, encode_timeout,
};
use rpcgauge_wire::http2::hpack::{DecodedFields, Decoder, Encoder, FieldList};

use crate::script::{Args, Cut, Script};

/// The kinds of steps, each of which adds something to a response. Higher numbers wrap around.
pub mod step {
    /// A field of the head. Arguments: the number of its name, then its value.
    pub const HEAD: u8 = 0;
    /// Bytes of the body.
    pub const BODY: u8 = 1;
    /// A trailer. Arguments: the same as for a field of the head.
    pub const TRAILER: u8 = 2;
    /// A message. Arguments: its flag, then its payload. Its length is inserted between the two.
    pub const MESSAGE: u8 = 3;
    /// The number of kinds.
    pub const COUNT: u8 = 4;
}

/// The names of fields that matter to a response, and one that does not.
const NAMES: [&[u8]; 5] = [
    b"content-type",
    b"grpc-status",
    b"grpc-message",
    b"grpc-encoding",
    b"x-a",
];

/// The maximum size of a message, in bytes.
const MAX_MESSAGE: u32 = 1000;

/// A response in parts. Setup: the HTTP status minus 200, the requested subtype, and the length of the body's
/// pieces.
struct Response {
    status: u16,
    subtype: Option<&'static str>,
    pieces: usize,
    head: FieldList,
    body: Vec<u8>,
    trailers: FieldList,
}

impl Response {
    fn read(input: &[u8]) -> Response {
        let script = Script::read(input);
        let mut setup = Args(&script.setup);
        let mut response = Response {
            status: 200 + u16::from(setup.u8()),
            subtype: setup.pick(&[None, Some("proto"), Some("json")]),
            pieces: 2 + usize::from(setup.u8()) % 30,
            head: FieldList::default(),
            body: Vec::new(),
            trailers: FieldList::default(),
        };
        for step in &script.steps {
            let mut args = Args(&step.payload);
            match step.kind % step::COUNT {
                step::BODY => response.body.extend_from_slice(&step.payload),
                step::MESSAGE => {
                    response.body.push(args.u8());
                    let length = args.rest().len() as u32;
                    response.body.extend(length.to_be_bytes());
                    response.body.extend_from_slice(args.rest());
                }
                kind => {
                    let list = match kind {
                        step::HEAD => &mut response.head,
                        _ => &mut response.trailers,
                    };
                    let name = args.pick(&NAMES);
                    list.push(name, args.rest());
                }
            }
        }
        response
    }

    /// What a caller sees of the response if its body arrives in these pieces: the payload and the outcome.
    fn seen(&self, cut: Cut) -> (Vec<u8>, Code, String, StatusSource) {
        let mut response = UnaryResponse::new(MAX_MESSAGE);
        let mut payload = Vec::new();
        let end = self.body.is_empty() && self.trailers.iter().next().is_none();
        let head = decoded(&self.head);
        let mut refused = response
            .head(self.status, &head.fields(), end, self.subtype)
            .err();
        for piece in cut.pieces(&self.body) {
            match response.body(piece) {
                Ok(bytes) => payload.extend_from_slice(bytes),
                Err(violation) => {
                    assert_eq!(*refused.get_or_insert(violation), violation);
                }
            }
        }
        // How much of a refused response's payload was seen before the refusal depends on the cuts.
        if refused.is_some() {
            payload.clear();
        }
        if !end {
            response.trailers(&decoded(&self.trailers).fields());
        }
        assert!(response.prefix_bytes() <= self.body.len() as u64);
        let Outcome {
            code,
            message,
            source,
        } = response.finish();
        (payload, code, message.to_owned(), source)
    }
}

/// Outside of their crate, fields can be created only by decoding a field block.
fn decoded(list: &FieldList) -> DecodedFields {
    let mut block = Vec::new();
    Encoder::new(0).encode(list.iter(), &mut block);
    let mut fields = DecodedFields::new(u32::MAX);
    Decoder::new()
        .decode(&block, &mut fields)
        .expect("our own block");
    fields
}

/// Checks that the outcome of a unary response does not depend on how its body is cut, that it is OK only for
/// exactly one complete message, and that a simple parser finds the same messages.
pub fn grpc_answer(input: &[u8]) {
    let response = Response::read(input);
    let whole = response.seen(Cut::WHOLE);
    for cut in [Cut(1), Cut(response.pieces)] {
        assert_eq!(response.seen(cut), whole, "cut {cut:?} makes a difference");
        assert_eq!(deframed(&response.body, cut), messages(&response.body));
    }
    let (payload, code, _, source) = whole;
    if code == Code::OK {
        assert_eq!(source, StatusSource::Server);
        let (found, end) = messages(&response.body);
        assert_eq!((found.len(), end), (1, Ok(true)));
        assert_eq!(found[0].1, payload);
    }
    if let StatusSource::Client(violation) = source {
        assert_ne!(code, Code::OK);
        assert!(!violation.to_string().contains('\n'));
    }
}

/// Complete messages with their flags, then either whether the body may end there or the violation.
type Messages = (Vec<(bool, Vec<u8>)>, Result<bool, GrpcViolation>);

fn deframed(body: &[u8], cut: Cut) -> Messages {
    let mut deframer = Deframer::new(MAX_MESSAGE);
    let mut found = Vec::new();
    let mut open = None;
    for mut piece in cut.pieces(body) {
        loop {
            match deframer.next(&mut piece) {
                Ok(None) => break,
                Ok(Some(Piece::Start { compressed, length })) => {
                    assert!(length <= MAX_MESSAGE);
                    open = Some((compressed, Vec::new()));
                }
                Ok(Some(Piece::Payload(bytes))) => {
                    assert!(!bytes.is_empty());
                    let (_, payload) = open.as_mut().expect("a message began");
                    payload.extend_from_slice(bytes);
                }
                Ok(Some(Piece::End)) => found.push(open.take().expect("a message began")),
                Err(violation) => return (found, Err(violation)),
            }
        }
    }
    (found, Ok(deframer.is_between_messages()))
}

/// Does the same with a simple parser.
fn messages(body: &[u8]) -> Messages {
    let mut found = Vec::new();
    let mut rest = body;
    while let Some((prefix, after)) = rest.split_first_chunk::<PREFIX_LENGTH>() {
        let [flag, length @ ..] = *prefix;
        let length = u32::from_be_bytes(length);
        if flag > 1 {
            return (found, Err(GrpcViolation::Flag));
        }
        if length > MAX_MESSAGE {
            let limit = MAX_MESSAGE;
            return (found, Err(GrpcViolation::MessageTooLarge { length, limit }));
        }
        let Some((payload, after)) = after.split_at_checked(length as usize) else {
            return (found, Ok(false));
        };
        found.push((flag == 1, payload.to_vec()));
        rest = after;
    }
    (found, Ok(rest.is_empty()))
}

/// Checks the text in gRPC's headers: `grpc-status`, `grpc-message` and `grpc-timeout`.
pub fn grpc_text(input: &[u8]) {
    check_code(input);
    check_message(input);
    check_timeout(input);
}

fn check_code(value: &[u8]) {
    let code = Code::parse(value);
    let digits = std::str::from_utf8(value)
        .ok()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    assert_eq!(code, digits.and_then(|text| text.parse().ok()).map(Code));
}

fn check_message(value: &[u8]) {
    let mut text = "old".to_owned();
    decode_message(value, &mut text);
    // Text without escapes is unchanged, and text encoded by a server is restored.
    if !value.contains(&b'%') {
        assert_eq!(text, String::from_utf8_lossy(value));
    }
    let encoded: String = text
        .bytes()
        .map(|byte| match byte {
            b' '..=b'~' if byte != b'%' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let mut again = String::new();
    decode_message(encoded.as_bytes(), &mut again);
    assert_eq!(again, text);
}

fn check_timeout(input: &[u8]) {
    let mut args = Args(input);
    let seconds = u64::from(args.u32()) << (args.u8() % 33);
    let timeout = Duration::new(seconds, args.u32() % 1_000_000_000);
    let text = encode_timeout(timeout);
    let (digits, unit) = text.split_at(text.len() - 1);
    assert!((1..=8).contains(&digits.len()), "{text}");
    let amount: u128 = digits.parse().expect("digits");
    const UNITS: [(&str, u128); 6] = [
        ("n", 1),
        ("u", 1_000),
        ("m", 1_000_000),
        ("S", 1_000_000_000),
        ("M", 60_000_000_000),
        ("H", 3_600_000_000_000),
    ];
    let place = UNITS.iter().position(|(name, _)| *name == unit);
    let place = place.expect("a unit");
    let size = UNITS[place].1;
    let nanos = timeout.as_nanos();
    if text == "99999999H" {
        assert!(nanos > 99_999_998 * size);
        return;
    }
    // The amount is rounded up by less than one unit, and the unit is the finest for which eight digits
    // suffice.
    assert!((nanos..nanos + size).contains(&(amount * size)), "{text}");
    assert!(place == 0 || nanos.div_ceil(UNITS[place - 1].1) > 99_999_999);
}
