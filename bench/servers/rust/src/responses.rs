//! What is sent in response to calls, and when.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashSet};

use crate::behaviour::{Behaviour, Response};
use crate::clock::{Nanos, now};
use crate::connection::Connection;
use crate::http1::Http1;
use crate::http2::{Incoming, Stream};
use crate::record::{Answered, Record};
use crate::streaming::{ServerStream, Streaming};

/// What is due later. The order of the fields is the order in which it is sent: of what is due at the same time,
/// for example at the end of a stall, what came first comes first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pending {
    due: Nanos,
    came: Nanos,
    /// The call. Connection numbers are never reused.
    call: (u64, Stream),
    part: Part,
    is_recorded: bool,
}

impl Pending {
    /// The number of its connection.
    pub(crate) fn connection(&self) -> u64 {
        self.call.0
    }
}

/// A unary response, or a part of a stream. A stream's end follows the messages that are due with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Message,
    Refusal,
    /// A message of a server's stream: its number from 1 on, and its gap's place in the sequence of all gaps.
    Produced {
        number: u64,
        gap: u64,
    },
    Echo,
    End,
}

/// The responses of a server.
#[derive(Debug)]
pub(crate) struct Responses {
    behaviour: Behaviour,
    streaming: Option<Streaming>,
    pending: BinaryHeap<Reverse<Pending>>,
    /// Unary calls that were cancelled before their responses.
    cancelled: HashSet<(u64, Stream)>,
    http1: Http1,
    /// Gaps of the server streams so far.
    gaps: u64,
    pub(crate) record: Record,
}

impl Responses {
    pub(crate) fn new(behaviour: Behaviour, streaming: Option<Streaming>, record: Record) -> Self {
        Self {
            behaviour,
            streaming,
            pending: BinaryHeap::new(),
            cancelled: HashSet::new(),
            http1: Http1::new(),
            gaps: 0,
            record,
        }
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.behaviour.is_timed()
    }

    pub(crate) fn are_streams(&self) -> bool {
        self.streaming.is_some()
    }

    /// When the next response is due.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        self.pending.peek().map(|Reverse(next)| next.due)
    }

    /// Takes the next response that is due.
    pub(crate) fn pop_due(&mut self) -> Option<Pending> {
        let Some(next) = self.pending.peek_mut() else {
            self.cancelled.clear();
            return None;
        };
        // Read the clock for each response, because writing takes time.
        (next.0.due <= now()).then(|| PeekMut::pop(next).0)
    }

    /// Handles what arrived at `came` on a connection, whose number is `id`.
    pub(crate) fn take(
        &mut self,
        incoming: Incoming,
        came: Nanos,
        id: u64,
        connection: &mut Connection,
    ) {
        match (incoming, self.streaming) {
            (Incoming::Call(stream), _) => self.call((id, stream), came, connection),
            (
                Incoming::Messages {
                    stream,
                    count,
                    ends,
                },
                Some(Streaming::Bidirectional),
            ) => self.echo((id, stream), (count, ends), came, connection),
            (
                Incoming::Messages {
                    stream, ends: true, ..
                },
                Some(Streaming::Server(of)),
            ) => self.produce((id, stream), of, came, connection),
            // The rest of a request, to which a stream does not respond.
            (Incoming::Messages { .. }, _) => {}
            // Closed streams are not written to. If no responses are pending, the call has already been answered.
            (Incoming::Cancel(stream), None) if !self.pending.is_empty() => {
                self.cancelled.insert((id, stream));
            }
            (Incoming::Cancel(_), _) => {}
        }
    }

    /// Responds to a unary call, now or later.
    fn call(&mut self, call: (u64, Stream), came: Nanos, connection: &mut Connection) {
        let due = self.behaviour.decide(came);
        let is_recorded = self.record.came(came) && self.is_timed();
        let part = match due.response {
            Response::Message => Part::Message,
            Response::Refusal => Part::Refusal,
        };
        let pending = Pending {
            due: due.at,
            came,
            call,
            part,
            is_recorded,
        };
        if due.at <= came {
            self.send(&pending, connection);
        } else {
            self.pending.push(Reverse(pending));
        }
    }

    /// Responds to messages with one message each.
    fn echo(
        &mut self,
        call: (u64, Stream),
        (count, ends): (u64, bool),
        came: Nanos,
        connection: &mut Connection,
    ) {
        self.record.calls += u64::from(ends);
        if !self.is_timed() {
            connection.send(call.1, count, ends, &mut self.record);
            self.record.answered += u64::from(ends);
            return;
        }
        for _ in 0..count {
            let is_recorded = self.record.arrived(came);
            let at = self.behaviour.decide(came).at;
            self.add(call, (came, at), Part::Echo, is_recorded, connection);
        }
        if ends {
            self.add(call, (came, came), Part::End, false, connection);
        }
    }

    /// Schedules a part of a stream, at `at` or with the part before it.
    fn add(
        &mut self,
        call: (u64, Stream),
        (came, at): (Nanos, Nanos),
        part: Part,
        is_recorded: bool,
        connection: &mut Connection,
    ) {
        let due = connection.in_order(call.1, at);
        self.pending.extend(due.map(|due| {
            Reverse(Pending {
                due,
                came,
                call,
                part,
                is_recorded,
            })
        }));
    }

    /// Responds to a call with a stream.
    fn produce(
        &mut self,
        call: (u64, Stream),
        of: ServerStream,
        came: Nanos,
        connection: &mut Connection,
    ) {
        let is_recorded = self.record.came(came);
        if of.gap.is_none() {
            connection.send(call.1, of.messages, true, &mut self.record);
            self.record.answered += 1;
            return;
        }
        let part = Part::Produced {
            number: 1,
            gap: self.gaps,
        };
        // Each call has its own part of the sequence, whatever the calls beside it do.
        self.gaps += of.messages - 1;
        let at = self.behaviour.decide(came).at;
        self.add(call, (came, at), part, is_recorded, connection);
    }

    /// Sends what is due, unless its call has been cancelled.
    pub(crate) fn send(&mut self, pending: &Pending, connection: &mut Connection) {
        let stream = pending.call.1;
        match pending.part {
            Part::Message | Part::Refusal => {
                if self.cancelled.remove(&pending.call) {
                    return;
                }
                self.respond(pending, connection);
            }
            Part::Echo => {
                connection.send(stream, 1, false, &mut self.record);
            }
            Part::End => {
                self.record.answered += 1;
                connection.send(stream, 0, true, &mut self.record);
            }
            Part::Produced { number, gap } => self.send_produced(pending, number, gap, connection),
        }
        // The record has the gaps of a server's stream, but its first message follows none.
        let is_first = matches!(pending.part, Part::Produced { number: 1, .. });
        if pending.is_recorded && !is_first {
            connection.record_when_written(Answered {
                came: pending.came,
                due: pending.due,
            });
        }
    }

    fn respond(&mut self, pending: &Pending, connection: &mut Connection) {
        let (response, counted) = match pending.part {
            Part::Refusal => (Response::Refusal, &mut self.record.refused),
            _ => (Response::Message, &mut self.record.answered),
        };
        *counted += 1;
        connection.respond(pending.call.1, response, &self.http1);
    }

    /// Sends a message of a server's stream, and schedules the next one.
    fn send_produced(
        &mut self,
        pending: &Pending,
        number: u64,
        gap: u64,
        connection: &mut Connection,
    ) {
        let Some(Streaming::Server(ServerStream {
            messages,
            gap: Some(shape),
        })) = self.streaming
        else {
            return;
        };
        let ends = number == messages;
        let is_open = connection.send(pending.call.1, 1, ends, &mut self.record);
        self.record.answered += u64::from(ends && is_open);
        if is_open && !ends {
            let gap = gap + 1;
            self.pending.push(Reverse(Pending {
                due: pending.due + shape.nth(gap),
                // Gaps are recorded from when the message before was due.
                came: pending.due,
                call: pending.call,
                part: Part::Produced {
                    number: number + 1,
                    gap,
                },
                is_recorded: pending.is_recorded,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::arguments::Arguments;
    use crate::clock::MILLISECOND;
    use crate::http2::{END_HEADERS, HEADERS, PREFACE, frame};

    fn responses(text: &str) -> Responses {
        let mut arguments = Arguments::of(text.split(' '));
        let name = arguments.word("name").unwrap();
        let behaviour = Behaviour::read(&name, &mut arguments, 0).unwrap();
        let streaming = Streaming::read(&mut arguments, &behaviour).unwrap();
        Responses::new(behaviour, streaming, Record::default())
    }

    /// A connection with two open calls, and its client's end.
    fn two_calls() -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut connection = Connection::new(listener.accept().unwrap().0, true);
        let mut opened = PREFACE.to_vec();
        frame(&mut opened, HEADERS, END_HEADERS, 1, &[b"block"]);
        frame(&mut opened, HEADERS, END_HEADERS, 3, &[b"block"]);
        client.write_all(&opened).unwrap();
        let (mut buffer, mut record) = (Vec::new(), Record::default());
        connection.read(&mut buffer, &mut record).unwrap();
        assert_eq!(connection.next(), Ok(None));
        (connection, client)
    }

    fn messages(stream: Stream, count: u64, ends: bool) -> Incoming {
        Incoming::Messages {
            stream,
            count,
            ends,
        }
    }

    #[test]
    fn each_message_is_due_after_its_delay_and_the_end_with_the_last() {
        let mut responses = responses("delay shape=constant:1ms stream=bidirectional");
        let (mut connection, _client) = two_calls();
        responses.take(messages(1, 2, false), 10, 0, &mut connection);
        responses.take(messages(1, 1, true), 20, 0, &mut connection);
        let pending: Vec<_> = std::iter::from_fn(|| responses.pending.pop())
            .map(|Reverse(pending)| (pending.due, pending.part))
            .collect();
        let (early, late) = (10 + MILLISECOND, 20 + MILLISECOND);
        assert_eq!(
            pending,
            [
                (early, Part::Echo),
                (early, Part::Echo),
                (late, Part::Echo),
                (late, Part::End)
            ]
        );
    }

    #[test]
    fn each_server_stream_has_its_own_gaps() {
        let mut responses =
            responses("delay shape=constant:1ms stream=server messages=3 gap=uniform:1ms:9ms");
        let Some(Streaming::Server(ServerStream { gap: Some(gap), .. })) = responses.streaming
        else {
            panic!("no gaps: {:?}", responses.streaming);
        };
        let (mut connection, _client) = two_calls();
        for stream in [1, 3] {
            responses.take(messages(stream, 1, true), 0, 0, &mut connection);
        }
        let mut due = [Vec::new(), Vec::new()];
        while let Some(Reverse(pending)) = responses.pending.pop() {
            due[usize::from(pending.call.1 == 3)].push(pending.due);
            responses.send(&pending, &mut connection);
        }
        let from = |first: Nanos, n| {
            vec![
                first,
                first + gap.nth(n),
                first + gap.nth(n) + gap.nth(n + 1),
            ]
        };
        assert_eq!(due, [from(MILLISECOND, 1), from(MILLISECOND, 3)]);
        assert_eq!(
            (responses.record.messages, responses.record.answered),
            (6, 2)
        );
    }
}
