//! Reads the kernel's counters for a server's TCP connections, from sock_diag(7) and `/proc/net/snmp`
//! (proc(5)). Both are readable by any user.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// The bytes that each open connection has sent, keyed by the kernel's socket cookie.
pub(crate) type Sent = BTreeMap<u64, u64>;

/// The connections of the server that listens on a port.
#[derive(Debug)]
pub(crate) struct Connections {
    port: u16,
    /// Both belong to the network namespace in which they were opened.
    diag: OwnedFd,
    snmp: File,
}

impl Connections {
    /// Monitors the connections to `server` in the calling thread's network namespace.
    pub(crate) fn of(server: SocketAddr) -> io::Result<Self> {
        let diag = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        Ok(Self {
            port: server.port(),
            diag,
            snmp: File::open("/proc/thread-self/net/snmp")?,
        })
    }

    /// The bytes that the server has sent on each open connection.
    pub(crate) fn sent(&self) -> io::Result<Sent> {
        let mut sent = Sent::new();
        // Connections of a server that listens on IPv6 belong to that family, even if its clients use
        // IPv4.
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            send(&self.diag, &self.request(family), SendFlags::empty())?;
            let mut packet = [0; 65_536];
            loop {
                let (length, _) = recv(&self.diag, &mut packet, RecvFlags::empty())?;
                if read(&packet[..length], &mut sent)? {
                    break;
                }
            }
            if !sent.is_empty() {
                break;
            }
        }
        Ok(sent)
    }

    /// The number of connections accepted so far by all servers in the namespace, on any port.
    pub(crate) fn accepted(&self) -> io::Result<u64> {
        let mut text = [0; 8_192];
        let length = self.snmp.read_at(&mut text, 0)?;
        let text = String::from_utf8_lossy(&text[..length]);
        let mut rows = text.lines().filter(|row| row.starts_with("Tcp:"));
        let (names, values) = (rows.next(), rows.next());
        let mut columns = names.zip(values).into_iter().flat_map(|(names, values)| {
            let (names, values) = (names.split(' '), values.split(' '));
            names.zip(values)
        });
        let accepted = columns.find(|(name, _)| *name == "PassiveOpens");
        accepted
            .and_then(|(_, value)| value.parse().ok())
            .ok_or_else(unreadable)
    }

    /// Builds the request: `struct nlmsghdr`, then `struct inet_diag_req_v2`, which requests `struct
    /// tcp_info`.
    fn request(&self, family: AddressFamily) -> Vec<u8> {
        const ROOT_AND_MATCH: u16 = 0x300;
        const REQUEST: u16 = 1;
        const LENGTH: u32 = (HEADER + 56) as u32;
        let mut bytes = Vec::with_capacity(LENGTH as usize);
        bytes.extend(LENGTH.to_ne_bytes());
        bytes.extend(BY_FAMILY.to_ne_bytes());
        bytes.extend((ROOT_AND_MATCH | REQUEST).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend([family.as_raw() as u8, libc::IPPROTO_TCP as u8]);
        bytes.extend([1 << (INFO - 1), 0]);
        bytes.extend((1_u32 << ESTABLISHED).to_ne_bytes());
        bytes.extend(self.port.to_be_bytes());
        // Zeros match any peer, device and cookie.
        bytes.resize(LENGTH as usize, 0);
        bytes
    }
}

/// `sizeof(struct nlmsghdr)`, `sizeof(struct inet_diag_msg)`, and the offset of the cookie in the latter.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
const COOKIE: usize = 44;

/// SOCK_DIAG_BY_FAMILY, and NLMSG_ERROR and NLMSG_DONE, either of which ends the messages.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// TCP_ESTABLISHED.
const ESTABLISHED: u32 = 1;

/// INET_DIAG_INFO, an attribute that contains a `struct tcp_info`, and the offsets of `tcpi_bytes_sent`
/// and `tcpi_bytes_retrans` in that struct (Linux 4.19).
const INFO: u16 = 2;
const BYTES_SENT: usize = 200;
const BYTES_RETRANS: usize = 208;

/// Adds the connections in a packet from the kernel. Returns whether it is the last packet.
fn read(packet: &[u8], sent: &mut Sent) -> io::Result<bool> {
    let mut left = packet;
    while !left.is_empty() {
        let length = u32::from_ne_bytes(bytes_at(left, 0)?) as usize;
        let message = left.get(..length.max(HEADER)).ok_or_else(unreadable)?;
        match u16::from_ne_bytes(bytes_at(message, 4)?) {
            DONE => return Ok(true),
            ERROR => {
                let code = i32::from_ne_bytes(bytes_at(message, HEADER)?);
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            BY_FAMILY => {
                let cookie = u64::from_ne_bytes(bytes_at(message, HEADER + COOKIE)?);
                let info = message.get(HEADER + MESSAGE..).ok_or_else(unreadable)?;
                sent.insert(cookie, sent_of(info)?);
            }
            _ => {}
        }
        left = left.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

/// The bytes sent on a connection with these attributes, excluding retransmissions.
fn sent_of(mut attributes: &[u8]) -> io::Result<u64> {
    loop {
        let length = usize::from(u16::from_ne_bytes(bytes_at(attributes, 0)?));
        if u16::from_ne_bytes(bytes_at(attributes, 2)?) == INFO {
            let info = attributes.get(4..length).ok_or_else(unreadable)?;
            let all = u64::from_ne_bytes(bytes_at(info, BYTES_SENT)?);
            let again = u64::from_ne_bytes(bytes_at(info, BYTES_RETRANS)?);
            return Ok(all.saturating_sub(again));
        }
        let next = aligned(length.max(4));
        attributes = attributes.get(next..).ok_or_else(unreadable)?;
    }
}

/// Messages and attributes are aligned to four bytes.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.copied().ok_or_else(unreadable)
}

fn unreadable() -> io::Error {
    io::Error::other("the kernel's counters of TCP connections are in an unknown format")
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_bytes_of_each_open_connection_are_the_server_s() {
        for host in ["127.0.0.1:0", "[::]:0"] {
            let Ok(server) = TcpListener::bind(host) else {
                continue; // A machine without IPv6.
            };
            let at = server.local_addr().unwrap();
            let connections = Connections::of(at).unwrap();
            let accepted = connections.accepted().unwrap();
            let mut pairs: Vec<_> = (0..3)
                .map(|_| {
                    let client = TcpStream::connect(("127.0.0.1", at.port())).unwrap();
                    (client, server.accept().unwrap().0)
                })
                .collect();
            assert!(connections.accepted().unwrap() >= accepted + 3);
            let before = connections.sent().unwrap();
            assert_eq!(before.values().collect::<Vec<_>>(), [&0; 3]);
            let (client, end) = &mut pairs[1];
            client.write_all(&[1; 10]).unwrap();
            end.write_all(&[2; 1_000]).unwrap();
            client.read_exact(&mut [0; 1_000]).unwrap();
            drop(pairs.pop());
            let after = connections.sent().unwrap();
            assert!(after.keys().all(|cookie| before.contains_key(cookie)));
            let mut sent: Vec<u64> = after.into_values().collect();
            sent.sort_unstable();
            assert_eq!(sent, [0, 1_000]);
        }
    }

    #[test]
    fn what_the_kernel_refuses_or_cuts_off_is_an_error() {
        let refused = [20_u32.to_ne_bytes(), [2, 0, 0, 0], [0; 4], [0; 4]].concat();
        let refused = [refused, (-libc::ENOENT).to_ne_bytes().to_vec()].concat();
        let error = read(&refused, &mut Sent::new()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        for end in 1..refused.len() {
            assert!(read(&refused[..end], &mut Sent::new()).is_err(), "{end}");
        }
    }
}
