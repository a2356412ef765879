//! The calling side of the floor calibration: a bare, blocking ping-pong (docs/method.md).
//!
//! It first sends two little-endian `u64` values: the sizes of a request and of a response in bytes. From
//! then on, the other side answers each complete request with a complete response.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::Histogram;
use crate::clock;
use crate::histogram::{histogram, record};
use crate::unix::connect_unix;
use rpcgauge_trial::Address;

/// The settings of a ping-pong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloorCall {
    /// Bytes written per round trip, at least 1.
    pub request_bytes: u64,
    /// Bytes read per round trip, at least 1.
    pub response_bytes: u64,
    /// Number of round trips before the measured ones.
    pub warmup_calls: u64,
    /// Number of measured round trips, at least 1.
    pub calls: u64,
    /// Maximum time of any connect, write or read; more than 0.
    pub timeout: Duration,
}

/// The times of a ping-pong.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// Round-trip times, ns.
    pub latency: Histogram,
    /// CPU time of the calling loop, ns per call.
    pub client_cpu_ns: f64,
}

/// Maximum number of bytes per write or read.
const PIECE: u64 = 256 * 1024;

/// Connects to the answering side at `address` and plays ping-pong with it.
///
/// # Errors
/// A setting is out of range, or the other side cannot be reached, closes the connection, or does not answer
/// in time.
pub fn ping_pong(address: &Address, call: &FloorCall) -> io::Result<Floor> {
    if call.request_bytes == 0 || call.response_bytes == 0 || call.calls == 0 {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "the floor needs at least 1 byte each way and 1 call",
        ));
    }
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, call.timeout)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(call.timeout))?;
            stream.set_write_timeout(Some(call.timeout))?;
            play(stream, call)
        }
        Address::Unix(path) => {
            let stream = connect_unix(path, call.timeout)?;
            stream.set_read_timeout(Some(call.timeout))?;
            stream.set_write_timeout(Some(call.timeout))?;
            play(stream, call)
        }
    }
}

fn play(mut stream: impl Read + Write, call: &FloorCall) -> io::Result<Floor> {
    let mut sizes = [0; 16];
    sizes[..8].copy_from_slice(&call.request_bytes.to_le_bytes());
    sizes[8..].copy_from_slice(&call.response_bytes.to_le_bytes());
    stream.write_all(&sizes)?;

    let request = vec![0x5a; call.request_bytes.min(PIECE) as usize];
    let mut response = vec![0; call.response_bytes.min(PIECE) as usize];
    for _ in 0..call.warmup_calls {
        round_trip(&mut stream, call, &request, &mut response)?;
    }
    let mut latency = histogram();
    let cpu = clock::cpu();
    let mut before = clock::now();
    for _ in 0..call.calls {
        round_trip(&mut stream, call, &request, &mut response)?;
        let now = clock::now();
        record(&mut latency, now - before);
        before = now;
    }
    let cpu_ns = clock::cpu().total_ns.saturating_sub(cpu.total_ns);
    Ok(Floor {
        latency,
        client_cpu_ns: cpu_ns as f64 / call.calls as f64,
    })
}

fn round_trip(
    stream: &mut (impl Read + Write),
    call: &FloorCall,
    request: &[u8],
    response: &mut [u8],
) -> io::Result<()> {
    let mut left = call.request_bytes;
    while left > 0 {
        let piece = left.min(request.len() as u64);
        stream.write_all(&request[..piece as usize])?;
        left -= piece;
    }
    let mut left = call.response_bytes;
    while left > 0 {
        let room = left.min(response.len() as u64) as usize;
        match stream.read(&mut response[..room]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => left -= n as u64,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
