//! What carries a connection's bytes. The seam for other transports: TLS is one more variant here,
//! and another way to wait (io_uring) needs only what this offers.

use std::io::{self, IoSlice, Read, Write};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use crate::trial::Address;

/// A socket that never blocks.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Starts to connect. Small requests leave at once (TCP_NODELAY).
    pub(super) fn connect(address: &Address) -> io::Result<Stream> {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(*address)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Address::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
        }
    }

    /// Whether the connection is made; an error when it will never be.
    pub(super) fn is_connected(&self) -> io::Result<bool> {
        let (error, peer) = match self {
            Stream::Tcp(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
            Stream::Unix(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
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
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }

    /// Writes once, several pieces in one call to the system.
    pub(super) fn write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match (self, pieces) {
            (Stream::Tcp(stream), [piece]) => stream.write(piece),
            (Stream::Unix(stream), [piece]) => stream.write(piece),
            (Stream::Tcp(stream), pieces) => stream.write_vectored(pieces),
            (Stream::Unix(stream), pieces) => stream.write_vectored(pieces),
        }
    }

    pub(super) fn register(&mut self, registry: &Registry, index: usize) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.source().register(registry, Token(index), interest)
    }

    /// Asks to be told of room for writing or not. A Unix socket tells of it after every request
    /// that the server reads, so that being told unasked costs a wake-up a call.
    pub(super) fn watch_writable(
        &mut self,
        registry: &Registry,
        index: usize,
        writable: bool,
    ) -> io::Result<()> {
        let interest = match writable {
            true => Interest::READABLE | Interest::WRITABLE,
            false => Interest::READABLE,
        };
        self.source().reregister(registry, Token(index), interest)
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Stream::Tcp(stream) => stream,
            Stream::Unix(stream) => stream,
        }
    }
}
