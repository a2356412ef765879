//! Adds up the messages of a client's streams.

use rpcgauge_contract::{MessageRecord, Record, Stream};
use rpcgauge_load::MessageRecorder;
use rpcgauge_trial::{MessageFigures, StreamForm};

/// The sum of all calls so far.
pub(super) struct MessageSum {
    stream: Stream,
    /// Each bidirectional call that succeeded received a message for each that it sent.
    so_far: MessageRecorder,
}

impl MessageSum {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            so_far: MessageRecorder::new(stream.form()),
        }
    }

    /// Adds the messages of a call. They are due as in the engine's streams: the first one with its call and, in turn,
    /// each of the others when the response before it was decoded; otherwise when it was sent.
    pub(super) fn add(&mut self, call: &Record, messages: &[MessageRecord]) {
        let form = self.stream.form();
        let mut before = None;
        for (number, message) in messages.iter().enumerate() {
            self.so_far.sent += u64::from(message.sent.is_some());
            // The response to a client's stream is not a message of the stream.
            let Some(at) = message.received.filter(|_| form.server_streams()) else {
                continue;
            };
            self.so_far.received += 1;
            // As for latency, failed calls have no times.
            if call.failed {
                continue;
            }
            match before {
                None => self.so_far.first += at - call.begin,
                Some(before) => self.so_far.gap += at - before,
            }
            if form == StreamForm::Bidirectional {
                let due = match before {
                    None if number == 0 => Some(call.begin),
                    Some(before) if self.stream.is_in_turn() => Some(before),
                    _ => message.sent,
                };
                // Without one, the server sent more messages than it received, and the call failed.
                due.iter().for_each(|due| self.so_far.latency += at - due);
            }
            before = Some(at);
        }
        self.so_far.paired += u64::from(form == StreamForm::Bidirectional && !call.failed);
    }

    /// The figures. The calls took `over_ns`.
    pub(super) fn finish(self, over_ns: u64) -> MessageFigures {
        self.so_far.finish(over_ns)
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_trial::Histogram;

    use super::*;

    fn summed(form: StreamForm, in_turn: bool, messages: &[(u64, u64)]) -> MessageFigures {
        let call = Record {
            begin: 1_000,
            encoded: None,
            sent: None,
            first_byte: None,
            received: None,
            end: 9_000,
            handler_start: None,
            handler_end: None,
            request_bytes: None,
            response_bytes: None,
            failed: false,
            operations: 1,
        };
        let time = |time: u64| Some(time).filter(|time| *time != 0);
        let messages: Vec<_> = messages
            .iter()
            .map(|(sent, received)| MessageRecord {
                sent: time(*sent),
                received: time(*received),
            })
            .collect();
        let mut sum = MessageSum::new(Stream::new(form, 2, in_turn).unwrap());
        sum.add(&call, &messages);
        sum.finish(8_000)
    }

    /// The extremes of a histogram, which are exact.
    fn extremes(histogram: &Histogram) -> (f64, f64) {
        let times = histogram.unpack();
        (times.quantile(0.0), times.quantile(1.0))
    }

    #[test]
    fn a_server_stream_has_a_first_message_and_gaps() {
        let figures = summed(StreamForm::Server, false, &[(1_100, 1_500), (0, 1_700)]);
        assert_eq!((figures.sent, figures.received), (1, 2));
        assert_eq!(extremes(&figures.first), (500.0, 500.0));
        assert_eq!(extremes(&figures.gap), (200.0, 200.0));
        assert_eq!((figures.latency, figures.paired), (None, 0));
    }

    #[test]
    fn a_message_is_due_when_it_can_be_sent() {
        let messages = [(1_100, 1_500), (1_800, 2_000)];
        let latency = |in_turn| {
            let figures = summed(StreamForm::Bidirectional, in_turn, &messages);
            assert_eq!(figures.paired, 1);
            extremes(&figures.latency.expect("of each message"))
        };
        assert_eq!(latency(false), (200.0, 500.0));
        assert_eq!(latency(true), (500.0, 500.0), "the client lost 300 ns");
    }

    #[test]
    fn the_response_to_a_clients_stream_is_no_message() {
        let figures = summed(StreamForm::Client, false, &[(1_100, 3_000), (1_200, 0)]);
        assert_eq!((figures.sent, figures.received), (2, 0));
    }
}
