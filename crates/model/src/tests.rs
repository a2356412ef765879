use std::time::Duration;

use proptest::prelude::*;
use rpcgauge_trial::Loss;

use super::*;

const MS: u64 = 1_000_000;

fn link(bits_per_second: u64, delay_ns: u64) -> Link {
    let direction = Direction {
        rate: LinkRate::BitsPerSecond(bits_per_second),
        delay_ns,
        jitter_ns: 0,
        loss: None,
        queue: Queue::Time(1_000 * MS),
        overhead: 0,
    };
    Link {
        up: direction.clone(),
        down: direction,
        mtu: DEFAULT_MTU,
        congestion: Congestion::Cubic,
        slow_start_after_idle: false,
        initial_window: None,
    }
}

fn call(link: &Link, connection: Connection, request: u64, response: u64) -> CallTime {
    let network = Network::new(link).expect("the model covers the link");
    network.call(connection, request, response)
}

/// Responses over new connections at 100 Mbit/s and a round trip of 50 ms, emulated with the kernel's CUBIC: bytes, and the
/// median time after the connection was open, ms. The smallest one took 0.2 ms of work.
const MEASURED: [(u64, f64); 9] = [
    (1_000, 50.39),
    (14_480, 51.49),
    (14_600, 100.52),
    (43_000, 102.86),
    (44_000, 150.82),
    (101_000, 155.49),
    (103_000, 201.34),
    (300_000, 258.46),
    (1_000_000, 359.73),
];

#[test]
fn slow_start_takes_as_long_as_the_kernels() {
    let link = link(100_000_000, 25 * MS);
    for (bytes, ms) in MEASURED {
        let modelled = call(&link, Connection::Idle, 100, bytes).time.as_secs_f64() * 1e3 + 0.2;
        let error = modelled / ms - 1.0;
        assert!(
            error.abs() < 0.005,
            "{bytes} bytes: {modelled} ms, and {ms} were measured"
        );
    }
}

#[test]
fn a_network_without_queues_is_like_a_link_whose_queues_suffice() {
    let (rate, delay_ns) = (10_000_000, 5 * MS);
    let network = Network::unqueued(rate, delay_ns);
    for connection in [
        Connection::Kept,
        Connection::New {
            tls: true,
            http2: false,
        },
    ] {
        let call = call(&link(rate, delay_ns), connection, 500, 200_000);
        assert_eq!(network.call(connection, 500, 200_000), call);
    }
}

#[test]
fn a_new_connection_takes_its_handshakes_first() {
    let link = link(10_000_000_000, 10 * MS);
    let round_trips = |connection| {
        let time = call(&link, connection, 500, 500).time;
        (time.as_secs_f64() / 0.020).round() as u32
    };
    assert_eq!(round_trips(Connection::Kept), 1);
    assert_eq!(round_trips(Connection::Idle), 1);
    assert_eq!(
        round_trips(Connection::New {
            tls: false,
            http2: false
        }),
        2
    );
    assert_eq!(
        round_trips(Connection::New {
            tls: true,
            http2: false
        }),
        3
    );
}

#[test]
fn frames_of_http2_take_a_part_of_the_first_window() {
    let link = link(10_000_000_000, 10 * MS);
    let round_trips = |http2, segments: u64| {
        let connection = Connection::New { tls: false, http2 };
        let time = call(&link, connection, 500, segments * 1_448).time;
        (time.as_secs_f64() / 0.020).round() as u32
    };
    assert_eq!([7, 8, 10, 11].map(|n| round_trips(false, n)), [2, 2, 2, 3]);
    assert_eq!([7, 8, 10, 11].map(|n| round_trips(true, n)), [2, 3, 3, 3]);
    // The acknowledgements of all ten let the window grow to twenty.
    assert_eq!([27, 28].map(|n| round_trips(true, n)), [3, 4]);
}

#[test]
fn what_is_not_modelled_is_refused() {
    let plain = link(1_000_000, 0);
    let refused = |change: fn(&mut Link)| {
        let mut link = plain.clone();
        change(&mut link);
        Network::new(&link).unwrap_err()
    };
    assert_eq!(
        refused(|link| link.congestion = Congestion::Bbr),
        NotModelled::Congestion
    );
    assert_eq!(
        refused(|link| link.up.loss = Some(Loss::independent(0.01))),
        NotModelled::Loss
    );
    let jitter = |link: &mut Link| (link.down.delay_ns, link.down.jitter_ns) = (9, 1);
    assert_eq!(refused(jitter), NotModelled::Jitter);
}

#[test]
fn a_queue_that_overflows_is_reported() {
    let mut link = link(1_000_000, 100 * MS);
    let overflows = |link: &Link, connection| call(link, connection, 1, 200_000).overflows;
    link.down.queue = Queue::Bytes(64 << 10);
    assert!(
        overflows(&link, Connection::Idle),
        "its window grows to twice the queue"
    );
    assert!(overflows(&link, Connection::Kept), "all packets at once");
    // The window of a new connection grows with the acknowledgements, so half of the message waits at most.
    link.down.queue = Queue::Bytes(120_000);
    assert!(!overflows(&link, Connection::Idle));
    assert!(overflows(&link, Connection::Kept));
    link.down.queue = Queue::Time(2_000 * MS);
    assert!(!overflows(&link, Connection::Kept));
}

proptest! {
    #[test]
    fn more_bytes_take_longer_and_never_less_than_the_link_needs(
        rate in 100_000u64..10_000_000_000, delay_ns in 0..200 * MS, request in 1..2_000_000u64, more in 1..2_000_000u64,
    ) {
        let link = link(rate, delay_ns);
        for connection in [Connection::Kept, Connection::Idle, Connection::New { tls: true, http2: false }] {
            let one = call(&link, connection, request, 1_000).time;
            let other = call(&link, connection, request + more, 1_000).time;
            prop_assert!(one <= other);
            let least = link.least(request, 1_000);
            prop_assert!(one + Duration::from_micros(1) >= least, "{one:?} < {least:?}");
        }
    }
}
