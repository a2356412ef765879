//! What carries a connection's bytes, a bare socket or TLS over one. Another way to wait (io_uring)
//! needs only what this offers.

mod records;
mod socket;
mod tls;
mod tls_failure;

use std::io::{self, IoSlice};
use std::time::Duration;

use mio::Registry;
use rpcgauge_trial::{Address, Keepalive};
use rpcgauge_wire::Traffic;

use self::socket::Socket;
use self::tls::TlsStream;
pub(super) use self::tls_failure::TlsFailure;
use crate::tls::TlsClient;

/// A transport that blocks only in [`Stream::read_waiting`].
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// So many bytes, which may be none where TLS spoke for itself. Unless there is `more`, nothing
    /// is left behind, and there is an event for what comes later.
    Data { n: usize, more: bool },
    /// The other side has closed in order.
    End,
}

impl Stream {
    /// Starts to connect; [`Stream::go_on_connecting`] says when it is done.
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
    /// is made; an error when it will never be.
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

    /// Whether bytes may have come with the handshake, of which no event will come.
    pub(super) fn may_hold_input(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Whether the connection goes on with a TLS session of an earlier one.
    pub(super) fn is_resumed(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.is_resumed())
    }

    /// Reads once. `WouldBlock` when nothing is there.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Input> {
        match self {
            Stream::Plain(socket) => socket.read(buffer).map(|n| plain_input(n, buffer)),
            Stream::Tls(tls) => tls.read(buffer),
        }
    }

    /// Whether what was read last is known to be followed by the end, or by what ends the connection.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.has_ended())
    }

    /// Whether [`Stream::read_waiting`] can be used: TLS may hold input that no read brings.
    pub(super) fn can_wait(&self) -> bool {
        matches!(self, Stream::Plain(_))
    }

    /// As [`Stream::read`], but waits for about `at_most` (the same in every call) where nothing is
    /// there.
    pub(super) fn read_waiting(
        &mut self,
        buffer: &mut [u8],
        at_most: Duration,
    ) -> io::Result<Input> {
        match self {
            Stream::Plain(socket) => socket
                .read_waiting(buffer, at_most)
                .map(|n| plain_input(n, buffer)),
            Stream::Tls(tls) => tls.read(buffer),
        }
    }

    /// Writes once, several pieces in one call to the system.
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

    /// Tells the other side that nothing more comes, as far as that can be said now.
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

    /// Asks for events when there is something to read and, if `writable`, room for writing. A Unix socket
    /// has room after every request that the server reads, so that an event for it costs a wake-up a
    /// call.
    pub(super) fn watch(
        &mut self,
        registry: &Registry,
        index: usize,
        writable: bool,
    ) -> io::Result<()> {
        self.socket().watch(registry, index, writable)
    }

    /// Changes what [`Stream::watch`] asked for.
    pub(super) fn watch_again(
        &mut self,
        registry: &Registry,
        index: usize,
        writable: bool,
    ) -> io::Result<()> {
        self.socket().watch_again(registry, index, writable)
    }

    fn socket(&mut self) -> &mut Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => tls.socket(),
        }
    }
}

/// What `n` bytes read from a bare socket into `buffer` mean.
fn plain_input(n: usize, buffer: &[u8]) -> Input {
    match n {
        0 => Input::End,
        n => Input::Data {
            n,
            more: n == buffer.len(),
        },
    }
}
