//! The transfer of a message in one direction, packet by packet.

use std::collections::VecDeque;
use std::ops::Add;

use rpcgauge_trial::Queue;

/// Segments that a receiver acknowledges together (RFC 1122, 4.2.3.2).
const SEGMENTS_PER_ACK: u32 = 2;

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    /// `None` for no limit.
    pub(crate) bits_per_second: Option<u64>,
    /// How long a packet travels, ns.
    pub(crate) delay_ns: u64,
    /// The maximum payload of a packet, bytes.
    pub(crate) segment: u64,
    /// The headers of a packet, bytes.
    pub(crate) headers: u64,
    /// What the network adds to a packet, bytes.
    pub(crate) framing: u64,
    /// How much may wait.
    pub(crate) queue: Queue,
}

/// How long bytes took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Until the last byte arrived, ns.
    pub(crate) ns: u64,
    /// Whether more packets waited than the queue holds.
    pub(crate) overflows: bool,
}

impl Add for Transfer {
    type Output = Self;

    fn add(self, next: Self) -> Self {
        Self {
            ns: self.ns + next.ns,
            overflows: self.overflows || next.overflows,
        }
    }
}

impl Path {
    /// A single packet.
    pub(crate) fn one(&self, ip_bytes: u64) -> Transfer {
        Transfer {
            ns: self.serialisation_ns(ip_bytes) + self.delay_ns,
            overflows: false,
        }
    }

    /// A message of some bytes whose acknowledgements travel for `ack_delay_ns`. The sender begins with a window, and slow
    /// start adds a segment for each that is acknowledged (RFC 5681, 3.1).
    pub(crate) fn transfer(&self, bytes: u64, ack_delay_ns: u64, window: Window) -> Transfer {
        let segments = bytes.div_ceil(self.segment).max(1);
        if segments <= u64::from(window.segments - window.used) {
            return self.burst(bytes, segments);
        }
        let mut sender = Sender {
            window: window.segments,
            in_flight: window.used,
            ..Sender::default()
        };
        // Acknowledgements on their way: when they arrive, and for how many segments.
        let mut acks: VecDeque<(u64, u32)> = VecDeque::new();
        acks.push_back((self.delay_ns + ack_delay_ns, window.used));
        let (mut now, mut arrived, mut unacknowledged) = (0, 0, 0);
        let mut overflows = false;
        let mut left = bytes;
        while left > 0 {
            if sender.in_flight == sender.window
                && let Some((at, segments)) = acks.pop_front()
            {
                now = at;
                sender.acknowledged(segments);
                continue;
            }
            let payload = left.min(self.segment);
            left -= payload;
            overflows |= self.has_no_room(sender.link_free_ns.saturating_sub(now));
            let sent = now.max(sender.link_free_ns) + self.serialisation_ns(payload + self.headers);
            sender.link_free_ns = sent;
            sender.in_flight += 1;
            arrived = sent + self.delay_ns;
            unacknowledged += 1;
            // A receiver does not delay the acknowledgement of a window that has been sent completely for long.
            if unacknowledged == SEGMENTS_PER_ACK || sender.in_flight == sender.window {
                acks.push_back((arrived + ack_delay_ns, unacknowledged));
                unacknowledged = 0;
            }
        }
        Transfer {
            ns: arrived,
            overflows,
        }
    }

    /// A message that fits into the window: nothing waits for an acknowledgement, so all packets enter the queue at once.
    fn burst(&self, bytes: u64, segments: u64) -> Transfer {
        let sending_ns = self.bits_ns(bytes + segments * (self.headers + self.framing));
        Transfer {
            ns: sending_ns + self.delay_ns,
            overflows: self.has_no_room(sending_ns),
        }
    }

    fn serialisation_ns(&self, ip_bytes: u64) -> u64 {
        self.bits_ns(ip_bytes + self.framing)
    }

    fn bits_ns(&self, bytes: u64) -> u64 {
        let Some(rate) = self.bits_per_second else {
            return 0;
        };
        let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Whether a queue that needs this long to be sent is full.
    fn has_no_room(&self, waits_ns: u64) -> bool {
        match self.queue {
            Queue::Time(limit_ns) => waits_ns > limit_ns,
            Queue::Bytes(limit) => waits_ns > self.bits_ns(limit),
        }
    }
}

/// The congestion window of a sender that begins a message, in segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) segments: u32,
    /// Small segments that were sent just before, and are not acknowledged yet.
    pub(crate) used: u32,
}

/// The sender of a message.
#[derive(Debug, Default)]
struct Sender {
    /// Its congestion window, in segments.
    window: u32,
    /// Segments without an acknowledgement.
    in_flight: u32,
    /// When the link has sent all segments so far, ns.
    link_free_ns: u64,
}

impl Sender {
    fn acknowledged(&mut self, segments: u32) {
        self.in_flight -= segments;
        self.window = self.window.saturating_add(segments);
    }
}
