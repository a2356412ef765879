//! The connection of a worker to its master, as one event loop.
//!
//! ```text
//! connecting ──► joining (client_ready) ── ack ──► ready ── spawn ──► running ── stop ──► stopping ──► ready
//!     ▲                                              │                    │
//!     └────────────── silent for 5 s ────────────────┴────────────────────┘
//! ```
//!
//! A master that is silent may have been restarted, and then knows nothing of its workers. They join it again, and end
//! the load that it no longer knows.

use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};
use std::pin::pin;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use zeromq::util::PeerIdentity;
use zeromq::{
    DealerRecvHalf, DealerSendHalf, DealerSocket, Socket as _, SocketOptions, SocketRecv as _,
    SocketSend as _,
};

use crate::error::LocustError;
use crate::message::{FORMAT, FromMaster, State, ToMaster, Users};
use crate::report::{CollectedRun, Figures, Report};
use crate::worker::{Command, Master};

/// The time between two heartbeats. A master considers a worker missing after about four missed heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// A master that is silent for this long is joined again.
const SILENT: Duration = Duration::from_secs(5);

/// A master that is silent for this long is lost. Locust's own workers wait as long.
pub(crate) const LOST: Duration = Duration::from_secs(60);

/// How long the last messages have to leave this machine. The socket does not tell when they have. A master that ends
/// waits for them for 0.5 s.
const LAST_MESSAGES: Duration = Duration::from_millis(200);

/// What the rest of the program asks of the session.
#[derive(Debug)]
pub(crate) enum Order {
    Report(Box<Report>),
    Figures(Box<Figures>),
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
    /// When the newest spawn message was sent, by the master's clock. Older ones that arrive later do not count.
    spawned_at: f64,
    began: Instant,
    /// When the last message of the master arrived.
    heard: Option<Instant>,
    /// How long the master may be silent until it is lost.
    lost_after: Duration,
    /// Whether the master has acknowledged the worker on this connection.
    is_joined: bool,
    /// Why the worker waits for the master, if it does.
    waiting: Option<Discriminant<LocustError>>,
    /// Whether the program still ends a load that the master does not know.
    is_unknown: bool,
    /// Whether the master has sent a message that cannot be read.
    has_ignored: bool,
    /// Messages to send once the master has acknowledged the worker.
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
        lost_after: Duration,
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
            began: Instant::now(),
            heard: None,
            lost_after,
            is_joined: false,
            waiting: None,
            is_unknown: false,
            has_ignored: false,
            outbox: VecDeque::new(),
            cpu: CpuMeter::start(),
        }
    }

    /// Runs until the worker leaves, or the master is lost.
    pub(crate) async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        loop {
            match self.connect(&mut orders).await {
                Ok(Some((mut sender, mut receiver))) => {
                    self.is_joined = false;
                    let ready = ToMaster::ClientReady.to_bytes(&self.name);
                    // A connection that is broken again shows when it is read.
                    let _ = sender.send(ready.into()).await;
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

    /// Connects to the master. Tries again until it is lost. Returns `None` if the worker leaves.
    async fn connect(
        &mut self,
        orders: &mut UnboundedReceiver<Order>,
    ) -> Result<Option<(DealerSendHalf, DealerRecvHalf)>, LocustError> {
        loop {
            let mut connecting = pin!(connect(self.master.clone(), self.name.clone()));
            let connected = loop {
                tokio::select! {
                    connected = &mut connecting => break connected,
                    order = orders.recv() => if matches!(self.follow(order), Next::End) {
                        return Ok(None);
                    },
                }
            };
            let error = match connected {
                Ok(socket) => return Ok(Some(socket.split())),
                Err(error) => self.because(error),
            };
            if self.silent_for() >= self.lost_after {
                return Err(error);
            }
            self.wait_for_master(error);
            sleep(HEARTBEAT).await;
        }
    }

    /// Exchanges messages with the master until the connection ends.
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
            while self.is_joined
                && let Some(message) = self.outbox.pop_front()
            {
                if sender.send(message.clone().into()).await.is_err() {
                    self.outbox.push_front(message);
                    break;
                }
            }
            let next = tokio::select! {
                received = receiver.recv() => match received {
                    Ok(message) => {
                        let frames = message.into_vec();
                        match frames.last().and_then(|frame| FromMaster::parse(frame)) {
                            Some(message) => self.receive(message),
                            None => self.ignore(),
                        }
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
        let silent = self.silent_for();
        let error = self.because(LocustError::NoAnswer(self.master.to_string()));
        if silent >= self.lost_after {
            self.tell(Command::Ended(error));
            Next::End
        } else if silent >= SILENT && connected.elapsed() >= SILENT {
            self.wait_for_master(error);
            Next::Reconnect
        } else {
            Next::Continue
        }
    }

    /// Tells of a message that cannot be read, once.
    fn ignore(&mut self) -> Next {
        if !std::mem::replace(&mut self.has_ignored, true) {
            let error = LocustError::Unreadable(self.master.to_string());
            self.tell(Command::Ignored(error));
        }
        Next::Continue
    }

    fn receive(&mut self, message: FromMaster) -> Next {
        self.heard = Some(Instant::now());
        match message {
            FromMaster::Ack if !self.is_joined => {
                self.is_joined = true;
                self.waiting = None;
                // The clock of another master may be earlier.
                self.spawned_at = 0.0;
                // The master knows nothing of a load that began on an earlier connection, and would add what is left of
                // it to the next one.
                if self.state != State::Ready {
                    self.outbox.clear();
                    self.is_unknown = true;
                    self.be_ready();
                    self.tell(Command::Stop);
                }
                self.tell(Command::Joined);
            }
            FromMaster::Spawn { sent_at, users } => {
                self.send(&ToMaster::Spawning);
                if sent_at.is_finite() && sent_at > self.spawned_at {
                    self.spawned_at = sent_at;
                    self.users = users;
                    self.state = State::Running;
                    self.tell_users();
                }
                let spawned = self.users.clone();
                self.send(&ToMaster::SpawningComplete(&spawned));
            }
            FromMaster::Stop => {
                self.state = State::Stopping;
                self.tell(Command::Stop);
            }
            FromMaster::Quit => self.tell(Command::Quit),
            FromMaster::Collect { format, .. } if format != FORMAT => {
                self.tell(Command::CannotCollect(LocustError::Format(format)));
            }
            FromMaster::Collect {
                run, began_before, ..
            } => {
                let now = Instant::now();
                let began = now.checked_sub(began_before).unwrap_or(now);
                self.tell(Command::Collect(CollectedRun { name: run, began }));
            }
            FromMaster::CollectLast => self.tell(Command::EndLoad),
            FromMaster::Reconnect => return Next::Reconnect,
            FromMaster::Ack | FromMaster::Heartbeat | FromMaster::Other => {}
        }
        Next::Continue
    }

    /// Tells how many users make calls here.
    fn tell_users(&mut self) {
        let command = match &self.class {
            None => {
                let counts = self.users.values();
                Command::Users(counts.fold(0, |sum, count| sum.saturating_add(*count)))
            }
            Some(class) => match self.users.get(class) {
                Some(count) => Command::Users(*count),
                None => Command::NoSuchClass(self.users.keys().cloned().collect()),
            },
        };
        self.tell(command);
    }

    /// Carries out an order. Without one, the rest of the program is gone.
    fn follow(&mut self, order: Option<Order>) -> Next {
        match order {
            Some(Order::Report(_)) if self.is_unknown => Next::Continue,
            Some(Order::Report(report)) => {
                let users = self.users.clone();
                self.send(&ToMaster::Stats(&report, &users));
                Next::Continue
            }
            Some(Order::Figures(figures)) => {
                self.send(&ToMaster::Figures(&figures));
                Next::Continue
            }
            Some(Order::Stopped) => {
                self.is_unknown = false;
                // The master does not wait for the end of a load that it does not know.
                if self.state == State::Stopping {
                    self.be_ready();
                    self.send(&ToMaster::ClientStopped);
                    self.send(&ToMaster::ClientReady);
                }
                Next::Continue
            }
            Some(Order::Leave) | None => {
                self.send(&ToMaster::Quit);
                Next::End
            }
        }
    }

    fn be_ready(&mut self) {
        self.state = State::Ready;
        self.users = Users::new();
    }

    fn wait_for_master(&mut self, error: LocustError) {
        let reason = discriminant(&error);
        if self.waiting.replace(reason) != Some(reason) {
            self.tell(Command::Waiting(error));
        }
    }

    /// How long no message of the master has arrived.
    fn silent_for(&self) -> Duration {
        self.heard.unwrap_or(self.began).elapsed()
    }

    /// Why the master cannot be reached: one that answered before has another problem than one that never did.
    fn because(&self, error: LocustError) -> LocustError {
        match self.heard {
            Some(heard) => LocustError::Lost(self.master.to_string(), heard.elapsed().as_secs()),
            None => error,
        }
    }

    fn send(&mut self, message: &ToMaster<'_>) {
        self.outbox.push_back(message.to_bytes(&self.name));
    }

    /// If nobody listens any more, the worker has left.
    fn tell(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

async fn connect(master: Master, name: String) -> Result<DealerSocket, LocustError> {
    let master = master.to_string();
    // The ZeroMQ socket would not tell why it cannot connect.
    let reached = timeout(SILENT, TcpStream::connect(&master)).await;
    let failed = match reached {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(format!("no response within {} s", SILENT.as_secs())),
    };
    if let Some(reason) = failed {
        return Err(LocustError::Connect(master, reason));
    }
    let no_answer = |_| LocustError::NoAnswer(master.clone());
    let mut options = SocketOptions::default();
    let identity = PeerIdentity::try_from(name.as_bytes()).map_err(no_answer)?;
    options.peer_identity(identity).connect_timeout(SILENT);
    let mut socket = DealerSocket::with_options(options);
    let connected = socket.connect(&format!("tcp://{master}")).await;
    connected.map_err(no_answer)?;
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use tokio::sync::mpsc::unbounded_channel;
    use zeromq::{Endpoint, RouterSocket, ZmqMessage};

    use super::*;

    /// What a session tells that gives up at once.
    fn told(master: &str) -> Vec<Command> {
        let (commands, told) = mpsc::channel();
        let (_orders, to_session) = unbounded_channel();
        let session = Session::new(
            &master.parse().unwrap(),
            "w1",
            None,
            Duration::ZERO,
            commands,
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(session.run(to_session));
        told.iter().collect()
    }

    #[test]
    fn a_server_that_is_no_master_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            // The first connection only shows that there is a server.
            let mut web_page = listener.incoming().nth(1).unwrap().unwrap();
            let _ = web_page.read(&mut [0; 64]);
            let response = format!("HTTP/1.1 400 Bad Request\r\n\r\n{}", "?".repeat(64));
            web_page.write_all(response.as_bytes()).unwrap();
        });
        let no_answer = LocustError::NoAnswer(address.clone());
        assert_eq!(told(&address), [Command::Ended(no_answer)]);
        server.join().unwrap();
    }

    #[test]
    fn a_message_that_cannot_be_read_is_told_once() {
        let (commands, told) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let address = runtime.block_on(async {
            let mut master = RouterSocket::new();
            let Endpoint::Tcp(_, port) = master.bind("tcp://127.0.0.1:0").await.unwrap() else {
                panic!("it is not TCP");
            };
            let address = format!("127.0.0.1:{port}");
            let (orders, to_session) = unbounded_channel();
            let of = address.parse().unwrap();
            let session = Session::new(&of, "w1", None, LOST, commands);
            let master = async {
                let ready = master.recv().await.unwrap();
                for _ in 0..2 {
                    let mut message = ZmqMessage::from(ready.get(0).unwrap().clone());
                    message.push_back("nonsense".into());
                    master.send(message).await.unwrap();
                }
                sleep(Duration::from_millis(200)).await;
                orders.send(Order::Leave).unwrap();
            };
            tokio::join!(session.run(to_session), master);
            address
        });
        let told: Vec<Command> = told.iter().collect();
        let unreadable = LocustError::Unreadable(address);
        assert_eq!(told, [Command::Ignored(unreadable)]);
    }

    #[test]
    fn a_port_without_a_server_is_an_error() {
        let unused = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let [Command::Ended(error)] = &told(&unused.to_string())[..] else {
            panic!("the session has not ended");
        };
        assert!(error.to_string().contains("Connection refused"), "{error}");
    }
}
