//! A link's thread. It reads packets from the devices, offers them to the paths, and writes them when they
//! are due.

use std::collections::VecDeque;
use std::fs::File;
use std::mem;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};

use rpcgauge_trial::DirectionCounts;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::{Errno, read, write};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::counters::Totals;
use crate::device::Device;
use crate::error::LinkError;
use crate::path::{Offered, Path};
use crate::pool::Pool;
use crate::priority::{self, Priority};

/// How long before a packet is due the thread stops sleeping and starts polling, ns. Most of this compensates
/// for late wake-ups. On a busy machine, at 500 calls per second over 1.8 ms, 80,000 gave a p99 lateness of 9
/// µs and used 10% of a core, 50,000 gave 23 µs and 7%, and 30,000 gave 50 µs and 5%.
const EARLY: u64 = 50_000;
/// A core, especially a virtual one, wakes up more slowly after a long sleep. The thread therefore wakes up
/// earlier by one part in `EARLY_PART` of the sleep, but at most by `MAX_EARLIER` ns. Without this, the
/// median lateness of packets over 25 ms was 61 µs.
const EARLY_PART: u64 = 100;
const MAX_EARLIER: u64 = 250_000;
/// The thread polls for at most one part in `AWAKE` of the time, because it shares its core with the client.
const AWAKE: u64 = 8;
/// The length of the window in which packets are counted, ns.
const WINDOW: u64 = 10_000_000;
/// Maximum number of packets to read before writing due ones, and vice versa.
const BATCH: usize = 16;
/// Initial capacity of each direction's queue, in packets.
const EXPECTED: usize = 4_096;

/// A handle to the thread. Dropping the handle stops the thread and discards packets in transit.
#[derive(Debug)]
pub(crate) struct Emulator {
    /// `None` once the handle is dropped.
    commands: Option<Sender<Command>>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    priority: Priority,
}

/// A command to the thread. The thread replies once the command is done.
enum Command {
    /// Replies with the counts.
    Count(Sender<Totals>),
    /// Switches to these paths, and replies with the previous ones.
    Use(Box<[Path; 2]>, Sender<Box<[Path; 2]>>),
    /// Restarts the jitter with these seeds, up and down.
    RestartJitter([u64; 2], Sender<()>),
}

impl Emulator {
    /// Starts the thread. `devices` are the client's and the server's, and `paths` are up and down. `mtu` is
    /// the maximum size of a packet, and `cores` lists the cores on which the thread may run.
    pub(crate) fn start(
        devices: [Device; 2],
        paths: [Path; 2],
        mtu: u32,
        cores: Vec<usize>,
    ) -> Result<Self, LinkError> {
        let start = LinkError::kernel("start a thread");
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let wake = Arc::new(eventfd(0, flags).map_err(LinkError::kernel("create an eventfd"))?);
        let (commands, inbox) = channel();
        let (tell, told) = sync_channel(1);
        let woken = Arc::clone(&wake);
        let thread = thread::Builder::new().name("link".to_owned());
        let thread = thread.spawn(move || {
            priority::pin(&cores);
            // Sending fails only if the handle is already gone.
            let _ = tell.send(priority::raise());
            Thread::new(devices, paths, mtu, inbox, woken).run();
        });
        let thread = Some(thread.map_err(start)?);
        Ok(Self {
            commands: Some(commands),
            wake,
            thread,
            priority: told.recv().unwrap_or(Priority::Normal),
        })
    }

    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    /// The counts since the thread started.
    pub(crate) fn count(&self) -> Result<Totals, LinkError> {
        self.ask(Command::Count)
    }

    /// Switches to other paths, and returns the previous ones. Packets that have been sent, whether or not the
    /// thread has read them, cross by the previous paths.
    pub(crate) fn use_paths(&self, paths: [Path; 2]) -> Result<[Path; 2], LinkError> {
        self.ask(|tell| Command::Use(Box::new(paths), tell))
            .map(|before| *before)
    }

    /// Restarts the jitter with other seeds, up and down.
    pub(crate) fn restart_jitter(&self, seeds: [u64; 2]) -> Result<(), LinkError> {
        self.ask(|tell| Command::RestartJitter(seeds, tell))
    }

    /// Sends a command, and waits until the thread has carried it out.
    fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> Result<T, LinkError> {
        let commands = self.commands.as_ref().ok_or_else(ended)?;
        let (tell, told) = channel();
        commands.send(command(tell)).map_err(|_| ended())?;
        self.wake();
        told.recv().map_err(|_| ended())
    }

    fn wake(&self) {
        // The write fails only if the counter is full, and then the thread is awake anyway.
        let _ = write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.commands = None;
        self.wake();
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, its message is already on standard error.
            let _ = thread.join();
        }
    }
}

fn ended() -> LinkError {
    LinkError::Ended
}

/// The state of the thread.
struct Thread {
    lanes: [Lane; 2],
    pool: Pool,
    totals: Totals,
    pace: Pace,
    inbox: Receiver<Command>,
    wake: Arc<OwnedFd>,
    clock: Clock,
    /// The thread's own scheduling statistics; `None` if the kernel does not provide them.
    schedstat: Option<File>,
}

/// One direction, from one device to the other.
struct Lane {
    from: Arc<Device>,
    to: Arc<Device>,
    path: Path,
    /// The packets in transit, in the order of arrival.
    travelling: VecDeque<Travelling>,
}

#[derive(Clone, Copy)]
struct Travelling {
    /// When the packet arrives, ns.
    due: u64,
    slot: usize,
    bytes: usize,
}

impl Thread {
    /// Builds the state. It must be called on the link's thread, whose scheduling statistics it opens.
    fn new(
        devices: [Device; 2],
        paths: [Path; 2],
        mtu: u32,
        inbox: Receiver<Command>,
        wake: Arc<OwnedFd>,
    ) -> Self {
        let [client, server] = devices.map(Arc::new);
        let [up, down] = paths;
        let lane = |from: &Arc<Device>, to: &Arc<Device>, path| Lane {
            from: Arc::clone(from),
            to: Arc::clone(to),
            path,
            travelling: VecDeque::with_capacity(EXPECTED),
        };
        Self {
            lanes: [lane(&client, &server, up), lane(&server, &client, down)],
            pool: Pool::new(mtu as usize),
            totals: Totals::new(),
            pace: Pace::default(),
            inbox,
            wake,
            clock: Clock::start(),
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
        }
    }

    fn run(mut self) {
        while self.obey() {
            let Ok(read) = self.read() else {
                return;
            };
            self.write();
            // After a successful read there may be more packets to read.
            if !read {
                self.wait();
            }
        }
    }

    /// Carries out pending commands. Returns `false` if the handle or a device is gone.
    fn obey(&mut self) -> bool {
        loop {
            match self.inbox.try_recv() {
                // Sending a reply fails only if the caller is gone.
                Ok(Command::Count(tell)) => {
                    self.totals.cpu = time(ClockId::ThreadCPUTime);
                    self.totals.waited = self.schedstat.as_ref().map_or(0, waited);
                    drop(tell.send(self.totals.clone()));
                }
                Ok(Command::Use(mut paths, tell)) => {
                    if self.drain().is_err() {
                        return false;
                    }
                    for (lane, path) in self.lanes.iter_mut().zip(&mut *paths) {
                        mem::swap(&mut lane.path, path);
                    }
                    let _ = tell.send(paths);
                }
                Ok(Command::RestartJitter(seeds, tell)) => {
                    for (lane, seed) in self.lanes.iter_mut().zip(seeds) {
                        lane.path.restart_jitter(seed);
                    }
                    let _ = tell.send(());
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Reads all packets that the devices hold. They were sent before the command that is being carried out,
    /// so they take the paths that it replaces.
    fn drain(&mut self) -> Result<(), Errno> {
        loop {
            let any = self.read()?;
            self.write();
            // Without room for another packet, it must wait until one leaves.
            if !any && !self.pool.is_spent() {
                return Ok(());
            }
        }
    }

    /// Reads packets from both devices, and returns whether there were any. Fails if a device is gone,
    /// because the thread would otherwise spin forever.
    fn read(&mut self) -> Result<bool, Errno> {
        let mut any = false;
        let ways = self.totals.directions.iter_mut();
        for (lane, counts) in self.lanes.iter_mut().zip(ways) {
            for _ in 0..BATCH {
                let Some(slot) = self.pool.take() else {
                    break;
                };
                // The clock is read before the packet, which had arrived by then.
                let now = self.clock.now();
                let bytes = match read(&lane.from, self.pool.bytes(slot)) {
                    Ok(bytes) => bytes,
                    Err(Errno::AGAIN | Errno::INTR) => {
                        self.pool.give_back(slot);
                        break;
                    }
                    Err(error) => return Err(error),
                };
                any = true;
                self.pace.count(now);
                match take_in(&mut lane.path, counts, now, bytes) {
                    Some(due) => lane.travelling.push_back(Travelling { due, slot, bytes }),
                    None => self.pool.give_back(slot),
                }
            }
        }
        Ok(any)
    }

    /// Writes the packets that are due.
    fn write(&mut self) {
        for lane in &mut self.lanes {
            for _ in 0..BATCH {
                let now = self.clock.now();
                let Some(&packet) = lane.travelling.front() else {
                    break;
                };
                if packet.due > now {
                    break;
                }
                lane.travelling.pop_front();
                self.totals.late(now - packet.due);
                let bytes = &self.pool.bytes(packet.slot)[..packet.bytes];
                // The kernel counts a packet that it rejects as dropped.
                let _ = write(&lane.to, bytes);
                self.pool.give_back(packet.slot);
            }
        }
    }

    /// Sleeps until a packet arrives, a packet is due, or a command is sent.
    fn wait(&mut self) {
        let dues = self.lanes.iter().filter_map(|lane| lane.travelling.front());
        let timeout = match dues.map(|packet| packet.due).min() {
            None => None,
            Some(due) => {
                let now = self.clock.now();
                let sleep = due.saturating_sub(now + self.pace.early(now, due));
                if sleep == 0 {
                    return;
                }
                Some(Timespec {
                    tv_sec: (sleep / SECOND) as i64,
                    tv_nsec: (sleep % SECOND) as i64,
                })
            }
        };
        let [up, down] = &self.lanes;
        // With no room for another packet, wait until one leaves.
        let readable = if self.pool.is_spent() {
            PollFlags::empty()
        } else {
            PollFlags::IN
        };
        let mut files = [
            PollFd::new(&*up.from, readable),
            PollFd::new(&*down.from, readable),
            PollFd::new(&*self.wake, PollFlags::IN),
        ];
        match poll(&mut files, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            // If the kernel lacks the memory to poll, the thread stays awake.
            Err(_) => return,
        }
        if !files[2].revents().is_empty() {
            // Reading resets the counter.
            let _ = read(&*self.wake, &mut [0; 8]);
        }
    }
}

/// Offers a packet to the path and counts it. Returns when the packet is due, or `None` if it does not
/// arrive.
fn take_in(path: &mut Path, counts: &mut DirectionCounts, now: u64, bytes: usize) -> Option<u64> {
    counts.packets += 1;
    counts.bytes += bytes as u64;
    let (due, queued) = match path.offer(now, bytes as u64) {
        Offered::Due { at, queued } => (Some(at), queued),
        Offered::Lost { queued } => {
            counts.lost += 1;
            (None, queued)
        }
        Offered::Dropped => {
            counts.dropped += 1;
            (None, 0)
        }
    };
    counts.queued_ns += queued;
    due
}

const SECOND: u64 = 1_000_000_000;

/// The link's clock, in ns since its start.
struct Clock {
    start: u64,
}

impl Clock {
    fn start() -> Self {
        Self {
            start: time(ClockId::Monotonic),
        }
    }

    fn now(&self) -> u64 {
        time(ClockId::Monotonic) - self.start
    }
}

/// The second field of a thread's `schedstat`: how long the thread was runnable but had no core, ns.
fn waited(schedstat: &File) -> u64 {
    let mut bytes = [0; 80];
    let length = schedstat.read_at(&mut bytes, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..length]);
    let figure = text.split_whitespace().nth(1);
    figure.and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn time(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// The rate at which packets arrive.
#[derive(Default)]
struct Pace {
    window: u64,
    /// Packets in the current window and in the previous one.
    counts: [u32; 2],
}

impl Pace {
    fn count(&mut self, now: u64) {
        self.turn(now);
        self.counts[0] += 1;
    }

    /// How long before a packet is due the thread must be awake, ns.
    fn early(&mut self, now: u64, due: u64) -> u64 {
        self.turn(now);
        let most = u64::from(self.counts[0].max(self.counts[1]).max(1));
        let earlier = (due.saturating_sub(now) / EARLY_PART).min(MAX_EARLIER);
        (EARLY + earlier).min(WINDOW / AWAKE / most)
    }

    fn turn(&mut self, now: u64) {
        let window = now / WINDOW;
        match window - self.window {
            0 => {}
            1 => self.counts = [0, self.counts[0]],
            _ => self.counts = [0, 0],
        }
        self.window = window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_packets_leave_less_time_to_wait_awake() {
        let mut pace = Pace::default();
        assert_eq!(pace.early(5, 5), EARLY);
        // 10,000 per second.
        (0..100).for_each(|_| pace.count(5));
        assert_eq!(pace.early(5, 5), 12_500);
        assert_eq!(pace.early(WINDOW, WINDOW), 12_500);
        let late = 2 * WINDOW;
        assert_eq!(pace.early(late, late), EARLY);
    }

    #[test]
    fn a_long_sleep_ends_earlier() {
        let mut pace = Pace::default();
        assert_eq!(pace.early(0, 1_000_000), EARLY + 10_000);
        assert_eq!(pace.early(0, SECOND), EARLY + MAX_EARLIER);
    }
}
