//! The event loop.

use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;

use crate::arrival;
use crate::behaviour::Behaviour;
use crate::clock::{MILLISECOND, Nanos, SECOND, now};
use crate::connection::{Connection, Life};
use crate::record::Record;
use crate::responses::{Pending, Responses};
use crate::streaming::Streaming;

/// The maximum number of events to fetch from the kernel per wait.
const EVENTS: usize = 1024;

/// How long before a response is due the loop stops sleeping: a sleeping thread wakes late, but a spinning one
/// does not. The time is short because a thread with real-time priority must not spin all the time (sched(7)).
const SPIN: Nanos = MILLISECOND / 5;

/// The id of events on standard input. Connections are numbered from 0.
const STDIN: u64 = u64::MAX;

/// The id of events on the listening socket.
const LISTENER: u64 = u64::MAX - 1;

/// How many responses are prepared before they are written. Responses on the same connection share a write, but
/// the first one should not have to wait for all of them.
const BATCH: usize = 128;

/// A server and its connections.
#[derive(Debug)]
pub struct Server {
    epoll: OwnedFd,
    listener: TcpListener,
    connections: HashMap<u64, Connection>,
    opened: u64,
    /// The only connection of a server that responds immediately. It is not registered with epoll; see
    /// [`Server::wait_alone`].
    alone: Option<u64>,
    responses: Responses,
    /// Connections with unwritten responses.
    unwritten: Vec<u64>,
    buffer: Vec<u8>,
}

impl Server {
    /// Creates a server that is already listening, on a free port of the loopback interface.
    ///
    /// # Errors
    /// If the kernel refuses. Standard input must be a pipe.
    pub fn new(
        behaviour: Behaviour,
        streaming: Option<Streaming>,
        record: Record,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        // The standard library's backlog of 128 is too short for thousands of concurrent connection attempts.
        rustix::net::listen(&listener, 4096)?;
        listener.set_nonblocking(true)?;
        if behaviour.is_timed() {
            arrival::stamp(&listener)?;
        }
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        watch(&epoll, &listener, LISTENER, EventFlags::IN)?;
        watch(&epoll, io::stdin(), STDIN, EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            connections: HashMap::new(),
            opened: 0,
            alone: None,
            responses: Responses::new(behaviour, streaming, record),
            unwritten: Vec::new(),
            buffer: Vec::new(),
        })
    }

    /// The address on which the server listens.
    ///
    /// # Errors
    /// If the kernel cannot tell the address.
    pub fn address(&self) -> io::Result<std::net::SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until standard input closes, and returns the record. For each byte on standard input, calls
    /// `tell` with the record so far.
    ///
    /// # Errors
    /// If an operation fails that does not concern just one connection.
    pub fn run(mut self, tell: &mut dyn FnMut(&Record)) -> io::Result<Record> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            self.respond_to_due();
            events.clear();
            match self.wait(&mut events) {
                Ok(()) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    STDIN => match read_byte()? {
                        Some(_) => tell(&self.responses.record),
                        None => return Ok(self.responses.record),
                    },
                    LISTENER => self.accept()?,
                    connection => self.serve(connection),
                }
            }
        }
    }

    /// Waits for events.
    fn wait(&self, events: &mut Vec<epoll::Event>) -> rustix::io::Result<()> {
        let alone = self
            .alone
            .and_then(|id| Some((id, self.connections.get(&id)?)));
        if let Some((id, connection)) = alone {
            return self.wait_alone(id, connection, events);
        }
        epoll::wait(&self.epoll, spare_capacity(events), self.sleep().as_ref())?;
        Ok(())
    }

    /// Waits on the sockets themselves. A client that wakes an epoll instance pays for that on every call. The
    /// answering half of the floor, with which this server is compared, waits on its socket too.
    fn wait_alone(
        &self,
        id: u64,
        connection: &Connection,
        events: &mut Vec<epoll::Event>,
    ) -> rustix::io::Result<()> {
        let wanted = if connection.is_blocked() {
            PollFlags::IN | PollFlags::OUT
        } else {
            PollFlags::IN
        };
        let stdin = io::stdin();
        let mut sources = [
            PollFd::new(connection, wanted),
            PollFd::new(&self.listener, PollFlags::IN),
            PollFd::new(&stdin, PollFlags::IN),
        ];
        poll(&mut sources, None)?;
        for (source, data) in sources.iter().zip([id, LISTENER, STDIN]) {
            if !source.revents().is_empty() {
                events.push(epoll::Event {
                    flags: EventFlags::IN,
                    data: EventData::new_u64(data),
                });
            }
        }
        Ok(())
    }

    /// How long to sleep: not at all if a response is due shortly, and without limit if none is due.
    fn sleep(&self) -> Option<Timespec> {
        let left = self.responses.next_due()?.saturating_sub(now() + SPIN);
        Some(Timespec {
            tv_sec: (left / SECOND) as i64,
            tv_nsec: (left % SECOND) as _,
        })
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            socket.set_nonblocking(true)?;
            socket.set_nodelay(true)?;
            if self.connections.is_empty() && !self.responses.is_timed() {
                self.alone = Some(self.opened);
            } else {
                if let Some(id) = self.alone.take()
                    && let Some(other) = self.connections.get(&id)
                {
                    watch(&self.epoll, other, id, wanted(other.is_blocked()))?;
                }
                watch(&self.epoll, &socket, self.opened, EventFlags::IN)?;
            }
            let connection = Connection::new(socket, self.responses.are_streams());
            self.connections.insert(self.opened, connection);
            self.opened += 1;
            self.responses.record.connections += 1;
        }
    }

    /// Handles what arrived on a connection. A connection that fails is closed, and the reason is printed.
    fn serve(&mut self, id: u64) {
        match self.try_serve(id) {
            Ok(Life::Open) => {}
            Ok(Life::Closed) => self.close(id),
            Err(reason) => {
                eprintln!("connection {id} closed: {reason}");
                self.close(id);
            }
        }
    }

    fn try_serve(&mut self, id: u64) -> Result<Life, String> {
        let Some(connection) = self.connections.get_mut(&id) else {
            return Ok(Life::Open);
        };
        let came = match connection.read(&mut self.buffer, &mut self.responses.record) {
            Ok((Life::Open, came)) => came,
            Ok((Life::Closed, _)) => return Ok(Life::Closed),
            Err(error) if is_closed_by_client(&error) => return Ok(Life::Closed),
            Err(error) => return Err(error.to_string()),
        };
        while let Some(incoming) = connection.next()? {
            self.responses.take(incoming, came, id, connection);
        }
        self.write(id);
        Ok(Life::Open)
    }

    /// Responds to the calls that are due, writing the responses in batches.
    fn respond_to_due(&mut self) {
        let mut made = 0;
        while let Some(pending) = self.responses.pop_due() {
            self.respond(&pending);
            made += 1;
            if made % BATCH == 0 {
                self.write_responses();
            }
        }
        self.write_responses();
    }

    fn respond(&mut self, pending: &Pending) {
        let id = pending.connection();
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if !connection.has_responses() {
            self.unwritten.push(id);
        }
        self.responses.send(pending, connection);
    }

    fn write_responses(&mut self) {
        let mut ids = std::mem::take(&mut self.unwritten);
        ids.drain(..).for_each(|id| self.write(id));
        self.unwritten = ids;
    }

    /// Writes a connection's responses. If the kernel does not accept all of them, watches for the socket to
    /// become writable.
    fn write(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let was_blocked = connection.is_blocked();
        let written = connection
            .write(&mut self.responses.record)
            .and_then(|is_all| {
                if was_blocked != is_all || self.alone == Some(id) {
                    return Ok(());
                }
                let (data, flags) = (EventData::new_u64(id), wanted(!is_all));
                Ok(epoll::modify(&self.epoll, &*connection, data, flags)?)
            });
        if let Err(error) = written {
            if !is_closed_by_client(&error) {
                eprintln!("connection {id} closed: {error}");
            }
            self.close(id);
        }
    }

    /// Closes a connection, which also removes it from epoll.
    fn close(&mut self, id: u64) {
        self.connections.remove(&id);
        self.alone = self.alone.filter(|alone| *alone != id);
    }
}

fn watch(epoll: &OwnedFd, source: impl AsFd, data: u64, flags: EventFlags) -> io::Result<()> {
    Ok(epoll::add(epoll, source, EventData::new_u64(data), flags)?)
}

/// Whether a client has closed its connection in the middle of a call, as many do at the end of their load.
fn is_closed_by_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

/// The events that a connection waits for: input and, if output is left, space for it.
fn wanted(is_blocked: bool) -> EventFlags {
    if is_blocked {
        EventFlags::IN | EventFlags::OUT
    } else {
        EventFlags::IN
    }
}

/// Reads a byte from standard input; `None` at the end.
fn read_byte() -> io::Result<Option<u8>> {
    let mut byte = [0];
    Ok((rustix::io::read(io::stdin(), &mut byte)? > 0).then_some(byte[0]))
}
