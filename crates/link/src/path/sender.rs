//! The rate of a direction: when packets have been sent.

use rpcgauge_trial::{LinkRate, Trace};

/// Bytes that one opportunity of a trace can carry.
const OPPORTUNITY: u64 = 1_500;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Sends packets one after another. The time at which a packet has left depends on when it arrived and when
/// the previous one had left. The remainder is carried over, so rounding errors do not add up.
#[derive(Debug)]
pub(super) enum Sender {
    Unlimited,
    Fixed {
        /// The rate, bit/s.
        rate: u64,
        /// Remainder of the last rounding, in 1/rate of a nanosecond.
        rest: u64,
    },
    Traced(Traced),
}

/// Follows a trace.
#[derive(Debug)]
pub(super) struct Traced {
    at_ms: Vec<u32>,
    /// The current opportunity: how many times the trace has repeated before it, and its index in the trace.
    round: u64,
    index: usize,
    /// Bytes that the current opportunity can still carry.
    left: u64,
}

impl Sender {
    pub(super) fn new(rate: &LinkRate) -> Self {
        match rate {
            LinkRate::Unlimited => Self::Unlimited,
            &LinkRate::BitsPerSecond(rate) => Self::Fixed { rate, rest: 0 },
            LinkRate::Trace(Trace { at_ms, .. }) => Self::Traced(Traced {
                at_ms: at_ms.clone(),
                round: 0,
                index: 0,
                left: OPPORTUNITY,
            }),
        }
    }

    /// When the last bit of a packet has left, ns. The packet arrived at `now`, and the previous packet had
    /// left at `free`.
    pub(super) fn send(&mut self, now: u64, free: u64, bytes: u64) -> u64 {
        match self {
            Self::Unlimited => now,
            Self::Fixed { rate, rest } => {
                let idle = free < now;
                let (start, carried) = if idle { (now, 0) } else { (free, *rest) };
                let work = bytes * 8 * SECOND + carried;
                *rest = work % *rate;
                start + work / *rate
            }
            Self::Traced(traced) => traced.send(now, bytes),
        }
    }

    /// Bytes that can be sent in `time` ns. For a trace, this uses its mean rate.
    pub(super) fn bytes_in(&self, time: u64) -> u64 {
        let product =
            |a: u64, b: u64, c: u64| (u128::from(a) * u128::from(b) / u128::from(c)) as u64;
        match self {
            Self::Unlimited => u64::MAX,
            Self::Fixed { rate, .. } => product(*rate, time, 8 * SECOND),
            Self::Traced(traced) => {
                let carried = OPPORTUNITY * traced.at_ms.len() as u64;
                product(carried, time, traced.period())
            }
        }
    }
}

impl Traced {
    fn send(&mut self, now: u64, bytes: u64) -> u64 {
        if self.time() < now {
            // Opportunities that pass while no packet waits are lost.
            self.find(now);
        }
        let mut wanted = bytes;
        while wanted > self.left {
            wanted -= self.left;
            self.next();
        }
        self.left -= wanted;
        self.time()
    }

    /// The length of the trace, ns.
    fn period(&self) -> u64 {
        self.at_ms.last().map_or(MS, |&last| u64::from(last) * MS)
    }

    /// When the current opportunity occurs, ns.
    fn time(&self) -> u64 {
        self.round * self.period() + u64::from(self.at_ms[self.index]) * MS
    }

    fn next(&mut self) {
        self.left = OPPORTUNITY;
        self.index += 1;
        if self.index == self.at_ms.len() {
            self.index = 0;
            self.round += 1;
        }
    }

    /// Advances to the first opportunity at or after `now`.
    fn find(&mut self, now: u64) {
        let period = self.period();
        // The end of a round belongs to that round, as its last opportunity.
        self.round = now.saturating_sub(1) / period;
        let within = now - self.round * period;
        self.index = self
            .at_ms
            .partition_point(|&at| u64::from(at) * MS < within);
        self.left = OPPORTUNITY;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn traced(at_ms: &[u32]) -> Sender {
        Sender::new(&LinkRate::Trace(Trace {
            file: "t".to_owned(),
            at_ms: at_ms.to_vec(),
        }))
    }

    #[test]
    fn a_packet_takes_its_own_time_on_an_empty_link_too() {
        let mut sender = Sender::new(&LinkRate::BitsPerSecond(10_000_000));
        // 1,500 bytes at 10 Mbit/s are 1.2 ms.
        assert_eq!(sender.send(5_000, 0, 1_500), 1_205_000);
        assert_eq!(sender.send(6_000, 1_205_000, 750), 1_805_000);
        assert_eq!(sender.send(9_000_000, 1_805_000, 1_500), 10_200_000);
    }

    #[test]
    fn an_opportunity_carries_several_packets_or_a_part_of_one() {
        let mut sender = traced(&[1, 2, 2, 10]);
        let mut sent = |now, bytes| sender.send(now, 0, bytes) / MS;
        assert_eq!(sent(0, 700), 1);
        assert_eq!(sent(0, 700), 1);
        // 100 bytes are sent at 1 ms, the rest at 2 ms.
        assert_eq!(sent(0, 1_500), 2);
        assert_eq!(sent(0, 1_600), 2);
        // The opportunities at 1, 2 and 2 ms are used up.
        assert_eq!(sent(0, 1), 10);
        // The rest of the opportunity at 10 ms is lost. The trace repeats from there.
        assert_eq!(sent(10 * MS + 1, 1_500), 11);
        // The first three opportunities of the second round are lost.
        assert_eq!(sent(13 * MS, 1), 20);
        assert_eq!(sent(1_020 * MS, 1_500), 1_020);
        assert_eq!(sent(1_020 * MS, 1_500), 1_021);
    }

    #[test]
    fn a_time_is_bytes_by_the_rate() {
        let fixed = Sender::new(&LinkRate::BitsPerSecond(8_000_000));
        assert_eq!(fixed.bytes_in(30 * MS), 30_000);
        assert_eq!(traced(&[5, 10]).bytes_in(100 * MS), 30_000);
    }

    proptest! {
        /// Over a long run the rate is exact to a nanosecond.
        #[test]
        fn the_rate_is_exact(
            rate in 1_000_u64..10_000_000_000,
            sizes in prop::collection::vec(20_u64..9_000, 1..500),
        ) {
            let mut sender = Sender::new(&LinkRate::BitsPerSecond(rate));
            let mut free = 0;
            for &bytes in &sizes {
                free = sender.send(0, free, bytes);
            }
            let bits: u64 = sizes.iter().map(|bytes| bytes * 8).sum();
            let exact = u128::from(bits) * u128::from(SECOND) / u128::from(rate);
            prop_assert_eq!(u128::from(free), exact);
        }

        /// A trace carries exactly as much as its opportunities allow, never more.
        #[test]
        fn a_trace_carries_its_opportunities(
            mut at_ms in prop::collection::vec(0_u32..100, 1..50),
            packets in 1_u64..500,
        ) {
            at_ms.push(100);
            at_ms.sort_unstable();
            let mut sender = traced(&at_ms);
            let last = (0..packets).map(|_| sender.send(0, 0, OPPORTUNITY)).last();
            let count = at_ms.len() as u64;
            let (round, index) = ((packets - 1) / count, (packets - 1) % count);
            let expected = round * 100 + u64::from(at_ms[index as usize]);
            prop_assert_eq!(last, Some(expected * MS));
        }
    }
}
