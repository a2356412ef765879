//! How long a client may take.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// How long a client may take before its connection or its call is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// A new connection has this long to bring its first request.
    pub first_request: Duration,
    /// An HTTP/1.1 connection that has brought no whole head of a request for this long, idle time
    /// included, is closed, at the latest after twice this time.
    pub request_head: Duration,
    /// A request has this long to bring its body after its head. A gRPC call's own `grpc-timeout`
    /// can only shorten this.
    pub request_body: Duration,
}

impl Timeouts {
    /// The defaults: long enough for a busy machine, and for a connection that is kept between two
    /// calls a minute.
    pub const DEFAULT: Self = Self {
        first_request: Duration::from_secs(30),
        request_head: Duration::from_secs(120),
        request_body: Duration::from_secs(30),
    };
}

/// Waits for something until a time; `None` when that has passed. Most bodies came with their
/// head: a timer is made only for something that is not there at once.
pub(crate) async fn within<T>(
    work: impl Future<Output = T>,
    until: impl FnOnce() -> Instant,
) -> Option<T> {
    let mut work = pin!(work);
    match poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
        Poll::Ready(done) => Some(done),
        Poll::Pending => timeout_at(until(), work).await.ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_timer_is_made_only_to_wait() {
        let never_asked = || unreachable!("nothing to wait for");
        assert_eq!(within(ready(7), never_asked).await, Some(7));
        let soon = || Instant::now() + Duration::from_millis(1);
        assert_eq!(within(pending::<()>(), soon).await, None);
    }
}
