//! Streams: calls with several messages in one direction or both. They are what version 2 adds.

use rpcgauge_message::MethodKind;
use rpcgauge_trial::{StreamForm, is_default};
use serde::{Deserialize, Serialize};

use crate::RecordError;

/// Maximum number of messages that a side sends in a call.
pub const MAX_STREAM_MESSAGES: u32 = 1_000_000;

/// Maximum number of messages with which a client answers a request to verify.
pub const MAX_VERIFIED_MESSAGES: u32 = 1_000;

/// Size of the record of a message in bytes.
pub const MESSAGE_RECORD_BYTES: usize = 16;

/// How the messages of a call are exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "StreamLine", into = "StreamLine")]
pub struct Stream {
    form: StreamForm,
    messages: u32,
    in_turn: bool,
}

/// A stream as it appears in a line.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct StreamLine {
    /// Which side streams, and over which protocol.
    form: StreamForm,
    /// Number of messages that this side sends in each call; if both stream, the client.
    #[cfg_attr(test, schemars(range(min = 1, max = MAX_STREAM_MESSAGES)))]
    messages: u32,
    /// Whether the client sends each message after the response to the previous one. Only of bidirectional streams.
    #[serde(default, skip_serializing_if = "is_default")]
    in_turn: bool,
}

impl Stream {
    /// A stream of `messages`, from 1 to [`MAX_STREAM_MESSAGES`].
    ///
    /// # Errors
    /// The number of messages is out of range, or messages are sent in turn although not both sides stream.
    pub fn new(form: StreamForm, messages: u32, in_turn: bool) -> Result<Self, &'static str> {
        if !(1..=MAX_STREAM_MESSAGES).contains(&messages) {
            return Err("a stream must have 1 to 1,000,000 messages");
        }
        if in_turn && form != StreamForm::Bidirectional {
            return Err("only the messages of a bidirectional stream can be sent in turn");
        }
        Ok(Self {
            form,
            messages,
            in_turn,
        })
    }

    /// Which side streams, and over which protocol.
    pub fn form(&self) -> StreamForm {
        self.form
    }

    /// Number of messages that the streaming side sends in each call; if both stream, the client.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// Whether the client sends each message after the response to the previous one.
    pub fn is_in_turn(&self) -> bool {
        self.in_turn
    }

    /// The kind of method that streams like this; `None` if any method does.
    pub fn method_kind(&self) -> Option<MethodKind> {
        match self.form {
            StreamForm::Client => Some(MethodKind::ClientStreaming),
            StreamForm::Server => Some(MethodKind::ServerStreaming),
            StreamForm::Bidirectional => Some(MethodKind::Bidirectional),
            StreamForm::Ndjson | StreamForm::Sse => None,
        }
    }

    /// Number of messages that the client sends in each call.
    pub fn requests(&self) -> u32 {
        if self.form.client_streams() {
            self.messages
        } else {
            1
        }
    }

    /// Number of messages that the server sends in each call.
    pub fn responses(&self) -> u32 {
        if self.form.server_streams() {
            self.messages
        } else {
            1
        }
    }
}

impl TryFrom<StreamLine> for Stream {
    type Error = &'static str;

    fn try_from(line: StreamLine) -> Result<Self, Self::Error> {
        Self::new(line.form, line.messages, line.in_turn)
    }
}

impl From<Stream> for StreamLine {
    fn from(stream: Stream) -> Self {
        let Stream {
            form,
            messages,
            in_turn,
        } = stream;
        Self {
            form,
            messages,
            in_turn,
        }
    }
}

/// The messages with one number in a call: the client's and the server's. Times are nanoseconds of the host's monotonic
/// clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRecord {
    /// When the client passed its message to the library; `None` if it sent none with this number.
    pub sent: Option<u64>,
    /// When the client had decoded the server's message; `None` if it received none with this number.
    pub received: Option<u64>,
}

impl MessageRecord {
    /// The record as its bytes in the file.
    pub fn to_bytes(&self) -> [u8; MESSAGE_RECORD_BYTES] {
        let mut bytes = [0; MESSAGE_RECORD_BYTES];
        let (sent, received) = bytes.split_at_mut(8);
        sent.copy_from_slice(&self.sent.unwrap_or(0).to_le_bytes());
        received.copy_from_slice(&self.received.unwrap_or(0).to_le_bytes());
        bytes
    }

    /// Parses one record. `index`, from 0, is only for errors.
    ///
    /// # Errors
    /// Neither time is there.
    pub fn from_bytes(
        index: usize,
        bytes: &[u8; MESSAGE_RECORD_BYTES],
    ) -> Result<Self, RecordError> {
        let (times, _) = bytes.as_chunks::<8>();
        let time = |place: usize| Some(u64::from_le_bytes(times[place])).filter(|time| *time != 0);
        let record = Self {
            sent: time(0),
            received: time(1),
        };
        if record.sent.is_none() && record.received.is_none() {
            return Err(RecordError::Absent(index, "sent\" or \"received"));
        }
        Ok(record)
    }

    /// Checks the messages of one call of a stream that began at `begin` and ended at `end`, in order.
    ///
    /// # Errors
    /// A message is missing before a later one, or a time is before that of an earlier message or outside of the
    /// call. A response came before its request, or a request before the response that it should have waited for. One
    /// line, without the subject.
    pub fn check_call(
        messages: &[Self],
        stream: &Stream,
        (begin, end): (u64, u64),
    ) -> Result<(), String> {
        type Time = fn(&MessageRecord) -> Option<u64>;
        let sides: [(&str, Time); 2] = [
            ("sent", |message| message.sent),
            ("received", |message| message.received),
        ];
        for (side, time) in sides {
            let mut last = Some(begin);
            for (number, message) in messages.iter().enumerate() {
                last = match (last, time(message)) {
                    (_, None) => None,
                    (Some(before), Some(at)) if (before..=end).contains(&at) => Some(at),
                    (Some(_), Some(_)) => {
                        return Err(format!(
                            "message {number} was {side} before an earlier one or outside of its call"
                        ));
                    }
                    (None, Some(_)) => {
                        return Err(format!(
                            "message {number} was {side}, but not the one before it"
                        ));
                    }
                };
            }
        }
        for (number, message) in messages.iter().enumerate() {
            if message
                .received
                .is_some_and(|at| message.sent.is_some_and(|sent| at < sent))
            {
                return Err(format!("message {number} was received before it was sent"));
            }
        }
        let waits = |pair: &[Self]| {
            pair[1]
                .sent
                .is_none_or(|sent| pair[0].received <= Some(sent))
        };
        match messages.windows(2).position(|pair| !waits(pair)) {
            Some(number) if stream.in_turn => Err(format!(
                "message {} was sent before the response to message {number}",
                number + 1
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(sent: u64, received: u64) -> MessageRecord {
        MessageRecord {
            sent: Some(sent).filter(|time| *time != 0),
            received: Some(received).filter(|time| *time != 0),
        }
    }

    proptest! {
        #[test]
        fn a_message_comes_back_from_its_bytes(sent in any::<u64>(), received in any::<u64>()) {
            let record = message(sent, received);
            let read = MessageRecord::from_bytes(0, &record.to_bytes());
            prop_assert_eq!(read.is_ok(), sent != 0 || received != 0);
            prop_assert!(read.is_err() || read == Ok(record));
        }
    }

    #[test]
    fn messages_are_in_order_and_within_their_call() {
        let check = |in_turn, messages: &[(u64, u64)]| {
            let messages: Vec<_> = messages
                .iter()
                .map(|(sent, got)| message(*sent, *got))
                .collect();
            let stream = Stream::new(StreamForm::Bidirectional, 3, in_turn).unwrap();
            MessageRecord::check_call(&messages, &stream, (10, 20))
        };
        for right in [
            &[][..],
            &[(10, 20)],
            &[(10, 15), (11, 15), (0, 16)],
            &[(10, 0), (11, 0)],
        ] {
            assert_eq!(check(false, right), Ok(()), "{right:?}");
        }
        for (wrong, why) in [
            (
                &[(9, 0)][..],
                "message 0 was sent before an earlier one or outside of its call",
            ),
            (
                &[(10, 21)],
                "message 0 was received before an earlier one or outside of its call",
            ),
            (
                &[(12, 13), (11, 14)],
                "message 1 was sent before an earlier one or outside of its call",
            ),
            (
                &[(10, 0), (11, 12)],
                "message 1 was received, but not the one before it",
            ),
        ] {
            assert_eq!(check(false, wrong), Err(why.to_owned()), "{wrong:?}");
        }
    }

    #[test]
    fn a_response_follows_its_request_and_in_turn_is_waited_for() {
        let check = |in_turn, messages: &[(u64, u64)]| {
            let messages: Vec<_> = messages
                .iter()
                .map(|(sent, got)| message(*sent, *got))
                .collect();
            let stream = Stream::new(StreamForm::Bidirectional, 2, in_turn).unwrap();
            MessageRecord::check_call(&messages, &stream, (10, 20))
        };
        let error = |why: &str| Err(why.to_owned());
        assert_eq!(
            check(false, &[(12, 11)]),
            error("message 0 was received before it was sent")
        );
        assert_eq!(check(true, &[(10, 12), (12, 13)]), Ok(()));
        let early = [(10, 12), (11, 13)];
        assert_eq!(check(false, &early), Ok(()));
        assert_eq!(
            check(true, &early),
            error("message 1 was sent before the response to message 0")
        );
    }

    #[test]
    fn a_stream_that_cannot_be_is_refused() {
        let new = |form, messages, in_turn| Stream::new(form, messages, in_turn).is_ok();
        assert!(new(StreamForm::Bidirectional, 1, true));
        assert!(new(StreamForm::Sse, MAX_STREAM_MESSAGES, false));
        assert!(!new(StreamForm::Server, 0, false));
        assert!(!new(StreamForm::Server, MAX_STREAM_MESSAGES + 1, false));
        assert!(!new(StreamForm::Server, 2, true));
    }
}
