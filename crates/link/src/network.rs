//! A link and its two ends.

use std::time::Duration;

use rpcgauge_trial::{Calibration, Direction, Link, LinkRate, Queue};

use crate::calibrate::{Probes, quantile};
use crate::counters::{Counters, KernelCounts, Snapshot};
use crate::device::{self, Device};
use crate::emulator::Emulator;
use crate::error::LinkError;
use crate::namespace::Namespace;
use crate::path::Path;
use crate::priority::Priority;
use crate::{CLIENT, SERVER};

/// Number of probes each way: to measure the base delay, and to check the calibrated link.
const BASE_PROBES: usize = 60;
const CHECK_PROBES: usize = 40;
/// Maximum number of calibration attempts, and the error of the round trip that is good enough, ns.
const MAX_ATTEMPTS: usize = 4;
const GOOD_NS: u64 = 20_000;
/// A direction without delay, rate or loss.
const INSTANT: Direction = Direction {
    rate: LinkRate::Unlimited,
    delay_ns: 0,
    jitter_ns: 0,
    loss: None,
    queue: Queue::Bytes(u64::MAX),
    overhead: 0,
};
/// Derives the seed of the down direction from the seed of the up direction.
const DOWN_SEED: u64 = 0x646f_776e_0000_0000;

/// How to create a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Cores of the client and the link's thread, by the kernel's numbering. They share cores because a
    /// waiting client leaves its core to the thread. If empty, any core may be used.
    pub client_cores: Vec<usize>,
    /// Cores of the server. If empty, any core may be used.
    pub server_cores: Vec<usize>,
    /// The seed for losses and jitter.
    pub seed: u64,
    /// An earlier calibration of the same link on the same cores, used instead of new probes.
    pub calibrated: Option<Calibration>,
}

/// A link between two namespaces. It forwards packets until it is dropped. Its ends have the addresses
/// [`CLIENT`] and [`SERVER`].
#[derive(Debug)]
pub struct Network {
    client: Namespace,
    server: Namespace,
    emulator: Emulator,
    counters: [Counters; 2],
    calibration: Calibration,
}

impl Network {
    /// Creates a link and calibrates it, unless a [calibration](Options::calibrated) is given. Calibration
    /// takes a second and several round trips. The process must have been [prepared](crate::prepare).
    ///
    /// # Errors
    /// The machine does not provide the namespaces, devices or congestion control; this process is already
    /// inside a link; or the delay, less what the machine adds, is too short for the jitter.
    pub fn open(link: &Link, options: &Options) -> Result<Self, LinkError> {
        if device::is_here() {
            return Err(LinkError::Inside);
        }
        let (client, server) = (Namespace::new()?, Namespace::new()?);
        let open = |namespace: &Namespace, own, other| {
            namespace.run(move || Ok((Device::open(link, own, other)?, Counters::open()?)))
        };
        let (client_device, client_counters) = open(&client, CLIENT, SERVER)?;
        let (server_device, server_counters) = open(&server, SERVER, CLIENT)?;
        let emulator = Emulator::start(
            [client_device, server_device],
            bare(link, [0, 0]),
            link.mtu,
            options.client_cores.clone(),
        )?;
        let calibration = match options.calibrated {
            Some(calibration) => calibration,
            None => calibrate(&emulator, &Probes::open(&client, &server)?, link, options)?,
        };
        let network = Self {
            client,
            server,
            emulator,
            counters: [client_counters, server_counters],
            calibration,
        };
        network.change(link, options.seed)?;
        Ok(network)
    }

    /// Runs `work` over a link that neither delays nor loses packets, for work that is not timed. Afterwards
    /// the link's losses continue as if nothing had been sent. An exception is packets that close connections
    /// late: they are subject to the link again.
    ///
    /// # Errors
    /// The link's thread has stopped.
    pub fn at_once<T>(&self, work: impl FnOnce() -> T) -> Result<T, LinkError> {
        let instant = || Path::new(&INSTANT, 0);
        let paths = self.emulator.use_paths([instant(), instant()])?;
        let done = work();
        self.emulator.use_paths(paths)?;
        Ok(done)
    }

    /// Applies `link` to packets from now on, but not to the kernels' settings.
    pub(crate) fn change(&self, link: &Link, seed: u64) -> Result<(), LinkError> {
        let [up, down] = calibrated(link, base(&self.calibration));
        let seeds = seeds(seed);
        let paths = [Path::new(&up, seeds[0]), Path::new(&down, seeds[1])];
        if paths.iter().any(Path::is_cut) {
            return Err(LinkError::Jitter {
                up_ns: self.calibration.base_up_ns,
                down_ns: self.calibration.base_down_ns,
            });
        }
        self.emulator.use_paths(paths)?;
        Ok(())
    }

    /// Restarts the jitter with another seed. Links with the same settings and seed then add the same delay
    /// to packets that are sent at the same times. Variants under comparison thus share common random numbers.
    ///
    /// # Errors
    /// The link's thread has stopped.
    pub fn restart_jitter(&self, seed: u64) -> Result<(), LinkError> {
        self.emulator.restart_jitter(seeds(seed))
    }

    /// The client's end.
    pub fn client(&self) -> &Namespace {
        &self.client
    }

    /// The server's end.
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// The calibration.
    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// The priority of the link's thread.
    pub fn priority(&self) -> Priority {
        self.emulator.priority()
    }

    /// The counts so far.
    ///
    /// # Errors
    /// The link's thread has stopped, or the kernel's counters cannot be read.
    pub fn counts(&self) -> Result<Snapshot, LinkError> {
        let mut kernel = KernelCounts::default();
        for counters in &self.counters {
            counters.add_to(&mut kernel)?;
        }
        Ok(Snapshot {
            totals: self.emulator.count()?,
            kernel,
            calibration: self.calibration,
        })
    }
}

/// Measures the delay that the machine adds up and down, and then the round trip of probes once that delay is
/// subtracted. If another program disturbs the probes, the measured base is too large, and the link's delay
/// would be too short for the whole run. The measurement is therefore repeated up to [`MAX_ATTEMPTS`] times
/// until probes take the configured time. The closest attempt is used.
fn calibrate(
    emulator: &Emulator,
    probes: &Probes,
    link: &Link,
    options: &Options,
) -> Result<Calibration, LinkError> {
    let mut nearest: Option<Calibration> = None;
    for _ in 0..MAX_ATTEMPTS {
        let attempt = attempt(emulator, probes, link, options)?;
        let is_nearer = |known: &Calibration| attempt.off_ns() < known.off_ns();
        if nearest.as_ref().is_none_or(is_nearer) {
            nearest = Some(attempt);
        }
        if attempt.off_ns() <= GOOD_NS {
            break;
        }
    }
    Ok(nearest.expect("there is at least one attempt"))
}

fn attempt(
    emulator: &Emulator,
    probes: &Probes,
    link: &Link,
    options: &Options,
) -> Result<Calibration, LinkError> {
    emulator.use_paths(bare(link, [0, 0]))?;
    let delays = [link.up.delay_ns, link.down.delay_ns];
    let longest = Duration::from_nanos(delays[0].max(delays[1]));
    let probe = |count| {
        let (client, server) = (&options.client_cores, &options.server_cores);
        probes.send(count, longest, client, server)
    };
    let mut found = probe(BASE_PROBES)?;
    let base = [
        quantile(&mut found.up, 50).saturating_sub(delays[0]),
        quantile(&mut found.down, 50).saturating_sub(delays[1]),
    ];
    emulator.use_paths(bare(link, base))?;
    let left = probe(CHECK_PROBES)?;
    let mut round_trips: Vec<u64> = left.up.iter().zip(&left.down).map(|(a, b)| a + b).collect();
    Ok(Calibration {
        base_up_ns: base[0],
        base_down_ns: base[1],
        set_ns: delays[0] + delays[1],
        median_ns: quantile(&mut round_trips, 50),
        worst_ns: quantile(&mut round_trips, 100),
    })
}

fn base(calibration: &Calibration) -> [u64; 2] {
    [calibration.base_up_ns, calibration.base_down_ns]
}

/// The directions of a link, with the machine's own delay subtracted.
fn calibrated(link: &Link, base: [u64; 2]) -> [Direction; 2] {
    let mut ways = [link.up.clone(), link.down.clone()];
    for (way, base) in ways.iter_mut().zip(base) {
        way.delay_ns = way.delay_ns.saturating_sub(base);
    }
    ways
}

/// The link's paths with only their delay. Probes measure the base delay, which rate, jitter and loss do not
/// affect.
fn bare(link: &Link, base: [u64; 2]) -> [Path; 2] {
    calibrated(link, base).map(|mut way| {
        way.rate = LinkRate::Unlimited;
        way.jitter_ns = 0;
        way.loss = None;
        Path::new(&way, 0)
    })
}

/// The seeds for up and down.
fn seeds(seed: u64) -> [u64; 2] {
    [seed, seed ^ DOWN_SEED]
}
