//! Tests with real namespaces, devices and sockets. None of them depends on the speed of the machine: they
//! assert only counts, order, the losses of a seed, and minimum times.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_link::{
    CLIENT, LinkError, Namespace, Network, Offered, Options, Path, SERVER, isolate, prepare,
};
use rpcgauge_trial::{
    Calibration, Congestion, DEFAULT_MTU, Direction, Link, LinkRate, Loss, OutOfBounds, Queue,
};

type Test = (&'static str, fn());

const TESTS: [Test; 9] = [
    ("a call takes its round trip", a_call_takes_its_round_trip),
    (
        "bytes arrive whole and are counted",
        bytes_arrive_whole_and_are_counted,
    ),
    (
        "a seed loses the packets that it says",
        a_seed_loses_the_packets_that_it_says,
    ),
    (
        "a full queue drops at its tail",
        a_full_queue_drops_at_its_tail,
    ),
    (
        "both ends use the congestion control",
        both_ends_use_the_congestion_control,
    ),
    (
        "a process inside sees the link alone",
        a_process_inside_sees_the_link_alone,
    ),
    ("a link in a link is refused", a_link_in_a_link_is_refused),
    (
        "a deleted device ends the thread",
        a_deleted_device_ends_the_thread,
    ),
    (
        "jitter that the delay cannot hold is refused",
        jitter_that_the_delay_cannot_hold_is_refused,
    ),
];

fn main() -> ExitCode {
    let ready = prepare().and_then(|_| isolate());
    let ready = ready.and_then(|()| Network::open(&link(), &Options::default()).map(drop));
    if let Err(error) = ready {
        for (name, _) in TESTS {
            println!("left out: {name}: {error}");
        }
        return ExitCode::SUCCESS;
    }
    for (name, test) in TESTS {
        println!("{name}");
        test();
    }
    ExitCode::SUCCESS
}

/// A link of 100 Mbit/s and 2 ms each way.
fn link() -> Link {
    let direction = Direction {
        rate: LinkRate::BitsPerSecond(100_000_000),
        delay_ns: 2_000_000,
        jitter_ns: 0,
        loss: None,
        queue: Queue::Bytes(1 << 20),
        overhead: 0,
    };
    let link = Link {
        up: direction.clone(),
        down: direction,
        mtu: DEFAULT_MTU,
        congestion: Congestion::Cubic,
        slow_start_after_idle: false,
        initial_window: None,
    };
    assert_eq!(link.check(), Ok::<(), OutOfBounds>(()));
    link
}

fn open(link: &Link) -> Network {
    let options = Options {
        seed: 7,
        ..Options::default()
    };
    Network::open(link, &options).expect("a link")
}

/// Runs `work` inside a namespace.
fn within<T>(namespace: &Namespace, work: impl FnOnce() -> T) -> T {
    let _entered = namespace.enter().expect("an isolated thread enters");
    work()
}

fn connected(network: &Network) -> (TcpStream, TcpStream) {
    let listener = within(network.server(), || TcpListener::bind((SERVER, 0)));
    let listener = listener.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let client = within(network.client(), || TcpStream::connect(address)).expect("a connection");
    let (server, peer) = listener.accept().expect("it is accepted");
    assert_eq!(peer.ip(), CLIENT);
    (client, server)
}

fn datagrams(network: &Network) -> (UdpSocket, UdpSocket) {
    let bind = |namespace, address| within(namespace, || UdpSocket::bind((address, 0)));
    let client = bind(network.client(), CLIENT).expect("a socket");
    let server = bind(network.server(), SERVER).expect("a socket");
    client
        .connect(server.local_addr().expect("an address"))
        .expect("connected");
    server
        .set_read_timeout(Some(Duration::from_secs(1)))
        .expect("a timeout");
    (client, server)
}

fn a_call_takes_its_round_trip() {
    let link = link();
    let network = open(&link);
    let calibration = network.calibration();
    assert_eq!(Duration::from_nanos(calibration.set_ns), link.round_trip());
    let options = Options {
        calibrated: Some(calibration),
        ..Options::default()
    };
    let network = Network::open(&link, &options).expect("a link");
    assert_eq!(network.calibration(), calibration);
    let (mut client, mut server) = connected(&network);
    let serving = thread::spawn(move || {
        let mut byte = [0];
        while server.read_exact(&mut byte).is_ok() {
            server.write_all(&byte).expect("written");
        }
    });
    client.set_nodelay(true).expect("no delay");
    let least = link.round_trip() - Duration::from_nanos(calibration.base_ns());
    for _ in 0..20 {
        let start = Instant::now();
        client.write_all(&[1]).expect("written");
        client.read_exact(&mut [0]).expect("read");
        assert!(start.elapsed() >= least);
    }
    drop(client);
    serving.join().expect("it ends");
}

fn bytes_arrive_whole_and_are_counted() {
    const BYTES: usize = 1_000_000;
    let network = open(&link());
    let before = network.counts().expect("counts");
    let (mut client, mut server) = connected(&network);
    let sent: Vec<u8> = (0..BYTES).map(|at| (at * 7 / 5) as u8).collect();
    let receiving = thread::spawn(move || {
        let mut received = Vec::new();
        server.read_to_end(&mut received).expect("read");
        received
    });
    client.write_all(&sent).expect("written");
    drop(client);
    assert!(receiving.join().expect("received") == sent);
    let counts = network.counts().expect("counts").since(&before);
    // Each packet of 1,500 bytes carries 1,448 bytes of payload.
    assert!(
        counts.up.packets >= 691 && counts.up.bytes >= 1_036_000,
        "{counts:?}"
    );
    assert!(counts.down.packets > 10, "{counts:?}");
    assert_eq!(
        (counts.up.lost, counts.up.dropped, counts.foreign_drops),
        (0, 0, 0)
    );
    assert!(counts.lateness.p50_ns <= counts.lateness.p99_ns);
    assert!(counts.lateness.p99_ns <= counts.lateness.max_ns);
    assert!(counts.cpu_ns > 0, "{counts:?}");
    // One reading is compared with itself, because the last packets of the connection may still be in
    // transit.
    let after = network.counts().expect("counts");
    assert_eq!(after.since(&after).up.packets, 0);
}

fn a_seed_loses_the_packets_that_it_says() {
    let mut link = link();
    link.up.loss = Some(Loss {
        part: 0.1,
        burst: 2.0,
    });
    let network = open(&link);
    let (client, server) = datagrams(&network);
    let packets = 500_u32;
    let mut path = Path::new(&link.up, 7);
    let kept = (0..packets).filter(|&at| {
        // Packets are far apart, so that the queue is never full.
        matches!(
            path.offer(u64::from(at) * 1_000_000, 32),
            Offered::Due { .. }
        )
    });
    let kept: Vec<u32> = kept.collect();
    let receiving = thread::spawn(move || {
        let mut arrived = Vec::new();
        let mut packet = [0; 4];
        while server.recv(&mut packet).is_ok() {
            arrived.push(u32::from_ne_bytes(packet));
        }
        arrived
    });
    let send = |at: u32| {
        client.send(&at.to_ne_bytes()).expect("sent");
    };
    let send_apart = |at: u32| {
        send(at);
        thread::sleep(Duration::from_micros(200));
    };
    // Packets sent during `at_once` are not lost, even if the link reads them later, and do not change which
    // later ones are.
    let at_once = packets..packets + 100;
    (0..packets / 2).for_each(send_apart);
    network
        .at_once(|| at_once.clone().for_each(send))
        .expect("the link is there");
    (packets / 2..packets).for_each(send_apart);
    let arrived = receiving.join().expect("received");
    let (sent, sent_at_once): (Vec<u32>, Vec<u32>) =
        arrived.into_iter().partition(|&at| at < packets);
    assert_eq!(sent, kept, "those, and in their order");
    assert_eq!(sent_at_once, at_once.collect::<Vec<u32>>());
}

fn a_full_queue_drops_at_its_tail() {
    let mut link = link();
    link.up.rate = LinkRate::BitsPerSecond(1_000_000);
    link.up.queue = Queue::Bytes(15_000);
    let network = open(&link);
    let (client, server) = datagrams(&network);
    let before = network.counts().expect("counts");
    for at in 0..50_u8 {
        client.send(&[at; 1_472]).expect("sent");
    }
    let mut arrived = Vec::new();
    let mut packet = [0; 1_500];
    while server.recv(&mut packet).is_ok() {
        arrived.push(packet[0]);
    }
    let counts = network.counts().expect("counts").since(&before);
    // There is room for 10 packets, and for one more whenever a packet leaves.
    assert!(arrived.len() >= 10 && arrived.len() < 50, "{arrived:?}");
    assert_eq!(arrived[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(counts.up.packets, 50);
    assert_eq!(counts.up.dropped as usize, 50 - arrived.len());
    assert_eq!((counts.up.lost, counts.foreign_drops), (0, 0));
    // The waiting times of 1 + 2 + … + 9 packets of 12 ms each, minus the time spent sending them.
    assert!(counts.up.queued_ns > 400_000_000, "{counts:?}");
}

fn both_ends_use_the_congestion_control() {
    let mut link = link();
    for congestion in [Congestion::Reno, Congestion::Cubic] {
        link.congestion = congestion;
        let network = open(&link);
        let (client, server) = connected(&network);
        for end in [&client, &server] {
            let name = rustix::net::sockopt::tcp_congestion(end).expect("a name");
            assert_eq!(
                name.to_lowercase(),
                format!("{congestion:?}").to_lowercase()
            );
        }
    }
}

fn a_process_inside_sees_the_link_alone() {
    let network = open(&link());
    let output = within(network.client(), || {
        Command::new("cat").arg("/proc/self/net/dev").output()
    });
    let text = String::from_utf8(output.expect("cat runs").stdout).expect("text");
    let devices: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|it| it.0.trim())
        .collect();
    assert!(devices.contains(&"rpcgauge0"), "{devices:?}");
    assert!(
        !devices.iter().any(|it| it.starts_with("eth")),
        "{devices:?}"
    );
}

fn a_link_in_a_link_is_refused() {
    let network = open(&link());
    for namespace in [network.client(), network.server()] {
        let refused = within(namespace, || Network::open(&link(), &Options::default()));
        assert!(matches!(refused, Err(LinkError::Inside)));
        assert!(matches!(within(namespace, prepare), Err(LinkError::Inside)));
    }
}

fn a_deleted_device_ends_the_thread() {
    let network = open(&link());
    let mut delete = Command::new("ip");
    delete.args(["link", "delete", "rpcgauge0"]);
    match within(network.client(), || delete.status()) {
        Ok(status) if status.success() => {}
        other => return println!("left out: ip cannot delete a device: {other:?}"),
    }
    let start = Instant::now();
    while network.counts().is_ok() {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(1));
    }
}

fn jitter_that_the_delay_cannot_hold_is_refused() {
    let mut link = link();
    (link.up.delay_ns, link.up.jitter_ns) = (1_500_000, 500_000);
    let calibration = Calibration {
        base_up_ns: 1_000_000,
        ..Calibration::default()
    };
    let options = Options {
        calibrated: Some(calibration),
        ..Options::default()
    };
    let refused = Network::open(&link, &options);
    assert!(matches!(refused, Err(LinkError::Jitter { .. })));
}
