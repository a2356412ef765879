//! Splits a body into messages, regardless of how it is split into chunks.

use super::PREFIX_LENGTH;
use super::error::GrpcViolation;

/// A part of a stream of length-prefixed messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A message begins.
    Start {
        /// Whether its payload is compressed with the response's `grpc-encoding`.
        compressed: bool,
        /// Length of its payload in bytes.
        length: u32,
    },
    /// Some bytes of the current message's payload, never empty.
    Payload(&'a [u8]),
    /// The current message is complete.
    End,
}

/// Finds messages in the chunks of one body. Does not store payload.
#[derive(Debug, Clone)]
pub struct Deframer {
    limit: u32,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Prefix {
        bytes: [u8; PREFIX_LENGTH],
        have: usize,
    },
    Payload {
        left: u32,
    },
}

const NEW_PREFIX: State = State::Prefix {
    bytes: [0; PREFIX_LENGTH],
    have: 0,
};

impl Deframer {
    /// Creates a deframer for one body with messages of up to `max_message_bytes` each.
    pub fn new(max_message_bytes: u32) -> Deframer {
        Deframer {
            limit: max_message_bytes,
            state: NEW_PREFIX,
        }
    }

    /// Takes the next piece off the front of `data`; `None` once `data` is used up.
    ///
    /// # Errors
    /// The flag is unknown or a message exceeds the limit. The rest of the body cannot be parsed,
    /// so this must not be called again.
    #[inline]
    pub fn next<'a>(&mut self, data: &mut &'a [u8]) -> Result<Option<Piece<'a>>, GrpcViolation> {
        match &mut self.state {
            State::Prefix { .. } if data.is_empty() => Ok(None),
            State::Prefix { bytes, have } => {
                let prefix = match data.split_first_chunk() {
                    Some((whole, rest)) if *have == 0 => {
                        *data = rest;
                        *whole
                    }
                    _ => {
                        let taken = (PREFIX_LENGTH - *have).min(data.len());
                        bytes[*have..*have + taken].copy_from_slice(&data[..taken]);
                        *have += taken;
                        *data = &data[taken..];
                        if *have < PREFIX_LENGTH {
                            return Ok(None);
                        }
                        *bytes
                    }
                };
                let [flag, length @ ..] = prefix;
                let length = u32::from_be_bytes(length);
                if flag > 1 {
                    return Err(GrpcViolation::Flag);
                }
                if length > self.limit {
                    return Err(GrpcViolation::MessageTooLarge {
                        length,
                        limit: self.limit,
                    });
                }
                self.state = State::Payload { left: length };
                Ok(Some(Piece::Start {
                    compressed: flag == 1,
                    length,
                }))
            }
            State::Payload { left: 0 } => {
                self.state = NEW_PREFIX;
                Ok(Some(Piece::End))
            }
            State::Payload { .. } if data.is_empty() => Ok(None),
            State::Payload { left } => {
                let taken = (*left as usize).min(data.len());
                *left -= taken as u32;
                let (payload, rest) = data.split_at(taken);
                *data = rest;
                Ok(Some(Piece::Payload(payload)))
            }
        }
    }

    /// Whether the body may end here: it is not inside a message or a message prefix.
    #[inline]
    pub fn is_between_messages(&self) -> bool {
        matches!(
            self.state,
            State::Prefix { have: 0, .. } | State::Payload { left: 0 }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The messages found in chunks, with their compressed flags.
    fn messages(chunks: &[&[u8]]) -> Result<Vec<(bool, Vec<u8>)>, GrpcViolation> {
        let mut deframer = Deframer::new(1000);
        let mut found = Vec::new();
        let mut current = None;
        for mut chunk in chunks.iter().copied() {
            while let Some(piece) = deframer.next(&mut chunk)? {
                match piece {
                    Piece::Start { compressed, .. } => current = Some((compressed, Vec::new())),
                    Piece::Payload(bytes) => current.as_mut().unwrap().1.extend_from_slice(bytes),
                    Piece::End => found.extend(current.take()),
                }
            }
        }
        assert_eq!(deframer.is_between_messages(), current.is_none());
        Ok(found)
    }

    #[test]
    fn bad_flags_and_large_messages_are_refused_at_the_prefix() {
        assert_eq!(messages(&[b"\x02\0\0\0\0"]), Err(GrpcViolation::Flag));
        let too_large = GrpcViolation::MessageTooLarge {
            length: 1001,
            limit: 1000,
        };
        assert_eq!(messages(&[b"\0\0\0\x03\xe9"]), Err(too_large));
    }

    #[test]
    fn an_empty_message_ends_at_once() {
        assert_eq!(messages(&[b"\0\0\0\0\0"]), Ok(vec![(false, vec![])]));
    }

    proptest! {
        #[test]
        fn messages_do_not_depend_on_the_cuts(
            sent in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)), 0..5),
            cut in 1usize..20,
        ) {
            let mut body = Vec::new();
            for (compressed, payload) in &sent {
                body.extend_from_slice(&super::super::frame_message(payload, *compressed).unwrap());
            }
            let chunks: Vec<&[u8]> = body.chunks(cut).collect();
            prop_assert_eq!(messages(&chunks), Ok(sent));
        }
    }
}
