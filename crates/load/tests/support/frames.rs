//! Frames of HTTP/2 by hand, and a server that plays with them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rpcgauge_trial::Address;

use super::serve;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const PREFACE_LENGTH: usize = 24;

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Empty SETTINGS.
pub(crate) fn settings() -> Vec<u8> {
    frame(4, 0, 0, &[])
}

/// A response of status 200 and nothing else.
pub(crate) fn ok_frame(stream: u32) -> Vec<u8> {
    frame(HEADERS, 5, stream, &[0x88])
}

/// RST_STREAM.
pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(3, 0, stream, &code.to_be_bytes())
}

/// GOAWAY: the streams above `last` were not processed.
pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(7, 0, 0, &payload)
}

/// Where a request came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    /// Its connection, from 0.
    pub(crate) connection: usize,
    /// Its stream: 1, 3, 5, ...
    pub(crate) stream: u32,
    /// How many requests came before it, on all connections.
    pub(crate) before: usize,
}

/// Serves every connection: SETTINGS first, then what `response` says to each whole request. A
/// connection ends when the client ends it.
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

/// One connection of [`serve_frames`], until the client or the network ends it.
pub(crate) fn play_frames(mut stream: TcpStream, mut response: impl FnMut(u32) -> Vec<u8>) {
    let _ = stream.write_all(&settings());
    let mut preface = [0; PREFACE_LENGTH];
    if stream.read_exact(&mut preface).is_err() {
        return;
    }
    let mut header = [0; 9];
    while stream.read_exact(&mut header).is_ok() {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        let mut payload = vec![0; length as usize];
        if stream.read_exact(&mut payload).is_err() {
            return;
        }
        let ends = header[4] & END_STREAM != 0;
        if matches!(header[3], DATA | HEADERS) && ends {
            let id = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
            if stream.write_all(&response(id)).is_err() {
                return;
            }
        }
    }
}
