//! Why a call or a connection failed.

use crate::http1;
use crate::http2::{self, ErrorCode, hpack};

/// How far a response had come when the connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// No byte of the response had come.
    BeforeHead,
    /// Inside the head.
    InHead,
    /// The head was complete and the body or trailers were not.
    InBody,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::BeforeHead => "before the response",
            Stage::InHead => "inside the response's head",
            Stage::InBody => "inside the response's body",
        })
    }
}

/// Why a call ended without a complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum Failure {
    #[error("the connection ended {stage}")]
    Closed { stage: Stage },
    #[error("the server reset the call with {code}")]
    Reset { code: ErrorCode },
    /// The server sent GOAWAY and said that it did not process this call.
    #[error("the server is going away ({code}) and did not process the call")]
    GoneAway { code: ErrorCode },
    #[error("the server broke the protocol: {0}")]
    Violation(#[from] Violation),
    #[error("the response is over a limit: {0}")]
    Limit(#[from] LimitExceeded),
}

impl Failure {
    /// Whether the server says that it did not process the call, so that sending it again is safe
    /// (RFC 9113 §8.7): refused, or above the last stream of GOAWAY.
    pub fn not_processed(&self) -> bool {
        matches!(
            self,
            Failure::GoneAway { .. }
                | Failure::Reset {
                    code: ErrorCode::REFUSED_STREAM
                }
        )
    }
}

/// A rule of the protocol that the server broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Of HTTP/1.1.
    #[error(transparent)]
    Http1(#[from] http1::Http1Violation),
    /// Of HTTP/2.
    #[error(transparent)]
    Http2(#[from] http2::Http2Violation),
    /// Of HPACK.
    #[error(transparent)]
    Hpack(#[from] hpack::HpackError),
}

impl Violation {
    /// Whether the server uses another version of HTTP than the connection, or none at all: its
    /// first bytes are the other's, or are not a SETTINGS frame where HTTP/2 begins with one.
    pub fn is_other_protocol(&self) -> bool {
        use http1::Http1Violation;
        use http2::Http2Violation;
        matches!(
            self,
            Violation::Http1(Http1Violation::Http2Response)
                | Violation::Http2(Http2Violation::Http1Response | Http2Violation::Preface)
        )
    }
}

/// A limit of [`crate::Limits`] that a response exceeded. Each message names its option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum LimitExceeded {
    #[error("a head of more than {0} bytes (max_head_bytes)")]
    HeadBytes(usize),
    #[error("a field list of more than {0} bytes (max_header_list_bytes)")]
    HeaderListBytes(u32),
    #[error("more than {0} fields (max_fields)")]
    Fields(usize),
    #[error("more than {0} interim responses (max_interim_responses)")]
    InterimResponses(u32),
    #[error("a body of more than {0} bytes (max_body_bytes)")]
    BodyBytes(u64),
    #[error("a chunk size line of more than {0} bytes (max_chunk_line_bytes)")]
    ChunkLineBytes(usize),
    #[error("more than {0} CONTINUATION frames (max_continuations)")]
    Continuations(u32),
    #[error("more than {0} bytes of replies that the server does not read (max_queued_replies)")]
    QueuedReplies(usize),
}

impl LimitExceeded {
    /// Whether the server sent without end what no response needs, as opposed to a response that is
    /// larger than this client takes.
    pub fn is_flood(&self) -> bool {
        matches!(
            self,
            LimitExceeded::InterimResponses(_)
                | LimitExceeded::ChunkLineBytes(_)
                | LimitExceeded::Continuations(_)
                | LimitExceeded::QueuedReplies(_)
        )
    }
}

/// Why a connection takes no more calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum Closing {
    /// The server ends it: `Connection: close` of either side, an HTTP/1.0 response, or a body that
    /// ends with the connection.
    #[error("the server closes the connection after this answer")]
    ServerCloses,
    #[error("the server is going away ({code})")]
    GoAway { code: ErrorCode },
    /// The transport ended or broke.
    #[error("the connection ended")]
    Ended,
    /// The server broke the protocol or a limit, in a way that the connection cannot survive.
    #[error("{0}")]
    Failed(Failure),
    /// An HTTP/1.1 call was answered before all of it was sent, and the server expects the rest.
    #[error("the client cannot use the connection further")]
    ClientCloses,
}

/// Why a call was not started. Nothing was queued for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum StartError {
    #[error("as many calls as the connection allows are in flight")]
    Full,
    #[error("the connection takes no more calls")]
    Closing,
    /// The head and its fields are more than the server accepts (its
    /// SETTINGS_MAX_HEADER_LIST_SIZE).
    #[error("the request's fields take {bytes} bytes and the server accepts {accepted}")]
    HeadTooLarge {
        /// Size of the field list as RFC 9113 §6.5.2 counts it.
        bytes: u64,
        /// What the server said.
        accepted: u32,
    },
}

/// What is wrong with a request's head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum PrepareError {
    #[error("method {0:?} is not a token: use letters, as in POST")]
    Method(String),
    #[error("method CONNECT asks for a tunnel, and no call is answered through one: use another")]
    Tunnel,
    /// The path does not start with `/`, or holds spaces or control characters.
    #[error("path {0:?} must start with / and hold no spaces, # or control characters")]
    Path(String),
    /// The authority is empty or holds what no host and port can.
    #[error("authority {0:?} must be HOST or HOST:PORT")]
    Authority(String),
    #[error("scheme {0:?} must be http or https")]
    Scheme(String),
    #[error("header name {0:?} is not a token: use letters, digits and -")]
    FieldName(String),
    #[error("header {0:?} is set by the protocol itself: leave it out")]
    ReservedField(String),
    /// A field's value holds control characters, or spaces around it.
    #[error("header {0:?} has a value with control characters or spaces around it")]
    FieldValue(String),
    #[error("metadata {0:?} is not base64, as gRPC's values under names in -bin are: encode it")]
    BinaryField(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_differs_from_a_large_response() {
        let table = [
            (LimitExceeded::HeadBytes(1), false),
            (LimitExceeded::HeaderListBytes(1), false),
            (LimitExceeded::Fields(1), false),
            (LimitExceeded::BodyBytes(1), false),
            (LimitExceeded::InterimResponses(1), true),
            (LimitExceeded::ChunkLineBytes(1), true),
            (LimitExceeded::Continuations(1), true),
            (LimitExceeded::QueuedReplies(1), true),
        ];
        for (limit, is_flood) in table {
            assert_eq!(limit.is_flood(), is_flood, "{limit}");
        }
    }
}
