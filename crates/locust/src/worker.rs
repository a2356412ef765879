//! A worker, for the rest of the program.

use std::fmt;
use std::str::FromStr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::error::LocustError;
use crate::report::{CollectedRun, Figures, Report};
use crate::session::{LOST, Order, Session};

/// The maximum length of a worker's name, bytes. It is a ZeroMQ identity.
const MAX_NAME: usize = 255;

/// A master's address: `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Master(String);

impl FromStr for Master {
    type Err = LocustError;

    fn from_str(text: &str) -> Result<Self, LocustError> {
        let (host, port) = text.rsplit_once(':').unwrap_or_default();
        let is_address = !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
        let master = is_address.then(|| Master(text.to_owned()));
        master.ok_or_else(|| LocustError::Master(text.to_owned()))
    }
}

impl fmt::Display for Master {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a master asks of a worker, or what became of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The master accepted the worker.
    Joined,
    /// The master cannot be reached for now, for this reason.
    Waiting(LocustError),
    /// This many users should make calls, and begin a load if there is none.
    Users(u32),
    /// The load has no users of the worker's class, but of these classes.
    NoSuchClass(Vec<String>),
    /// The master collects the figures of the next load.
    Collect(CollectedRun),
    /// It cannot collect them, for this reason.
    CannotCollect(LocustError),
    /// The master sent a message that cannot be read. Only the first one is reported.
    Ignored(LocustError),
    /// The load should end, and the master waits for its last [`Figures`].
    EndLoad,
    /// The load should end. [`Worker::stopped`] answers after its last report.
    Stop,
    /// The master ends. It waits 0.5 s for a last report.
    Quit,
    /// The connection has ended for good.
    Ended(LocustError),
}

/// A worker of a master. Its connection has a thread of its own.
#[derive(Debug)]
pub struct Worker {
    orders: UnboundedSender<Order>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Joins a master under a `name` that no other worker has. With a `class`, only users of this class of the master's
    /// locustfile make calls here, otherwise all.
    ///
    /// # Errors
    /// Fails if the name is too long, or if the system refuses a thread or an event queue. A master that cannot be reached
    /// is a [`Command`].
    pub fn join(
        master: &Master,
        name: &str,
        class: Option<&str>,
    ) -> Result<(Worker, mpsc::Receiver<Command>), LocustError> {
        if !(1..=MAX_NAME).contains(&name.len()) {
            return Err(LocustError::Name(name.to_owned()));
        }
        let failed = |error: std::io::Error| LocustError::Thread(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let (orders, to_session) = unbounded_channel();
        let (to_worker, commands) = mpsc::channel();
        let session = Session::new(master, name, class, LOST, to_worker);
        let thread = thread::Builder::new()
            .name("locust".to_owned())
            .spawn(move || runtime.block_on(session.run(to_session)))
            .map_err(failed)?;
        Ok((Worker { orders, thread }, commands))
    }

    /// Sends a report. Reports wait while the master cannot be reached.
    pub fn report(&self, report: Report) {
        self.order(Order::Report(Box::new(report)));
    }

    /// Sends figures, like a report.
    pub fn figures(&self, figures: Figures) {
        self.order(Order::Figures(Box::new(figures)));
    }

    /// Answers [`Command::Stop`].
    pub fn stopped(&self) {
        self.order(Order::Stopped);
    }

    /// Sends what is left and leaves the master.
    pub fn leave(self) {
        self.order(Order::Leave);
        // If the thread panicked, it has already printed why.
        let _ = self.thread.join();
    }

    /// If the connection has ended, so has the receiver, and [`Command::Ended`] told it.
    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_has_a_host_and_a_port() {
        for good in ["localhost:5557", "10.0.0.1:1", "[::1]:5557"] {
            assert_eq!(good.parse::<Master>().unwrap().to_string(), good);
        }
        for bad in ["", "localhost", ":5557", "h:0", "h:65536", "h:x"] {
            let error = bad.parse::<Master>().unwrap_err().to_string();
            assert!(error.contains("HOST:PORT"), "{bad}: {error}");
        }
    }
}
