//! Checks how accurately this machine emulates a link: its rate, delay, queue and loss.

use std::time::Duration;

use rpcgauge_trial::{
    Calibration, Congestion, DEFAULT_MTU, Direction, Link, LinkCounts, LinkRate, Loss,
    MAX_LATENESS_NS, MAX_OFF_NS, Queue,
};

use crate::calibrate::{Probes, quantile};
use crate::error::LinkError;
use crate::load::{End, Load, measured_rate};
use crate::network::{Network, Options};
use crate::path::Path;
use crate::priority::Priority;

/// A flood's rate as a multiple of the link's.
const OVERLOAD: f64 = 1.25;
/// Minimum duration of a flood, and the minimum number of packets that the link sends during it.
const FLOOD: Duration = Duration::from_millis(400);
const FLOOD_PACKETS: u32 = 20;
/// Size of the IPv4 and UDP headers, bytes.
const HEADERS: usize = 28;
/// Number of packets used to measure loss, and the maximum time spent on them.
const LOSS_PACKETS: u32 = 2_000;
const LOSS_TIME: Duration = Duration::from_secs(3);
/// How long to wait for another packet, in addition to the delay.
const PATIENCE: Duration = Duration::from_millis(300);
/// Rates to try (packets per second), the size of each packet (bytes), and the duration of each attempt.
const PACES: [u32; 6] = [10_000, 25_000, 50_000, 100_000, 150_000, 200_000];
const PACE_BYTES: usize = 200;
const PACE_TIME: Duration = Duration::from_millis(400);
/// Number of attempts before a rate is considered too fast.
const PACE_ATTEMPTS: u32 = 3;
/// The two-sided 99% quantile of the standard normal distribution.
const Z: f64 = 2.576;

/// The results of a link check.
#[derive(Debug, Clone, Copy)]
pub struct Checked {
    /// The round trip of probes.
    pub calibration: Calibration,
    /// The priority of the link's thread.
    pub priority: Priority,
    /// A flood of full-size packets from the client to the server.
    pub up: Flood,
    /// A flood of full-size packets from the server to the client.
    pub down: Flood,
}

/// The results of sending more packets than a direction can carry.
#[derive(Debug, Clone, Copy)]
pub struct Flood {
    /// Rate in bit/s, IP packets plus overhead: configured and measured. `None` unless the rate is constant.
    pub rate: Option<(u64, f64)>,
    /// Time that the last packet of a full queue takes to wait and be sent, ns: configured and measured. The
    /// measured value is the 90th percentile, which a busy machine disturbs less than the maximum.
    pub queue: Option<(u64, u64)>,
    /// Losses, if the direction is configured to lose packets.
    pub loss: Option<Lost>,
    /// What the link counted during the flood.
    pub counts: LinkCounts,
    /// Whether the queue filled up. A machine without enough CPU time cannot fill it.
    is_full: bool,
}

/// Packets lost in one direction.
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    /// The configured loss.
    pub set: Loss,
    /// Packets offered to the direction.
    pub offered: u64,
    /// How many of the offered packets were lost.
    pub lost: u64,
}

impl Checked {
    /// Briefly describes each setting that this machine did not meet.
    pub fn not_held(&self) -> Vec<String> {
        let mut found = Vec::new();
        let off = self.calibration.off_ns();
        if off > MAX_OFF_NS {
            found.push(format!("its round trip is {} µs off", off / 1_000));
        }
        for (name, way) in [("up", &self.up), ("down", &self.down)] {
            found.extend(
                way.not_held()
                    .into_iter()
                    .map(|what| format!("{name}: {what}")),
            );
        }
        found
    }
}

impl Flood {
    fn not_held(&self) -> Vec<String> {
        let mut found = Vec::new();
        let off = |set: u64, measured: f64| (measured / set as f64 - 1.0) * 100.0;
        if self.rate.is_some() && !self.is_full {
            return vec!["this machine did not send as fast as the link".to_owned()];
        }
        if let Some((set, measured)) = self.rate {
            let allowed = if set < 500_000_000 { 0.5 } else { 2.0 };
            let off = off(set, measured);
            if off.abs() > allowed {
                found.push(format!("its rate is {off:+.1}% off"));
            }
        }
        if let Some((set, measured)) = self.queue {
            let off = off(set, measured as f64);
            if off.abs() > 2.0 && measured.abs_diff(set) > 2 * MAX_LATENESS_NS {
                found.push(format!("the delay of its full queue is {off:+.1}% off"));
            }
        }
        if let Some(it) = self.loss.filter(|it| !it.is_as_set()) {
            found.push(format!("it lost {} of {} packets", it.lost, it.offered));
        }
        let late = self.counts.lateness.p99_ns;
        if late > MAX_LATENESS_NS {
            found.push(format!("packets are {} µs late (p99)", late / 1_000));
        }
        if self.counts.foreign_drops > 0 {
            found.push(format!(
                "{} packets were dropped outside the queue",
                self.counts.foreign_drops
            ));
        }
        found
    }
}

impl Lost {
    /// Whether the losses are within the 99% interval of the configured loss. Bursts widen the interval
    /// because their losses are correlated. Returns false if no packet was offered.
    pub fn is_as_set(&self) -> bool {
        let Loss { part, burst } = self.set;
        let kept = 1.0 - 1.0 / ((1.0 - part) * burst);
        let offered = self.offered as f64;
        let variance = part * (1.0 - part) * offered * (1.0 + kept) / (1.0 - kept);
        self.offered > 0 && (self.lost as f64 - part * offered).abs() <= Z * variance.sqrt() + 0.5
    }
}

/// Measures a link. Rate and queue are measured first, without jitter and loss, which would disturb them.
///
/// # Errors
/// The same as [`Network::open`].
pub fn check(link: &Link, options: &Options) -> Result<Checked, LinkError> {
    let mut steady = link.clone();
    for way in [&mut steady.up, &mut steady.down] {
        (way.jitter_ns, way.loss) = (0, None);
    }
    let network = Network::open(&steady, options)?;
    let probes = Probes::open(network.client(), network.server())?;
    let [client, server] = ends(&probes, options);
    let bytes = link.mtu as usize - HEADERS;
    let mut up = flood(&network, &steady.up, bytes, client, server)?;
    let mut down = flood(&network, &steady.down, bytes, server, client)?;
    network.change(link, options.seed)?;
    for (found, way, from, to) in [
        (&mut up, &link.up, client, server),
        (&mut down, &link.down, server, client),
    ] {
        if let Some(loss) = way.loss {
            found.loss = Some(lose(&network, way, loss, from, to)?);
        }
    }
    Ok(Checked {
        calibration: network.calibration(),
        priority: network.priority(),
        up,
        down,
    })
}

fn ends<'a>(probes: &'a Probes, options: &'a Options) -> [End<'a>; 2] {
    let end = |socket, cores| End { socket, cores };
    [
        end(&probes.client, &options.client_cores),
        end(&probes.server, &options.server_cores),
    ]
}

/// The highest of the tested rates, in 200-byte packets per second, at which a link adds at most 0.1 ms to
/// the delay (p99) of packets from the server. `None` if it adds more at all of them.
///
/// # Errors
/// The same as [`Network::open`].
pub fn highest_pace(options: &Options) -> Result<Option<u32>, LinkError> {
    let paces = Paces::open(DEFAULT_MTU, options)?;
    let mut highest = None;
    for pace in PACES {
        // No early exit: a passing disturbance may fail a lower rate.
        if paces.is_held(pace, PACE_BYTES, options)? {
            highest = Some(pace);
        }
    }
    Ok(highest)
}

/// Checks whether this machine is too slow for a link's rate. If it adds more than 0.1 ms to the delay of
/// full-size packets, returns that rate in packets per second; otherwise returns `None`. Low rates are not
/// tested, since any machine keeps up with them.
///
/// # Errors
/// The same as [`Network::open`].
pub fn too_fast(link: &Link, options: &Options) -> Result<Option<u32>, LinkError> {
    let pace = |way: &Direction| match way.rate {
        LinkRate::BitsPerSecond(bits) => bits / 8 / u64::from(link.mtu + way.overhead),
        LinkRate::Unlimited | LinkRate::Trace(_) => 0,
    };
    let pace = pace(&link.up).max(pace(&link.down)) as u32;
    if pace <= PACES[0] {
        return Ok(None);
    }
    let bytes = link.mtu as usize - HEADERS;
    let paces = Paces::open(link.mtu, options)?;
    // A single attempt may fail because of a passing disturbance.
    for _ in 0..PACE_ATTEMPTS {
        if paces.is_held(pace, bytes, options)? {
            return Ok(None);
        }
    }
    Ok(Some(pace))
}

/// A link with a delay and no other impairment, for sending packets at a given rate.
struct Paces {
    probes: Probes,
    _network: Network,
}

impl Paces {
    const DELAY_NS: u64 = 500_000;

    fn open(mtu: u32, options: &Options) -> Result<Self, LinkError> {
        let way = Direction {
            rate: LinkRate::Unlimited,
            delay_ns: Self::DELAY_NS,
            jitter_ns: 0,
            loss: None,
            queue: Queue::Bytes(1 << 20),
            overhead: 0,
        };
        let link = Link {
            up: way.clone(),
            down: way,
            mtu,
            congestion: Congestion::default(),
            slow_start_after_idle: false,
            initial_window: None,
        };
        let network = Network::open(&link, options)?;
        let probes = Probes::open(network.client(), network.server())?;
        Ok(Self {
            probes,
            _network: network,
        })
    }

    /// Whether all packets arrive at this rate, 99% of them on time.
    fn is_held(&self, pace: u32, bytes: usize, options: &Options) -> Result<bool, LinkError> {
        let load = Load {
            bytes,
            at_once: 0,
            pace: f64::from(pace),
            time: PACE_TIME,
            patience: PATIENCE,
        };
        // Packets go from the server to the client. If they were sent from the client's core, each would make
        // the link's thread preempt the sender.
        let [client, server] = ends(&self.probes, options);
        let (sent, arrivals) = load.send(server, client)?;
        let added = arrivals
            .iter()
            .map(|it| it.took.saturating_sub(Self::DELAY_NS));
        // If the machine cannot send this fast, the result is not about the link.
        let reached = f64::from(sent) > 0.98 * f64::from(pace) * PACE_TIME.as_secs_f64();
        let all_arrived = arrivals.len() == sent as usize;
        let late = quantile(&mut added.collect::<Vec<_>>(), 99);
        Ok(reached && all_arrived && late <= MAX_LATENESS_NS)
    }
}

fn flood(
    network: &Network,
    way: &Direction,
    bytes: usize,
    from: End<'_>,
    to: End<'_>,
) -> Result<Flood, LinkError> {
    let before = network.counts()?;
    let on_link = (bytes + HEADERS) as u64 + u64::from(way.overhead);
    let full = Path::new(way, 0).full_queue((bytes + HEADERS) as u64);
    let mut found = Flood {
        rate: None,
        queue: None,
        loss: None,
        counts: LinkCounts::default(),
        is_full: false,
    };
    if let (&LinkRate::BitsPerSecond(rate), Some(full)) = (&way.rate, full) {
        let packet = Duration::from_secs_f64(on_link as f64 * 8.0 / rate as f64);
        let load = Load {
            bytes,
            at_once: (full as f64 / packet.as_nanos() as f64) as u32,
            pace: OVERLOAD / packet.as_secs_f64(),
            time: FLOOD.max(packet * FLOOD_PACKETS),
            patience: Duration::from_nanos(way.delay_ns) + Duration::from_nanos(full) + PATIENCE,
        };
        let (_, arrivals) = load.send(from, to)?;
        let measured = measured_rate(&arrivals, way.delay_ns, packet, on_link);
        found.rate = Some((rate, measured));
        let waits = arrivals
            .iter()
            .map(|it| it.took.saturating_sub(way.delay_ns));
        found.queue = Some((full, quantile(&mut waits.collect::<Vec<_>>(), 90)));
    }
    found.counts = network.counts()?.since(&before);
    found.is_full = found.counts.up.dropped + found.counts.down.dropped > 0;
    Ok(found)
}

fn lose(
    network: &Network,
    way: &Direction,
    set: Loss,
    from: End<'_>,
    to: End<'_>,
) -> Result<Lost, LinkError> {
    let pace = loss_pace(way);
    let time = Duration::from_secs_f64(f64::from(LOSS_PACKETS) / pace);
    let load = Load {
        bytes: 12,
        at_once: 0,
        pace,
        time: time.min(LOSS_TIME),
        patience: Duration::from_nanos(way.delay_ns) + PATIENCE,
    };
    let before = network.counts()?;
    load.send(from, to)?;
    let LinkCounts { up, down, .. } = network.counts()?.since(&before);
    Ok(Lost {
        set,
        // The other direction is idle, so the sum is this direction's count.
        offered: up.packets + down.packets,
        lost: up.lost + down.lost,
    })
}

/// A rate of small packets that this direction and any machine can handle.
fn loss_pace(way: &Direction) -> f64 {
    let on_link = f64::from(40 + way.overhead) * 8.0;
    match way.rate {
        LinkRate::BitsPerSecond(rate) => (0.8 * rate as f64 / on_link).min(4_000.0),
        _ => 1_000.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flood_of(rate: Option<(u64, f64)>, is_full: bool) -> Flood {
        Flood {
            rate,
            queue: None,
            loss: None,
            counts: LinkCounts::default(),
            is_full,
        }
    }

    #[test]
    fn silence_is_no_success() {
        let (rate, packet) = (1_000_000, Duration::from_millis(1));
        let silent = measured_rate(&[], 0, packet, 125);
        for (measured, is_full, said) in [
            (1e6, true, None),
            (1e6, false, Some("did not send as fast as the link")),
            (silent, true, Some("its rate is -100.0% off")),
            (silent, false, Some("did not send as fast as the link")),
        ] {
            let found = flood_of(Some((rate, measured)), is_full).not_held();
            assert_eq!(found.len(), usize::from(said.is_some()), "{found:?}");
            assert!(
                found.iter().all(|it| it.contains(said.unwrap())),
                "{found:?}"
            );
        }
        let set = Loss {
            part: 0.01,
            burst: 1.0,
        };
        for (offered, lost, is_as_set) in [(2_000, 20, true), (2_000, 0, false), (0, 0, false)] {
            let lost = Lost { set, offered, lost };
            assert_eq!(lost.is_as_set(), is_as_set, "{lost:?}");
        }
    }

    #[test]
    fn a_round_trip_is_held_as_in_a_trial() {
        let flood = flood_of(None, false);
        for median_ns in [900_001, 900_000 + MAX_OFF_NS, 900_001 + MAX_OFF_NS] {
            let calibration = Calibration {
                set_ns: 900_000,
                median_ns,
                ..Calibration::default()
            };
            let checked = Checked {
                calibration,
                priority: Priority::Normal,
                up: flood,
                down: flood,
            };
            let trial = LinkCounts {
                calibration,
                ..LinkCounts::default()
            };
            assert_eq!(checked.not_held().is_empty(), trial.is_held());
        }
    }
}
