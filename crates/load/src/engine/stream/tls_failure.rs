//! TLS failures: their kinds, with advice for the user.

use std::io;

use crate::tls::alpn;
use rpcgauge_trial::FailureKind;
use rpcgauge_wire::Protocol;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerMisbehaved};

/// A TLS failure, wrapped in an [`io::Error`] like those of the underlying socket.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct TlsFailure {
    pub(crate) kind: FailureKind,
    text: String,
}

impl TlsFailure {
    /// The TLS failure inside a transport's error, if there is one.
    pub(crate) fn of(error: &io::Error) -> Option<&TlsFailure> {
        error.get_ref()?.downcast_ref()
    }

    /// Converts the error of a handshake that either side rejected.
    pub(super) fn in_handshake(error: &Error, protocol: Protocol) -> io::Error {
        match error {
            Error::InvalidCertificate(certificate) => Self::certificate(certificate),
            Error::AlertReceived(AlertDescription::NoApplicationProtocol)
            | Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol) => {
                Self::other_protocol(protocol)
            }
            Error::AlertReceived(alert) => Self::alert(*alert, FailureKind::TlsHandshake),
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::error(
                FailureKind::TlsHandshake,
                "the server does not speak TLS".to_owned(),
            ),
            _ => Self::error(
                FailureKind::TlsHandshake,
                format!("the TLS handshake failed: {error}"),
            ),
        }
    }

    /// Converts the error of a transport that ended, failed or took too long during the handshake.
    /// `WouldBlock` is not a failure and is returned unchanged.
    pub(super) fn cut(error: io::Error) -> io::Error {
        let how = match error.kind() {
            io::ErrorKind::WouldBlock => return error,
            io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            io::ErrorKind::TimedOut => "it was not complete by the deadline".to_owned(),
            _ => error.to_string(),
        };
        Self::error(
            FailureKind::TlsHandshake,
            format!("the TLS handshake failed: {how}"),
        )
    }

    /// The server selected no protocol.
    pub(super) fn no_protocol(protocol: Protocol) -> io::Error {
        let name = String::from_utf8_lossy(alpn(protocol));
        Self::error(
            FailureKind::Alpn,
            format!(
                "the server did not negotiate {name} by ALPN; use --allow-missing-alpn to continue without it"
            ),
        )
    }

    /// The server does not accept the protocol of the calls.
    pub(super) fn other_protocol(protocol: Protocol) -> io::Error {
        let version = match protocol {
            Protocol::Http1 => "HTTP/1.1",
            Protocol::Http2 => "HTTP/2",
        };
        Self::error(
            FailureKind::Alpn,
            format!("the server does not speak {version} over TLS (ALPN)"),
        )
    }

    /// Converts an error after the handshake. In TLS 1.3, this is when a server reports that it rejects the
    /// client's certificate.
    pub(super) fn after_handshake(error: &Error) -> io::Error {
        match error {
            Error::AlertReceived(alert) => Self::alert(*alert, FailureKind::ConnectionReset),
            Error::PeerMisbehaved(
                misbehaved @ (PeerMisbehaved::TooManyEmptyFragments
                | PeerMisbehaved::TooManyKeyUpdateRequests
                | PeerMisbehaved::TooManyRenegotiationRequests),
            ) => Self::error(
                FailureKind::Flood,
                format!(
                    "the server flooded the TLS connection with {}",
                    in_words(&format!("{misbehaved:?}"))
                ),
            ),
            _ => Self::error(
                FailureKind::Protocol,
                format!("the server sent invalid TLS: {error}"),
            ),
        }
    }

    /// The connection ended without a close_notify, so it is unknown whether the server had finished: anyone
    /// can end a TCP connection (RFC 8446, 6.1).
    pub(super) fn truncated() -> io::Error {
        Self::error(
            FailureKind::ConnectionClosed,
            "it ended without a TLS close_notify, so data may be missing at the end".to_owned(),
        )
    }

    fn alert(alert: AlertDescription, otherwise: FailureKind) -> io::Error {
        use AlertDescription::*;
        match alert {
            CertificateRequired => Self::error(
                FailureKind::ClientCertificate,
                "the server requires a client certificate: provide one with --cert and --key"
                    .to_owned(),
            ),
            BadCertificate
            | UnsupportedCertificate
            | CertificateRevoked
            | CertificateExpired
            | CertificateUnknown
            | UnknownCA
            | AccessDenied => Self::error(
                FailureKind::ClientCertificate,
                format!("the server does not accept the client certificate (TLS alert {alert:?})"),
            ),
            _ => Self::error(
                otherwise,
                format!("the server closed the session with the TLS alert {alert:?}"),
            ),
        }
    }

    /// Converts the reason for rejecting the server's certificate. The advice comes before the reason,
    /// because samples are truncated.
    fn certificate(error: &CertificateError) -> io::Error {
        use CertificateError::*;
        let (kind, what) = match error {
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } => (
                FailureKind::CertificateExpired,
                "the server's certificate is not valid at this time: renew it, check this machine's \
                 clock, or call with --insecure",
            ),
            NotValidForName | NotValidForNameContext { .. } => (
                FailureKind::CertificateName,
                "the server's certificate is for another name: specify that name with --server-name",
            ),
            UnknownIssuer => (
                FailureKind::CertificateUnknownIssuer,
                "the issuer of the server's certificate is not trusted: specify its CA with --cacert, \
                 or call with --insecure",
            ),
            Other(_) => (
                FailureKind::CertificateInvalid,
                "the server's certificate cannot be verified: specify it, or its CA, with --cacert, or call \
                 with --insecure",
            ),
            _ => (
                FailureKind::CertificateInvalid,
                "the server's certificate cannot be verified: check it and its CA, or call with \
                 --insecure",
            ),
        };
        let why = match error {
            Other(other) => in_words(&other.to_string()),
            _ => error.to_string(),
        };
        Self::error(kind, format!("{what} ({why})"))
    }

    fn error(kind: FailureKind, text: String) -> io::Error {
        io::Error::other(TlsFailure { kind, text })
    }
}

/// Turns a variant's name into words, for errors without a text: `CaUsedAsEndEntity` becomes "ca used as end
/// entity".
fn in_words(name: &str) -> String {
    let inner = name.rsplit('(').next().unwrap_or(name);
    let mut words = String::new();
    for letter in inner.trim_end_matches(')').chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variants_name_becomes_words() {
        let table = [
            (
                "Other(OtherError(CaUsedAsEndEntity))",
                "ca used as end entity",
            ),
            ("NameConstraintViolation", "name constraint violation"),
            ("in words", "in words"),
        ];
        for (name, words) in table {
            assert_eq!(in_words(name), words);
        }
    }
}
