//! Measures how accurately this machine emulates links, and compares the results with targets:
//! `make bench-link` (docs/link.md). Names of presets as arguments select which ones to run. The results mean
//! little while anything else is running.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_link::{
    CLIENT, Namespace, Network, Offered, Options, Path, SERVER, check, highest_pace, isolate,
    prepare,
};
use rpcgauge_study::link::PRESETS;
use rpcgauge_trial::{
    Congestion, DEFAULT_MTU, Direction, Lateness, Link, LinkCounts, LinkRate, Loss, Queue,
};

const MBIT: u64 = 1_000_000;
/// Payload of a full TCP packet with timestamps.
const SEGMENT: u64 = 1_448;
const PACKET: u64 = 1_500;
const HEADERS: u64 = PACKET - SEGMENT;
/// The link that the model assumes: 100 Mbit/s with a round trip of 50 ms.
const MODEL_RATE: u64 = 100 * MBIT;
const MODEL_DELAY_US: u64 = 25_000;
/// Number of calls, and the maximum time for them.
const CALLS: usize = 1_200;
const CALLS_FOR: Duration = Duration::from_secs(8);
const FLOW: Duration = Duration::from_secs(2);

fn main() {
    if let Err(error) = prepare().and_then(|_| isolate()) {
        return println!("left out: {error}");
    }
    // The client and the link's thread share one core; the server uses another.
    let options = Options {
        client_cores: vec![0],
        server_cores: vec![1],
        seed: 1,
        calibrated: None,
    };
    let lossy = ("100 Mbit/s, 50 ms, 1% lost", link(100 * MBIT, 25_000, 0.01));
    let presets = PRESETS.iter().map(|it| (it.name, it.terms()));
    let asked: Vec<String> = env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    for (name, link) in presets.chain([lossy]) {
        if !asked.is_empty() && !asked.iter().any(|it| it == name) {
            continue;
        }
        println!("{name}");
        packets(&link, &options);
        for in_flight in [1, 64] {
            calls(&link, &options, in_flight);
        }
        if fills(&link) {
            goodput(&link, &options);
        }
    }
    match highest_pace(&options) {
        Ok(pace) => row(
            "packets/s with 0.1 ms added",
            format!("{pace:?}"),
            "100,000",
            pace >= Some(100_000),
        ),
        Err(error) => println!("  {error}"),
    }
    println!("a new connection against the model, 100 Mbit/s, 50 ms");
    let modelled = link(MODEL_RATE, MODEL_DELAY_US, 0.0);
    let network = Network::open(&modelled, &options).expect("a link");
    let options = Options {
        calibrated: Some(network.calibration()),
        ..options
    };
    drop(network);
    for bytes in [1_000, 14_480, 14_600, 43_000, 101_000, 300_000, 1_000_000] {
        let times = (0..5).map(|_| first_call(bytes, &modelled, &options, 0));
        let arrivals = arrivals(bytes);
        against_model(
            &format!("{bytes} bytes"),
            times,
            arrivals[arrivals.len() - 1],
        );
    }
    let mut lossy = link(MODEL_RATE, MODEL_DELAY_US, 0.01);
    lossy.down.loss = None;
    for (bytes, lost) in [(14_480, 4), (43_000, 14)] {
        let arrivals = arrivals(bytes);
        let seeds = (0..).filter(|&seed| loses_only(lost, arrivals.len(), &lossy.up, seed));
        let times = seeds.take(5).map(|seed| {
            let options = Options {
                seed,
                ..options.clone()
            };
            first_call(bytes, &lossy, &options, 1)
        });
        against_model(
            &format!("{bytes} bytes, segment {lost} lost"),
            times,
            after_loss(lost, &arrivals),
        );
    }
}

fn link(rate: u64, delay_us: u64, loss: f64) -> Link {
    let way = Direction {
        rate: LinkRate::BitsPerSecond(rate),
        delay_ns: delay_us * 1_000,
        jitter_ns: 0,
        loss: (loss > 0.0).then(|| Loss::independent(loss)),
        queue: Queue::Bytes((rate / 8 * 30 / 1_000).max(64 << 10)),
        overhead: 0,
    };
    Link {
        up: way.clone(),
        down: way,
        mtu: DEFAULT_MTU,
        congestion: Congestion::Cubic,
        slow_start_after_idle: false,
        initial_window: None,
    }
}

/// Whether TCP in its steady state keeps the down direction full. This requires a queue of at least the bytes
/// in flight, so that even the window after a loss fills the link.
fn fills(link: &Link) -> bool {
    let LinkRate::BitsPerSecond(rate) = link.down.rate else {
        return false;
    };
    let queue_ns = match link.down.queue {
        Queue::Bytes(bytes) => bytes * 8 * 1_000_000_000 / rate,
        Queue::Time(ns) => ns,
    };
    let is_steady = link.down.loss.is_none() && link.down.jitter_ns == 0;
    is_steady && queue_ns >= link.up.delay_ns + link.down.delay_ns
}

fn row(what: &str, measured: String, asked: &str, is_reached: bool) {
    let verdict = if is_reached { "reached" } else { "NOT reached" };
    println!("  {what:<34} {measured:<40} {asked:<22} {verdict}");
}

/// Performs the measurements of `rpcgauge link check`.
fn packets(link: &Link, options: &Options) {
    let found = check(link, options).expect("a link");
    let it = found.calibration;
    let (median, worst) = (
        it.median_ns.abs_diff(it.set_ns),
        it.worst_ns.saturating_sub(it.set_ns),
    );
    row(
        "round trip, off by (median, worst)",
        format!("{} µs, {} µs", median / 1_000, worst / 1_000),
        "20 µs, 100 µs",
        median <= 20_000 && worst <= 100_000,
    );
    for (name, way) in [("up", found.up), ("down", found.down)] {
        if let (Some((rate, got)), Some((full, waited))) = (way.rate, way.queue) {
            let (rate_off, queue_off) =
                (got / rate as f64 - 1.0, waited as f64 / full as f64 - 1.0);
            let allowed = if rate <= 100 * MBIT { 0.001 } else { 0.02 };
            row(
                &format!("rate and full queue, {name}"),
                format!("{:+.3}%, {:+.2}%", rate_off * 100.0, queue_off * 100.0),
                &format!("{}%, 2%", allowed * 100.0),
                rate_off.abs() <= allowed && queue_off.abs() <= 0.02,
            );
        }
        if let Some(loss) = way.loss {
            row(
                &format!("lost, {name}"),
                format!("{} of {}", loss.lost, loss.offered),
                "binomial 99%",
                loss.is_as_set(),
            );
        }
        late(&format!("lateness of a flood, {name}"), &way.counts);
    }
}

fn late(what: &str, counts: &LinkCounts) {
    let Lateness {
        p50_ns,
        p99_ns,
        max_ns,
    } = counts.lateness;
    let micros = |ns: u64| ns as f64 / 1e3;
    row(
        what,
        format!(
            "{:.1} µs, p99 {:.1}, max {:.0}; drops {}",
            micros(p50_ns),
            micros(p99_ns),
            micros(max_ns),
            counts.foreign_drops
        ),
        "p99 50 µs, no drops",
        p99_ns <= 50_000 && counts.foreign_drops == 0,
    );
}

fn within<T>(namespace: &Namespace, work: impl FnOnce() -> T) -> T {
    let _inside = namespace.enter().expect("an isolated thread enters");
    work()
}

/// A server with one thread per connection. A request of 8 bytes contains the number of bytes of its
/// response.
fn serve(namespace: &Namespace, own: Ipv4Addr) -> SocketAddr {
    let listener = within(namespace, || TcpListener::bind((own, 0))).expect("a listener");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let bytes = vec![1; 1 << 20];
    let mut request = [0; 8];
    while stream.read_exact(&mut request).is_ok() {
        let mut left = u64::from_le_bytes(request) as usize;
        while left > 0 {
            let part = left.min(bytes.len());
            if stream.write_all(&bytes[..part]).is_err() {
                return;
            }
            left -= part;
        }
    }
}

fn ask(stream: &mut TcpStream, bytes: u64) {
    stream.write_all(&bytes.to_le_bytes()).expect("written");
    let taken = std::io::copy(&mut stream.take(bytes), &mut std::io::sink());
    assert_eq!(taken.expect("read"), bytes);
}

/// Makes concurrent calls with small responses, each on its own connection.
fn calls(link: &Link, options: &Options, in_flight: usize) {
    let network = Network::open(link, options).expect("a link");
    let address = serve(network.server(), SERVER);
    let mut streams: Vec<TcpStream> = (0..in_flight)
        .map(|_| within(network.client(), || TcpStream::connect(address)).expect("a connection"))
        .collect();
    let before = network.counts().expect("counts");
    let (cpu, start) = (cpu(), Instant::now());
    let made: usize = thread::scope(|scope| {
        let callers = streams.iter_mut().map(|stream| {
            scope.spawn(|| {
                stream.set_nodelay(true).expect("no delay");
                (0..CALLS.div_ceil(in_flight))
                    .take_while(|_| start.elapsed() < CALLS_FOR)
                    .map(|_| ask(stream, 200))
                    .count()
            })
        });
        let callers: Vec<_> = callers.collect();
        callers
            .into_iter()
            .map(|it| it.join().expect("a caller"))
            .sum()
    });
    let share = (self::cpu() - cpu) / start.elapsed().as_secs_f64();
    let calls = made as f64 / start.elapsed().as_secs_f64();
    let counts = network.counts().expect("counts").since(&before);
    late(&format!("lateness, {in_flight} in flight"), &counts);
    println!(
        "  {:<34} {:.1}% of a core at {calls:.0} calls/s",
        "the link's thread",
        share * 100.0
    );
}

/// CPU time of all links' threads, s.
fn cpu() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").expect("tasks").flatten();
    let links = tasks.filter(|task| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "link")
    });
    let times = links.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    times.sum::<f64>() / 1e9
}

/// Measures the goodput of TCP in its steady state. A packet carries 1,448 bytes of goodput.
fn goodput(link: &Link, options: &Options) {
    let LinkRate::BitsPerSecond(rate) = link.down.rate else {
        return;
    };
    let network = Network::open(link, options).expect("a link");
    let address = serve(network.server(), SERVER);
    let mut stream =
        within(network.client(), || TcpStream::connect(address)).expect("a connection");
    let before = network.counts().expect("counts");
    stream
        .write_all(&u64::from(u32::MAX).to_le_bytes())
        .expect("written");
    let mut read_for = |time: Duration| {
        let (start, mut buffer, mut bytes) = (Instant::now(), vec![0; 1 << 16], 0);
        while start.elapsed() < time {
            bytes += stream.read(&mut buffer).expect("read");
        }
        bytes as f64 * 8.0 / start.elapsed().as_secs_f64()
    };
    read_for(FLOW / 4);
    let off = read_for(FLOW) / (rate as f64 * SEGMENT as f64 / PACKET as f64) - 1.0;
    let counts = network.counts().expect("counts").since(&before);
    let allowed = if rate <= 100 * MBIT { 0.005 } else { 0.02 };
    row(
        "goodput of TCP",
        format!("{:+.2}%", off * 100.0),
        &format!("{}%", allowed * 100.0),
        off.abs() <= allowed,
    );
    late("lateness of TCP", &counts);
}

/// How long a new connection and its first call take, s. Exactly `lost` packets of the response must be lost.
/// The response is sent up, because the up direction uses the link's seed directly.
fn first_call(bytes: u64, link: &Link, options: &Options, lost: u64) -> f64 {
    let network = Network::open(link, options).expect("a link");
    let address = serve(network.client(), CLIENT);
    let before = network.counts().expect("counts");
    let start = Instant::now();
    let mut stream =
        within(network.server(), || TcpStream::connect(address)).expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    ask(&mut stream, bytes);
    let took = start.elapsed().as_secs_f64();
    let counts = network.counts().expect("counts").since(&before);
    assert_eq!(
        counts.up.lost, lost,
        "the kernel sent other packets than expected"
    );
    took
}

fn against_model(what: &str, times: impl Iterator<Item = f64>, expected: f64) {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let off = median / expected - 1.0;
    row(
        what,
        format!(
            "{:.2} ms, model {:.2} ({:+.2}%)",
            median * 1e3,
            expected * 1e3,
            off * 100.0
        ),
        "2%",
        off.abs() <= 0.02,
    );
}

/// How long a packet takes to be sent, s.
fn sending(packet: u64) -> f64 {
    packet as f64 * 8.0 / MODEL_RATE as f64
}

/// When each segment of a response arrives, in s after the connection attempt began. After the handshake and
/// the request, an initial window of 10 segments grows by one for each acknowledged segment. Every second
/// segment is acknowledged.
fn arrivals(bytes: u64) -> Vec<f64> {
    let delay = MODEL_DELAY_US as f64 / 1e6;
    let mut now = 3.0 * delay + 3.0 * sending(60);
    let (mut free, mut left) = (now, bytes);
    let (mut window, mut unacknowledged) = (10_u64, 0_u64);
    let mut arrivals = Vec::new();
    // When acknowledgements of two more segments reach the sender, in whole nanoseconds, which can be
    // ordered.
    let mut acknowledged = BinaryHeap::new();
    loop {
        while left > 0 && unacknowledged < window {
            let segment = left.min(SEGMENT);
            free = free.max(now) + sending(segment + HEADERS);
            let arrival = free + delay;
            arrivals.push(arrival);
            (left, unacknowledged) = (left - segment, unacknowledged + 1);
            if arrivals.len() % 2 == 0 {
                acknowledged.push(Reverse(((arrival + delay + sending(HEADERS)) * 1e9) as u64));
            }
        }
        let Some(Reverse(at)) = acknowledged.pop().filter(|_| left > 0) else {
            return arrivals;
        };
        now = at as f64 / 1e9;
        unacknowledged -= 2;
        window += 2;
    }
}

/// When a response is complete if segment number `lost` (from 1) was lost in the last flight. The third
/// segment after it causes the third selective acknowledgement, upon which the sender retransmits the lost
/// one (RFC 6675, RFC 8985).
fn after_loss(lost: usize, arrivals: &[f64]) -> f64 {
    let third = arrivals[lost + 2];
    let round_trip = 2.0 * MODEL_DELAY_US as f64 / 1e6;
    third + round_trip + sending(HEADERS + 12) + sending(PACKET)
}

/// Whether a direction loses only this segment of a response. The SYN-ACK and the ACK of the request precede
/// the first segment, and the lost segment is retransmitted after the last one.
fn loses_only(lost: usize, segments: usize, way: &Direction, seed: u64) -> bool {
    let mut path = Path::new(way, seed);
    let offered = (0..2 + segments + 1).map(|_| path.offer(0, PACKET));
    let mut offered = offered.enumerate();
    offered.all(|(at, offered)| matches!(offered, Offered::Lost { .. }) == (at == lost + 1))
}
