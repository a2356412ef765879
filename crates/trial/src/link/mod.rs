//! The settings of an emulated link between client and server.

mod counts;
mod trace;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds::OutOfBounds;
use crate::is_default;

pub use counts::{Calibration, DirectionCounts, Lateness, LinkCounts, MAX_LATENESS_NS, MAX_OFF_NS};
pub use trace::TraceError;

/// The default MTU of a link in bytes of IP, the same as Ethernet's.
pub const DEFAULT_MTU: u32 = 1_500;
/// The allowed range of rates, in bit/s.
const RATES: std::ops::RangeInclusive<u64> = 1_000..=10_000_000_000;
/// The header bytes of a TCP packet: 20 for IPv4, 20 for TCP, 12 for the TCP timestamps option.
pub const IP_AND_TCP: u64 = 52;
/// The maximum one-way delay, and the maximum time in a queue.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// The maximum number of delivery opportunities in a trace.
pub const MAX_OPPORTUNITIES: usize = 4_000_000;

/// An emulated link. It is symmetric if both directions are equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// From the client to the server.
    pub up: Direction,
    /// From the server to the client.
    pub down: Direction,
    /// The MTU in bytes of IP.
    pub mtu: u32,
    /// The congestion control algorithm of both ends.
    pub congestion: Congestion,
    /// Whether a connection returns to slow start after being idle for a retransmission timeout
    /// (RFC 5681, 4.1).
    #[serde(default, skip_serializing_if = "is_default")]
    pub slow_start_after_idle: bool,
    /// The initial window of both ends in segments; `None` for the kernel's default, 10 (RFC 6928).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
}

/// What one direction of a link does to a packet, in this order: the packet enters the queue or is
/// dropped at the tail, waits, is sent at the rate, travels for the delay, and arrives unless it is
/// lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Direction {
    /// The rate at which packets are sent.
    pub rate: LinkRate,
    /// How long a packet travels one way, in ns, without queueing and its own serialization.
    pub delay_ns: u64,
    /// The standard deviation of the delay in ns, at most a third of the delay. Packets keep their
    /// order.
    #[serde(default, skip_serializing_if = "is_default")]
    pub jitter_ns: u64,
    /// Which packets are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// The limit of the queue.
    pub queue: Queue,
    /// Bytes added to each IP packet: the framing of a network.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overhead: u32,
}

/// The rate of a direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkRate {
    /// No limit.
    Unlimited,
    /// A constant rate in bit/s, counting IP bytes and overhead.
    BitsPerSecond(u64),
    /// A rate that changes according to a trace.
    Trace(Trace),
}

/// A changing rate: the times at which the link can send 1,500 bytes, repeated endlessly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Trace {
    /// The file from which it was read.
    pub file: String,
    /// The delivery opportunities in ms from the start, in ascending order. The trace repeats after
    /// the last one.
    #[serde(with = "trace::gaps")]
    pub at_ms: Vec<u32>,
}

/// Random loss, independent or in bursts (Gilbert 1960: all packets in a burst are lost, and none
/// between bursts).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// The fraction of packets that are lost, more than 0 and less than 1.
    pub part: f64,
    /// The mean length of a burst in packets. For independent losses, this is 1 / (1 − part); see
    /// [`Loss::independent`].
    pub burst: f64,
}

/// The limit of a direction's queue. A packet that would exceed it is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// A number of bytes, including overhead.
    Bytes(u64),
    /// The number of bytes that the rate sends in this time, in ns.
    Time(u64),
}

/// A congestion control algorithm of the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// CUBIC (RFC 9438), which most servers use.
    #[default]
    Cubic,
    /// BBR (Cardwell et al. 2016).
    Bbr,
    /// Reno (RFC 5681).
    Reno,
}

impl Loss {
    /// Creates losses that are independent of each other.
    pub fn independent(part: f64) -> Self {
        let burst = 1.0 / (1.0 - part);
        Self { part, burst }
    }
}

impl Link {
    /// The round trip of an empty packet through empty queues: the sum of both delays.
    pub fn round_trip(&self) -> Duration {
        Duration::from_nanos(self.up.delay_ns + self.down.delay_ns)
    }

    /// The minimum time for a request and a response of these sizes, assuming that the connection's
    /// windows do not limit them: both delays, plus the time to send their packets.
    pub fn least(&self, request_bytes: u64, response_bytes: u64) -> Duration {
        self.round_trip()
            + self.up.sending(request_bytes, self.mtu)
            + self.down.sending(response_bytes, self.mtu)
    }

    /// Returns an error for settings that cannot be emulated.
    pub fn check(&self) -> Result<(), OutOfBounds> {
        let refuse = |what, allowed| Err(OutOfBounds { what, allowed });
        // Every IPv4 host accepts packets of 576 bytes (RFC 791).
        if !(576..=9_000).contains(&self.mtu) {
            return refuse("the MTU", "576 to 9,000 bytes");
        }
        if self
            .initial_window
            .is_some_and(|it| !(1..=1_000).contains(&it))
        {
            return refuse("the initial window", "1 to 1,000 segments");
        }
        self.up.check(self.mtu)?;
        self.down.check(self.mtu)
    }
}

impl Direction {
    /// The time to send `bytes` over a TCP connection; zero if the rate is not constant.
    fn sending(&self, bytes: u64, mtu: u32) -> Duration {
        let LinkRate::BitsPerSecond(rate) = self.rate else {
            return Duration::ZERO;
        };
        let packets = bytes.div_ceil(u64::from(mtu) - IP_AND_TCP);
        let all = bytes + packets * (IP_AND_TCP + u64::from(self.overhead));
        Duration::from_secs_f64(all as f64 * 8.0 / rate as f64)
    }

    fn check(&self, mtu: u32) -> Result<(), OutOfBounds> {
        let refuse = |what, allowed| Err(OutOfBounds { what, allowed });
        let longest = MAX_WAIT.as_nanos() as u64;
        match &self.rate {
            LinkRate::BitsPerSecond(rate) if !RATES.contains(rate) => {
                return refuse("the link's rate", "1 kbit/s to 10 Gbit/s");
            }
            LinkRate::Trace(trace) => trace.check()?,
            _ => {}
        }
        if self.delay_ns > longest {
            return refuse("the link's delay", "0 to 10 s");
        }
        if self.jitter_ns.saturating_mul(3) > self.delay_ns {
            return refuse("the link's jitter", "at most a third of its delay");
        }
        if let Some(Loss { part, burst }) = self.loss {
            if !(part > 0.0 && part < 1.0) {
                return refuse("the link's loss", "more than 0% and less than 100%");
            }
            if !(1.0..=10_000.0).contains(&burst) {
                return refuse(
                    "the mean length of a burst of losses",
                    "1 to 10,000 packets",
                );
            }
            // A higher loss would require entering bursts with a probability above 1.
            if part / (1.0 - part) > burst {
                return refuse("the link's loss", "lower for bursts as short as these");
            }
        }
        match self.queue {
            Queue::Bytes(bytes) if bytes < u64::from(mtu + self.overhead) || bytes > 1 << 30 => {
                refuse("the link's queue", "at least one packet and at most 1 GiB")
            }
            Queue::Time(time) if time == 0 || time > longest => {
                refuse("the link's queue", "more than 0 and at most 10 s")
            }
            _ if self.overhead > 1_000 => refuse("the link's overhead", "0 to 1,000 bytes"),
            _ => Ok(()),
        }
    }
}

impl Trace {
    fn check(&self) -> Result<(), OutOfBounds> {
        let refuse = |allowed| {
            Err(OutOfBounds {
                what: "the trace of a link",
                allowed,
            })
        };
        if self.at_ms.is_empty() || self.at_ms.len() > MAX_OPPORTUNITIES {
            return refuse("1 to 4,000,000 opportunities");
        }
        if self.at_ms.last() == Some(&0) {
            return refuse("1 ms or longer");
        }
        if self.at_ms.is_sorted() {
            Ok(())
        } else {
            refuse("in ascending order")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_takes_both_delays_and_the_sending_of_its_packets() {
        let direction = Direction {
            rate: LinkRate::BitsPerSecond(100_000_000),
            delay_ns: 900_000,
            jitter_ns: 0,
            loss: None,
            queue: Queue::Time(30_000_000),
            overhead: 38,
        };
        let link = Link {
            up: direction.clone(),
            down: direction,
            mtu: DEFAULT_MTU,
            congestion: Congestion::Cubic,
            slow_start_after_idle: false,
            initial_window: None,
        };
        assert_eq!(link.least(0, 0), Duration::from_micros(1_800));
        // One packet with 100 bytes, and two with 1,448 bytes each, at 12.5 bytes per microsecond.
        let sent = (100.0 + 90.0 + 2.0 * (1_448.0 + 90.0)) / 12.5;
        let least = link.least(100, 2 * 1_448).as_secs_f64() * 1e6;
        assert!((least - 1_800.0 - sent).abs() < 0.01, "{least}");
    }
}
