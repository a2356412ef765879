//! A socket that never blocks: the transport itself.

use std::io::{self, IoSlice, Read, Write};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use crate::trial::Address;

/// A socket that never blocks.
#[derive(Debug)]
pub(in crate::engine) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Starts to connect. Small requests leave at once (TCP_NODELAY).
    pub(super) fn connect(address: &Address) -> io::Result<Socket> {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(*address)?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            Address::Unix(path) => UnixStream::connect(path).map(Socket::Unix),
        }
    }

    /// Whether the connection is made; an error when it will never be.
    pub(super) fn is_connected(&self) -> io::Result<bool> {
        let (error, peer) = match self {
            Socket::Tcp(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
            Socket::Unix(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
        };
        match (error, peer) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(true),
            (None, Err(error)) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            (None, Err(error)) => Err(error),
        }
    }

    /// Reads once. `WouldBlock` when nothing is there.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }

    /// Writes once, several pieces in one call to the system.
    pub(super) fn write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match (self, pieces) {
            (Socket::Tcp(stream), [piece]) => stream.write(piece),
            (Socket::Unix(stream), [piece]) => stream.write(piece),
            (Socket::Tcp(stream), pieces) => stream.write_vectored(pieces),
            (Socket::Unix(stream), pieces) => stream.write_vectored(pieces),
        }
    }

    /// Has the loop told of what can be read, and of room for writing if `writable`. A Unix socket
    /// tells of room after every request that the server reads, so that being told unasked costs a
    /// wake-up a call.
    pub(super) fn watch(
        &mut self,
        registry: &Registry,
        index: usize,
        writable: bool,
    ) -> io::Result<()> {
        self.source()
            .register(registry, Token(index), interest(writable))
    }

    /// Changes what [`Socket::watch`] asked for.
    pub(super) fn watch_again(
        &mut self,
        registry: &Registry,
        index: usize,
        writable: bool,
    ) -> io::Result<()> {
        self.source()
            .reregister(registry, Token(index), interest(writable))
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Socket::Tcp(stream) => stream,
            Socket::Unix(stream) => stream,
        }
    }
}

fn interest(writable: bool) -> Interest {
    match writable {
        true => Interest::READABLE | Interest::WRITABLE,
        false => Interest::READABLE,
    }
}
