//! Where a server listens, and how connections to it are kept.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Whether a connection serves many calls or one.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// Connections are opened before the first call and kept; a lost one is reopened.
    #[default]
    Reuse,
    /// Every call opens its own connection and closes it.
    PerCall,
}

impl ConnectionUse {
    /// Whether connections are kept.
    pub fn is_reuse(&self) -> bool {
        *self == Self::Reuse
    }
}

/// How silent connections are kept alive, and dead ones detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Keepalive {
    /// After this long without a received byte a connection is probed, ms: with a PING in HTTP/2,
    /// with or without calls in flight, and by the system if a TCP connection is idle. More than 0;
    /// the system counts whole seconds, at least one.
    pub time_ms: u64,
    /// After this long without a reply to a probe, ms, the connection is closed and its calls fail
    /// as [`crate::FailureKind::ConnectionLost`]. More than 0; whole seconds for the system's
    /// probes.
    pub timeout_ms: u64,
}

impl Keepalive {
    /// The default timeout, ms, as in gRPC.
    pub const TIMEOUT_MS: u64 = 20_000;

    /// [`Self::time_ms`].
    pub fn time(&self) -> Duration {
        Duration::from_millis(self.time_ms)
    }

    /// [`Self::timeout_ms`].
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// The prefix of a Unix domain socket's address.
const UNIX: &str = "unix:";

/// The maximum length of a Unix domain socket's path, bytes: `sun_path` has 108 on Linux, including
/// the terminating zero (unix(7)).
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

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
    /// A Unix domain socket's path.
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
