//! Computes what a link adds to a call: the time that its bytes take, from their number, the link's settings and the
//! state of the connection. Nothing is measured here. docs/map.md explains the model and its errors.
//!
//! A call over a link takes the time that the same call takes on loopback, which contains the work of both programs, and
//! the time of [`Network::call`]:
//!
//! ```text
//! new connection:  SYN ──► ◄── SYN+ACK   TLS: hello ──► ◄── finished
//! request:         window by window, each packet after the one before it ──► delay
//! response:        window by window, each packet after the one before it ──► delay
//! ```
//!
//! Losses, jitter, traces and congestion controls other than CUBIC are not modelled: [`Network::new`] refuses them.

mod transfer;

use std::time::Duration;

use rpcgauge_trial::{Congestion, DEFAULT_MTU, Direction, IP_AND_TCP, Link, LinkRate, Queue};

use self::transfer::{Path, Transfer, Window};

/// The size of a SYN, with its options, bytes of IP.
const SYN: u64 = 60;
/// The segments that a new connection sends before the first acknowledgement (RFC 6928).
const INITIAL_WINDOW: u32 = 10;
/// The bytes of a TLS 1.3 handshake with a certificate of ECDSA P-256, in the order sent: ClientHello; ServerHello to
/// Finished; the client's Finished, which the request follows at once (RFC 8446, 2).
const TLS_HELLO: u64 = 250;
const TLS_CERTIFICATE: u64 = 1_000;

/// The segments that an HTTP/2 server sends on a new connection ahead of the body of its first response, each in a write of
/// its own: SETTINGS, the acknowledgement of the client's SETTINGS, and headers (RFC 9113, 3.4).
const HTTP2_AHEAD: u32 = 3;

/// The bytes of IP that carry a message of some bytes in packets of the default MTU.
pub fn packet_bytes(message: u64) -> u64 {
    let segment = u64::from(DEFAULT_MTU) - IP_AND_TCP;
    message + message.div_ceil(segment) * IP_AND_TCP
}

/// The state of the connection when a call begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// It has carried such calls before, and its windows have grown to their size.
    Kept,
    /// It was idle for so long that its window was reset (RFC 5681, 4.1).
    Idle,
    /// It is opened for the call.
    New {
        /// Whether the call waits for a TLS handshake, too.
        tls: bool,
        /// Whether the server sends frames of HTTP/2 ahead of its response.
        http2: bool,
    },
}

/// Why calls over a link cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotModelled {
    /// Packets are lost.
    Loss,
    /// Delays vary.
    Jitter,
    /// The rate varies.
    Trace,
    /// The congestion control is not CUBIC.
    Congestion,
}

/// The time that a call's bytes take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTime {
    /// From the first byte of the request, or of the connection's handshake, to the last byte of the response.
    pub time: Duration,
    /// Whether a queue of the link overflows. What the connection then does is not modelled: packets are lost.
    pub overflows: bool,
}

/// A link whose calls can be computed.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    up: Path,
    down: Path,
    initial_window: u32,
}

impl Network {
    /// # Errors
    /// The link has properties that the model leaves out.
    pub fn new(link: &Link) -> Result<Self, NotModelled> {
        if link.congestion != Congestion::Cubic {
            return Err(NotModelled::Congestion);
        }
        Ok(Self {
            up: path(&link.up, link.mtu)?,
            down: path(&link.down, link.mtu)?,
            initial_window: link.initial_window.unwrap_or(INITIAL_WINDOW),
        })
    }

    /// A network with the same rate and delay in both directions, whose queues hold everything.
    pub fn unqueued(bits_per_second: u64, delay_ns: u64) -> Self {
        let path = Path {
            bits_per_second: Some(bits_per_second),
            delay_ns,
            segment: u64::from(DEFAULT_MTU) - IP_AND_TCP,
            headers: IP_AND_TCP,
            framing: 0,
            queue: Queue::Time(u64::MAX),
        };
        Self {
            up: path.clone(),
            down: path,
            initial_window: INITIAL_WINDOW,
        }
    }

    /// The rate of responses, bit/s; `None` for no limit.
    pub fn bits_per_second(&self) -> Option<u64> {
        self.down.bits_per_second
    }

    /// The time of a call with a request and a response of these sizes, in bytes on the connection.
    pub fn call(&self, connection: Connection, request: u64, response: u64) -> CallTime {
        let window = Window {
            segments: match connection {
                // A window that suffices for the whole message.
                Connection::Kept => u32::MAX,
                Connection::Idle | Connection::New { .. } => self.initial_window,
            },
            used: 0,
        };
        let mut of_response = window;
        let mut sum = Transfer::default();
        if let Connection::New { tls, http2 } = connection {
            if http2 {
                of_response.used = HTTP2_AHEAD.min(window.segments.saturating_sub(1));
            }
            sum = sum + self.up.one(SYN) + self.down.one(SYN);
            if tls {
                let hello = self.up.transfer(TLS_HELLO, self.down.delay_ns, window);
                sum = sum
                    + hello
                    + self
                        .down
                        .transfer(TLS_CERTIFICATE, self.up.delay_ns, window);
            }
        }
        sum = sum + self.up.transfer(request, self.down.delay_ns, window);
        sum = sum + self.down.transfer(response, self.up.delay_ns, of_response);
        CallTime {
            time: Duration::from_nanos(sum.ns),
            overflows: sum.overflows,
        }
    }
}

fn path(direction: &Direction, mtu: u32) -> Result<Path, NotModelled> {
    if direction.loss.is_some() {
        return Err(NotModelled::Loss);
    }
    if direction.jitter_ns > 0 {
        return Err(NotModelled::Jitter);
    }
    let bits_per_second = match direction.rate {
        LinkRate::Unlimited => None,
        LinkRate::BitsPerSecond(rate) => Some(rate),
        LinkRate::Trace(_) => return Err(NotModelled::Trace),
    };
    Ok(Path {
        bits_per_second,
        delay_ns: direction.delay_ns,
        segment: u64::from(mtu) - IP_AND_TCP,
        headers: IP_AND_TCP,
        framing: u64::from(direction.overhead),
        queue: direction.queue,
    })
}

#[cfg(test)]
mod tests;
