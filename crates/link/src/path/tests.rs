use proptest::prelude::*;
use rpcgauge_trial::{LinkRate, Loss, Trace};

use super::*;

const MS: u64 = 1_000_000;

/// 8 Mbit/s (one byte per microsecond), a delay of 10 ms, and a queue of 4,500 bytes.
fn direction() -> Direction {
    Direction {
        rate: LinkRate::BitsPerSecond(8_000_000),
        delay_ns: 10 * MS,
        jitter_ns: 0,
        loss: None,
        queue: Queue::Bytes(4_500),
        overhead: 0,
    }
}

fn due(at: u64, queued: u64) -> Offered {
    Offered::Due { at, queued }
}

#[test]
fn packets_wait_are_sent_travel_and_are_dropped_at_the_tail() {
    let mut path = Path::new(&direction(), 1);
    assert_eq!(path.offer(0, 1_500), due(11_500_000, 0));
    assert_eq!(path.offer(0, 1_500), due(13_000_000, 1_500_000));
    assert_eq!(path.offer(0, 1_500), due(14_500_000, 3_000_000));
    assert_eq!(path.offer(0, 40), Offered::Dropped);
    // The last bit of the first packet leaves at 1.5 ms.
    assert_eq!(path.offer(1_499_999, 40), Offered::Dropped);
    assert_eq!(path.offer(1_500_000, 40), due(14_540_000, 3_000_000));
    assert_eq!(path.backlog(1_500_000), 3_040);
    assert_eq!(path.backlog(4_540_000), 0);
}

#[test]
fn a_delay_shorter_than_its_jitter_is_cut() {
    let is_cut = |delay_ns| {
        let jitter_ns = MS;
        let direction = Direction {
            delay_ns,
            jitter_ns,
            ..direction()
        };
        Path::new(&direction, 1).is_cut()
    };
    // The bound is the deviation times the square root of 4.5.
    assert!(is_cut(2_121_000));
    assert!(!is_cut(2_122_000));
}

#[test]
fn overhead_takes_time_and_room() {
    let mut direction = direction();
    direction.overhead = 38;
    let mut path = Path::new(&direction, 1);
    assert_eq!(path.offer(0, 1_462), due(11_500_000, 0));
    assert_eq!(path.backlog(0), 1_500);
}

#[test]
fn a_queue_by_time_holds_what_is_sent_in_it() {
    let mut direction = direction();
    direction.queue = Queue::Time(3 * MS);
    let mut path = Path::new(&direction, 1);
    assert_eq!(path.offer(0, 1_500), due(11_500_000, 0));
    assert_eq!(path.offer(0, 1_500), due(13_000_000, 1_500_000));
    assert_eq!(path.offer(0, 1), Offered::Dropped);
    // A queue smaller than a packet still accepts one.
    direction.queue = Queue::Time(1);
    let mut path = Path::new(&direction, 1);
    assert_eq!(path.offer(0, 1_500), due(11_500_000, 0));
    assert_eq!(path.offer(0, 1), Offered::Dropped);
}

#[test]
fn without_a_rate_nothing_waits() {
    let mut direction = direction();
    direction.rate = LinkRate::Unlimited;
    let mut path = Path::new(&direction, 1);
    for _ in 0..100 {
        assert_eq!(path.offer(7, 1_500), due(10 * MS + 7, 0));
    }
}

#[test]
fn a_lost_packet_takes_its_time_on_the_link() {
    let mut direction = direction();
    direction.loss = Some(Loss::independent(0.5));
    let mut path = Path::new(&direction, 1);
    let mut free = 0;
    for packet in 0..100 {
        let now = packet * 1_000_000;
        let queued = match path.offer(now, 1_100) {
            Offered::Due { queued, .. } | Offered::Lost { queued } => queued,
            Offered::Dropped => continue,
        };
        assert_eq!(queued, free - now.min(free));
        free = free.max(now) + 1_100_000;
    }
}

fn directions() -> impl Strategy<Value = Direction> {
    let trace = Trace {
        file: "t".to_owned(),
        at_ms: vec![0, 3, 3, 9, 40],
    };
    let rates = prop_oneof![
        Just(LinkRate::Unlimited),
        Just(LinkRate::Trace(trace)),
        (1_000_000_u64..1_000_000_000).prop_map(LinkRate::BitsPerSecond),
    ];
    let queues = prop_oneof![
        (1_538_u64..100_000).prop_map(Queue::Bytes),
        (1_u64..100_000_000).prop_map(Queue::Time),
    ];
    (
        rates,
        queues,
        0_u64..50_000_000,
        0.0..1.0_f64,
        0_u32..39,
        any::<bool>(),
    )
        .prop_map(
            |(rate, queue, delay_ns, jitter, overhead, lossy)| Direction {
                rate,
                delay_ns,
                jitter_ns: (delay_ns as f64 / 3.0 * jitter) as u64,
                loss: lossy.then(|| Loss::independent(0.1)),
                queue,
                overhead,
            },
        )
}

fn packets() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0_u64..3_000_000, 20_u64..=1_500), 1..300)
}

proptest! {
    #[test]
    fn order_is_kept_and_the_queue_stays_below_its_bound(
        direction in directions(), packets in packets(), seed: u64,
    ) {
        let mut path = Path::new(&direction, seed);
        let limit = path.limit.max(1_538);
        let (mut now, mut last) = (0, 0);
        let middle = packets.len() / 2;
        for (place, (gap, bytes)) in packets.into_iter().enumerate() {
            now += gap;
            if place == middle {
                path.restart_jitter(!seed);
            }
            if let Offered::Due { at, .. } = path.offer(now, bytes) {
                prop_assert!(at >= last && at >= now);
                last = at;
            }
            prop_assert!(path.backlog(now) <= limit);
        }
    }

    /// This is true for any times, queue and rate.
    #[test]
    fn a_seed_loses_the_same_packets(
        (one, other) in (directions(), directions()), packets in packets(), seed: u64,
    ) {
        let lost = |mut direction: Direction, pace: u64| -> Vec<Option<bool>> {
            direction.loss = Some(Loss { part: 0.1, burst: 3.0 });
            let mut path = Path::new(&direction, seed);
            let mut now = 0;
            packets.iter().map(|(gap, bytes)| {
                now += gap * pace;
                match path.offer(now, *bytes) {
                    Offered::Due { .. } => Some(false),
                    Offered::Lost { .. } => Some(true),
                    Offered::Dropped => None,
                }
            }).collect()
        };
        for (one, other) in lost(one, 1).into_iter().zip(lost(other, 3)) {
            prop_assert!(one.is_none() || other.is_none() || one == other);
        }
    }

    /// Comparisons of variants rely on this.
    #[test]
    fn jitter_begun_again_from_a_seed_is_the_same_at_another_time(
        mut direction in directions(), packets in packets(), seed: u64, before: u64, later in 0..1_u64 << 50,
    ) {
        direction.loss = None;
        // Without a rate, packets do not wait in either path.
        direction.rate = LinkRate::Unlimited;
        let offered = |path: &mut Path, begin: u64| -> Vec<Option<u64>> {
            let mut now = begin;
            packets.iter().map(|(gap, bytes)| {
                now += gap;
                match path.offer(now, *bytes) {
                    Offered::Due { at, .. } => Some(at - begin),
                    Offered::Dropped | Offered::Lost { .. } => None,
                }
            }).collect()
        };
        let mut fresh = Path::new(&direction, seed);
        let mut used = Path::new(&direction, before);
        offered(&mut used, 7);
        used.restart_jitter(seed);
        prop_assert_eq!(offered(&mut fresh, 0), offered(&mut used, (1 << 50) + later));
    }
}
