//! An emulated link between two network namespaces of this machine. It runs the kernel's own TCP over a rate,
//! delay, jitter, queue and loss that are applied packet by packet.
//!
//! ```text
//! client ──► TUN ──┐   one thread      ┌──► TUN ──► server
//!                  └──► Path (up) ─────┘
//! client ◄── TUN ◄────── Path (down) ◄────── TUN ◄── server
//! ```
//!
//! [`Path`] decides when packets arrive. It runs on its caller's clock and does not depend on the machine.
//! The thread (`emulator`) reads packets from one device, offers them to a path, and writes them to the other
//! device when they are due. The namespaces are unnamed and the devices disappear with this process, so
//! nothing is left behind, however the process exits.

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

/// The client's address. It is from the range reserved for network benchmarks (RFC 2544), which no other
/// network uses.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The server's address. All links use the same two addresses, each link in its own namespaces.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
