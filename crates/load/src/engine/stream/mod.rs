//! What carries a connection's bytes, a bare socket or TLS over one. Another way to wait (io_uring)
//! needs only what this offers.

mod records;
mod socket;
mod tls;
mod tls_failure;

use std::io::{self, IoSlice};
use std::time::Duration;

use rpcgauge_trial::{Address, Keepalive};
use rpcgauge_wire::Traffic;

use self::socket::Socket;
use self::tls::TlsStream;
pub(super) use self::tls_failure::TlsFailure;
use crate::tls::TlsClient;

/// A transport that blocks only in [`Stream::read`].
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The number of bytes; 0 where only TLS's own records came. Unless there is `more`, nothing
    /// is left behind, and there is an event for what comes later.
    Data { n: usize, more: bool },
    /// The other side has closed in order.
    End,
}

impl Stream {
    /// Starts to connect; [`Stream::go_on_connecting`] continues until it is done.
    pub(super) fn connect(
        address: &Address,
        tls: Option<&TlsClient>,
        keepalive: Option<Keepalive>,
    ) -> io::Result<Stream> {
        let socket = Socket::connect(address, keepalive)?;
        Ok(match tls {
            None => Stream::Plain(socket),
            Some(client) => Stream::Tls(Box::new(TlsStream::new(socket, client)?)),
        })
    }

    /// Does what can be done now to connect, the TLS handshake included. True once the connection
    /// is made; an error if it cannot be made.
    pub(super) fn go_on_connecting(&mut self) -> io::Result<bool> {
        match self {
            Stream::Plain(socket) => socket.is_connected(),
            Stream::Tls(tls) => tls.go_on_connecting(),
        }
    }

    /// Why a connection that is still being made at its deadline is given up.
    pub(super) fn too_late(&self) -> io::Error {
        match self {
            Stream::Plain(_) => io::ErrorKind::TimedOut.into(),
            Stream::Tls(tls) => tls.too_late(),
        }
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Whether it holds input that no event announces and no read of the socket brings.
    pub(super) fn holds_input(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.holds_input())
    }

    /// Whether the connection resumes a TLS session of an earlier one.
    pub(super) fn is_resumed(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.is_resumed())
    }

    /// Reads once. Where nothing is there it is `WouldBlock`, after about as long as `wait` says, which is
    /// the same in every call.
    pub(super) fn read(&mut self, buffer: &mut [u8], wait: Option<Duration>) -> io::Result<Input> {
        match self {
            Stream::Plain(socket) => Ok(match socket.read(buffer, wait)? {
                0 => Input::End,
                n => Input::Data {
                    n,
                    more: n == buffer.len(),
                },
            }),
            Stream::Tls(tls) => tls.read(buffer, wait),
        }
    }

    /// Whether what was read last is known to be followed by the end, or by what ends the connection.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.has_ended())
    }

    pub(super) fn write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(pieces),
            Stream::Tls(tls) => tls.write(pieces),
        }
    }

    /// Writes what TLS holds back of what it took. `WouldBlock` when there is no room for all.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(tls) => tls.flush(),
        }
    }

    /// Whether [`Stream::flush`] has something to do.
    pub(super) fn holds_output(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.holds_output())
    }

    /// Tells the other side that nothing more comes, if that can be sent now.
    pub(super) fn say_end(&mut self) {
        if let Stream::Tls(tls) = self {
            tls.say_end();
        }
    }

    /// Bytes that the transport itself has cost, beside those that it was given to carry.
    pub(super) fn overhead(&self) -> Traffic {
        match self {
            Stream::Plain(_) => Traffic::default(),
            Stream::Tls(tls) => tls.overhead(),
        }
    }

    pub(super) fn socket(&self) -> &Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => &tls.socket,
        }
    }
}
