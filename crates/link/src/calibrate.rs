//! Measures what the machine itself adds to a packet's delay: wake-ups and the kernel's own work.
//!
//! UDP probes are sent one way, then the other way. A probe's time runs from just before it is sent until the
//! kernel's timestamp on its arrival. It therefore includes the link and both kernels' stacks, but not the
//! wake-up of the program that waits for the packet, which is part of that program's own time. An echo would
//! not do: the kernel answers it within the write of the request, while the link's thread is still awake. A
//! server answers while the thread sleeps.

use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::LinkError;
use crate::namespace::Namespace;
use crate::priority;
use crate::stamp::{begin_stamps, stamp, wall_clock};
use crate::{CLIENT, SERVER};

/// Time between probes. It is long enough for the link's thread and the sender to fall asleep, as they do
/// between calls.
const APART: Duration = Duration::from_millis(4);
/// Number of initial probes to discard: the kernel may not stamp them yet.
const UNCOUNTED: usize = 4;
/// Payload of a probe. With headers, the packet is 84 bytes, the size of a ping.
const BYTES: usize = 84 - 28;
/// How long to wait for probes beyond the link's delay.
const PATIENCE: Duration = Duration::from_secs(2);

/// A socket at each end of the link.
pub(crate) struct Probes {
    pub(crate) client: UdpSocket,
    pub(crate) server: UdpSocket,
}

/// One-way times of probes, ns.
pub(crate) struct OneWay {
    pub(crate) up: Vec<u64>,
    pub(crate) down: Vec<u64>,
}

impl Probes {
    pub(crate) fn open(client: &Namespace, server: &Namespace) -> Result<Self, LinkError> {
        let bind = |namespace: &Namespace, own: Ipv4Addr| {
            namespace.run(move || {
                UdpSocket::bind((own, 0)).map_err(LinkError::kernel("open a socket for probes"))
            })
        };
        Ok(Self {
            client: bind(client, CLIENT)?,
            server: bind(server, SERVER)?,
        })
    }

    /// Sends `count` probes each way, from the cores on which the client and the server will run. `longest`
    /// is the longer of the two delays.
    pub(crate) fn send(
        &self,
        count: usize,
        longest: Duration,
        client_cores: &[usize],
        server_cores: &[usize],
    ) -> Result<OneWay, LinkError> {
        let (client, server) = (&self.client, &self.server);
        let wait = longest + PATIENCE;
        let probe = |from, to, cores| {
            thread::scope(|scope| {
                let round = scope.spawn(move || {
                    priority::pin(cores);
                    one_way(from, to, count, wait)
                });
                round
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        };
        Ok(OneWay {
            up: probe(client, server, client_cores)?,
            down: probe(server, client, server_cores)?,
        })
    }
}

fn one_way(
    from: &UdpSocket,
    to: &UdpSocket,
    count: usize,
    wait: Duration,
) -> Result<Vec<u64>, LinkError> {
    let failed = LinkError::kernel("send probes");
    let address = to.local_addr().map_err(&failed)?;
    to.set_read_timeout(Some(wait)).map_err(&failed)?;
    begin_stamps(to).map_err(|error| failed(error.into()))?;
    let total = UNCOUNTED + count;
    let start = Instant::now();
    let mut sent = Vec::with_capacity(total);
    for index in 0..total {
        let due = start + APART * index as u32;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let mut probe = [0; BYTES];
        probe[..8].copy_from_slice(&(index as u64).to_ne_bytes());
        sent.push(wall_clock());
        from.send_to(&probe, address).map_err(&failed)?;
    }
    let mut times = Vec::with_capacity(total);
    let mut probe = [0; BYTES];
    while times.len() < total && to.recv(&mut probe).is_ok() {
        let arrived = stamp(to).map_err(|error| failed(error.into()))?;
        let index = probe.first_chunk().map_or(0, |it| u64::from_ne_bytes(*it));
        if let Some(sent) = sent.get(index as usize) {
            times.push((index, arrived.saturating_sub(*sent)));
        }
    }
    times.retain(|(index, _)| *index >= UNCOUNTED as u64);
    let times: Vec<u64> = times.into_iter().map(|(_, time)| time).collect();
    if times.len() < count {
        return Err(LinkError::NoProbes {
            arrived: times.len(),
            sent: count,
        });
    }
    Ok(times)
}

/// A percentile of the values.
pub(crate) fn quantile(values: &mut [u64], hundredths: usize) -> u64 {
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    values.get(last * hundredths / 100).copied().unwrap_or(0)
}
