//! The addresses that servers listen on, and the errors if they cannot.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{self, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rpcgauge_contract::{self as contract, Address, Fault, MAX_SOCKET_PATH_BYTES};

#[cfg(test)]
mod tests;

/// The address on which a server is to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenOn {
    /// TCP.
    Tcp {
        /// A host name or address.
        host: String,
        /// A port; 0 selects a free one.
        port: u16,
    },
    /// A Unix domain socket at this path.
    Unix(PathBuf),
}

impl ListenOn {
    /// TCP on the loopback interface, with a free port.
    pub fn loopback() -> Self {
        Self::Tcp {
            host: contract::LOOPBACK.to_owned(),
            port: 0,
        }
    }
}

impl From<contract::Listen> for ListenOn {
    /// The contract has no ports. A subject listens on a free port and reports it.
    fn from(listen: contract::Listen) -> Self {
        match listen {
            contract::Listen::Tcp { host } => Self::Tcp { host, port: 0 },
            contract::Listen::Unix { path } => Self::Unix(path),
        }
    }
}

impl FromStr for ListenOn {
    type Err = ListenError;

    /// Parses `HOST:PORT`, `[IPV6]:PORT` or `unix:PATH`.
    fn from_str(text: &str) -> Result<Self, ListenError> {
        let wrong = || ListenError::Syntax(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err(wrong())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let host = match host.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').ok_or_else(wrong)?,
            None if host.contains(':') => return Err(wrong()),
            None => host,
        };
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Self::Tcp {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for ListenOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe each variant")]
pub enum ListenError {
    #[error("\"{0}\" is not a valid listen address: write HOST:PORT, [IPV6]:PORT or unix:PATH")]
    Syntax(String),
    #[error("cannot resolve host {host} ({detail}): use an address of this machine")]
    UnknownHost { host: String, detail: String },
    #[error(
        "port {port} on {host} is in use: stop the program that listens there, or choose another port (0 for a free one)"
    )]
    PortInUse { host: String, port: u16 },
    #[error(
        "{0} is not an address of this machine: use 127.0.0.1 or an address listed by `ip address`"
    )]
    AddressNotAvailable(String),
    #[error(
        "socket path {} is {bytes} bytes long, but the system allows {MAX_SOCKET_PATH_BYTES}: \
         use a shorter one, for example in /tmp", path.display()
    )]
    PathTooLong { path: PathBuf, bytes: usize },
    #[error("{} exists and is not a socket: use another path", .0.display())]
    NotASocket(PathBuf),
    #[error("socket {} is in use: stop the server that listens there, or use another path", .0.display())]
    SocketInUse(PathBuf),
    #[error("cannot create socket {}: its folder does not exist; create the folder, or use another path", .0.display())]
    NoFolder(PathBuf),
    #[error("no permission to listen on {0}: use a port of at least 1024, or a writable folder")]
    NotPermitted(ListenOn),
    #[error("cannot listen on {on}: {source}")]
    System { on: ListenOn, source: io::Error },
}

impl ListenError {
    /// Converts an error for which the system's message is the most specific one.
    fn system(on: &ListenOn, source: io::Error) -> Self {
        match source.kind() {
            ErrorKind::PermissionDenied => Self::NotPermitted(on.clone()),
            _ => Self::System {
                on: on.clone(),
                source,
            },
        }
    }

    /// Who can fix the error.
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Syntax(_) | Self::UnknownHost { .. } | Self::PathTooLong { .. } => Fault::User,
            _ => Fault::Machine,
        }
    }
}

/// A listening socket. Dropping it removes the file of a Unix domain socket.
#[derive(Debug)]
pub struct Listener {
    /// The socket, in blocking mode.
    pub(crate) socket: Socket,
    address: Address,
    // Removes the file when the listener is dropped.
    file: Option<SocketFile>,
}

#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(net::TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Starts listening. A stale socket file, on which no server is listening, is replaced. Any other file at
    /// the path is left alone.
    pub fn bind(on: &ListenOn) -> Result<Self, ListenError> {
        match on {
            ListenOn::Tcp { host, port } => bind_tcp(on, host, *port),
            ListenOn::Unix(path) => bind_unix(on, path),
        }
    }

    /// The address, including the port that the system assigned.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Moves the socket's file out, so that the caller decides when it is removed.
    pub(crate) fn take_file(&mut self) -> Option<SocketFile> {
        self.file.take()
    }
}

fn bind_tcp(on: &ListenOn, host: &str, port: u16) -> Result<Listener, ListenError> {
    let unknown = |detail: String| ListenError::UnknownHost {
        host: host.to_owned(),
        detail,
    };
    let candidates: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .collect();
    if candidates.is_empty() {
        return Err(unknown("the resolver returned none".to_owned()));
    }
    let socket = net::TcpListener::bind(&candidates[..]).map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => ListenError::PortInUse {
            host: host.to_owned(),
            port,
        },
        ErrorKind::AddrNotAvailable => ListenError::AddressNotAvailable(host.to_owned()),
        _ => ListenError::system(on, source),
    })?;
    let address = socket.local_addr();
    let address = address.map_err(|source| ListenError::system(on, source))?;
    Ok(Listener {
        socket: Socket::Tcp(socket),
        address: Address::Tcp(address),
        file: None,
    })
}

fn bind_unix(on: &ListenOn, path: &Path) -> Result<Listener, ListenError> {
    let bytes = path.as_os_str().as_bytes().len();
    if bytes > MAX_SOCKET_PATH_BYTES {
        return Err(ListenError::PathTooLong {
            path: path.to_owned(),
            bytes,
        });
    }
    let system = |source: io::Error| match source.kind() {
        ErrorKind::NotFound => ListenError::NoFolder(path.to_owned()),
        ErrorKind::AddrInUse => ListenError::SocketInUse(path.to_owned()),
        _ => ListenError::system(on, source),
    };
    clear_stale_socket(path, &system)?;
    let socket = UnixListener::bind(path).map_err(system)?;
    let file = SocketFile::of(path).map_err(system)?;
    Ok(Listener {
        socket: Socket::Unix(socket),
        address: Address::Unix(path.to_owned()),
        file: Some(file),
    })
}

/// Removes a stale socket file, on which no server is listening. Rejects any other file at the path.
fn clear_stale_socket(
    path: &Path,
    system: &impl Fn(io::Error) -> ListenError,
) -> Result<(), ListenError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(system(error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(ListenError::NotASocket(path.to_owned()));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ListenError::SocketInUse(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(system)
        }
        Err(error) => Err(system(error)),
    }
}

/// The file of a socket. Removed on drop if it is still the same file.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        let made = fs::symlink_metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            device: made.dev(),
            inode: made.ino(),
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|now| now.dev() == self.device && now.ino() == self.inode);
        if ours {
            // If removal fails, the next server treats the file as stale.
            let _ = fs::remove_file(&self.path);
        }
    }
}
