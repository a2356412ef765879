//! Measures what the stage stamps cost a loopback call. The same trial runs alternately with and without
//! them.
//!
//! `cargo bench -p rpcgauge-load --bench stage_stamps`. The target is at most 2%.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use rpcgauge_load::{
    Bodies, CallStyle, Codec, CodecError, Endpoint, LoadError, Measurement, Protocol, Request,
    Settling, Trial, WarmupBounds, measure,
};
use rpcgauge_trial::{Address, Stop, Timing};

/// Number of pairs of trials. It is odd, so that there is a median pair.
const PAIRS: usize = 41;

/// Number of calls in a trial.
const CALLS: u64 = 5_000;

/// The message of a request, small but realistic in size.
const MESSAGE: [u8; 100] = [b'm'; 100];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = bare_server()?;
    pin_to(0);
    let held = hold_idle();
    let mut ratios = Vec::with_capacity(PAIRS);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        // The order alternates, so that drift favors neither.
        let order = match pair % 2 {
            0 => [Timing::Stages, Timing::Load],
            _ => [Timing::Load, Timing::Stages],
        };
        let mut times = [0.0; 2];
        for timing in order {
            let mean = run(server, timing)?.figures.elapsed_ns as f64 / CALLS as f64;
            times[usize::from(timing == Timing::Load)] = mean;
        }
        with.push(times[0]);
        without.push(times[1]);
        ratios.push(times[0] / times[1]);
    }
    let quartile = |values: &mut Vec<f64>, part: usize| {
        values.sort_by(f64::total_cmp);
        values[(values.len() - 1) * part / 4]
    };
    let idle = if held.is_some() {
        "disabled"
    } else {
        "as they are"
    };
    println!("client and server on two cores where there are two, idle states {idle};");
    println!("a loopback call, {PAIRS} pairs of trials of {CALLS} calls, median of trials:");
    println!(
        "  without stamps  {:7.2} µs",
        quartile(&mut without, 2) / 1000.0
    );
    println!(
        "  with stamps     {:7.2} µs",
        quartile(&mut with, 2) / 1000.0
    );
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    println!(
        "  cost            {:+7.2} % (middle half of the pairs: {:+.2} to {:+.2} %)",
        percent(quartile(&mut ratios, 2)),
        percent(quartile(&mut ratios, 1)),
        percent(quartile(&mut ratios, 3)),
    );
    Ok(())
}

fn run(server: SocketAddr, timing: Timing) -> Result<Measurement, LoadError> {
    let endpoint = Endpoint {
        address: Address::Tcp(server),
        protocol: Protocol::Http1,
        more_addresses: Vec::new(),
        tls: None,
    };
    let request = Request {
        style: CallStyle::Http {
            method: "POST".to_owned(),
        },
        path: "/".to_owned(),
        authority: "localhost".to_owned(),
        headers: Vec::new(),
    };
    let trial = Trial {
        timing,
        warmup: Some(WarmupBounds {
            max_calls: CALLS / 10,
            max_time: Duration::from_secs(10),
            least_calls: 0,
            slice_calls: CALLS / 10,
            slice_time: Duration::ZERO,
        }),
        stop: Stop {
            calls: Some(CALLS),
            time_ms: None,
        },
        ..Trial::new(endpoint, request)
    };
    let stop = AtomicBool::new(false);
    let measurement = measure(
        &trial,
        Bodies::PerCall(&mut Copying),
        &mut |_| Settling::Settled,
        &stop,
    )?;
    assert_eq!(
        measurement.figures.calls.answered, CALLS,
        "{:?}",
        measurement.figures.error_samples
    );
    Ok(measurement)
}

/// The cheapest possible codec, which maximizes the relative cost of the stamps.
struct Copying;

impl Codec for Copying {
    fn encode(&mut self, _: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(&MESSAGE);
        Ok(())
    }

    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(carried);
        Ok(())
    }

    fn decode(&mut self, _: &[u8]) -> Result<(), CodecError> {
        Ok(())
    }

    fn verify(&mut self, _: u64, _: u64) -> Result<(), CodecError> {
        Ok(())
    }
}

/// A server on another core that answers each request with one write, including marks.
fn bare_server() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        pin_to(1);
        for mut stream in listener.incoming().flatten() {
            let _ = stream.set_nodelay(true);
            let response = [
                b"HTTP/1.1 200 OK\r\nrpcgauge-handler-start: 123456789012345\r\n\
                  rpcgauge-handler-end: 123456789012999\r\ncontent-length: 100\r\n\r\n"
                    .as_slice(),
                &MESSAGE,
            ]
            .concat();
            let mut buffer = [0; 4096];
            let mut read = 0;
            while let Ok(n) = stream.read(&mut buffer[read..]) {
                read += n;
                if n == 0 {
                    break;
                }
                if buffer[..read].ends_with(&MESSAGE) {
                    read = 0;
                    if stream.write_all(&response).is_err() {
                        break;
                    }
                }
            }
        }
    });
    Ok(address)
}

/// Keeps idle cores awake while the file is open, if permitted. This makes calls as short as possible, which
/// maximizes the relative cost of the stamps.
fn hold_idle() -> Option<File> {
    let mut file = File::options()
        .write(true)
        .open("/dev/cpu_dma_latency")
        .ok()?;
    file.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// Pins this thread to a core, if the machine has that core and permits it.
fn pin_to(core: usize) {
    // SAFETY: a `cpu_set_t` is plain bits, all zeros is an empty set, and the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}
