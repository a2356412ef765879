//! Where requests come from, and what reads their answers. `ahead` has those that are streamed.

use bytes::Bytes;
use rpcgauge_wire::grpc::{self, MessageTooLong, PREFIX_LENGTH};

use super::ahead::{Ahead, Made, Next};
use super::answer::Answer;
use super::stamps::Stamps;
use crate::bodies::{Bodies, Body, Codec, CodecError};
use crate::clock;
use crate::error::LoadError;
use crate::failure::FailureKind;

/// A request that is ready to go.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// As given to the connection, with gRPC's prefix.
    pub(super) body: Bytes,
    /// The message's length before compression.
    pub(super) plain: u64,
    /// And after.
    pub(super) carried: u64,
}

/// Why an answer's message was not accepted.
#[derive(Debug)]
pub(super) enum Unread {
    /// The call fails.
    Failed(FailureKind, CodecError),
    /// The trial fails: the server answers something else than it should.
    Wrong(CodecError),
}

/// What stands where gRPC's prefix will be, as long as a codec works behind it. No encoding's message
/// begins so, which shows a codec that puts its message there.
const ROOM: [u8; PREFIX_LENGTH] = *b"\xffroom";

/// Prepared bodies or a codec, ready for calls.
pub(super) struct Source<'a> {
    kind: Kind<'a>,
    grpc: bool,
    /// Whether encoding and decoding are stamped.
    timed: bool,
    /// The plain request where it is compressed, and the plain answer where it was.
    plain: Vec<u8>,
    /// The request that was encoded last, whose memory is used again once the connection let it go.
    last: Outgoing,
}

enum Kind<'a> {
    Prepared {
        bodies: Vec<Outgoing>,
        verifier: Option<&'a mut dyn Codec>,
    },
    Streamed(Ahead),
    PerCall {
        codec: &'a mut dyn Codec,
        compresses: bool,
    },
}

impl<'a> Source<'a> {
    pub(super) fn new(bodies: Bodies<'a>, grpc: bool, timed: bool) -> Result<Self, LoadError> {
        let kind = match bodies {
            Bodies::Prepared { bodies, .. } if bodies.is_empty() => {
                return Err(LoadError::Setting {
                    what: "the prepared request bodies",
                    allowed: "at least 1",
                });
            }
            Bodies::Prepared { bodies, verifier } => Kind::Prepared {
                bodies: bodies
                    .into_iter()
                    .map(|body| framed(body, grpc))
                    .collect::<Result<_, _>>()?,
                verifier,
            },
            Bodies::Streamed(bodies) => Kind::Streamed(Ahead::start(bodies, grpc)?),
            Bodies::PerCall(codec) => Kind::PerCall {
                compresses: codec.compresses(),
                codec,
            },
        };
        Ok(Source {
            kind,
            grpc,
            timed,
            plain: Vec::new(),
            last: Outgoing::default(),
        })
    }

    /// How many answers of the warm-up are to be verified.
    pub(super) fn to_verify(&self) -> u64 {
        match &self.kind {
            Kind::Prepared { verifier: None, .. } | Kind::Streamed(_) => 0,
            Kind::Prepared { bodies, .. } => bodies.len() as u64,
            Kind::PerCall { .. } => 1,
        }
    }

    /// Whether answers of calls that are not verified are decoded too.
    pub(super) fn decodes(&self) -> bool {
        matches!(self.kind, Kind::PerCall { .. })
    }

    /// Whether the next call has a body. Only one that is streamed may have none.
    pub(super) fn next(&mut self) -> Next {
        match &mut self.kind {
            Kind::Streamed(ahead) => ahead.next(),
            Kind::Prepared { .. } | Kind::PerCall { .. } => Next::Ready,
        }
    }

    /// Takes the next call's body where it is streamed: there it is the call's own, which keeps it
    /// for as long as it may be sent again.
    pub(super) fn take_streamed(&mut self) -> Option<Made> {
        match &mut self.kind {
            Kind::Streamed(ahead) => ahead.take(),
            Kind::Prepared { .. } | Kind::PerCall { .. } => None,
        }
    }

    /// Makes the request of the `number`-th call, for which none was streamed.
    pub(super) fn request(
        &mut self,
        number: u64,
        stamps: &mut Stamps,
    ) -> Result<&Outgoing, CodecError> {
        match &mut self.kind {
            Kind::Prepared { bodies, .. } => Ok(&bodies[(number % bodies.len() as u64) as usize]),
            Kind::Streamed(_) => Err(CodecError("the call has lost its body".to_owned())),
            Kind::PerCall { codec, compresses } => {
                let mut body = reclaimed(std::mem::take(&mut self.last.body));
                // Room for the prefix, so that the message is made where it is sent from: moving it
                // for one protocol and not for the other would be a difference of our own making.
                let prefix = if self.grpc {
                    body.extend_from_slice(&ROOM);
                    PREFIX_LENGTH
                } else {
                    0
                };
                stamp(self.timed, &mut stamps.encoding);
                let plain = if *compresses {
                    self.plain.clear();
                    codec.encode(number, &mut self.plain)?;
                    stamp(self.timed, &mut stamps.encoded);
                    codec.compress(&self.plain, &mut body)?;
                    stamp(self.timed, &mut stamps.compressed);
                    self.plain.len()
                } else {
                    codec.encode(number, &mut body)?;
                    stamp(self.timed, &mut stamps.encoded);
                    body.len().saturating_sub(prefix)
                };
                let carried = body.len().saturating_sub(prefix);
                if self.grpc {
                    write_prefix(&mut body, carried, *compresses)?;
                }
                self.last = Outgoing {
                    body: Bytes::from(body),
                    plain: plain as u64,
                    carried: carried as u64,
                };
                Ok(&self.last)
            }
        }
    }

    /// Reads a good answer's message. Returns its plain length, where that is known.
    pub(super) fn read(
        &mut self,
        number: u64,
        verify: bool,
        answer: &Answer,
        stamps: &mut Stamps,
    ) -> Result<Option<u64>, Unread> {
        let compressed = answer.is_compressed();
        let codec = match &mut self.kind {
            Kind::PerCall { codec, .. } => codec,
            Kind::Prepared {
                verifier: Some(codec),
                ..
            } if verify => codec,
            Kind::Prepared { .. } | Kind::Streamed(_) => {
                return Ok((!compressed).then_some(answer.carried()));
            }
        };
        let plain = if compressed {
            self.plain.clear();
            codec
                .decompress(answer.message(), &mut self.plain)
                .map_err(|error| Unread::Failed(FailureKind::Decompress, error))?;
            stamp(self.timed, &mut stamps.decompressed);
            self.plain.as_slice()
        } else {
            answer.message()
        };
        codec
            .decode(plain)
            .map_err(|error| Unread::Failed(FailureKind::Decode, error))?;
        stamp(self.timed, &mut stamps.decoded);
        if verify {
            codec.verify(number).map_err(Unread::Wrong)?;
        }
        Ok(Some(plain.len() as u64))
    }
}

fn stamp(timed: bool, stamp: &mut u64) {
    if timed {
        *stamp = clock::now();
    }
}

/// Frames a body beforehand.
pub(super) fn framed(body: Body, grpc: bool) -> Result<Outgoing, MessageTooLong> {
    let carried = body.bytes.len() as u64;
    let bytes = if grpc {
        grpc::frame_message(&body.bytes, body.compressed)?
    } else {
        Bytes::from(body.bytes)
    };
    Ok(Outgoing {
        body: bytes,
        plain: body.plain_len,
        carried,
    })
}

/// Fills in the room that was left for gRPC's prefix.
fn write_prefix(body: &mut [u8], length: usize, compressed: bool) -> Result<(), CodecError> {
    let length =
        u32::try_from(length).map_err(|_| CodecError(MessageTooLong(length).to_string()))?;
    let Some(prefix) = body.first_chunk_mut().filter(|room| **room == ROOM) else {
        return Err(CodecError(
            "the codec removed what was in its output: it must append".to_owned(),
        ));
    };
    prefix[0] = u8::from(compressed);
    prefix[1..].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// The memory of a body that nobody else holds, emptied; new memory otherwise.
fn reclaimed(body: Bytes) -> Vec<u8> {
    match body.try_into_mut() {
        Ok(body) => {
            let mut memory = Vec::from(body);
            memory.clear();
            memory
        }
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_was_let_go_lends_its_memory() {
        let mut memory = Vec::with_capacity(100_000);
        memory.extend_from_slice(&[1; 70_000]);
        let address = memory.as_ptr();
        let body = Bytes::from(memory);
        let held = body.slice(10..20);
        assert_eq!(reclaimed(body.clone()).capacity(), 0, "somebody holds it");
        drop((held, body.clone()));
        let again = reclaimed(body);
        assert_eq!((again.len(), again.as_ptr()), (0, address));
        assert!(again.capacity() >= 70_000);
    }

    /// Appends, as a codec must.
    struct Appending;

    impl Codec for Appending {
        fn encode(&mut self, call: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
            out.extend_from_slice(format!("message {call}").as_bytes());
            Ok(())
        }

        fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), CodecError> {
            Ok(())
        }

        fn decode(&mut self, _: &[u8]) -> Result<(), CodecError> {
            Ok(())
        }

        fn verify(&mut self, _: u64) -> Result<(), CodecError> {
            Ok(())
        }
    }

    #[test]
    fn each_message_is_made_behind_the_room_for_its_prefix() {
        for (grpc, prefix) in [(true, &[0, 0, 0, 0, 9][..]), (false, &[])] {
            let mut codec = Appending;
            let mut source = Source::new(Bodies::PerCall(&mut codec), grpc, false).unwrap();
            for call in 0..3 {
                let outgoing = source.request(call, &mut Stamps::default()).unwrap();
                let message = format!("message {call}");
                assert_eq!(outgoing.body, [prefix, message.as_bytes()].concat());
                assert_eq!((outgoing.plain, outgoing.carried), (9, 9));
            }
        }
    }

    /// Replaces what is in its output, as a codec must not.
    struct Replacing {
        message: &'static str,
        compresses: bool,
    }

    impl Codec for Replacing {
        fn encode(&mut self, _: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
            out.clear();
            out.extend_from_slice(self.message.as_bytes());
            Ok(())
        }

        fn compresses(&self) -> bool {
            self.compresses
        }

        fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
            *out = plain.to_vec();
            Ok(())
        }

        fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), CodecError> {
            Ok(())
        }

        fn decode(&mut self, _: &[u8]) -> Result<(), CodecError> {
            Ok(())
        }

        fn verify(&mut self, _: u64) -> Result<(), CodecError> {
            Ok(())
        }
    }

    #[test]
    fn a_codec_that_replaces_its_output_is_refused() {
        for message in ["", "short", "longer than the prefix"] {
            for compresses in [false, true] {
                let mut codec = Replacing {
                    message,
                    compresses,
                };
                let mut source = Source::new(Bodies::PerCall(&mut codec), true, false).unwrap();
                let refused = source.request(0, &mut Stamps::default()).unwrap_err();
                assert_eq!(
                    refused.0,
                    "the codec removed what was in its output: it must append"
                );
            }
        }
    }
}
