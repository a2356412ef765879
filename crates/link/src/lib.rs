//! A link between two network namespaces of this machine: the kernel's own TCP over a rate, a delay, jitter, a
//! queue and loss, applied packet by packet.
//!
//! ```text
//! client ──► TUN ──┐   one thread      ┌──► TUN ──► server
//!                  └──► Path (up) ─────┘
//! client ◄── TUN ◄────── Path (down) ◄────── TUN ◄── server
//! ```
//!
//! [`Path`] decides on a clock of its caller's and knows nothing of the machine. The thread (`emulator`) reads
//! packets from one device, asks it, and writes them into the other when they are due. The namespaces have no
//! names, and the devices go with this process: nothing is left behind, however it ends.

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

/// The client's address: of the range for benchmarks of networks (RFC 2544), which no other network uses.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The server's address. All links have the same two: each has namespaces of its own.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
