//! What a link did while a trial was measured.

use serde::{Deserialize, Serialize};

use crate::is_default;

/// A link was not held if the 99th percentile of its packets' lateness is above this, in ns.
pub const MAX_LATENESS_NS: u64 = 100_000;

/// A link was not held if its calibrated round trip differs from the configured one by more than
/// this, in ns.
pub const MAX_OFF_NS: u64 = 100_000;

/// What a link did while a trial was measured, and how well it kept to its settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkCounts {
    /// From the client to the server.
    pub up: DirectionCounts,
    /// From the server to the client.
    pub down: DirectionCounts,
    /// How late packets left the emulator, in both directions.
    pub lateness: Lateness,
    /// Packets dropped outside the emulated queues: by a device, or for lack of memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub foreign_drops: u64,
    /// TCP segments retransmitted by either end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retransmits: u64,
    /// How long the link's thread waited for a core, in ns; 0 if the kernel does not report it.
    /// Packets that arrive in the meantime are read late, which their lateness does not include.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waited_ns: u64,
    /// CPU time of the link's thread, in ns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cpu_ns: u64,
    /// The time in which it used that CPU time, in ns: the slices of the trial. 0 if unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub over_ns: u64,
    /// The calibration when the link was set up.
    pub calibration: Calibration,
}

/// What one direction of a link did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionCounts {
    /// Packets that were offered.
    pub packets: u64,
    /// Their size in bytes, including IP headers.
    pub bytes: u64,
    /// Packets that were lost on purpose, as configured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: u64,
    /// Packets that were dropped at the tail of the queue.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: u64,
    /// Total time that packets waited in the queue behind others, in ns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queued_ns: u64,
}

impl DirectionCounts {
    /// Packets that entered, and therefore left, the queue.
    pub fn queued(&self) -> u64 {
        self.packets.saturating_sub(self.dropped)
    }
}

/// How late packets left the emulator, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The maximum.
    pub max_ns: u64,
}

/// Round trips of probes over the idle link, in ns, from just before a probe is sent until the
/// kernel has received it, for both directions together. They do not include a program's wake-up,
/// serialization, jitter or loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What the machine itself adds to the upstream direction, measured at the configured delay.
    /// The delay is reduced by this, but not below 0.
    pub base_up_ns: u64,
    /// The same for the downstream direction.
    pub base_down_ns: u64,
    /// The configured round trip: the sum of both delays.
    pub set_ns: u64,
    /// The median round trip with the reduced delays.
    pub median_ns: u64,
    /// The maximum round trip.
    pub worst_ns: u64,
}

impl Calibration {
    /// What the machine itself adds to a round trip, in ns.
    pub fn base_ns(&self) -> u64 {
        self.base_up_ns.saturating_add(self.base_down_ns)
    }

    /// The difference between the median and the configured round trip, in ns.
    pub fn off_ns(&self) -> u64 {
        self.median_ns.abs_diff(self.set_ns)
    }
}

impl LinkCounts {
    /// The share of a core that the link's thread used; `None` if unknown.
    pub fn core_share(&self) -> Option<f64> {
        (self.over_ns > 0).then(|| self.cpu_ns as f64 / self.over_ns as f64)
    }

    /// Whether the link kept to its settings. A trial over a link that did not is not used for a
    /// verdict.
    pub fn is_held(&self) -> bool {
        self.is_held_for_most() && self.lateness.p99_ns <= MAX_LATENESS_NS
    }

    /// Whether the link kept to its settings, except for a minority of packets that were late. They hardly move the
    /// median of a few calls, but could be all of a difference that a verdict is about.
    pub fn is_held_for_most(&self) -> bool {
        // A packet is timed from when the thread reads it, so its lateness does not include the
        // time that the thread waited for its core.
        let packets = self.up.packets.saturating_add(self.down.packets);
        self.lateness.p50_ns <= MAX_LATENESS_NS
            && self.waited_ns <= packets.saturating_mul(MAX_LATENESS_NS)
            && self.foreign_drops == 0
            && self.calibration.off_ns() <= MAX_OFF_NS
    }
}
