//! Finds the processes that listen at an address of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

use rpcgauge_trial::Address;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// The sockets listening at an address, as shown in `/proc/<pid>/fd`.
#[derive(Debug, Default)]
pub(crate) struct Listeners(BTreeSet<String>);

impl Listeners {
    /// The sockets listening at `address`; empty if the address belongs to another machine.
    pub(crate) fn at(address: &Address) -> Self {
        let inodes = match address {
            Address::Tcp(address) if !is_here(*address) => return Self::default(),
            Address::Tcp(address) => ["/proc/net/tcp", "/proc/net/tcp6"]
                .iter()
                .flat_map(|table| tcp(&rows(table)))
                .filter(|(at, _)| at.port() == address.port())
                .map(|(_, inode)| inode)
                .collect(),
            Address::Unix(path) => unix(&rows("/proc/net/unix"), path),
        };
        let names = inodes.iter().map(|inode| format!("socket:[{inode}]"));
        Self(names.collect())
    }

    /// Whether the process has one of these sockets open. False if this program may not see which files the
    /// process has open.
    pub(crate) fn are_of(&self, pid: u32) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let open = fs::read_dir(format!("/proc/{pid}/fd"));
        open.into_iter().flatten().flatten().any(|file| {
            fs::read_link(file.path())
                .is_ok_and(|to| to.to_str().is_some_and(|to| self.0.contains(to)))
        })
    }
}

/// The TCP ports that a process listens on.
pub(crate) fn ports_of(pid: u32) -> Vec<u16> {
    let listening = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .flat_map(|table| tcp(&rows(table)));
    let own = listening
        .filter(|(_, inode)| Listeners(BTreeSet::from([format!("socket:[{inode}]")])).are_of(pid));
    own.map(|(at, _)| at.port()).collect()
}

/// Whether an address belongs to this machine. No other address can be bound.
fn is_here(address: SocketAddr) -> bool {
    UdpSocket::bind((address.ip(), 0)).is_ok()
}

fn rows(table: &str) -> String {
    fs::read_to_string(table).unwrap_or_default()
}

/// The listening sockets, with their inodes, in the contents of `/proc/net/tcp` or `tcp6` (proc(5)). The
/// second column is the local address and port, the fourth the state, and the tenth the inode. IPv4-mapped
/// IPv6 addresses become IPv4 addresses.
pub fn tcp(table: &str) -> Vec<(SocketAddr, String)> {
    let socket = |row: &str| {
        let columns: Vec<&str> = row.split_ascii_whitespace().collect();
        let (ip, port) = columns.get(1)?.split_once(':')?;
        let at = SocketAddr::new(ip_address(ip)?, u16::from_str_radix(port, 16).ok()?);
        (*columns.get(3)? == LISTENING).then_some((at, (*columns.get(9)?).to_owned()))
    };
    table.lines().filter_map(socket).collect()
}

/// Parses 32-bit words, each in this machine's byte order.
fn ip_address(digits: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let word = u32::from_str_radix(digits.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    Some(match digits.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = words.as_flattened().try_into().ok()?;
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    })
}

/// The inodes of the sockets bound to `path` in the contents of `/proc/net/unix` (proc(5)). The seventh
/// column is the inode, followed by the path as it was bound.
fn unix(table: &str, path: &Path) -> Vec<String> {
    let whole = path.canonicalize().unwrap_or_default();
    let ends = [path, &whole].map(|path| format!(" {}", path.display()));
    table
        .lines()
        .filter(|row| ends.iter().any(|end| row.ends_with(end)))
        .filter_map(|row| row.split_ascii_whitespace().nth(6).map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_that_listen_are_read() {
        let row = |address: &str, state: &str| {
            format!("   0: {address}:19A5 00000000:0000 {state} 0:0 00:0 0  0  0 1234 1 0 100\n")
        };
        for (address, expected) in [
            ("020012C6", "198.18.0.2:6565"),
            ("00000000000000000000000000000000", "[::]:6565"),
            ("0000000000000000FFFF0000020012C6", "198.18.0.2:6565"),
            ("00000000000000000000000001000000", "[::1]:6565"),
        ] {
            let expected = (expected.parse().unwrap(), "1234".to_owned());
            assert_eq!(tcp(&row(address, LISTENING)), [expected]);
            assert_eq!(tcp(&row(address, "01")), []);
        }
    }

    #[test]
    fn the_process_that_listens_is_found() {
        let ours = std::process::id();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = tcp.local_addr().unwrap();
        assert!(Listeners::at(&Address::Tcp(at)).are_of(ours));
        assert!(!Listeners::at(&Address::Tcp(at)).are_of(std::os::unix::process::parent_id()));
        // The same port on an address of no machine (TEST-NET-1, RFC 5737).
        let other = SocketAddr::from(([192, 0, 2, 1], at.port()));
        assert!(!Listeners::at(&Address::Tcp(other)).are_of(ours));
        drop(tcp);
        assert!(!Listeners::at(&Address::Tcp(at)).are_of(ours));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a socket");
        let _listener = UnixListener::bind(&path).unwrap();
        assert!(Listeners::at(&Address::Unix(path)).are_of(ours));
        let absent = folder.path().join("socket");
        assert!(!Listeners::at(&Address::Unix(absent)).are_of(ours));
    }
}
