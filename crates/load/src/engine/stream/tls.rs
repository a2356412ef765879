//! TLS over a socket, using rustls driven by the event loop.

use std::io::{self, IoSlice, Read, Write};
use std::time::Duration;

use rpcgauge_wire::{ByteCount, Protocol, Traffic};
use rustls::{ClientConnection, HandshakeKind};

use super::Input;
use super::records::Records;
use super::socket::Socket;
use super::tls_failure::TlsFailure;
use crate::tls::{TlsClient, alpn};

/// Maximum size of a record that rustls accepts: 2^14 bytes, up to 2,048 added by encryption (RFC 5246,
/// 6.2.3), and the header. rustls buffers at most one incomplete record.
const MAX_RECORD: usize = (1 << 14) + 2048 + 5;

/// A TLS connection, during or after its handshake.
#[derive(Debug)]
pub(crate) struct TlsStream {
    pub(super) socket: Socket,
    tls: ClientConnection,
    protocol: Protocol,
    allow_missing_alpn: bool,
    /// Whether the socket is connected and the handshake has begun.
    shaking_hands: bool,
    received: Records,
    /// Plaintext bytes that rustls has decrypted but not returned yet.
    held: usize,
    /// Plaintext bytes that rustls has returned.
    given: u64,
    /// Plaintext bytes that rustls has accepted for sending.
    taken: u64,
    /// Bytes written to the socket.
    written: u64,
    /// TLS overhead among the written bytes, as of the last time when rustls had nothing buffered.
    sent_overhead: u64,
    /// Whether the other side has ended its output (close_notify).
    ended: bool,
    /// The error that ended the session, until the bytes before it have been read.
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

    /// Continues the handshake until its last byte has been written. It reads nothing after the end of the
    /// handshake; later input is left for [`TlsStream::read`].
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

    /// Checks the protocol that the server selected.
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

    /// Reads the socket once, waiting for about `wait`. The encrypted bytes go into the buffer from
    /// [`MAX_RECORD`] on, and are decrypted to the beginning of the buffer. Plaintext never overwrites
    /// encrypted bytes because it is shorter. The exception is a record whose beginning rustls had buffered;
    /// the gap has room for it.
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

    /// Decrypts the bytes from [`MAX_RECORD`] to `end` to the beginning of the buffer. Returns the number of
    /// plaintext bytes.
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

    /// Makes rustls process its input. If that fails, its alert is sent immediately if there is room.
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
        // Buffered output is written first, so that it stays bounded.
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

    /// Bytes of the handshake, and what records add to the plaintext. Incomplete records are counted once
    /// they are complete.
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

/// A socket that counts the records read from it.
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
