//! The preset links. docs/link.md explains their sources.

use std::time::Duration;

use rpcgauge_trial::{Congestion, DEFAULT_MTU, Direction, Link, LinkRate, Loss, Queue};

use super::usual_queue;

/// The link name for calls without an emulated link.
pub const LOOPBACK: &str = "loopback";

/// A link with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// A description in a few words.
    pub says: &'static str,
    /// The source of its figures, with their date if known.
    pub source: &'static str,
    /// From the client to the server.
    up: Figures,
    /// From the server to the client.
    down: Figures,
}

/// The figures of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    bits_per_second: u64,
    delay: Duration,
    jitter: Duration,
    loss: f64,
    /// The length of its queue as time; `None` for the default.
    queue: Option<Duration>,
    overhead: u32,
}

const fn figures(bits_per_second: u64, delay: Duration) -> Figures {
    Figures {
        bits_per_second,
        delay,
        jitter: Duration::ZERO,
        loss: 0.0,
        queue: None,
        overhead: 0,
    }
}

const KBIT: u64 = 1_000;
const MBIT: u64 = 1_000 * KBIT;
const GBIT: u64 = 1_000 * MBIT;
/// Ethernet's overhead per packet: preamble 8, header 14, check sequence 4, gap 12 bytes (IEEE 802.3).
const ETHERNET_OVERHEAD: u32 = 38;
/// Cellular networks have deep queues (bufferbloat).
const CELLULAR_QUEUE: Option<Duration> = Some(Duration::from_millis(200));

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const LAN: Figures = Figures {
    overhead: ETHERNET_OVERHEAD,
    ..figures(GBIT, us(100))
};
const LTE: Figures = Figures {
    jitter: ms(5),
    queue: CELLULAR_QUEUE,
    ..figures(30 * MBIT, ms(25))
};
const FIVE_G: Figures = Figures {
    queue: CELLULAR_QUEUE,
    ..figures(150 * MBIT, ms(15))
};
const LEO: Figures = Figures {
    jitter: ms(5),
    ..figures(100 * MBIT, us(22_500))
};
const EDGE: Figures = Figures {
    jitter: ms(50),
    loss: 0.01,
    queue: Some(ms(1_000)),
    ..figures(200 * KBIT, ms(325))
};

/// All preset links, fastest first. Loopback is not among them.
pub const PRESETS: [Preset; 9] = [
    Preset {
        name: "lan-1g",
        says: "a switched 1 Gbit/s Ethernet",
        source: "IEEE 802.3: 38 bytes of framing per packet; round trips in a machine room are of this order",
        up: LAN,
        down: LAN,
    },
    Preset {
        name: "same-zone",
        says: "two virtual machines in one cloud zone",
        source: "xkyle.com on AWS (2020): from 0.25 ms; simonpainter.com on Azure: 0.9 ms with small machines",
        up: figures(GBIT, us(250)),
        down: figures(GBIT, us(250)),
    },
    Preset {
        name: "cross-zone",
        says: "two zones of one cloud region",
        source: "simonpainter.com on Azure: 1.55 ms; xkyle.com on AWS (2020): up to 3.4 ms",
        up: figures(GBIT, us(750)),
        down: figures(GBIT, us(750)),
    },
    Preset {
        name: "wlan",
        says: "a wired link with the rate and delay of a wireless LAN",
        source: "the publication that the gzip study tests: 100 Mbit/s, 1.8 ms",
        up: figures(100 * MBIT, us(900)),
        down: figures(100 * MBIT, us(900)),
    },
    Preset {
        name: "5g",
        says: "a wired link with the rate and delay of a 5G phone",
        source: "Ookla, world median of the third quarter of 2021: 166 Mbit/s down, 21 up; Rohde & Schwarz in Munich: 25 ms",
        up: Figures {
            bits_per_second: 20 * MBIT,
            ..FIVE_G
        },
        down: FIVE_G,
    },
    Preset {
        name: "lte",
        says: "a wired link with the rate and delay of an LTE phone",
        source: "Loadero's network conditions, 4G: 45 ms, jitter 5 to 15 ms; str0m-netem, cellular: 50 ms, 30 Mbit/s",
        up: Figures {
            bits_per_second: 10 * MBIT,
            ..LTE
        },
        down: LTE,
    },
    Preset {
        name: "wan-eu-us",
        says: "a route between data centers in Frankfurt and Virginia",
        source: "public ping tables of cloud regions: 80 to 95 ms; the rate is one that a single machine can emulate",
        up: figures(GBIT, ms(45)),
        down: figures(GBIT, ms(45)),
    },
    Preset {
        name: "satellite-leo",
        says: "a wired link with the rate and delay of a satellite in low orbit",
        source: "Ookla on Starlink in the USA (2025): median 105 Mbit/s, 45 ms; in Maine (2024): 18 Mbit/s up, 37 to 72 ms",
        up: Figures {
            bits_per_second: 15 * MBIT,
            ..LEO
        },
        down: LEO,
    },
    Preset {
        name: "edge-3g",
        says: "a wired link with the rate and delay of a phone on EDGE",
        source: "Loadero's network conditions, Edge: 200 kbit/s down, 260 up, 650 ms, jitter 100 ms, loss 1%",
        up: Figures {
            bits_per_second: 260 * KBIT,
            ..EDGE
        },
        down: EDGE,
    },
];

impl Preset {
    /// Its values as a link.
    pub fn terms(&self) -> Link {
        Link {
            up: self.up.direction(),
            down: self.down.direction(),
            mtu: DEFAULT_MTU,
            congestion: Congestion::Cubic,
            slow_start_after_idle: false,
            initial_window: None,
        }
    }

    /// Whether it sets its own queues instead of the defaults for its rates.
    pub(super) fn has_queues(&self) -> bool {
        self.up.queue.is_some()
    }
}

impl Figures {
    fn direction(&self) -> Direction {
        let rate = LinkRate::BitsPerSecond(self.bits_per_second);
        let ns = |time: Duration| time.as_nanos() as u64;
        Direction {
            queue: match self.queue {
                Some(time) => Queue::Time(ns(time)),
                None => usual_queue(&rate),
            },
            rate,
            delay_ns: ns(self.delay),
            jitter_ns: ns(self.jitter),
            loss: (self.loss > 0.0).then(|| Loss::independent(self.loss)),
            overhead: self.overhead,
        }
    }
}
