//! An emulated link between two network namespaces of this machine: the kernel's own TCP over a rate, delay,
//! jitter, queue and loss, which are applied packet by packet.
//!
//! ```text
//! client ──► TUN ──┐   one thread      ┌──► TUN ──► server
//!                  └──► Path (up) ─────┘
//! client ◄── TUN ◄────── Path (down) ◄────── TUN ◄── server
//! ```
//!
//! [`Path`] decides when packets arrive, on its caller's clock and independently of the machine. The thread
//! (`emulator`) reads packets from one device, offers them to a path, and writes them to the other device
//! when they are due. The namespaces have no names and the devices end with this process, so nothing is left
//! behind, however it ends.

mod calibrate;
mod check;
mod counters;
mod device;
mod emulator;
mod error;
mod load;
mod namespace;
mod netlink;
mod network;
mod path;
mod pool;
mod priority;
mod stamp;

use std::net::Ipv4Addr;

pub use check::{Checked, Flood, Lost, check, highest_pace, too_fast};
pub use counters::Snapshot;
pub use error::LinkError;
pub use namespace::{Entered, Namespace, isolate, prepare};
pub use network::{Network, Options};
pub use path::{Offered, Path};
pub use priority::Priority;

/// The client's address, from the range for network benchmarks (RFC 2544), which no other network uses.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The server's address. All links use the same two addresses, each in its own namespaces.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
