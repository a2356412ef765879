//! Handmade HTTP/2 frames, and a server that sends them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rpcgauge_trial::Address;

use super::serve;

/// Frame flags.
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;

/// Frame types.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// An empty SETTINGS frame.
pub(crate) fn settings() -> Vec<u8> {
    frame(4, 0, 0, &[])
}

/// A response with status 200 and nothing else.
pub(crate) fn ok_frame(stream: u32) -> Vec<u8> {
    frame(HEADERS, 5, stream, &[0x88])
}

/// A RST_STREAM frame.
pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(3, 0, stream, &code.to_be_bytes())
}

/// A GOAWAY frame, which declares that the streams above `last` were not processed.
pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(7, 0, 0, &payload)
}

/// Where a request arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    /// The index of its connection, from 0.
    pub(crate) connection: usize,
    /// The number of its stream: 1, 3, 5, ...
    pub(crate) stream: u32,
    /// How many requests arrived before it, on all connections.
    pub(crate) before: usize,
}

/// Serves every connection: sends SETTINGS, then what `response` returns for each complete request. A
/// connection ends when the client closes it.
pub(crate) fn serve_frames(
    response: impl Fn(Came) -> Vec<u8> + Send + Sync + Clone + 'static,
) -> Address {
    let connections = Arc::new(AtomicUsize::new(0));
    let requests = Arc::new(AtomicUsize::new(0));
    serve(move |stream| {
        let connection = connections.fetch_add(1, Ordering::Relaxed);
        let response = |stream| {
            response(Came {
                connection,
                stream,
                before: requests.fetch_add(1, Ordering::Relaxed),
            })
        };
        play_frames(stream, response);
    })
}

/// Serves one connection of [`serve_frames`] until the client closes it or the network fails.
pub(crate) fn play_frames(mut stream: TcpStream, mut response: impl FnMut(u32) -> Vec<u8>) {
    let _ = stream.write_all(&settings());
    if !read_preface(&mut stream) {
        return;
    }
    while let Some(sent) = next(&mut stream) {
        if sent.ends_request() && stream.write_all(&response(sent.stream)).is_err() {
            return;
        }
    }
}

/// A frame that a client sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Sent {
    /// Whether this is the last frame of a request.
    pub(crate) fn ends_request(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }

    /// Whether this frame acknowledges SETTINGS.
    pub(crate) fn acknowledges(&self) -> bool {
        self.kind == SETTINGS && self.flags & ACK != 0
    }
}

/// Reads the client's next frame.
pub(crate) fn next(stream: &mut TcpStream) -> Option<Sent> {
    let mut header = [0; 9];
    stream.read_exact(&mut header).ok()?;
    let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = header;
    let mut payload = vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(Sent {
        kind,
        flags,
        stream: u32::from_be_bytes([s0, s1, s2, s3]),
        payload,
    })
}

/// Reads the client's connection preface.
pub(crate) fn read_preface(stream: &mut TcpStream) -> bool {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).is_ok()
}
