//! Every measured call accounted for.

use rpcgauge_trial::Calls;

use crate::error::LoadError;

/// What becomes of every measured call. Each number is counted where it happens, apart from the
/// others, so that their sum proves something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// All counts but [`Calls::never_sent`], which is known at the end.
    pub(crate) calls: Calls,
    /// Calls that were given to the transport.
    pub(crate) sent: u64,
}

impl Account {
    /// Holds the sums against what was started.
    pub(crate) fn close(self) -> Result<Calls, LoadError> {
        let never_sent = self.calls.started.checked_sub(self.sent);
        let calls = Calls {
            // More sent than started is as wrong as any other sum.
            never_sent: never_sent.unwrap_or(u64::MAX),
            ..self.calls
        };
        match calls.check() {
            Ok(()) => Ok(calls),
            Err(problem) => Err(LoadError::Accounting(problem)),
        }
    }
}
