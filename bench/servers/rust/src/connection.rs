//! One connection: bytes in, calls out; answers in, bytes out.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use crate::behaviour::Answer;
use crate::clock::{self, Nanos};
use crate::http1::{self, Http1};
use crate::http2::{Http2, Incoming, PREFACE, Stream};
use crate::record::Record;

/// Room for a read beside what is left of the one before.
const READ_BYTES: usize = 64 * 1024;

/// What a connection speaks, known from its first bytes.
#[derive(Debug)]
enum Speech {
    Unknown,
    Http1 {
        /// A call is being answered. HTTP/1.1 answers in order, so the next one has to wait.
        is_busy: bool,
    },
    Http2(Http2),
}

/// Whether a connection goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Open,
    Closed,
}

#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    speech: Speech,
    input: Vec<u8>,
    /// Bytes at the front of `input` that are done with.
    taken: usize,
    output: Vec<u8>,
    /// Bytes at the front of `output` that the kernel has.
    written: usize,
    /// When the calls came and were due whose answers are in `output`.
    unwritten: Vec<(Nanos, Nanos)>,
}

impl Connection {
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self {
            socket,
            speech: Speech::Unknown,
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            written: 0,
            unwritten: Vec::new(),
        }
    }

    /// Reads what is there. `buffer` has room for it, and is shared by all connections: an idle one
    /// holds none.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>, record: &mut Record) -> io::Result<Life> {
        self.input.drain(..self.taken);
        self.taken = 0;
        buffer.resize(READ_BYTES, 0);
        match self.socket.read(buffer) {
            Ok(0) => return Ok(Life::Closed),
            Ok(n) => {
                record.read_bytes += n as u64;
                self.input.extend_from_slice(&buffer[..n]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(Life::Open)
    }

    /// The next thing that the client wants.
    pub(crate) fn next(&mut self) -> Result<Option<Incoming>, &'static str> {
        loop {
            let input = &self.input[self.taken..];
            match &mut self.speech {
                Speech::Unknown => match recognise(input) {
                    None => return Ok(None),
                    Some(false) => self.speech = Speech::Http1 { is_busy: false },
                    Some(true) => {
                        self.taken += PREFACE.len();
                        self.speech = Speech::Http2(Http2::new(&mut self.output));
                    }
                },
                Speech::Http1 { is_busy: true } => return Ok(None),
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

    /// Puts an answer into what will be written.
    pub(crate) fn answer(&mut self, stream: Stream, answer: Answer, http1: &Http1) {
        match &mut self.speech {
            Speech::Unknown => {}
            Speech::Http1 { is_busy } => {
                *is_busy = false;
                http1.answer(answer, &mut self.output);
            }
            Speech::Http2(http2) => http2.answer(stream, answer, &mut self.output),
        }
    }

    /// Remembers that the answer put in last is to be recorded when it is written.
    pub(crate) fn record_when_written(&mut self, came: Nanos, due: Nanos) {
        self.unwritten.push((came, due));
    }

    /// Writes what there is, in one go where the kernel takes it. Whether all is written; if not, it
    /// is to be called again when the socket takes more.
    pub(crate) fn write(&mut self, record: &mut Record) -> io::Result<bool> {
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
        if !self.unwritten.is_empty() {
            let now = clock::now();
            for (came, due) in self.unwritten.drain(..) {
                record.written(now, came, due);
            }
        }
        Ok(true)
    }

    /// Whether the last [`write`](Self::write) left something.
    pub(crate) fn is_blocked(&self) -> bool {
        self.written < self.output.len()
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether a connection that begins with `bytes` speaks HTTP/2; `None` until that is clear.
fn recognise(bytes: &[u8]) -> Option<bool> {
    if bytes.starts_with(PREFACE) {
        return Some(true);
    }
    match PREFACE.starts_with(bytes) {
        true => None,
        false => Some(false),
    }
}
