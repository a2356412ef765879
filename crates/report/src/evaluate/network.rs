//! Computes how long calls would take over other networks (docs/map.md).

use rpcgauge_model::{Connection, Network, packet_bytes};
use rpcgauge_study::link;
use rpcgauge_study::settings::{ConnectionUse, HttpVersion, Schedule, SubjectCall, Transport};

use crate::findings::Figures;
use crate::findings::map::MappedConnection;
use crate::findings::network::{ComputedTimes, NetworkFindings};
use crate::findings::verdict::Estimate;

/// The networks that times are computed for: their names, and their values in the notation of `--link`.
const NETWORKS: [(&str, &str); 4] = [
    ("data center", "rate=10Gbit/s+delay=100us"),
    ("cross-zone", "cross-zone"),
    ("WLAN", "wlan"),
    ("4G", "rate=20Mbit/s+delay=25ms+queue=200ms"),
];

/// The largest message that is computed, bytes: more than any that is measured. A damaged record may contain any numbers.
const MAX_BYTES: f64 = 1e9;

/// The lowest rate below which a variant pays that is worth a sentence, bit/s.
const MIN_RATE: f64 = 1e5;

/// A rate and its interval, as in [`crate::findings::network::Turn`].
pub(super) type Rates = (f64, Option<(f64, Option<f64>)>);

/// A variant whose calls can be computed.
pub(super) struct Computable<'f> {
    name: &'f str,
    tls: bool,
    http2: bool,
    latency: f64,
    /// Bytes per call to the server and from it.
    bytes: [u64; 2],
    /// Whether these are all bytes on the connection. A client of a subject counts only bodies.
    counts_headers: bool,
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
        let bodies = || {
            let payload = &figures.payload;
            Some([payload.request_compressed?, payload.response_compressed?])
        };
        let counted = figures
            .bytes
            .map(|bytes| [bytes.sent.total(), bytes.received.total()]);
        let bytes = counted.or_else(bodies)?;
        let is_bounded = bytes.iter().all(|bytes| (0.0..MAX_BYTES).contains(bytes));
        Some(Self {
            name,
            tls: call.tls,
            http2: call.wire.http() == HttpVersion::Http2,
            latency: figures.latency.as_ref()?.p50_ns,
            bytes: bytes.map(|bytes| bytes.round() as u64),
            counts_headers: counted.is_some(),
        })
        .filter(|_| follows && is_bounded)
    }

    /// The same calls with a message of a size between those of `self` and `larger`, at this part of the way.
    pub(super) fn toward(&self, larger: &Self, part: f64) -> Self {
        let between = |small: f64, large: f64| small + (large - small) * part;
        let [request, response] = [0, 1].map(|side| {
            let [small, large] = [self, larger].map(|one| one.bytes[side] as f64);
            between(small, large).round() as u64
        });
        Self {
            latency: between(self.latency, larger.latency),
            bytes: [request, response],
            ..*self
        }
    }

    /// Whether its bytes are all that are on the connection, and not only bodies.
    pub(super) fn counts_headers(&self) -> bool {
        self.counts_headers
    }

    /// The median time of a call over loopback, ns.
    pub(super) fn loopback(&self) -> f64 {
        self.latency
    }

    /// A connection for such calls.
    pub(super) fn connection(&self, kind: MappedConnection) -> Connection {
        match kind {
            MappedConnection::Kept => Connection::Kept,
            MappedConnection::Idle => Connection::Idle,
            MappedConnection::New => Connection::New {
                tls: self.tls,
                http2: self.http2,
            },
        }
    }

    /// The median time of a call over a network, ns; `None` if its bytes do not fit into the network's queue.
    pub(super) fn time(&self, network: &Network, connection: Connection) -> Option<f64> {
        let [request, response] = self.bytes;
        let added = network.call(connection, request, response);
        (!added.overflows).then_some(self.latency + added.time.as_nanos() as f64)
    }

    fn times(&self, network: &Network) -> ComputedTimes {
        ComputedTimes {
            variant: self.name.to_owned(),
            kept_ns: self.time(network, Connection::Kept),
            new_ns: self.time(network, self.connection(MappedConnection::New)),
        }
    }

    /// Below which rate it takes less time than `other`; `None` unless it is slower over loopback and moves fewer bytes.
    /// `ratio` is that of its latency to the other one's.
    pub(super) fn pays_below(&self, other: &Self, ratio: &Estimate) -> Option<Rates> {
        let bytes = |of: &Self| of.bytes.map(packet_bytes).iter().sum::<u64>();
        let saved = bytes(other).checked_sub(bytes(self))? as f64 * 8.0;
        // Over a connection that is kept, both pay the same delays, so only the bytes that one does not send differ.
        let rate =
            |ratio: f64| (ratio > 1.0).then(|| saved * 1e9 / (other.latency * (ratio - 1.0)));
        let rate_of_both = rate(ratio.ratio).filter(|rate| *rate >= MIN_RATE)?;
        let interval = ratio
            .interval
            .and_then(|[low, high]| Some((rate(high)?, rate(low))));
        (self.counts_headers && other.counts_headers).then_some((rate_of_both, interval))
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
impl<'f> Computable<'f> {
    /// A variant with requests of 100 bytes.
    pub(super) fn of(name: &'f str, latency: f64, response: u64) -> Self {
        Self {
            name,
            tls: false,
            http2: false,
            latency,
            bytes: [100, response],
            counts_headers: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_can_be_computed() {
        let networks = networks(&[
            Computable::of("a", 1e5, 1_000),
            Computable::of("b", 1e5, 1_000_000),
        ]);
        assert_eq!(networks.len(), NETWORKS.len());
        let far = &networks[3];
        assert_eq!(
            (far.bits_per_second, far.round_trip_ns),
            (20_000_000, 50_000_000)
        );
        let [a, b] = &far.variants[..] else {
            panic!("one for each variant");
        };
        // 100 µs, 50 ms, and 1,100 bytes with two headers of 52 bytes at 20 Mbit/s.
        assert_eq!(a.kept_ns.map(f64::round), Some(50_581_600.0));
        assert!(a.new_ns.is_some_and(|ns| ns > 100_000_000.0), "{a:?}");
        assert_eq!(b.kept_ns, None, "1 MB does not fit into its queue");
    }

    #[test]
    fn fewer_bytes_pay_below_the_rate_that_makes_up_for_the_time() {
        let plain = Computable::of("plain", 1e6, 14_480);
        let gzip = Computable::of("gzip", 2e6, 2_896);
        let estimate = |ratio, interval| Estimate {
            ratio,
            interval,
            confidence: 0.95,
            invocations: 5,
            blocks: 5,
        };
        let pays = |one: &Computable<'_>, of: &Computable<'_>, ratio, interval| {
            one.pays_below(of, &estimate(ratio, interval))
        };
        // Eight packets of 1,500 bytes fewer in 1 ms more.
        let both_ends = pays(&gzip, &plain, 2.0, Some([1.5, 3.0]));
        assert_eq!(both_ends, Some((9.6e7, Some((4.8e7, Some(1.92e8))))));
        let one_end = pays(&gzip, &plain, 2.0, Some([0.9, 3.0]));
        assert_eq!(one_end, Some((9.6e7, Some((4.8e7, None)))));
        assert_eq!(pays(&gzip, &plain, 2.0, None), Some((9.6e7, None)));
        assert_eq!(pays(&plain, &gzip, 2.0, None), None, "it moves more bytes");
        assert_eq!(
            pays(&gzip, &plain, 0.9, Some([0.8, 1.1])),
            None,
            "it is faster anyway"
        );
        assert_eq!(
            pays(&gzip, &plain, 9_999.0, None),
            None,
            "at no rate that networks have"
        );
        let bodies = Computable {
            counts_headers: false,
            ..gzip
        };
        assert_eq!(
            pays(&bodies, &plain, 2.0, None),
            None,
            "its headers are unknown"
        );
    }
}
