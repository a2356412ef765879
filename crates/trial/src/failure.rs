//! Why calls fail: kinds of failures, who must act, and samples of error texts.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The maximum number of distinct error texts to store.
pub(crate) const MAX_SAMPLES: usize = 10;

/// Who can resolve a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The user: the request cannot be fulfilled, for example because a sample does not fit its
    /// message type.
    User,
    /// This program, its settings or its message. For a subject: the author of its settings line.
    Instrument,
    /// The callee: a server or a proxy in front of it, or a subject that failed or lacks a feature
    /// that it declares.
    Subject,
    /// The machine: a port, a path, a limit, memory.
    Machine,
}

impl Fault {
    /// The exit code of a subject that exits with this fault.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Subject => 1,
            Self::User | Self::Instrument => 2,
            Self::Machine => 3,
        }
    }
}

/// Why a call failed. Each kind has a short, stable name such as `connect-refused` or `http-503`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(with = "String")
)]
pub enum FailureKind {
    /// Nothing listens there.
    ConnectRefused,
    /// The connection could not be opened for another reason.
    ConnectFailed,
    /// This process or machine has no file descriptors left.
    OutOfFiles,
    /// This machine has no local ports left.
    OutOfPorts,
    /// The server's certificate has expired or is not valid yet.
    CertificateExpired,
    /// The server's certificate is for another name.
    CertificateName,
    /// The server's certificate was not signed by a trusted authority.
    CertificateUnknownIssuer,
    /// The server's certificate cannot be verified for another reason.
    CertificateInvalid,
    /// The server requires a client certificate, or rejects the one that was sent.
    ClientCertificate,
    /// The TLS handshake did not negotiate the required HTTP version (ALPN).
    Alpn,
    /// The TLS handshake failed for another reason.
    TlsHandshake,
    /// The connection was reset, or closed by a TLS alert.
    ConnectionReset,
    /// The connection was closed before the response was complete.
    ConnectionClosed,
    /// The connection was closed because the server went silent: it did not acknowledge a PING in
    /// time, or the system's keepalive timed out.
    ConnectionLost,
    /// The deadline passed after the call was given to its connection, which may still have been
    /// opening for this call.
    Deadline,
    /// The deadline passed while the call was waiting to be sent.
    DeadlineUnsent,
    /// The deadline passed while the call was waiting for its streamed body to be generated.
    BodyLate,
    /// The server sent no message of a stream for longer than the call waits for one.
    MessageTimeout,
    /// The client did not run while the call was open or due: it was stopped, the machine was
    /// suspended, or no core was available.
    ClientStalled,
    /// The server reset this call (RST_STREAM).
    StreamReset,
    /// The server reported that it did not process the call (REFUSED_STREAM, GOAWAY).
    NotProcessed,
    /// The server uses or requires a different HTTP version than the client used.
    WrongProtocol,
    /// The server violated the protocol.
    Protocol,
    /// The response exceeds one of the client's limits.
    TooLarge,
    /// The server floods the client with data that no response needs: interim responses, chunk
    /// extensions, CONTINUATION frames, or frames whose acknowledgements it does not read.
    Flood,
    /// The server does not accept a request head of this size.
    HeadTooLarge,
    /// An HTTP status other than the status of a successful response.
    HttpStatus(u16),
    /// A gRPC status other than OK, sent by the server. Codes above 16 do not exist and are all
    /// recorded as 17.
    GrpcStatus(u32),
    /// The server closed the WebSocket with a status code other than 1000.
    WebSocketClosed(u16),
    /// The response has an unexpected media type.
    ContentType,
    /// The response uses a compression that was not requested.
    ContentEncoding,
    /// The request could not be encoded or compressed.
    Encode,
    /// The response could not be decompressed.
    Decompress,
    /// The response could not be decoded.
    Decode,
    /// The response does not contain what the user expects.
    Check,
    /// A call by a client subject failed; its library has its own names for the reasons.
    CallFailed,
}

/// The names of all kinds except statuses.
const WORDS: [(FailureKind, &str); 33] = [
    (FailureKind::ConnectRefused, "connect-refused"),
    (FailureKind::ConnectFailed, "connect-failed"),
    (FailureKind::OutOfFiles, "out-of-files"),
    (FailureKind::OutOfPorts, "out-of-ports"),
    (FailureKind::CertificateExpired, "certificate-expired"),
    (FailureKind::CertificateName, "certificate-name"),
    (
        FailureKind::CertificateUnknownIssuer,
        "certificate-unknown-issuer",
    ),
    (FailureKind::CertificateInvalid, "certificate-invalid"),
    (FailureKind::ClientCertificate, "client-certificate"),
    (FailureKind::Alpn, "alpn"),
    (FailureKind::TlsHandshake, "tls-handshake"),
    (FailureKind::ConnectionReset, "connection-reset"),
    (FailureKind::ConnectionClosed, "connection-closed"),
    (FailureKind::ConnectionLost, "connection-lost"),
    (FailureKind::Deadline, "deadline"),
    (FailureKind::DeadlineUnsent, "deadline-unsent"),
    (FailureKind::BodyLate, "body-late"),
    (FailureKind::MessageTimeout, "message-timeout"),
    (FailureKind::ClientStalled, "client-stalled"),
    (FailureKind::StreamReset, "stream-reset"),
    (FailureKind::NotProcessed, "not-processed"),
    (FailureKind::WrongProtocol, "wrong-protocol"),
    (FailureKind::Protocol, "protocol"),
    (FailureKind::TooLarge, "too-large"),
    (FailureKind::Flood, "flood"),
    (FailureKind::HeadTooLarge, "head-too-large"),
    (FailureKind::ContentType, "content-type"),
    (FailureKind::ContentEncoding, "content-encoding"),
    (FailureKind::Encode, "encode"),
    (FailureKind::Decompress, "decompress"),
    (FailureKind::Decode, "decode"),
    (FailureKind::Check, "check"),
    (FailureKind::CallFailed, "call-failed"),
];

/// The names of gRPC statuses by code, and one name for all other codes.
const GRPC: [&str; 18] = [
    "ok",
    "cancelled",
    "unknown",
    "invalid-argument",
    "deadline-exceeded",
    "not-found",
    "already-exists",
    "permission-denied",
    "resource-exhausted",
    "failed-precondition",
    "aborted",
    "out-of-range",
    "unimplemented",
    "internal",
    "unavailable",
    "data-loss",
    "unauthenticated",
    "invalid",
];

impl FailureKind {
    /// Who must act to fix it.
    pub fn fault(self) -> Fault {
        match self {
            Self::OutOfFiles | Self::OutOfPorts | Self::ClientStalled => Fault::Machine,
            Self::BodyLate
            | Self::TooLarge
            | Self::HeadTooLarge
            | Self::Encode
            | Self::ClientCertificate => Fault::Instrument,
            _ => Fault::Subject,
        }
    }

    /// Whether a stall of the client can explain it: a timeout may have expired while the client
    /// was not running.
    pub fn follows_from_stall(self) -> bool {
        matches!(
            self,
            Self::Deadline
                | Self::DeadlineUnsent
                | Self::BodyLate
                | Self::MessageTimeout
                | Self::ConnectionLost
        )
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HttpStatus(status) => write!(f, "http-{status}"),
            Self::WebSocketClosed(code) => write!(f, "websocket-{code}"),
            Self::GrpcStatus(code) => {
                let name = GRPC.get(*code as usize).unwrap_or(&"invalid");
                write!(f, "grpc-{name}")
            }
            kind => {
                let word = WORDS.iter().find(|(known, _)| known == kind);
                f.write_str(word.map_or("unknown", |(_, word)| word))
            }
        }
    }
}

impl FromStr for FailureKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let status = || {
            if let Some(status) = text.strip_prefix("http-") {
                return status.parse().ok().map(Self::HttpStatus);
            }
            if let Some(code) = text.strip_prefix("websocket-") {
                return code.parse().ok().map(Self::WebSocketClosed);
            }
            let name = text.strip_prefix("grpc-")?;
            let code = GRPC.iter().position(|known| *known == name)?;
            u32::try_from(code).ok().map(Self::GrpcStatus)
        };
        let known = WORDS.iter().find(|(_, word)| *word == text);
        known
            .map(|(kind, _)| *kind)
            .or_else(status)
            .ok_or_else(|| format!("{text:?} is not a kind of failure"))
    }
}

impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FailureKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// An error text and how often it occurred. The text may come from the server, so escape it in all
/// output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorSample {
    /// The kind under which it is counted.
    pub kind: FailureKind,
    /// The text, truncated to 200 characters.
    pub text: String,
    /// How often it occurred.
    pub count: u64,
}

impl ErrorSample {
    /// The maximum number of characters to store of an error text.
    pub const MAX_CHARS: usize = 200;

    /// Shortens a text to at most [`Self::MAX_CHARS`] characters. A shortened text ends in "…".
    pub fn shortened(text: &str) -> Cow<'_, str> {
        if text.chars().nth(Self::MAX_CHARS).is_none() {
            return Cow::Borrowed(text);
        }
        let start = text.chars().take(Self::MAX_CHARS - 1);
        Cow::Owned(start.chain(['…']).collect())
    }
}

/// A bounded collection of distinct error texts.
#[derive(Debug, Default)]
pub struct ErrorSamples {
    /// The stored texts.
    pub samples: Vec<ErrorSample>,
    /// The number of errors whose text is not stored.
    pub without_sample: u64,
}

impl ErrorSamples {
    /// Counts a text under its kind.
    pub fn add(&mut self, kind: FailureKind, text: &str) {
        let text = ErrorSample::shortened(text);
        let known = self
            .samples
            .iter_mut()
            .find(|sample| sample.kind == kind && sample.text == text);
        if let Some(sample) = known {
            sample.count += 1;
        } else if self.samples.len() < MAX_SAMPLES {
            self.samples.push(ErrorSample {
                kind,
                text: text.into_owned(),
                count: 1,
            });
        } else {
            self.without_sample += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// These names appear in records and must not change.
    #[test]
    fn kinds_have_short_stable_names() {
        let table = [
            (FailureKind::ConnectRefused, "connect-refused"),
            (FailureKind::CertificateExpired, "certificate-expired"),
            (FailureKind::CertificateName, "certificate-name"),
            (
                FailureKind::CertificateUnknownIssuer,
                "certificate-unknown-issuer",
            ),
            (FailureKind::ClientCertificate, "client-certificate"),
            (FailureKind::TlsHandshake, "tls-handshake"),
            (FailureKind::ConnectionLost, "connection-lost"),
            (FailureKind::DeadlineUnsent, "deadline-unsent"),
            (FailureKind::BodyLate, "body-late"),
            (FailureKind::ClientStalled, "client-stalled"),
            (FailureKind::NotProcessed, "not-processed"),
            (FailureKind::WrongProtocol, "wrong-protocol"),
            (FailureKind::Flood, "flood"),
            (FailureKind::HttpStatus(503), "http-503"),
            (FailureKind::GrpcStatus(14), "grpc-unavailable"),
            (FailureKind::GrpcStatus(4), "grpc-deadline-exceeded"),
            (FailureKind::GrpcStatus(17), "grpc-invalid"),
            (FailureKind::WebSocketClosed(1011), "websocket-1011"),
        ];
        for (kind, name) in table {
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn a_record_has_each_kind_by_its_name() {
        let statuses = [
            FailureKind::HttpStatus(503),
            FailureKind::GrpcStatus(2),
            FailureKind::GrpcStatus(17),
            FailureKind::WebSocketClosed(4000),
        ];
        for kind in WORDS.map(|(kind, _)| kind).into_iter().chain(statuses) {
            let counts = BTreeMap::from([(kind, 7)]);
            let text = serde_json::to_string(&counts).unwrap();
            assert_eq!(text, format!("{{\"{kind}\":7}}"));
            let read: BTreeMap<FailureKind, u64> = serde_json::from_str(&text).unwrap();
            assert_eq!(read, counts);
        }
        for text in ["", "http-", "http-99999", "grpc-14", "timeout"] {
            let problem = text.parse::<FailureKind>().unwrap_err();
            assert_eq!(problem, format!("{text:?} is not a kind of failure"));
        }
    }

    #[test]
    fn each_kind_names_who_must_act() {
        let table = [
            (FailureKind::ConnectRefused, Fault::Subject),
            (FailureKind::OutOfPorts, Fault::Machine),
            (FailureKind::OutOfFiles, Fault::Machine),
            (FailureKind::ClientStalled, Fault::Machine),
            (FailureKind::CertificateExpired, Fault::Subject),
            (FailureKind::ClientCertificate, Fault::Instrument),
            (FailureKind::Encode, Fault::Instrument),
            (FailureKind::BodyLate, Fault::Instrument),
            (FailureKind::TooLarge, Fault::Instrument),
            (FailureKind::Flood, Fault::Subject),
            (FailureKind::ConnectionLost, Fault::Subject),
            (FailureKind::Deadline, Fault::Subject),
            (FailureKind::Decode, Fault::Subject),
            (FailureKind::Check, Fault::Subject),
        ];
        for (kind, fault) in table {
            assert_eq!(kind.fault(), fault, "{kind}");
        }
    }

    #[test]
    fn error_texts_are_bounded_in_number_and_length() {
        let mut errors = ErrorSamples::default();
        for i in 0..30 {
            errors.add(FailureKind::Protocol, &format!("text {}", i % 15));
        }
        assert_eq!((errors.samples.len(), errors.without_sample), (10, 10));
        assert!(errors.samples.iter().all(|sample| sample.count == 2));
        let whole = "ä".repeat(ErrorSample::MAX_CHARS);
        assert_eq!(ErrorSample::shortened(&whole), whole);
        let cut = ErrorSample::shortened(&format!("{whole}b")).into_owned();
        assert_eq!(cut, format!("{}…", "ä".repeat(ErrorSample::MAX_CHARS - 1)));
        assert_eq!(ErrorSample::shortened(&cut), cut);
    }
}
