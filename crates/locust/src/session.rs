//! The connection of a worker to its master, as one event loop.
//!
//! ```text
//! connecting ──► joining (client_ready) ── ack ──► ready ── spawn ──► running ── stop ──► stopping ──► ready
//!     ▲                                                  │
//!     └────────────── silent for 5 s ────────────────────┘
//! ```
//!
//! A master that is silent may have been restarted, and then knows nothing of its workers. They join it again, and end
//! the load of the master that is gone.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval, sleep};
use zeromq::util::PeerIdentity;
use zeromq::{
    DealerRecvHalf, DealerSendHalf, DealerSocket, Socket as _, SocketOptions, SocketRecv as _,
    SocketSend as _,
};

use crate::error::LocustError;
use crate::message::{FromMaster, State, ToMaster, Users};
use crate::report::Report;
use crate::worker::{Command, Master};

/// A master forgets a worker that is silent for a few of these.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// A master that is silent for this long is joined again.
const SILENT: Duration = Duration::from_secs(5);

/// A master that is silent for this long is lost. Locust's own workers wait as long.
const LOST: Duration = Duration::from_secs(60);

/// How long the last messages may take to leave this machine. The socket does not say when they have, and a master that
/// ends waits for 0.5 s.
const LAST_MESSAGES: Duration = Duration::from_millis(200);

/// What the worker tells its session.
#[derive(Debug)]
pub(crate) enum Order {
    Report(Box<Report>),
    Stopped,
    Leave,
}

pub(crate) struct Session {
    master: Master,
    name: String,
    class: Option<String>,
    commands: mpsc::Sender<Command>,
    state: State,
    users: Users,
    /// When the newest command to spawn was sent, by the master's clock. Older ones that arrive later do not count.
    spawned_at: f64,
    /// When the master was heard last, or the session began.
    heard: Instant,
    is_joined: bool,
    /// Whether the user was told that the master cannot be reached.
    is_waiting: bool,
    /// Messages that were not sent yet.
    outbox: VecDeque<Vec<u8>>,
    cpu: CpuMeter,
}

/// Whether a session goes on.
enum Next {
    Continue,
    Reconnect,
    End,
}

impl Session {
    pub(crate) fn new(
        master: &Master,
        name: &str,
        class: Option<&str>,
        commands: mpsc::Sender<Command>,
    ) -> Session {
        Session {
            master: master.clone(),
            name: name.to_owned(),
            class: class.map(str::to_owned),
            commands,
            state: State::Ready,
            users: Users::new(),
            spawned_at: 0.0,
            heard: Instant::now(),
            is_joined: false,
            is_waiting: false,
            outbox: VecDeque::new(),
            cpu: CpuMeter::start(),
        }
    }

    /// Runs until the worker leaves, or the master is lost.
    pub(crate) async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        loop {
            match self.connect(&mut orders).await {
                Ok(Some((mut sender, mut receiver))) => {
                    self.send_first(&ToMaster::ClientReady);
                    match self.talk(&mut sender, &mut receiver, &mut orders).await {
                        Next::Continue | Next::Reconnect => {}
                        Next::End => return,
                    }
                }
                Ok(None) => return,
                Err(error) => return self.tell(Command::Ended(error)),
            }
        }
    }

    /// Connects to the master, however long that takes within [`LOST`]. Returns `None` if the worker leaves.
    async fn connect(
        &mut self,
        orders: &mut UnboundedReceiver<Order>,
    ) -> Result<Option<(DealerSendHalf, DealerRecvHalf)>, LocustError> {
        loop {
            let connecting = connect(&self.master, &self.name);
            let error = tokio::select! {
                connected = connecting => match connected {
                    Ok(socket) => return Ok(Some(socket.split())),
                    Err(error) => error,
                },
                order = orders.recv() => match self.follow(order) {
                    Next::End => return Ok(None),
                    Next::Continue | Next::Reconnect => continue,
                },
            };
            if self.heard.elapsed() >= LOST {
                return Err(self.lost(error));
            }
            self.wait_for_master(error);
            sleep(HEARTBEAT).await;
        }
    }

    async fn talk(
        &mut self,
        sender: &mut DealerSendHalf,
        receiver: &mut DealerRecvHalf,
        orders: &mut UnboundedReceiver<Order>,
    ) -> Next {
        let connected = Instant::now();
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            while let Some(message) = self.outbox.pop_front() {
                if sender.send(message.clone().into()).await.is_err() {
                    self.outbox.push_front(message);
                    break;
                }
            }
            let next = tokio::select! {
                received = receiver.recv() => match received {
                    Ok(message) => {
                        let frames = message.into_vec();
                        let read = frames.last().and_then(|frame| FromMaster::parse(frame));
                        read.map_or(Next::Continue, |message| self.receive(message))
                    }
                    Err(_) => {
                        sleep(HEARTBEAT).await;
                        Next::Reconnect
                    }
                },
                order = orders.recv() => self.follow(order),
                _ = heartbeat.tick() => {
                    let cpu = self.cpu.percent();
                    if self.is_joined {
                        self.send(&ToMaster::Heartbeat { state: self.state, cpu });
                    }
                    self.check_silence(connected)
                }
            };
            match next {
                Next::Continue => {}
                Next::Reconnect => return Next::Reconnect,
                Next::End => {
                    while let Some(message) = self.outbox.pop_front() {
                        // A master that is gone misses nothing.
                        let _ = sender.send(message.into()).await;
                    }
                    sleep(LAST_MESSAGES).await;
                    return Next::End;
                }
            }
        }
    }

    /// Joins the master again if it is silent, and ends if it is lost.
    fn check_silence(&mut self, connected: Instant) -> Next {
        let silent = self.heard.elapsed();
        if silent >= LOST {
            let error = self.lost(LocustError::NoAnswer(self.master.to_string()));
            self.tell(Command::Ended(error));
            Next::End
        } else if silent >= SILENT && connected.elapsed() >= SILENT {
            self.wait_for_master(LocustError::NoAnswer(self.master.to_string()));
            self.is_joined = false;
            Next::Reconnect
        } else {
            Next::Continue
        }
    }

    fn receive(&mut self, message: FromMaster) -> Next {
        self.heard = Instant::now();
        match message {
            FromMaster::Ack if !self.is_joined => {
                self.is_joined = true;
                self.is_waiting = false;
                // A master that acknowledges a worker again has forgotten its load.
                if self.state != State::Ready {
                    self.stop();
                }
                self.tell(Command::Joined);
            }
            FromMaster::Spawn { sent_at, users } => {
                self.send(&ToMaster::Spawning);
                if sent_at > self.spawned_at {
                    self.spawned_at = sent_at;
                    self.users = users;
                    self.state = State::Spawning;
                    let wanted = self.users.iter().filter(|(class, _)| {
                        self.class.as_ref().is_none_or(|wanted| wanted == *class)
                    });
                    let count = wanted.fold(0u32, |sum, (_, count)| sum.saturating_add(*count));
                    self.tell(Command::Users(count));
                }
                let spawned = self.users.clone();
                self.send(&ToMaster::SpawningComplete(&spawned));
                self.state = State::Running;
            }
            FromMaster::Stop => self.stop(),
            FromMaster::Quit => self.tell(Command::Quit),
            FromMaster::Reconnect => {
                self.is_joined = false;
                return Next::Reconnect;
            }
            FromMaster::Ack | FromMaster::Heartbeat | FromMaster::Other => {}
        }
        Next::Continue
    }

    /// Carries out what the worker says; `None` if the worker is gone.
    fn follow(&mut self, order: Option<Order>) -> Next {
        match order {
            Some(Order::Report(report)) => {
                let users = self.users.clone();
                self.send(&ToMaster::Stats(&report, &users));
                Next::Continue
            }
            Some(Order::Stopped) => {
                self.users = Users::new();
                self.state = State::Ready;
                self.send(&ToMaster::ClientStopped);
                self.send(&ToMaster::ClientReady);
                Next::Continue
            }
            Some(Order::Leave) | None => {
                self.send(&ToMaster::Quit);
                Next::End
            }
        }
    }

    fn stop(&mut self) {
        self.state = State::Stopping;
        self.tell(Command::Stop);
    }

    fn wait_for_master(&mut self, error: LocustError) {
        if !std::mem::replace(&mut self.is_waiting, true) {
            self.tell(Command::Waiting(error));
        }
    }

    /// Why the connection is over: a master that was never heard has another problem than one that was.
    fn lost(&self, error: LocustError) -> LocustError {
        if self.spawned_at > 0.0 || self.is_joined {
            LocustError::Lost(self.master.to_string(), LOST.as_secs())
        } else {
            error
        }
    }

    fn send(&mut self, message: &ToMaster<'_>) {
        self.outbox.push_back(message.to_bytes(&self.name));
    }

    fn send_first(&mut self, message: &ToMaster<'_>) {
        self.outbox.push_front(message.to_bytes(&self.name));
    }

    /// If nobody listens any more, the worker has left.
    fn tell(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

async fn connect(master: &Master, name: &str) -> Result<DealerSocket, LocustError> {
    let failed =
        |error: zeromq::ZmqError| LocustError::Connect(master.to_string(), error.to_string());
    let mut options = SocketOptions::default();
    let identity = PeerIdentity::try_from(name.as_bytes()).map_err(failed)?;
    options.peer_identity(identity).connect_timeout(SILENT);
    let mut socket = DealerSocket::with_options(options);
    socket
        .connect(&format!("tcp://{master}"))
        .await
        .map_err(failed)?;
    Ok(socket)
}

/// Measures the CPU time of this process between two readings.
struct CpuMeter {
    at: Instant,
    used: Duration,
}

impl CpuMeter {
    fn start() -> CpuMeter {
        CpuMeter {
            at: Instant::now(),
            used: cpu_time(),
        }
    }

    /// CPU time since the last reading, percent of a core.
    fn percent(&mut self) -> f64 {
        let earlier = std::mem::replace(self, CpuMeter::start());
        let used = self.used.saturating_sub(earlier.used).as_secs_f64();
        let passed = (self.at - earlier.at).as_secs_f64();
        if passed > 0.0 {
            100.0 * used / passed
        } else {
            0.0
        }
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}
