//! Time limits for clients.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// How long a client may take before its connection is closed or its call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Time within which a new connection must send its first request.
    pub first_request: Duration,
    /// How long an HTTP/1.1 connection may go without sending a complete request head, idle time included. It
    /// is closed between one and two times this duration.
    pub request_head: Duration,
    /// Time within which a request's body must arrive after its head. A gRPC call's own `grpc-timeout` can
    /// only shorten it.
    pub request_body: Duration,
}

impl Timeouts {
    /// The defaults. They are long enough for a busy machine, and for a connection that makes two calls per
    /// minute.
    pub const DEFAULT: Self = Self {
        first_request: Duration::from_secs(30),
        request_head: Duration::from_secs(120),
        request_body: Duration::from_secs(30),
    };
}

/// Which time limit expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// The client's own deadline.
    Deadline,
    /// The server's time limit.
    Patience,
}

/// Waits for `work`. Most bodies arrive together with their head, so the timer is created, and the timeout
/// begins, only if `work` is not immediately ready.
pub(crate) async fn within<T>(
    work: impl Future<Output = T>,
    patience: Duration,
    deadline: Option<Instant>,
) -> Result<T, Late> {
    let mut work = pin!(work);
    if let Poll::Ready(done) = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
        return Ok(done);
    }
    let until = Instant::now() + patience;
    let (until, late) = match deadline {
        Some(deadline) if deadline <= until => (deadline, Late::Deadline),
        _ => (until, Late::Patience),
    };
    timeout_at(until, work).await.map_err(|_| late)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_timer_is_created_only_to_wait() {
        let passed = Instant::now();
        let done = within(ready(7), Duration::ZERO, Some(passed)).await;
        assert_eq!(done, Ok(7));
        let soon = Duration::from_millis(1);
        let late = async |patience, deadline| within(pending::<()>(), patience, deadline).await;
        assert_eq!(late(soon, None).await, Err(Late::Patience));
        let later = Some(Instant::now() + 1000 * soon);
        assert_eq!(late(soon, later).await, Err(Late::Patience));
        assert_eq!(late(1000 * soon, Some(passed)).await, Err(Late::Deadline));
    }
}
