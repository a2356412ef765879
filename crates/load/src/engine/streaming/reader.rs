//! Finds the messages in the body of a streaming response.

use rpcgauge_trial::StreamForm;
use rpcgauge_wire::grpc::{self, Outcome, Piece};
use rpcgauge_wire::{Fields, LimitExceeded, TextDeframer, TextFraming, TextPiece};

/// What the body of a response with any number of messages is made of.
#[derive(Debug)]
pub(super) enum StreamReader {
    Grpc(grpc::Response),
    Text {
        deframer: TextDeframer,
        framing: TextFraming,
    },
    /// The messages of a WebSocket, which arrive whole.
    Whole,
}

/// What follows in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A message begins.
    Start { compressed: bool },
    /// Bytes of the current message.
    Bytes(&'a [u8]),
    /// The current message is complete.
    End,
}

/// Why the rest of a body is not read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unreadable {
    /// The outcome that [`StreamReader::finish`] returns says why.
    Grpc,
    Text(LimitExceeded),
}

impl StreamReader {
    /// A reader of messages of up to `limit` bytes each; `None` if the server sends only one message.
    pub(super) fn new(form: StreamForm, is_websocket: bool, limit: u32) -> Option<StreamReader> {
        let framing = match form {
            StreamForm::Client => return None,
            StreamForm::Bidirectional if is_websocket => return Some(StreamReader::Whole),
            StreamForm::Server | StreamForm::Bidirectional => {
                return Some(StreamReader::Grpc(grpc::Response::new(limit)));
            }
            StreamForm::Ndjson => TextFraming::Lines,
            StreamForm::Sse => TextFraming::Events,
        };
        Some(StreamReader::Text {
            deframer: TextDeframer::new(framing, limit),
            framing,
        })
    }

    /// Processes the head of a gRPC response; `None` for other responses. Returns whether it names an encoding.
    /// [`StreamReader::finish`] reports violations.
    pub(super) fn head(
        &mut self,
        (status, fields, end): (u16, Fields<'_>, bool),
        subtype: Option<&str>,
    ) -> Option<bool> {
        match self {
            StreamReader::Grpc(response) => {
                let _ = response.head(status, &fields, end, subtype);
                Some(response.names_encoding())
            }
            StreamReader::Text { .. } | StreamReader::Whole => None,
        }
    }

    /// Takes the next part off the front of `data`; `None` once `data` is used up.
    pub(super) fn next<'a>(&mut self, data: &mut &'a [u8]) -> Result<Option<Part<'a>>, Unreadable> {
        match self {
            StreamReader::Grpc(response) => {
                let piece = response.next(data).map_err(|_| Unreadable::Grpc)?;
                Ok(piece.map(|piece| match piece {
                    Piece::Start { compressed, .. } => Part::Start { compressed },
                    Piece::Payload(bytes) => Part::Bytes(bytes),
                    Piece::End => Part::End,
                }))
            }
            StreamReader::Text { deframer, .. } => {
                let piece = deframer.next(data).map_err(Unreadable::Text)?;
                Ok(piece.map(|piece| match piece {
                    TextPiece::Text(bytes) => Part::Bytes(bytes),
                    TextPiece::End => Part::End,
                }))
            }
            StreamReader::Whole => {
                let bytes = std::mem::take(data);
                Ok((!bytes.is_empty()).then_some(Part::Bytes(bytes)))
            }
        }
    }

    /// Bytes of gRPC's message prefixes so far.
    pub(super) fn prefix_bytes(&self) -> u64 {
        match self {
            StreamReader::Grpc(response) => response.prefix_bytes(),
            StreamReader::Text { .. } | StreamReader::Whole => 0,
        }
    }

    /// Whether the end of the body completes a message: a line of JSON needs no line feed after it.
    pub(super) fn ends_message(&self) -> bool {
        match self {
            StreamReader::Grpc(_) | StreamReader::Whole => false,
            StreamReader::Text { deframer, framing } => {
                *framing == TextFraming::Lines && !deframer.is_between_messages()
            }
        }
    }

    /// Processes the trailers.
    pub(super) fn trailers(&mut self, fields: &Fields<'_>) {
        if let StreamReader::Grpc(response) = self {
            response.trailers(fields);
        }
    }

    /// The outcome of a gRPC response; `None` for other responses.
    pub(super) fn finish(&mut self) -> Option<Outcome<'_>> {
        match self {
            StreamReader::Grpc(response) => Some(response.finish()),
            StreamReader::Text { .. } | StreamReader::Whole => None,
        }
    }
}
