//! The transport itself: a socket that blocks only where it is asked to wait.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg, sockopt};

use crate::trial::Address;

/// Every call to the system says itself whether it may wait.
const AT_ONCE: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// A socket.
#[derive(Debug)]
pub(in crate::engine) struct Socket {
    transport: Transport,
    /// Whether the system lets a read wait; see [`Socket::read_waiting`].
    waits: bool,
}

#[derive(Debug)]
enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Starts to connect. Small requests leave at once (TCP_NODELAY).
    pub(super) fn connect(address: &Address) -> io::Result<Socket> {
        let transport = match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(*address)?;
                stream.set_nodelay(true)?;
                Transport::Tcp(stream)
            }
            Address::Unix(path) => Transport::Unix(UnixStream::connect(path)?),
        };
        Ok(Socket {
            transport,
            waits: false,
        })
    }

    /// Whether the connection is made; an error when it will never be.
    pub(super) fn is_connected(&self) -> io::Result<bool> {
        let (error, peer) = match &self.transport {
            Transport::Tcp(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
            Transport::Unix(stream) => (stream.take_error()?, stream.peer_addr().map(drop)),
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
        Ok(recv(self.fd(), buffer, RecvFlags::DONTWAIT)?.0)
    }

    /// Reads once, and waits where nothing is there; `WouldBlock` when that lasts for `at_most`, as
    /// it was at the first such read.
    pub(super) fn read_waiting(
        &mut self,
        buffer: &mut [u8],
        at_most: Duration,
    ) -> io::Result<usize> {
        if !self.waits {
            sockopt::set_socket_timeout(self.fd(), sockopt::Timeout::Recv, Some(at_most))?;
            rustix::io::ioctl_fionbio(self.fd(), false)?;
            self.waits = true;
        }
        Ok(recv(self.fd(), buffer, RecvFlags::empty())?.0)
    }

    /// Writes once, several pieces in one call to the system. `WouldBlock` when there is no room.
    pub(super) fn write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(match pieces {
            [piece] => send(self.fd(), piece, AT_ONCE)?,
            pieces => {
                let mut nothing = SendAncillaryBuffer::default();
                sendmsg(self.fd(), pieces, &mut nothing, AT_ONCE)?
            }
        })
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
        match &mut self.transport {
            Transport::Tcp(stream) => stream,
            Transport::Unix(stream) => stream,
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.transport {
            Transport::Tcp(stream) => stream.as_fd(),
            Transport::Unix(stream) => stream.as_fd(),
        }
    }
}

fn interest(writable: bool) -> Interest {
    match writable {
        true => Interest::READABLE | Interest::WRITABLE,
        false => Interest::READABLE,
    }
}
