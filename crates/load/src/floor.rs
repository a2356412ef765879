//! The calling half of the floor calibration: a bare blocking ping-pong (docs/method.md).

use std::io;
use std::time::Duration;

use crate::Histogram;
use crate::trial::Address;

/// What the ping-pong carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloorCall {
    /// Bytes written each time.
    pub request_bytes: u64,
    /// Bytes read each time.
    pub response_bytes: u64,
    /// Round trips before the measured ones.
    pub warmup_calls: u64,
    /// Measured round trips, at least 1.
    pub calls: u64,
    /// No read or write may take longer than this.
    pub timeout: Duration,
}

/// What the bare loops took.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// Round trips, ns.
    pub latency: Histogram,
    /// The calling loop's processor time, ns a call.
    pub client_cpu_ns: f64,
}

/// Connects to the answering half at `address`, tells it the sizes as two little-endian `u64`, and
/// plays ping-pong with it.
///
/// # Errors
/// The other half cannot be reached, ends, or does not answer in time.
pub fn ping_pong(address: &Address, call: &FloorCall) -> io::Result<Floor> {
    let _ = (address, call);
    Err(io::Error::other("being filled in"))
}
