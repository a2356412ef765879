//! Sends packets over a link at a given rate, and records their arrivals.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::LinkError;
use crate::priority;
use crate::stamp::{begin_stamps, stamp, wall_clock};

/// The measured rate in bit/s. Only packets that waited for the previous one are included, because when the
/// sender paused, so did the link. Returns 0 if no packet waited or arrived.
pub(crate) fn measured_rate(
    arrivals: &[Arrival],
    delay: u64,
    packet: Duration,
    on_link: u64,
) -> f64 {
    let waited = delay + 2 * packet.as_nanos() as u64;
    let pairs = arrivals.windows(2).filter(|pair| pair[1].took > waited);
    let gaps = pairs.map(|pair| pair[1].at.saturating_sub(pair[0].at));
    let (count, time) = gaps.fold((0, 0), |(count, time), gap| (count + 1, time + gap));
    match time {
        0 => 0.0,
        time => f64::from(count) * on_link as f64 * 8.0 / (time as f64 / 1e9),
    }
}

#[derive(Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) socket: &'a UdpSocket,
    pub(crate) cores: &'a [usize],
}

/// Packets to send at a given rate.
pub(crate) struct Load {
    /// Payload of a packet, bytes.
    pub(crate) bytes: usize,
    /// Number of packets that are sent first, as fast as possible.
    pub(crate) at_once: u32,
    /// Packets per second.
    pub(crate) pace: f64,
    pub(crate) time: Duration,
    /// How long to wait for another packet before giving up.
    pub(crate) patience: Duration,
}

#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    /// When the packet arrived, ns of the wall clock.
    pub(crate) at: u64,
    /// Time since the packet was sent, ns.
    pub(crate) took: u64,
}

impl Load {
    /// Sends the packets. Returns how many were sent, and the arrivals.
    pub(crate) fn send(
        &self,
        from: End<'_>,
        to: End<'_>,
    ) -> Result<(u32, Vec<Arrival>), LinkError> {
        let failed = LinkError::kernel("send packets over a link");
        begin_stamps(to.socket).map_err(|error| failed(error.into()))?;
        to.socket
            .set_read_timeout(Some(self.patience))
            .map_err(&failed)?;
        // On a fast link the receiver reads too slowly, so packets wait in its buffer. The timestamps do not
        // depend on that. If the buffer cannot be enlarged, the kernel counts the drops.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(to.socket, 128 << 20);
        let address = to.socket.local_addr().map_err(&failed)?;
        from.socket.connect(address).map_err(&failed)?;
        thread::scope(|scope| {
            let receiving = scope.spawn(|| {
                priority::pin(to.cores);
                // Without this priority, other programs could disturb the check.
                priority::prefer();
                self.receive(to.socket)
            });
            let sending = scope.spawn(|| {
                priority::pin(from.cores);
                priority::prefer();
                self.pour(from.socket)
            });
            let sent = sending
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let arrived = receiving
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((sent.map_err(&failed)?, arrived))
        })
    }

    fn pour(&self, socket: &UdpSocket) -> std::io::Result<u32> {
        let mut packet = vec![0; self.bytes];
        let (start, mut sent) = (Instant::now(), 0);
        while start.elapsed() < self.time {
            let due = self.at_once + (start.elapsed().as_secs_f64() * self.pace) as u32;
            while sent < due {
                packet[..8].copy_from_slice(&wall_clock().to_ne_bytes());
                socket.send(&packet)?;
                sent += 1;
            }
            thread::sleep(Duration::from_micros(100));
        }
        Ok(sent)
    }

    fn receive(&self, socket: &UdpSocket) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        let mut packet = vec![0; self.bytes];
        let mut is_first = true;
        loop {
            match socket.recv(&mut packet) {
                Ok(_) => {}
                // The first packet may time out once, because starting the sender takes additional time.
                Err(_) if is_first => {
                    is_first = false;
                    continue;
                }
                Err(_) => return arrivals,
            }
            is_first = false;
            let sent = packet.first_chunk().map_or(0, |it| u64::from_ne_bytes(*it));
            if let Ok(at) = stamp(socket) {
                let took = at.saturating_sub(sent);
                arrivals.push(Arrival { at, took });
            }
        }
    }
}
