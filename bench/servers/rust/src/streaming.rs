//! What streaming calls exchange.

use crate::arguments::Arguments;
use crate::behaviour::{Behaviour, Shape};

/// The streaming calls of a server.
#[derive(Debug, Clone, Copy)]
pub enum Streaming {
    /// The server responds to each call with a stream.
    Server(ServerStream),
    /// The server responds to each message with one message.
    Bidirectional,
}

/// The response to a call, if it is a stream.
#[derive(Debug, Clone, Copy)]
pub struct ServerStream {
    /// The number of messages.
    pub messages: u64,
    /// The time from the due time of a message to that of the next one; `None` to send all at once.
    pub gap: Option<Shape>,
}

impl Streaming {
    /// Parses `stream=server messages=N [gap=SHAPE]` or `stream=bidirectional`. Returns `None` without `stream`.
    ///
    /// # Errors
    /// If the arguments are invalid or do not fit `behaviour`.
    pub fn read(arguments: &mut Arguments, behaviour: &Behaviour) -> Result<Option<Self>, String> {
        let Some(form) = arguments.text("stream") else {
            return Ok(None);
        };
        if behaviour.refuses() {
            return Err("refuse-one-in needs unary calls".to_owned());
        }
        match form.as_str() {
            "server" => Ok(Some(Self::Server(ServerStream::read(
                arguments, behaviour,
            )?))),
            "bidirectional" => Ok(Some(Self::Bidirectional)),
            _ => Err(format!(
                "stream={form} is not valid: it must be server or bidirectional"
            )),
        }
    }
}

impl ServerStream {
    fn read(arguments: &mut Arguments, behaviour: &Behaviour) -> Result<Self, String> {
        let messages = arguments.required("messages")?;
        if messages == 0 {
            return Err("messages must be 1 or more".to_owned());
        }
        let gap = arguments.text("gap");
        let gap = gap.map(|shape| Shape::read(&shape)).transpose()?;
        match (behaviour, gap) {
            (Behaviour::Bare, None) | (Behaviour::Delay(_), Some(_)) => Ok(Self { messages, gap }),
            (Behaviour::Bare, Some(_)) => {
                Err("bare sends all messages at once: leave out gap".to_owned())
            }
            (Behaviour::Delay(_), None) => Err("gap=… is missing".to_owned()),
            (Behaviour::Stall(_), _) => Err("stall needs unary or bidirectional calls".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Streaming>, String> {
        let mut arguments = Arguments::of(text.split(' '));
        let name = arguments.word("name")?;
        let behaviour = Behaviour::read(&name, &mut arguments, 0)?;
        let streaming = Streaming::read(&mut arguments, &behaviour)?;
        arguments.end().map(|()| streaming)
    }

    #[test]
    fn a_stream_has_gaps_if_its_server_delays() {
        for text in [
            "bare stream=server messages=3",
            "bare stream=bidirectional",
            "delay shape=constant:1ms stream=server messages=3 gap=constant:1ms",
            "delay shape=constant:1ms stream=bidirectional",
            "stall stream=bidirectional",
        ] {
            assert!(
                matches!(read(text), Ok(Some(_))),
                "{text}: {:?}",
                read(text)
            );
        }
        assert!(matches!(read("stall"), Ok(None)));
    }

    #[test]
    fn a_stream_that_the_server_does_not_support_is_refused() {
        for text in [
            "bare stream=client",
            "bare stream=server",
            "bare stream=server messages=0",
            "bare stream=server messages=3 gap=constant:1ms",
            "bare messages=3",
            "delay shape=constant:1ms stream=server messages=3",
            "stall stream=server messages=3 gap=constant:1ms",
            "stall refuse-one-in=10 stream=bidirectional",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
