//! A socket that blocks only in reads that are meant to wait.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix;
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rpcgauge_trial::{Address, Keepalive, abstract_name};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, getpeername, recv, send, sendmsg, sockopt,
};

use crate::error::LoadError;

/// Writes never wait. The socket itself may be in blocking mode, for reads.
const AT_ONCE: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// Maximum number of unanswered TCP keep-alive probes before the system gives up; fewer if the timeout is
/// shorter than this many seconds. A single lost probe must not end a connection.
const MAX_PROBES: u64 = 4;

/// A TCP or Unix socket.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    /// Whether the socket is in blocking mode; see [`Socket::read`].
    waits: bool,
}

impl Socket {
    /// Starts connecting. Small requests are sent without delay (TCP_NODELAY). A Unix socket needs no probes,
    /// because the system knows when the other side closes.
    pub(super) fn connect(address: &Address, keepalive: Option<Keepalive>) -> io::Result<Socket> {
        let fd = match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(*address)?;
                stream.set_nodelay(true)?;
                if let Some(keepalive) = keepalive {
                    probe(&stream, keepalive)?;
                }
                OwnedFd::from(stream)
            }
            Address::Unix(path) => {
                let address = match abstract_name(path) {
                    Some(name) => unix::net::SocketAddr::from_abstract_name(name)?,
                    None => unix::net::SocketAddr::from_pathname(path)?,
                };
                OwnedFd::from(UnixStream::connect_addr(&address)?)
            }
        };
        Ok(Socket { fd, waits: false })
    }

    /// Whether the connection is open. Returns an error if it cannot be opened.
    pub(super) fn is_connected(&self) -> io::Result<bool> {
        sockopt::socket_error(&self.fd)??;
        match getpeername(&self.fd) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads once. Without input, it waits for `wait` and then fails with `WouldBlock`. The first `wait`
    /// applies to all later reads that wait.
    #[inline]
    pub(super) fn read(&mut self, buffer: &mut [u8], wait: Option<Duration>) -> io::Result<usize> {
        if wait.is_none() {
            return Ok(recv(&self.fd, buffer, RecvFlags::DONTWAIT)?.0);
        }
        if !self.waits {
            sockopt::set_socket_timeout(&self.fd, sockopt::Timeout::Recv, wait)?;
            rustix::io::ioctl_fionbio(&self.fd, false)?;
            self.waits = true;
        }
        Ok(recv(&self.fd, buffer, RecvFlags::empty())?.0)
    }

    /// Writes several pieces with one system call. Fails with `WouldBlock` if there is no room.
    pub(super) fn write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(match pieces {
            [piece] => send(&self.fd, piece, AT_ONCE)?,
            pieces => {
                let mut nothing = SendAncillaryBuffer::default();
                sendmsg(&self.fd, pieces, &mut nothing, AT_ONCE)?
            }
        })
    }

    /// Requests events about input and, if `writable`, about room to write. `again` indicates whether the socket is
    /// already registered. `writable` is not always set, because a Unix socket has room again after every
    /// request that the server reads, which would cost a wake-up per call.
    pub(crate) fn watch(
        &self,
        registry: &Registry,
        index: usize,
        writable: bool,
        again: bool,
    ) -> Result<(), LoadError> {
        let fd = self.fd.as_raw_fd();
        let (mut source, token) = (SourceFd(&fd), Token(index));
        let interest = if writable {
            Interest::READABLE | Interest::WRITABLE
        } else {
            Interest::READABLE
        };
        if again {
            source.reregister(registry, token, interest)
        } else {
            source.register(registry, token, interest)
        }
        .map_err(LoadError::machine("watch a connection"))
    }
}

/// Makes the system probe a connection that has been idle for the keep-alive's time, and end it (ETIMEDOUT)
/// if no probe is answered within the keep-alive's timeout.
fn probe(stream: &TcpStream, keepalive: Keepalive) -> io::Result<()> {
    let idle = whole_seconds(keepalive.time());
    let timeout = whole_seconds(keepalive.timeout());
    let probes = timeout.min(MAX_PROBES);
    let between = timeout.div_ceil(probes);
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(idle))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(between))?;
    sockopt::set_tcp_keepcnt(stream, probes as u32)?;
    Ok(())
}

/// A time in whole seconds, as TCP's keep-alive requires it: rounded up, at least 1 s, and at most the
/// system's maximum.
fn whole_seconds(time: Duration) -> u64 {
    const MAX: u64 = 32_767;
    let up = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(up).clamp(1, MAX)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_system_probes_within_the_keep_alives_times() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let probed = |time_ms, timeout_ms| {
            let keepalive = Keepalive {
                time_ms,
                timeout_ms,
            };
            let socket = Socket::connect(&address, Some(keepalive)).unwrap();
            assert!(sockopt::socket_keepalive(&socket.fd).unwrap());
            (
                sockopt::tcp_keepidle(&socket.fd).unwrap().as_secs(),
                sockopt::tcp_keepintvl(&socket.fd).unwrap().as_secs(),
                sockopt::tcp_keepcnt(&socket.fd).unwrap(),
            )
        };
        assert_eq!(probed(30_000, 20_000), (30, 5, 4));
        assert_eq!(probed(1_500, 2_000), (2, 1, 2));
        assert_eq!(probed(1, 1), (1, 1, 1), "whole seconds");
        assert_eq!(probed(u64::MAX, u64::MAX), (32_767, 8_192, 4));
        let without = Socket::connect(&address, None).unwrap();
        assert!(!sockopt::socket_keepalive(&without.fd).unwrap());
    }
}
