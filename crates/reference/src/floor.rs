//! The server that calibrates the floor: it reads requests of a fixed size and sends responses of a fixed
//! size.
//!
//! It does no framing or parsing, so a call over this loop costs what the kernel costs. No client or server
//! can be faster on the same transport. `contract/README.md` describes the protocol.

use std::io::{self, Read, Write};

use crate::listen::{Listener, Socket};

#[cfg(test)]
mod tests;

/// Length of a connection's header, bytes. It contains the lengths of request and response in bytes, as two
/// unsigned 64-bit little-endian numbers.
pub const HEADER_BYTES: usize = 16;

/// Maximum length of a request or response, bytes. No message of a study is longer.
pub const MAX_BYTES: u64 = 64 << 20;

/// Serves one connection after another on this thread with blocking calls, each until its client closes it.
/// Returns only if the socket itself fails.
pub fn serve(listener: &Listener) -> io::Error {
    loop {
        let accepted = match &listener.socket {
            Socket::Tcp(socket) => socket.accept().map(|(stream, _)| {
                // Best effort. If this fails, the timings are off, but the bytes are correct.
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

/// Reads one request. Returns false if the client closed the connection before the first byte.
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

/// The lengths of request and response, each between 1 and [`MAX_BYTES`].
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
        let detail = format!("the {what} length must be 1 to {MAX_BYTES} bytes, not {number}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
    }
    usize::try_from(number).map_err(io::Error::other)
}
