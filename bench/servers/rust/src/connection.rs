//! A connection: parses calls from the bytes that it reads, and writes their responses.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use crate::arrival;
use crate::behaviour::Response;
use crate::clock::{self, Nanos};
use crate::http1::{self, Http1};
use crate::http2::{Http2, Incoming, PREFACE, Stream};
use crate::record::{Answered, Record};

/// The maximum number of bytes per read.
const READ_BYTES: usize = 64 * 1024;

/// A connection's protocol, detected from its first bytes.
#[derive(Debug)]
enum Speech {
    Unknown,
    Http1 {
        /// Whether a call is being answered. HTTP/1.1 responds in order, so the response to a second call could
        /// not be sent at its intended time.
        is_busy: bool,
    },
    Http2(Http2),
}

/// Whether a connection stays open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Open,
    Closed,
}

#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    calls_stream: bool,
    speech: Speech,
    input: Vec<u8>,
    /// The number of bytes at the front of `input` that have been processed.
    taken: usize,
    output: Vec<u8>,
    /// The number of bytes at the front of `output` that have been written to the kernel.
    written: usize,
    /// The calls whose responses are in `output`, if they are recorded.
    unwritten: Vec<Answered>,
}

impl Connection {
    /// A new connection, whose calls may be streams of messages.
    pub(crate) fn new(socket: TcpStream, calls_stream: bool) -> Self {
        Self {
            socket,
            calls_stream,
            speech: Speech::Unknown,
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            written: 0,
            unwritten: Vec::new(),
        }
    }

    /// Reads what has arrived, and returns when the kernel received the last of it. All connections share
    /// `buffer`, so idle connections need no buffer of their own.
    pub(crate) fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        record: &mut Record,
    ) -> io::Result<(Life, Nanos)> {
        self.input.drain(..self.taken);
        self.taken = 0;
        buffer.resize(READ_BYTES, 0);
        match arrival::receive(&self.socket, buffer) {
            Ok((0, came)) => Ok((Life::Closed, came)),
            Ok((n, came)) => {
                record.read_bytes += n as u64;
                self.input.extend_from_slice(&buffer[..n]);
                Ok((Life::Open, came))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Ok((Life::Open, clock::now()))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the client's next call or cancellation.
    pub(crate) fn next(&mut self) -> Result<Option<Incoming>, &'static str> {
        loop {
            let input = &self.input[self.taken..];
            match &mut self.speech {
                Speech::Unknown => match recognise(input) {
                    None => return Ok(None),
                    Some(false) if self.calls_stream => {
                        return Err("HTTP/1.1, which has no streams here");
                    }
                    Some(false) => self.speech = Speech::Http1 { is_busy: false },
                    Some(true) => {
                        self.taken += PREFACE.len();
                        self.speech =
                            Speech::Http2(Http2::new(&mut self.output, self.calls_stream));
                    }
                },
                Speech::Http1 { is_busy: true } if input.is_empty() => return Ok(None),
                Speech::Http1 { is_busy: true } => {
                    return Err("a request before the response to the previous one (pipelining)");
                }
                Speech::Http1 { is_busy } => {
                    let Some(length) = http1::request_bytes(input)? else {
                        return Ok(None);
                    };
                    if input.len() < length {
                        return Ok(None);
                    }
                    self.taken += length;
                    *is_busy = true;
                    return Ok(Some(Incoming::Call(0)));
                }
                Speech::Http2(http2) => {
                    let taken = http2.take(input, &mut self.output)?;
                    let Some((length, incoming)) = taken else {
                        return Ok(None);
                    };
                    self.taken += length;
                    if incoming.is_some() {
                        return Ok(incoming);
                    }
                }
            }
        }
    }

    /// Appends a response to the output.
    pub(crate) fn respond(&mut self, stream: Stream, response: Response, http1: &Http1) {
        match &mut self.speech {
            Speech::Unknown => {}
            Speech::Http1 { is_busy } => {
                *is_busy = false;
                http1.respond(response, &mut self.output);
            }
            Speech::Http2(http2) => http2.respond(stream, response, &mut self.output),
        }
    }

    /// Adds messages to the response of a streaming call, and its end if it `ends`. Returns whether the call is open.
    pub(crate) fn send(
        &mut self,
        stream: Stream,
        messages: u64,
        ends: bool,
        record: &mut Record,
    ) -> bool {
        let Speech::Http2(http2) = &mut self.speech else {
            return false;
        };
        let is_open = http2.send(stream, messages, ends);
        record.messages += http2.write_streams(&mut self.output);
        is_open
    }

    /// When a message of a stream is due that could be sent at `at`, but not before those that precede it; `None` if
    /// the call is over.
    pub(crate) fn in_order(&mut self, stream: Stream, at: Nanos) -> Option<Nanos> {
        match &mut self.speech {
            Speech::Http2(http2) => http2.in_order(stream, at),
            Speech::Unknown | Speech::Http1 { .. } => None,
        }
    }

    /// Schedules the last response to be recorded once it is written.
    pub(crate) fn record_when_written(&mut self, call: Answered) {
        self.unwritten.push(call);
    }

    /// Writes the output, in a single write if the kernel accepts all of it, and what streams then still send.
    /// Returns whether everything was written. If not, call it again when the socket is writable.
    pub(crate) fn write(&mut self, record: &mut Record) -> io::Result<bool> {
        loop {
            while self.written < self.output.len() {
                match self.socket.write(&self.output[self.written..]) {
                    Ok(n) => self.written += n,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            record.written_bytes += self.written as u64;
            self.output.clear();
            self.written = 0;
            if let Speech::Http2(http2) = &mut self.speech {
                record.messages += http2.write_streams(&mut self.output);
            }
            if self.output.is_empty() {
                break;
            }
        }
        if !self.unwritten.is_empty() {
            let now = clock::now();
            for call in self.unwritten.drain(..) {
                record.written(now, call);
            }
        }
        Ok(true)
    }

    /// Whether there is output to write.
    pub(crate) fn has_responses(&self) -> bool {
        !self.output.is_empty()
    }

    /// Whether the last [`write`](Self::write) left output unwritten.
    pub(crate) fn is_blocked(&self) -> bool {
        self.written < self.output.len()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether a connection that begins with `bytes` uses HTTP/2; `None` while that is still unclear.
fn recognise(bytes: &[u8]) -> Option<bool> {
    if bytes.starts_with(PREFACE) {
        return Some(true);
    }
    if PREFACE.starts_with(bytes) {
        None
    } else {
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A connection and its client's end.
    fn connected() -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        arrival::stamp(&listener).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Connection::new(listener.accept().unwrap().0, false), client)
    }

    #[test]
    fn a_pipelined_request_is_refused_if_its_response_would_have_to_wait() {
        const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
        let (mut connection, mut client) = connected();
        let (mut buffer, mut record) = (Vec::new(), Record::default());
        client.write_all(&[REQUEST, REQUEST].concat()).unwrap();
        connection.read(&mut buffer, &mut record).unwrap();
        assert_eq!(connection.next(), Ok(Some(Incoming::Call(0))));
        assert!(connection.next().is_err());
        connection.respond(0, Response::Message, &Http1::new());
        assert_eq!(connection.next(), Ok(Some(Incoming::Call(0))));
        connection.respond(0, Response::Message, &Http1::new());
        assert_eq!(connection.next(), Ok(None));
    }

    #[test]
    fn bytes_arrive_before_they_are_read() {
        let (mut connection, mut client) = connected();
        let (mut buffer, mut record) = (Vec::new(), Record::default());
        // The kernel starts to timestamp only some time after the request.
        let is_told = (0..100).any(|_| {
            client.write_all(b"GET").unwrap();
            let sent = clock::now();
            std::thread::sleep(std::time::Duration::from_millis(10));
            let (life, came) = connection.read(&mut buffer, &mut record).unwrap();
            assert_eq!(life, Life::Open);
            came < sent + clock::MILLISECOND
        });
        assert!(is_told, "the time of arrival is always that of reading");
    }
}
