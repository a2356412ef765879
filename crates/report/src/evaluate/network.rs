//! Computes how long calls would take over other networks (docs/map.md).

use std::time::Duration;

use rpcgauge_model::{CallTime, Connection, Network};
use rpcgauge_study::link;
use rpcgauge_study::settings::{ConnectionUse, Schedule, SubjectCall, Transport};

use crate::findings::Figures;
use crate::findings::network::{ComputedTimes, NetworkFindings, PaysBelow};
use crate::findings::verdict::Estimate;

/// The networks that times are computed for: their names, and their values in the notation of `--link`.
const NETWORKS: [(&str, &str); 4] = [
    ("data center", "rate=10Gbit/s+delay=100us"),
    ("cross-zone", "rate=1Gbit/s+delay=500us"),
    ("WLAN", "wlan"),
    ("4G", "rate=20Mbit/s+delay=25ms"),
];

/// A variant whose calls can be computed.
pub(super) struct Computable<'f> {
    name: &'f str,
    tls: bool,
    latency: f64,
    /// Bytes per call to the server and from it.
    bytes: [f64; 2],
}

impl<'f> Computable<'f> {
    /// `None` for calls whose time over a network does not follow from their time over loopback and their bytes: streams,
    /// several calls in flight, Unix sockets, connections for each call, and those that were measured over a link.
    pub(super) fn new(name: &'f str, call: &SubjectCall, figures: &Figures) -> Option<Self> {
        let options = &call.options;
        let follows = call.stream.is_none()
            && call.link.is_none()
            && call.transport == Transport::Tcp
            && options.connection == ConnectionUse::Reuse
            && options.schedule == Schedule::Closed { in_flight: 1 };
        // A client of a subject does not count headers, which are a few packets at most.
        let bodies = || {
            Some([
                figures.payload.request_compressed?,
                figures.payload.response_compressed?,
            ])
        };
        let counted = figures
            .bytes
            .map(|bytes| [bytes.sent.total(), bytes.received.total()]);
        Some(Self {
            name,
            tls: call.tls,
            latency: figures.latency.as_ref()?.p50_ns,
            bytes: counted.or_else(bodies)?,
        })
        .filter(|_| follows)
    }

    fn times(&self, network: &Network) -> ComputedTimes {
        let [request, response] = self.bytes.map(|bytes| bytes.round() as u64);
        let time = |connection| network.call(connection, request, response);
        let ns = |added: Duration| self.latency + added.as_nanos() as f64;
        let CallTime {
            time: opened,
            overflows,
        } = time(Connection::New { tls: self.tls });
        ComputedTimes {
            variant: self.name.to_owned(),
            kept_ns: ns(time(Connection::Kept).time),
            new_ns: (!overflows).then(|| ns(opened)),
        }
    }

    /// Below which rate it takes less time than `choice`. `ratio` is that of its latency to the choice's.
    pub(super) fn pays_below(&self, choice: &Self, ratio: Option<&Estimate>) -> Option<PaysBelow> {
        let all = |of: &Self| of.bytes.iter().sum::<f64>();
        let bits = (all(choice) - all(self)) * 8.0;
        // Over a connection that is kept, both pay the same delays, so only the bytes that one does not send differ.
        let rate =
            |ratio: f64| (ratio > 1.0).then(|| bits * 1e9 / (choice.latency * (ratio - 1.0)));
        let interval = ratio?.interval;
        (bits > 0.0).then(|| PaysBelow {
            variant: self.name.to_owned(),
            rate: rate(self.latency / choice.latency),
            interval: interval.and_then(|[low, high]| Some((rate(high)?, rate(low)))),
        })
    }
}

/// The times of variants over [`NETWORKS`].
pub(super) fn networks(variants: &[Computable<'_>]) -> Vec<NetworkFindings> {
    let links = NETWORKS.into_iter();
    let findings = links.filter_map(|(name, link)| {
        let link = link::named(link).ok()??;
        let network = Network::new(&link.terms).ok()?;
        Some(NetworkFindings {
            name: name.to_owned(),
            bits_per_second: network.bits_per_second()?,
            round_trip_ns: link.terms.round_trip().as_nanos() as u64,
            variants: variants.iter().map(|one| one.times(&network)).collect(),
            link: link.name,
        })
    });
    findings.filter(|one| one.variants.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_can_be_computed() {
        let computable = |name| Computable {
            name,
            tls: false,
            latency: 1e5,
            bytes: [100.0, 1_000.0],
        };
        let networks = networks(&[computable("a"), computable("b")]);
        assert_eq!(networks.len(), NETWORKS.len());
        let far = &networks[3];
        assert_eq!(
            (far.bits_per_second, far.round_trip_ns),
            (20_000_000, 50_000_000)
        );
        let [a, _] = &far.variants[..] else {
            panic!("one for each variant");
        };
        // 100 µs, 50 ms, and 1,100 bytes with two headers of 52 bytes at 20 Mbit/s.
        assert_eq!(a.kept_ns.round(), 50_581_600.0);
        assert!(a.new_ns.is_some_and(|ns| ns > 100_000_000.0), "{a:?}");
    }

    #[test]
    fn fewer_bytes_pay_below_the_rate_that_makes_up_for_the_time() {
        let computable = |name, latency, response| Computable {
            name,
            tls: false,
            latency,
            bytes: [100.0, response],
        };
        let plain = computable("plain", 1e6, 20_100.0);
        let gzip = computable("gzip", 2e6, 7_600.0);
        let estimate = |interval| Estimate {
            ratio: 2.0,
            interval,
            confidence: 0.95,
            invocations: 5,
            blocks: 5,
        };
        let pays = |one: &Computable<'_>, of: &Computable<'_>, interval| {
            let below = one.pays_below(of, Some(&estimate(interval)))?;
            Some((below.rate?, below.interval))
        };
        // 12,500 bytes fewer in 1 ms more.
        let both_ends = pays(&gzip, &plain, Some([1.5, 3.0]));
        assert_eq!(both_ends, Some((1e8, Some((5e7, Some(2e8))))));
        let one_end = pays(&gzip, &plain, Some([0.9, 3.0]));
        assert_eq!(one_end, Some((1e8, Some((5e7, None)))));
        assert_eq!(pays(&gzip, &plain, None), Some((1e8, None)));
        assert_eq!(pays(&plain, &gzip, None), None, "it moves more bytes");
    }
}
