//! SETTINGS that change while calls are in flight, and flow control. The servers check every byte of the
//! client and report violations in their responses.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;

use rpcgauge_trial::{Address, Schedule};

use super::case::{Case, Outcome, fail};
use super::http2::case;
use super::server::*;
use crate::support::serve;

const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;

/// Default initial window of HTTP/2, bytes.
const WINDOW: u32 = 65_535;

pub(crate) fn cases() -> Vec<Case> {
    let answered = |name| case(name, Outcome::Answered);
    vec![
        answered("stream windows that open by one byte")
            .server(|| windows(0, |_| (None, 1)))
            .request(100)
            .kept(),
        answered("a connection window that opens by one byte")
            .server(|| windows(1 << 20, |_| (None, 1)))
            .request(WINDOW as usize + 50)
            .per_call(),
        answered("INITIAL_WINDOW_SIZE that falls and rises in mid-flight")
            .server(|| {
                windows(1000, |initial| match initial {
                    // The window falls to -900, and to 100 once it is opened.
                    1000 => (Some(100), 1000),
                    _ => (Some(1000), 0),
                })
            })
            .request(10_000)
            .kept(),
        answered("MAX_CONCURRENT_STREAMS that falls and rises in mid-flight")
            .server(concurrency)
            .kept()
            .with(|trial| {
                trial.schedule = Schedule::Closed { in_flight: 5 };
                trial.stop.calls = Some(12);
            }),
        case(
            "MAX_CONCURRENT_STREAMS of 0 forever",
            fail(&["deadline", "deadline-unsent"]),
        )
        .server(http2(
            settings_of(&[(MAX_CONCURRENT_STREAMS, 0)]),
            |_, _| Then::GoOn,
        ))
        .kept()
        .until_the_deadline(),
    ]
}

/// Number of bytes that the client may send on a stream or connection.
type Credit = i64;

/// Serves with this initial window for each stream. When a window is used up, `more` is called with the
/// current INITIAL_WINDOW_SIZE. It returns the next one, if it changes, and the number of bytes by which the
/// window opens.
fn windows(initial: u32, more: fn(u32) -> (Option<u32>, u32)) -> Address {
    serve(move |stream| {
        let _ = Windows {
            stream,
            more,
            initial,
            connection: WINDOW.into(),
            credits: BTreeMap::new(),
        }
        .serve();
    })
}

struct Windows {
    stream: TcpStream,
    more: fn(u32) -> (Option<u32>, u32),
    initial: u32,
    connection: Credit,
    credits: BTreeMap<u32, Credit>,
}

impl Windows {
    fn serve(&mut self) -> Option<()> {
        self.say(&settings_of(&[(INITIAL_WINDOW_SIZE, self.initial)]))?;
        read_preface(&mut self.stream).then_some(())?;
        // The client may send its first call before it knows the window.
        let mut unaware = true;
        while let Some(sent) = next(&mut self.stream) {
            if sent.acknowledges() && std::mem::replace(&mut unaware, false) {
                let change = Credit::from(self.initial) - Credit::from(WINDOW);
                self.credits
                    .values_mut()
                    .for_each(|credit| *credit += change);
            }
            match sent.kind {
                HEADERS => {
                    let initial = if unaware { WINDOW } else { self.initial };
                    self.credits.insert(sent.stream, initial.into());
                    self.open(sent.stream, unaware)?;
                }
                DATA => self.data(&sent, unaware)?,
                _ => {}
            }
        }
        Some(())
    }

    fn data(&mut self, sent: &Sent, unaware: bool) -> Option<()> {
        let credit = self.credits.entry(sent.stream).or_default();
        let length = sent.payload.len() as Credit;
        *credit -= length;
        self.connection -= length;
        if *credit < 0 || self.connection < 0 {
            let why = format!("windows of {credit} and {}", self.connection);
            return self.say(&blames(sent.stream, &why));
        }
        if sent.ends_request() {
            return self.say(&grpc(sent.stream));
        }
        if self.connection == 0 {
            let (_, by) = (self.more)(self.initial);
            self.connection += Credit::from(by);
            return self.say(&window_update(0, by));
        }
        self.open(sent.stream, unaware)
    }

    /// Opens the window of a stream if it is used up and the client knows its size.
    fn open(&mut self, stream: u32, unaware: bool) -> Option<()> {
        let credit = self.credits.entry(stream).or_default();
        if *credit != 0 || unaware {
            return Some(());
        }
        let (initial, by) = (self.more)(self.initial);
        let change = initial.map_or(0, |next| Credit::from(next) - Credit::from(self.initial));
        *credit += change + Credit::from(by);
        if let Some(next) = initial {
            self.initial = next;
            self.say(&settings_of(&[(INITIAL_WINDOW_SIZE, next)]))?;
        }
        match by {
            0 => Some(()),
            by => self.say(&window_update(stream, by)),
        }
    }

    fn say(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).ok()
    }
}

/// Alternates between allowing three concurrent calls and one. Calls are answered once the allowed number has
/// arrived and the client knows the next limit.
fn concurrency() -> Address {
    serve(|mut stream| {
        let allow = |most: usize| settings_of(&[(MAX_CONCURRENT_STREAMS, most as u32)]);
        let (mut allowed, mut next_allowed) = (3, None);
        let mut waiting = Vec::new();
        let _ = stream.write_all(&allow(allowed));
        let mut going = read_preface(&mut stream);
        while let Some(sent) = next(&mut stream).filter(|_| going) {
            let mut say = Vec::new();
            if sent.ends_request() {
                waiting.push(sent.stream);
                if waiting.len() > allowed {
                    say = blames(sent.stream, "too many calls at a time");
                } else if waiting.len() == allowed {
                    next_allowed = Some(4 - allowed);
                    say = allow(4 - allowed);
                }
            } else if sent.acknowledges()
                && let Some(next) = next_allowed.take()
            {
                allowed = next;
                say = waiting.drain(..).flat_map(grpc).collect();
            }
            going = stream.write_all(&say).is_ok();
        }
    })
}
