//! WebSockets: what a server sends after the opening handshake.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rpcgauge_wire::{Client, Event, Limits, Protocol, websocket};

use crate::meter;
use crate::script::Cut;

/// The limit on a message in bytes, which short inputs reach.
const MAX_MESSAGE: u64 = 200;

/// Checks that the caller sees the same no matter how the server's bytes are cut, that the call ends exactly once, that bytes
/// are counted once, and that memory stays within the limits. The input's first byte determines the cut, and whether the
/// request has ended.
pub fn websocket(input: &[u8]) {
    let Some((&setup, frames)) = input.split_first() else {
        return;
    };
    let last = setup % 2 == 0;
    let whole = play(last, frames, Cut::WHOLE);
    for cut in [Cut(1), Cut(2 + usize::from(setup) % 60)] {
        assert_eq!(play(last, frames, cut), whole, "cut {cut:?}");
    }
}

/// What the caller has seen: the events, and the bytes that were sent and received. After a failure, output is dropped, and
/// how much of a piece is read after the end depends on the cut.
fn play(last: bool, frames: &[u8], cut: Cut) -> (Vec<String>, Option<u64>, Option<u64>) {
    meter::reset();
    let limits = Limits {
        max_body_bytes: MAX_MESSAGE,
        ..Limits::default()
    };
    let mut client = Client::new(Protocol::Http1, limits);
    let head = websocket::head("/", "a").build().expect("a head");
    let exchange = client.open(&head, &Bytes::from_static(b"a"), last, 1);
    exchange.expect("a call can be started");
    let accepted = accepted(&take(&mut client));
    let mut events = Vec::new();
    client.input(accepted.as_bytes(), &mut |_: Event<'_>| ());
    take(&mut client);
    for piece in cut.pieces(frames) {
        meter::metered(|| client.input(piece, &mut |event: Event<'_>| note(event, &mut events)));
        let (sent, received) = (client.traffic().sent, client.traffic().received);
        assert!(received.total() <= (accepted.len() + frames.len()) as u64);
        assert!(sent.total() > 0);
        take(&mut client);
    }
    let peak = meter::peak();
    let most = 64 * 1024 + 8 * (MAX_MESSAGE + frames.len() as u64);
    assert!(peak <= most, "{peak} bytes held, {most} expected");
    let is_failure = |event: &String| event.starts_with("Failed");
    let has_failed = events.iter().any(is_failure);
    let sent = (!has_failed).then(|| client.traffic().sent.total());
    let received = (!client.is_closed()).then(|| client.traffic().received.total());
    client.end_of_input(true, &mut |event: Event<'_>| note(event, &mut events));
    let is_end = |event: &&String| !event.starts_with("Message") && !event.starts_with("Closing");
    assert_eq!(events.iter().filter(is_end).count(), 1, "{events:?}");
    (events, sent, received)
}

fn note(event: Event<'_>, events: &mut Vec<String>) {
    if let Event::Message { data, .. } = event {
        assert!(data.len() as u64 <= MAX_MESSAGE);
    }
    events.push(format!("{event:?}"));
}

/// Writes all output.
fn take(client: &mut Client) -> Vec<u8> {
    let mut all = Vec::new();
    while !client.output().is_empty() {
        let piece = client.output().to_vec();
        client.consume_output(piece.len());
        all.extend(piece);
    }
    all
}

/// The head that accepts a request for a WebSocket.
fn accepted(request: &[u8]) -> String {
    let request = String::from_utf8_lossy(request);
    let key = request
        .lines()
        .find_map(|line| line.strip_prefix("sec-websocket-key: "));
    let key = key.expect("a key");
    let salted = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, salted.as_bytes()));
    format!(
        "HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
    )
}
