//! Finds the messages in the body of a response.

use rpcgauge_trial::{StreamForm, Streaming};
use rpcgauge_wire::grpc::{self, GrpcViolation, Outcome, Piece, UnaryResponse};
use rpcgauge_wire::{Fields, LimitExceeded, TextDeframer, TextFraming, TextPiece};

use crate::trial::{CallStyle, Trial};

/// What the body of a response is made of.
#[derive(Debug, Default)]
pub(super) enum Reader {
    /// The body is the message.
    #[default]
    Whole,
    /// One message, over gRPC.
    Unary(UnaryResponse),
    /// Any number of messages, over gRPC.
    Grpc {
        response: grpc::Response,
        /// Whether the current message is compressed.
        compressed: bool,
    },
    /// Any number of messages in a text.
    Text {
        deframer: TextDeframer,
        framing: TextFraming,
        /// The maximum size of a message, bytes.
        limit: u32,
    },
}

/// What follows in a body with several messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Bytes of the current message.
    Bytes(&'a [u8]),
    /// The current message is complete.
    End,
}

/// Why the rest of a body is not read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unreadable {
    /// The status that [`Reader::finish`] returns says why.
    Grpc,
    Text(LimitExceeded),
}

impl Reader {
    pub(super) fn new(trial: &Trial) -> Reader {
        let limit = trial.expect.max_response_bytes;
        let framing = match trial.streaming {
            Some(Streaming {
                form: StreamForm::Server | StreamForm::Bidirectional,
                ..
            }) => {
                return Reader::Grpc {
                    response: grpc::Response::new(limit),
                    compressed: false,
                };
            }
            Some(Streaming {
                form: StreamForm::Ndjson,
                ..
            }) => TextFraming::Lines,
            Some(Streaming {
                form: StreamForm::Sse,
                ..
            }) => TextFraming::Events,
            _ => {
                return match trial.request.style {
                    CallStyle::Http { .. } => Reader::Whole,
                    CallStyle::Grpc { .. } => Reader::Unary(UnaryResponse::new(limit)),
                };
            }
        };
        Reader::Text {
            deframer: TextDeframer::new(framing, limit),
            framing,
            limit,
        }
    }

    /// Prepares for another response. Keeps its memory.
    #[inline]
    pub(super) fn reset(&mut self) {
        match self {
            Reader::Whole => {}
            Reader::Unary(response) => response.reset(),
            Reader::Grpc {
                response,
                compressed,
            } => {
                response.reset();
                *compressed = false;
            }
            Reader::Text {
                deframer,
                framing,
                limit,
            } => *deframer = TextDeframer::new(*framing, *limit),
        }
    }

    /// Processes the head of a gRPC response. Returns whether it names an encoding. [`Reader::finish`] reports
    /// violations.
    #[inline]
    pub(super) fn grpc_head(
        &mut self,
        (status, fields, end): (u16, Fields<'_>, bool),
        subtype: Option<&str>,
    ) -> bool {
        match self {
            Reader::Unary(response) => {
                let _ = response.head(status, &fields, end, subtype);
                response.names_encoding()
            }
            Reader::Grpc { response, .. } => {
                let _ = response.head(status, &fields, end, subtype);
                response.names_encoding()
            }
            Reader::Whole | Reader::Text { .. } => false,
        }
    }

    /// Processes the trailers.
    #[inline]
    pub(super) fn trailers(&mut self, fields: &Fields<'_>) {
        match self {
            Reader::Unary(response) => response.trailers(fields),
            Reader::Grpc { response, .. } => response.trailers(fields),
            Reader::Whole | Reader::Text { .. } => {}
        }
    }

    /// Takes the next part off the front of `data` in a body with several messages; `None` once `data` is used
    /// up.
    #[inline]
    pub(super) fn next<'a>(&mut self, data: &mut &'a [u8]) -> Result<Option<Part<'a>>, Unreadable> {
        match self {
            Reader::Grpc {
                response,
                compressed,
            } => loop {
                return match response.next(data).map_err(|_| Unreadable::Grpc)? {
                    Some(Piece::Start {
                        compressed: this, ..
                    }) => {
                        *compressed = this;
                        continue;
                    }
                    Some(Piece::Payload(bytes)) => Ok(Some(Part::Bytes(bytes))),
                    Some(Piece::End) => Ok(Some(Part::End)),
                    None => Ok(None),
                };
            },
            Reader::Text { deframer, .. } => {
                let piece = deframer.next(data).map_err(Unreadable::Text)?;
                Ok(piece.map(|piece| match piece {
                    TextPiece::Text(bytes) => Part::Bytes(bytes),
                    TextPiece::End => Part::End,
                }))
            }
            Reader::Whole | Reader::Unary(_) => Ok(None),
        }
    }

    /// Whether the end of the body completes a message: a line of JSON needs no line feed after it.
    pub(super) fn ends_message(&self) -> bool {
        matches!(
            self,
            Reader::Text { deframer, framing: TextFraming::Lines, .. } if !deframer.is_between_messages()
        )
    }

    /// The status of a gRPC response; `None` for other responses.
    pub(super) fn finish(&mut self) -> Option<Outcome<'_>> {
        match self {
            Reader::Unary(response) => Some(response.finish()),
            Reader::Grpc { response, .. } => Some(response.finish()),
            Reader::Whole | Reader::Text { .. } => None,
        }
    }

    /// See [`UnaryResponse::forget_message`].
    pub(super) fn forget_message(&mut self) {
        match self {
            Reader::Unary(response) => response.forget_message(),
            Reader::Grpc { response, .. } => response.forget_message(),
            Reader::Whole | Reader::Text { .. } => {}
        }
    }

    /// See [`UnaryResponse::waits_after_status`].
    pub(super) fn waits_after_status(&self) -> bool {
        match self {
            Reader::Unary(response) => response.waits_after_status(),
            Reader::Grpc { response, .. } => response.waits_after_status(),
            Reader::Whole | Reader::Text { .. } => false,
        }
    }

    /// Whether the message, or the current one, is compressed; `None` if only the head can tell.
    #[inline]
    pub(super) fn is_compressed(&self) -> Option<bool> {
        match self {
            Reader::Unary(response) => Some(response.is_compressed()),
            Reader::Grpc { compressed, .. } => Some(*compressed),
            Reader::Whole | Reader::Text { .. } => None,
        }
    }

    /// Processes a piece of a body with at most one message. Returns its message bytes, and whether its prefix
    /// announces a message that is too large.
    #[inline]
    pub(super) fn body<'a>(&mut self, data: &'a [u8]) -> (&'a [u8], bool) {
        match self {
            // As for the head, `finish` reports errors again. Unreadable data is not counted.
            Reader::Unary(response) => match response.body(data) {
                Ok(payload) => (payload, false),
                Err(GrpcViolation::MessageTooLarge { .. }) => (&[], true),
                Err(_) => (&[], false),
            },
            Reader::Whole | Reader::Grpc { .. } | Reader::Text { .. } => (data, false),
        }
    }

    /// Bytes of gRPC's message prefixes so far.
    #[inline]
    pub(super) fn prefix_bytes(&self) -> u64 {
        match self {
            Reader::Unary(response) => response.prefix_bytes(),
            Reader::Grpc { response, .. } => response.prefix_bytes(),
            Reader::Whole | Reader::Text { .. } => 0,
        }
    }
}
