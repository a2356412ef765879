//! Where a server listens, and how long connections to it stay open.

use std::fmt;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Whether a connection is used for many calls or for one.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// Connections are opened before the first call and stay open; a lost one is reopened.
    #[default]
    Reuse,
    /// Every call opens and closes its own connection.
    PerCall,
}

impl ConnectionUse {
    /// Whether connections are persistent.
    pub fn is_reuse(&self) -> bool {
        *self == Self::Reuse
    }
}

/// How idle connections are kept alive and dead ones detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Keepalive {
    /// How long a connection may go without a received byte before it is probed, in ms. HTTP/2
    /// sends a PING, whether or not calls are in flight; an idle TCP connection is probed by the
    /// system. More than 0; the system uses whole seconds, at least one.
    pub time_ms: u64,
    /// How long to wait for a reply to a probe, in ms, before the connection is closed and its
    /// calls fail as [`crate::FailureKind::ConnectionLost`]. More than 0; whole seconds for the
    /// system's probes.
    pub timeout_ms: u64,
}

impl Keepalive {
    /// The default timeout in ms, the same as in gRPC.
    pub const TIMEOUT_MS: u64 = 20_000;

    /// [`Self::time_ms`] as a duration.
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.time_ms)
    }

    /// [`Self::timeout_ms`] as a duration.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// The prefix of a Unix domain socket's address.
const UNIX: &str = "unix:";

/// The maximum length of a Unix domain socket's path in bytes: on Linux, `sun_path` has 108 bytes,
/// including the terminating zero (unix(7)).
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

/// The name of the abstract socket that a path stands for if it begins with `@`, as in `/proc/net/unix`; `None` for a
/// path in the file system.
pub fn abstract_name(path: &Path) -> Option<&[u8]> {
    path.as_os_str().as_bytes().strip_prefix(b"@")
}

/// Where a server listens, written as `127.0.0.1:41234`, `[::1]:41234` or `unix:/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(with = "String")
)]
#[serde(try_from = "String", into = "String")]
pub enum Address {
    /// An IP address and port.
    Tcp(SocketAddr),
    /// A Unix domain socket's path, or its [`abstract_name`] after `@`.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix(UNIX) {
            Some("") => Err(format!("\"{text}\" has no path after unix:")),
            Some(path) => Ok(Self::Unix(PathBuf::from(path))),
            None => text.parse().map(Self::Tcp).map_err(|_| {
                format!("\"{text}\" is not an address: write IP:PORT, [IPV6]:PORT or unix:/PATH")
            }),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}
