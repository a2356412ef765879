//! The transport of a connection: a plain socket, or TLS over one.

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

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// `n` bytes were read; 0 if only TLS's own records arrived. Without `more`, everything has been read,
    /// and an event will announce further input.
    Data { n: usize, more: bool },
    /// The other side has closed the connection properly.
    End,
}

impl Stream {
    /// Starts connecting. [`Stream::go_on_connecting`] continues until the connection is open.
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

    /// Continues connecting, including the TLS handshake, without waiting. Returns true once the connection
    /// is open, and an error if it cannot be opened.
    pub(super) fn go_on_connecting(&mut self) -> io::Result<bool> {
        match self {
            Stream::Plain(socket) => socket.is_connected(),
            Stream::Tls(tls) => tls.go_on_connecting(),
        }
    }

    /// The error of a connection that is not open by its deadline.
    pub(super) fn too_late(&self) -> io::Error {
        match self {
            Stream::Plain(_) => io::ErrorKind::TimedOut.into(),
            Stream::Tls(tls) => tls.too_late(),
        }
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Whether the transport contains input that was already read from the socket, which no event announces.
    pub(super) fn holds_input(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.holds_input())
    }

    /// Whether the connection resumed the TLS session of an earlier one.
    pub(super) fn is_resumed(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.is_resumed())
    }

    /// Reads once. Without input, it fails with `WouldBlock` after about `wait`, which must be the same in
    /// every call.
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

    /// Whether what was read is known to be followed by the end of the input, or by an error that ends the
    /// connection.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.has_ended())
    }

    pub(super) fn write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(pieces),
            Stream::Tls(tls) => tls.write(pieces),
        }
    }

    /// Writes the bytes that TLS has buffered. Fails with `WouldBlock` if there is no room for all of them.
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

    /// Sends the end of the output (close_notify) to the other side, if it can be sent now.
    pub(super) fn say_end(&mut self) {
        if let Stream::Tls(tls) = self {
            tls.say_end();
        }
    }

    /// Bytes that the transport added to those that it carried.
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
