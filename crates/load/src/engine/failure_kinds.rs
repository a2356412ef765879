//! The kinds of failures caused by connections, by the system, and by the deadline.

use std::io;

use rpcgauge_trial::FailureKind;
use rpcgauge_wire::{ErrorCode, Failure};

use super::stream::TlsFailure;

pub(super) const TOO_LATE: (FailureKind, &str) = (
    FailureKind::Deadline,
    "the deadline passed before the response was complete",
);

pub(super) const STATUS_NOT_LAST: (FailureKind, &str) = (
    FailureKind::Deadline,
    "the deadline passed before the response was complete: its grpc-status is in a head without END_STREAM",
);

pub(super) const NOT_CONNECTED: (FailureKind, &str) = (
    FailureKind::Deadline,
    "the deadline passed before the call's connection was established",
);

pub(super) const NOT_SENT: (FailureKind, &str) = (
    FailureKind::DeadlineUnsent,
    "the deadline passed before the call could be sent",
);

pub(super) const STALLED: (FailureKind, &str) = (
    FailureKind::ClientStalled,
    "the client did not run while the call was open: it was stopped, the machine was suspended, or nothing \
     gave it a core",
);

pub(super) const NO_BODY: (FailureKind, &str) = (
    FailureKind::BodyLate,
    "the deadline passed before the call's body was generated: generate bodies faster, or in advance",
);

pub(super) const MESSAGE_TIMEOUT: (FailureKind, &str) = (
    FailureKind::MessageTimeout,
    "the server sent no message within the message timeout",
);

pub(super) const NOTHING_IN_TIME: (FailureKind, &str) = (
    FailureKind::MessageTimeout,
    "the server had sent nothing when the call's time was over",
);

/// Whether a connection failed because the server was silent: its keep-alive timed out, or the system's did.
pub(super) fn is_lost(broken: &io::Error) -> bool {
    broken.kind() == io::ErrorKind::TimedOut
}

/// The kind of a connection's failure. `broken` is the transport's error, if there was one.
pub(super) fn of_wire(failure: &Failure, broken: Option<&io::Error>) -> FailureKind {
    match failure {
        Failure::Closed { .. } => match broken {
            Some(error) if is_lost(error) => FailureKind::ConnectionLost,
            Some(error) => {
                TlsFailure::of(error).map_or(FailureKind::ConnectionReset, |failure| failure.kind)
            }
            None => FailureKind::ConnectionClosed,
        },
        Failure::Reset { code } | Failure::GoneAway { code }
            if *code == ErrorCode::HTTP_1_1_REQUIRED =>
        {
            FailureKind::WrongProtocol
        }
        Failure::GoneAway { .. } => FailureKind::NotProcessed,
        Failure::Reset { .. } if failure.not_processed() => FailureKind::NotProcessed,
        Failure::Reset { .. } => FailureKind::StreamReset,
        Failure::Violation(violation) if violation.is_other_protocol() => {
            FailureKind::WrongProtocol
        }
        Failure::Violation(_) => FailureKind::Protocol,
        Failure::Limit(limit) if limit.is_flood() => FailureKind::Flood,
        Failure::Limit(_) => FailureKind::TooLarge,
    }
}

pub(super) fn of_connect(error: &io::Error) -> FailureKind {
    if let Some(failure) = TlsFailure::of(error) {
        return failure.kind;
    }
    match error.raw_os_error() {
        // A missing socket file is treated as a refused connection.
        Some(libc::ECONNREFUSED | libc::ENOENT) => FailureKind::ConnectRefused,
        Some(libc::EMFILE | libc::ENFILE) => FailureKind::OutOfFiles,
        Some(libc::EADDRNOTAVAIL) => FailureKind::OutOfPorts,
        Some(libc::ECONNRESET) => FailureKind::ConnectionReset,
        _ => FailureKind::ConnectFailed,
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_wire::http1::Http1Violation;
    use rpcgauge_wire::http2::Http2Violation;
    use rpcgauge_wire::{LimitExceeded, Stage, Violation};

    use super::*;

    #[test]
    fn what_the_system_says_of_connecting_has_its_kind() {
        let table = [
            (libc::ECONNREFUSED, FailureKind::ConnectRefused),
            (libc::ENOENT, FailureKind::ConnectRefused),
            (libc::EMFILE, FailureKind::OutOfFiles),
            (libc::ENFILE, FailureKind::OutOfFiles),
            (libc::EADDRNOTAVAIL, FailureKind::OutOfPorts),
            (libc::ECONNRESET, FailureKind::ConnectionReset),
            (libc::ENETUNREACH, FailureKind::ConnectFailed),
        ];
        for (code, kind) in table {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(of_connect(&error), kind, "{error}");
        }
        let late = io::Error::from(io::ErrorKind::TimedOut);
        assert_eq!(of_connect(&late), FailureKind::ConnectFailed);
    }

    #[test]
    fn what_ends_a_call_on_its_connection_has_its_kind() {
        let closed = Failure::Closed {
            stage: Stage::InBody,
        };
        let reset = |code| Failure::Reset { code };
        let gone = Failure::GoneAway {
            code: ErrorCode::NO_ERROR,
        };
        let violation = |violation: Violation| Failure::Violation(violation);
        let broken = io::Error::from_raw_os_error(libc::ECONNRESET);
        let silent = io::Error::from_raw_os_error(libc::ETIMEDOUT);
        let table = [
            (closed, Some(&silent), FailureKind::ConnectionLost),
            (closed, None, FailureKind::ConnectionClosed),
            (closed, Some(&broken), FailureKind::ConnectionReset),
            (reset(ErrorCode::CANCEL), None, FailureKind::StreamReset),
            (
                reset(ErrorCode::REFUSED_STREAM),
                None,
                FailureKind::NotProcessed,
            ),
            (gone, None, FailureKind::NotProcessed),
            (
                reset(ErrorCode::HTTP_1_1_REQUIRED),
                None,
                FailureKind::WrongProtocol,
            ),
            (
                violation(Http2Violation::Http1Response.into()),
                None,
                FailureKind::WrongProtocol,
            ),
            (
                violation(Http1Violation::Http2Response.into()),
                None,
                FailureKind::WrongProtocol,
            ),
            (
                violation(Http2Violation::Padding.into()),
                None,
                FailureKind::Protocol,
            ),
            (
                LimitExceeded::BodyBytes(1).into(),
                None,
                FailureKind::TooLarge,
            ),
            (
                LimitExceeded::Continuations(1).into(),
                None,
                FailureKind::Flood,
            ),
        ];
        for (failure, broken, kind) in table {
            assert_eq!(of_wire(&failure, broken), kind, "{failure}");
        }
    }
}
