//! Why calls fail: kinds, the side at fault, and samples of what was said.

use std::fmt;

use rpcgauge_wire::grpc::Code;

/// The side at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// This program, its settings or its message.
    Client,
    /// The server, or something in between that speaks for it.
    Server,
    /// The machine that this program runs on: a port, a descriptor, memory.
    Machine,
}

/// Why a call failed. Its `Display` is a short stable name for counting by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// Nothing listens there.
    ConnectRefused,
    /// The connection could not be made for another reason.
    ConnectFailed,
    /// This process or machine is out of file descriptors.
    OutOfFiles,
    /// This machine is out of local ports.
    OutOfPorts,
    /// The server's certificate has expired, or is not valid yet.
    CertificateExpired,
    /// The server's certificate is for another name.
    CertificateName,
    /// No authority that is trusted has signed the server's certificate.
    CertificateUnknownIssuer,
    /// The server's certificate cannot be verified for another reason.
    CertificateInvalid,
    /// The server wants a client certificate, or does not take the one it was shown.
    ClientCertificate,
    /// The server did not agree to the version of HTTP in the TLS handshake.
    Alpn,
    /// The TLS handshake failed for another reason.
    TlsHandshake,
    /// The connection was reset, or ended by a TLS alert.
    ConnectionReset,
    /// The connection was closed before the response was complete.
    ConnectionClosed,
    /// Nothing came on the connection for so long that it was ended: no acknowledgement of a PING
    /// in time, or the system gave up to reach the other side.
    ConnectionLost,
    /// The deadline passed after the call was handed to its connection, made or being made for it.
    Deadline,
    /// The deadline passed while the call waited to be sent.
    DeadlineUnsent,
    /// The deadline passed while the call waited for its streamed body to be made.
    BodyLate,
    /// The server reset this call (RST_STREAM).
    StreamReset,
    /// The server said that it did not process the call (REFUSED_STREAM, GOAWAY).
    NotProcessed,
    /// The server speaks another version of HTTP than it was called with, or wants another.
    WrongProtocol,
    /// What the server sent is not the protocol.
    Protocol,
    /// The response is over one of the client's limits.
    TooLarge,
    /// The server sends without end what no response needs: interim responses, chunk extensions,
    /// CONTINUATION, or frames to be acknowledged whose acknowledgements it does not read.
    Flood,
    /// The server accepts no request head of this size.
    HeadTooLarge,
    /// An HTTP status outside 200 to 299.
    HttpStatus(u16),
    /// A gRPC status other than OK, sent by the server. Codes above 16 are absurd and all counted
    /// as 17.
    GrpcStatus(u32),
    /// The response is of another media type than expected.
    ContentType,
    /// The response is compressed in a way that was not asked for.
    ContentEncoding,
    /// The request could not be encoded or compressed.
    Encode,
    /// The response could not be decompressed.
    Decompress,
    /// The response could not be decoded.
    Decode,
}

impl FailureKind {
    /// The side at fault.
    pub fn fault(self) -> Fault {
        match self {
            Self::OutOfFiles | Self::OutOfPorts => Fault::Machine,
            Self::BodyLate
            | Self::TooLarge
            | Self::HeadTooLarge
            | Self::Encode
            | Self::ClientCertificate => Fault::Client,
            _ => Fault::Server,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConnectRefused => "connect-refused",
            Self::ConnectFailed => "connect-failed",
            Self::OutOfFiles => "out-of-files",
            Self::OutOfPorts => "out-of-ports",
            Self::CertificateExpired => "certificate-expired",
            Self::CertificateName => "certificate-name",
            Self::CertificateUnknownIssuer => "certificate-unknown-issuer",
            Self::CertificateInvalid => "certificate-invalid",
            Self::ClientCertificate => "client-certificate",
            Self::Alpn => "alpn",
            Self::TlsHandshake => "tls-handshake",
            Self::ConnectionReset => "connection-reset",
            Self::ConnectionClosed => "connection-closed",
            Self::ConnectionLost => "connection-lost",
            Self::Deadline => "deadline",
            Self::DeadlineUnsent => "deadline-unsent",
            Self::BodyLate => "body-late",
            Self::StreamReset => "stream-reset",
            Self::NotProcessed => "not-processed",
            Self::WrongProtocol => "wrong-protocol",
            Self::Protocol => "protocol",
            Self::TooLarge => "too-large",
            Self::Flood => "flood",
            Self::HeadTooLarge => "head-too-large",
            Self::HttpStatus(status) => return write!(f, "http-{status}"),
            Self::GrpcStatus(code) => {
                let name = Code(*code).name().unwrap_or("invalid");
                return write!(f, "grpc-{}", name.to_ascii_lowercase().replace('_', "-"));
            }
            Self::ContentType => "content-type",
            Self::ContentEncoding => "content-encoding",
            Self::Encode => "encode",
            Self::Decompress => "decompress",
            Self::Decode => "decode",
        })
    }
}

/// An error text and how often it came. The text may be the other side's: escape it wherever it
/// goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorSample {
    /// The kind it is counted under.
    pub kind: FailureKind,
    /// The text, shortened to 200 characters.
    pub text: String,
    /// How often it came.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records keep these names: they may not change.
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
            (FailureKind::NotProcessed, "not-processed"),
            (FailureKind::WrongProtocol, "wrong-protocol"),
            (FailureKind::Flood, "flood"),
            (FailureKind::HttpStatus(503), "http-503"),
            (FailureKind::GrpcStatus(14), "grpc-unavailable"),
            (FailureKind::GrpcStatus(4), "grpc-deadline-exceeded"),
            (FailureKind::GrpcStatus(17), "grpc-invalid"),
        ];
        for (kind, name) in table {
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn each_kind_names_the_side_at_fault() {
        let table = [
            (FailureKind::ConnectRefused, Fault::Server),
            (FailureKind::OutOfPorts, Fault::Machine),
            (FailureKind::OutOfFiles, Fault::Machine),
            (FailureKind::CertificateExpired, Fault::Server),
            (FailureKind::ClientCertificate, Fault::Client),
            (FailureKind::Encode, Fault::Client),
            (FailureKind::BodyLate, Fault::Client),
            (FailureKind::TooLarge, Fault::Client),
            (FailureKind::Flood, Fault::Server),
            (FailureKind::ConnectionLost, Fault::Server),
            (FailureKind::Deadline, Fault::Server),
            (FailureKind::Decode, Fault::Server),
        ];
        for (kind, fault) in table {
            assert_eq!(kind.fault(), fault, "{kind}");
        }
    }
}
