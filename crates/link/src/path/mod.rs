//! The model of one direction: what happens to packets. It has no device or thread, and runs on the caller's
//! clock.

mod jitter;
mod loss;
mod sender;

use std::collections::VecDeque;

use rpcgauge_trial::{Direction, Queue};

use jitter::Jitter;
use loss::Losses;
use sender::Sender;

/// Makes the jitter's seed differ from that of the losses.
const JITTER_SEED: u64 = 0x6a69_7474_6572;

/// One direction of a link. A packet joins the queue or is dropped at its tail. It waits for the packets
/// ahead of it, is sent at the rate, travels for the delay plus jitter, and arrives unless it is lost.
#[derive(Debug)]
pub struct Path {
    sender: Sender,
    /// The maximum size of the queue, bytes.
    limit: u64,
    overhead: u64,
    delay: f64,
    jitter_ns: u64,
    jitter: Option<Jitter>,
    losses: Option<Losses>,
    /// When the last packet has left completely, ns.
    free: u64,
    /// When the last packet that was not lost arrives, ns.
    last: u64,
    /// Packets whose last bit has not left yet: when it will leave, ns, and the packet's bytes.
    queue: VecDeque<(u64, u64)>,
    queued: u64,
}

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// The packet arrives.
    Due {
        /// When it arrives, ns.
        at: u64,
        /// How long it waits for the packets ahead of it, ns.
        queued: u64,
    },
    /// The packet is dropped because the queue is full.
    Dropped,
    /// The packet is sent but does not arrive.
    Lost {
        /// How long it waits for the packets ahead of it, ns.
        queued: u64,
    },
}

impl Path {
    /// A direction in which nothing has been sent yet. The seed determines the losses and the jitter.
    pub fn new(direction: &Direction, seed: u64) -> Self {
        let sender = Sender::new(&direction.rate);
        let limit = match direction.queue {
            Queue::Bytes(bytes) => bytes,
            Queue::Time(time) => sender.bytes_in(time),
        };
        let mut path = Self {
            sender,
            limit,
            overhead: u64::from(direction.overhead),
            delay: direction.delay_ns as f64,
            jitter_ns: direction.jitter_ns,
            jitter: None,
            losses: direction.loss.map(|loss| Losses::new(loss, seed)),
            free: 0,
            last: 0,
            queue: VecDeque::new(),
            queued: 0,
        };
        path.restart_jitter(seed);
        path
    }

    /// Restarts the jitter with this seed, from the next packet on. Everything else continues.
    pub fn restart_jitter(&mut self, seed: u64) {
        let jitter = self.jitter_ns;
        self.jitter = (jitter > 0).then(|| Jitter::new(jitter, seed ^ JITTER_SEED));
    }

    /// Whether the delay is too short for the jitter. It would then be cut off at 0, which would change its
    /// mean.
    pub(crate) fn is_cut(&self) -> bool {
        let most = self.jitter.as_ref().map(Jitter::most);
        most.is_some_and(|most| most > self.delay)
    }

    /// Offers an IP packet at `now`, ns, which must not decrease from call to call.
    pub fn offer(&mut self, now: u64, ip_bytes: u64) -> Offered {
        let lost = self.losses.as_mut().is_some_and(Losses::step);
        let bytes = ip_bytes + self.overhead;
        self.leave(now);
        // An empty queue accepts any packet, even one larger than the limit.
        if self.queued > 0 && self.queued + bytes > self.limit {
            return Offered::Dropped;
        }
        let queued = self.free.saturating_sub(now);
        let sent = self.sender.send(now, self.free, bytes);
        self.free = sent;
        if sent > now {
            self.queue.push_back((sent, bytes));
            self.queued += bytes;
        }
        let jitter = self.jitter.as_mut().map_or(0.0, |jitter| jitter.at(sent));
        if lost {
            return Offered::Lost { queued };
        }
        let travel = (self.delay + jitter).max(0.0);
        // When the jitter restarts, it may fall faster than its knots allow, so the order is enforced here.
        self.last = self.last.max(sent + travel as u64);
        Offered::Due {
            at: self.last,
            queued,
        }
    }

    /// Time that the last packet takes to wait and be sent, ns, if the queue is full of packets of `bytes`.
    /// `None` unless the rate is constant.
    pub(crate) fn full_queue(&self, bytes: u64) -> Option<u64> {
        let Sender::Fixed { rate, .. } = self.sender else {
            return None;
        };
        let bytes = bytes + self.overhead;
        let packets = (self.limit / bytes).max(1);
        Some(packets * bytes * 8 * 1_000_000_000 / rate)
    }

    /// Bytes whose last bit has not left by `now`, ns.
    pub fn backlog(&mut self, now: u64) -> u64 {
        self.leave(now);
        self.queued
    }

    fn leave(&mut self, now: u64) {
        while let Some(&(sent, bytes)) = self.queue.front()
            && sent <= now
        {
            self.queue.pop_front();
            self.queued -= bytes;
        }
    }
}

#[cfg(test)]
mod tests;
