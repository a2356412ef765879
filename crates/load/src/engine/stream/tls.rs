//! TLS over a socket: rustls, moved by the event loop.

use std::io::{self, IoSlice, Read, Write};
use std::time::Duration;

use rpcgauge_wire::{ByteCount, Protocol, Traffic};
use rustls::{ClientConnection, HandshakeKind};

use super::Input;
use super::records::Records;
use super::socket::Socket;
use super::tls_failure::TlsFailure;
use crate::tls::{TlsClient, alpn};

/// The longest record that rustls takes: 2^14 bytes, 2,048 that an encryption may add (RFC 5246,
/// 6.2.3), and the header. It holds no more than one that is incomplete.
const MAX_RECORD: usize = (1 << 14) + 2048 + 5;

/// A TLS connection, during or after its handshake.
#[derive(Debug)]
pub(crate) struct TlsStream {
    pub(super) socket: Socket,
    tls: ClientConnection,
    protocol: Protocol,
    allow_missing_alpn: bool,
    /// The socket is connected and the handshake has begun.
    shaking_hands: bool,
    received: Records,
    /// Plain bytes that rustls has deciphered and not yet given.
    held: usize,
    /// Plain bytes that it has given.
    given: u64,
    /// Plain bytes that it has taken.
    taken: u64,
    /// Bytes that the socket has taken.
    written: u64,
    /// Of these, TLS overhead, as of when rustls last held nothing back.
    sent_overhead: u64,
    /// The other side has said that nothing more comes (close_notify).
    ended: bool,
    /// What ended the session, until the bytes before it are read.
    broken: Option<rustls::Error>,
}

impl TlsStream {
    pub(super) fn new(socket: Socket, client: &TlsClient) -> io::Result<TlsStream> {
        let tls = ClientConnection::new(client.config.clone(), client.name.clone())
            .map_err(|error| TlsFailure::in_handshake(&error, client.protocol))?;
        Ok(TlsStream {
            socket,
            tls,
            protocol: client.protocol,
            allow_missing_alpn: client.allow_missing_alpn,
            shaking_hands: false,
            received: Records::default(),
            held: 0,
            given: 0,
            taken: 0,
            written: 0,
            sent_overhead: 0,
            ended: false,
            broken: None,
        })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended || self.broken.is_some()
    }

    pub(super) fn holds_input(&self) -> bool {
        self.held > 0 || self.has_ended()
    }

    pub(super) fn is_resumed(&self) -> bool {
        self.tls.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    pub(super) fn go_on_connecting(&mut self) -> io::Result<bool> {
        self.shaking_hands = self.shaking_hands || self.socket.is_connected()?;
        if !self.shaking_hands {
            return Ok(false);
        }
        match self.shake_hands() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Continues the handshake until its last byte is written. It reads little at a time, and
    /// nothing after the end: what the server says then waits for [`TlsStream::read`].
    fn shake_hands(&mut self) -> io::Result<()> {
        loop {
            self.flush().map_err(TlsFailure::cut)?;
            if !self.tls.is_handshaking() {
                return self.check_protocol();
            }
            let mut socket = Counted(&mut self.socket, &mut self.received);
            match self.tls.read_tls(&mut socket) {
                Ok(0) => return Err(TlsFailure::cut(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => self
                    .process()
                    .map_err(|error| TlsFailure::in_handshake(&error, self.protocol))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TlsFailure::cut(error)),
            }
        }
    }

    /// Checks the protocol that the server chose.
    fn check_protocol(&self) -> io::Result<()> {
        match self.tls.alpn_protocol() {
            None if self.allow_missing_alpn => Ok(()),
            None => Err(TlsFailure::no_protocol(self.protocol)),
            Some(chosen) if chosen == alpn(self.protocol) => Ok(()),
            Some(_) => Err(TlsFailure::other_protocol(self.protocol)),
        }
    }

    pub(super) fn too_late(&self) -> io::Error {
        if self.shaking_hands {
            TlsFailure::cut(io::ErrorKind::TimedOut.into())
        } else {
            io::ErrorKind::TimedOut.into()
        }
    }

    /// Reads the socket once, waiting for about `wait`, into the far part of the
    /// buffer, and deciphers it into the near part.
    /// The plain bytes never overtake: they are fewer than what they came from, but for those of a
    /// record that rustls held the beginning of.
    pub(super) fn read(&mut self, buffer: &mut [u8], wait: Option<Duration>) -> io::Result<Input> {
        if self.held > 0 {
            let n = self.give(buffer);
            return Ok(Input::Data { n, more: true });
        }
        if let Some(error) = self.broken.take() {
            return Err(TlsFailure::after_handshake(&error));
        }
        if self.ended {
            return Ok(Input::End);
        }
        let room = buffer.len() - MAX_RECORD;
        let got = self.socket.read(&mut buffer[MAX_RECORD..], wait)?;
        if got == 0 {
            return Err(TlsFailure::truncated());
        }
        let n = self.decipher(buffer, MAX_RECORD + got);
        Ok(Input::Data {
            n,
            more: got == room || self.has_ended(),
        })
    }

    /// Deciphers what is in the buffer from [`MAX_RECORD`] to `end`; returns how many plain
    /// bytes are at its beginning then.
    fn decipher(&mut self, buffer: &mut [u8], end: usize) -> usize {
        self.received.take(&buffer[MAX_RECORD..end]);
        let (mut n, mut at) = (0, MAX_RECORD);
        while at < end && !self.ended && self.broken.is_none() {
            match self.tls.read_tls(&mut &buffer[at..end]) {
                Ok(0) => break,
                Ok(fed) => at += fed,
                Err(error) => {
                    self.broken = Some(rustls::Error::General(error.to_string()));
                    break;
                }
            }
            if let Err(error) = self.process() {
                self.broken = Some(error);
            }
            n += self.give(&mut buffer[n..at]);
        }
        n
    }

    /// Has rustls look at what it was fed. What it has to say of an error leaves at once, as far as
    /// there is room.
    fn process(&mut self) -> Result<(), rustls::Error> {
        match self.tls.process_new_packets() {
            Ok(state) => {
                self.held = state.plaintext_bytes_to_read();
                self.ended = state.peer_has_closed();
                Ok(())
            }
            Err(error) => {
                let _ = self.flush();
                Err(error)
            }
        }
    }

    fn give(&mut self, buffer: &mut [u8]) -> usize {
        let mut n = 0;
        while n < buffer.len() {
            match self.tls.reader().read(&mut buffer[n..]) {
                Ok(0) | Err(_) => break,
                Ok(more) => n += more,
            }
        }
        self.held = self.held.saturating_sub(n);
        self.given += n as u64;
        n
    }

    pub(super) fn write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        // What is held back goes first, so that it stays bounded.
        self.flush()?;
        let n = self.tls.writer().write_vectored(pieces)?;
        self.taken += n as u64;
        match self.flush() {
            // The next write or flush will report it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(n),
            flushed => flushed.map(|()| n),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(n) => self.written += n as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.sent_overhead = self.written.saturating_sub(self.taken);
        Ok(())
    }

    pub(super) fn holds_output(&self) -> bool {
        self.tls.wants_write()
    }

    pub(super) fn say_end(&mut self) {
        self.tls.send_close_notify();
        let _ = self.flush();
    }

    /// The handshake, and what records add to the bytes in them. Records that are not complete
    /// count when they are.
    pub(super) fn overhead(&self) -> Traffic {
        let plain = self.given + self.held as u64;
        let overhead = |overhead| ByteCount {
            overhead,
            ..ByteCount::default()
        };
        Traffic {
            sent: overhead(self.sent_overhead),
            received: overhead(self.received.complete.saturating_sub(plain)),
        }
    }
}

/// A socket whose records are counted as they are read.
struct Counted<'a>(&'a mut Socket, &'a mut Records);

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer, None)?;
        self.1.take(&buffer[..n]);
        Ok(n)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Socket::write(self, &[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Socket::write(self, pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
