//! What a link did while a trial was measured.

use serde::{Deserialize, Serialize};

use crate::is_default;

/// A link whose packets left later than this at the 99th percentile was not held, ns.
pub const MAX_LATENESS_NS: u64 = 100_000;

/// A link whose calibrated round trip differs by more than this from the set one was not held, ns.
pub const MAX_OFF_NS: u64 = 100_000;

/// What a link did while a trial was measured, and how well it held its settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkCounts {
    /// From the client to the server.
    pub up: DirectionCounts,
    /// From the server to the client.
    pub down: DirectionCounts,
    /// How much later than due packets left the emulator, both directions.
    pub lateness: Lateness,
    /// Packets that were dropped outside the emulated queues: at a device, or for lack of memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub foreign_drops: u64,
    /// Segments that both ends sent again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retransmits: u64,
    /// How long the link's thread was ready to run and had no core, ns; 0 where the kernel does not count it. A packet
    /// that arrives meanwhile is read late, and its lateness does not show that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waited_ns: u64,
    /// The CPU time of the link's thread, ns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cpu_ns: u64,
    /// The time in which it used that, ns: the slices of the trial. 0 where that is not known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub over_ns: u64,
    /// What calibration found when the link was made.
    pub calibration: Calibration,
}

/// What one direction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionCounts {
    /// Packets that were offered.
    pub packets: u64,
    /// Their size, bytes of IP.
    pub bytes: u64,
    /// How many were lost, as set.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: u64,
    /// How many were dropped at the tail of the queue.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: u64,
    /// Time that packets waited in the queue for others, all together, ns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queued_ns: u64,
}

impl DirectionCounts {
    /// Packets that found room in the queue: those that waited, and left it.
    pub fn queued(&self) -> u64 {
        self.packets.saturating_sub(self.dropped)
    }
}

/// How much later than due packets left, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The worst.
    pub max_ns: u64,
}

/// Round trips of probes over the link, before anything else was on it, ns: from before a probe is sent until the
/// kernel has received it, up and down together. They include no wake-up of a program, no serialisation, jitter or loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What the machine itself adds to the way up, measured at the set delay. The delay is shortened by it, to 0 at
    /// least.
    pub base_up_ns: u64,
    /// The same for the way down.
    pub base_down_ns: u64,
    /// The round trip that is set: both delays.
    pub set_ns: u64,
    /// The median round trip after that.
    pub median_ns: u64,
    /// The worst of them.
    pub worst_ns: u64,
}

impl Calibration {
    /// What the machine itself adds to a round trip, ns.
    pub fn base_ns(&self) -> u64 {
        self.base_up_ns.saturating_add(self.base_down_ns)
    }

    /// How far the median round trip is from the set one, ns.
    pub fn off_ns(&self) -> u64 {
        self.median_ns.abs_diff(self.set_ns)
    }
}

impl LinkCounts {
    /// The share of a core that the link's thread used, where it is known.
    pub fn core_share(&self) -> Option<f64> {
        (self.over_ns > 0).then(|| self.cpu_ns as f64 / self.over_ns as f64)
    }

    /// Whether the link did what it was set to: a trial over a link that was not held gives no verdict.
    pub fn is_held(&self) -> bool {
        // A packet is timed from when the thread reads it: how long the thread waited for its core is in no
        // packet's lateness.
        let packets = self.up.packets.saturating_add(self.down.packets);
        self.lateness.p99_ns <= MAX_LATENESS_NS
            && self.waited_ns <= packets.saturating_mul(MAX_LATENESS_NS)
            && self.foreign_drops == 0
            && self.calibration.off_ns() <= MAX_OFF_NS
    }
}
