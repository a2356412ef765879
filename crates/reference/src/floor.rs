//! The server of the floor's calibration: it reads requests of a fixed size and answers with responses of a fixed size.
//!
//! Nothing is framed or parsed, so that what a call over this loop costs is the kernel's, and no
//! client or server can be faster on the same transport. The protocol is in `contract/README.md`.

use std::io::{self, Read, Write};

use crate::listen::{Listener, Socket};

#[cfg(test)]
mod tests;

/// A connection's first bytes: two unsigned 64-bit little-endian numbers, the request's and the
/// response's length in bytes.
pub const HEADER_BYTES: usize = 16;

/// Longest request and longest response, in bytes: more than any message of a study.
pub const MAX_BYTES: u64 = 64 << 20;

/// Serves one connection after the other, each until its client closes it, with blocking calls on
/// this thread. Returns only when the socket itself fails.
pub fn serve(listener: &Listener) -> io::Error {
    loop {
        let accepted = match &listener.socket {
            Socket::Tcp(socket) => socket.accept().map(|(stream, _)| {
                // Best effort: without it the figures are wrong, but the bytes are right.
                let _ = stream.set_nodelay(true);
                respond_until_closed(stream)
            }),
            Socket::Unix(socket) => socket
                .accept()
                .map(|(stream, _)| respond_until_closed(stream)),
        };
        match accepted {
            Ok(Ok(())) => {}
            Ok(Err(error)) => eprintln!("floor: connection ended: {error}"),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error,
        }
    }
}

/// Responds to requests until the client closes the connection.
fn respond_until_closed(mut stream: impl Read + Write) -> io::Result<()> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header)?;
    let (request_bytes, response_bytes) = lengths(&header)?;
    let mut request = vec![0; request_bytes];
    let response = vec![0; response_bytes];
    while read_request(&mut stream, &mut request)? {
        stream.write_all(&response)?;
    }
    Ok(())
}

/// Whether a whole request came; not if the client closed the connection before its first byte.
fn read_request(stream: &mut impl Read, request: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < request.len() {
        match stream.read(&mut request[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => {
                let detail = format!("closed after {filled} of {} request bytes", request.len());
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, detail));
            }
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The request's and the response's length, each from 1 to [`MAX_BYTES`].
fn lengths(header: &[u8; HEADER_BYTES]) -> io::Result<(usize, usize)> {
    let (numbers, _) = header.as_chunks();
    Ok((
        length("request", numbers[0])?,
        length("response", numbers[1])?,
    ))
}

fn length(what: &str, bytes: [u8; 8]) -> io::Result<usize> {
    let number = u64::from_le_bytes(bytes);
    if !(1..=MAX_BYTES).contains(&number) {
        let detail = format!("{what} length {number} is not from 1 to {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
    }
    usize::try_from(number).map_err(io::Error::other)
}
