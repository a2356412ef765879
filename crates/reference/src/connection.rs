//! Serves a single connection: detects its HTTP version, and limits how long it may be silent.

use std::convert::Infallible;
use std::error::Error;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use http::{Request, Version};
use hyper::body::{Body, Frame, Incoming};
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::body::{Piece, ResponseBody};
use crate::service::{CallError, Service};
use crate::{grpc, log, rest};

/// Maximum number of calls in flight on one HTTP/2 connection. It is higher than in any study, so this
/// setting affects no measurement.
const MAX_CONCURRENT_STREAMS: u32 = 4096;

/// The settings of every connection. hyper's own timer is off for HTTP/1.1. hyper would create and drop a
/// timer for each HTTP/1.1 request but none over HTTP/2, so the two could not be compared. Instead, [`serve`]
/// uses one timer for the whole connection.
pub(crate) fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    builder
}

/// Counters of a connection's calls.
#[derive(Default)]
struct Calls {
    begun: AtomicU64,
    ended: AtomicU64,
    by_http1: AtomicBool,
}

impl Calls {
    /// Increments the counter without a read-modify-write; only the connection's own thread writes it.
    fn count(counter: &AtomicU64) {
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The number of calls so far; `None` while any call is in flight.
    fn at_rest(&self) -> Option<u64> {
        let begun = self.begun.load(Ordering::Relaxed);
        (begun == self.ended.load(Ordering::Relaxed)).then_some(begun)
    }
}

/// A response of several messages. Each of them counts like a call, because a connection on which messages are sent
/// is not idle.
struct Counted {
    body: ResponseBody,
    calls: Arc<Calls>,
}

impl Body for Counted {
    type Data = Piece;
    type Error = CallError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, CallError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_ready() {
            Calls::count(&self.calls.begun);
            Calls::count(&self.calls.ended);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// Serves one connection until it closes. When `stop` changes, calls in flight are completed, and no new ones
/// are accepted.
pub(crate) async fn serve<I>(
    io: I,
    builder: &auto::Builder<TokioExecutor>,
    service: Arc<Service>,
    mut stop: watch::Receiver<()>,
) where
    I: Read + Write + Unpin + Send + 'static,
{
    let timeouts = service.timeouts;
    let calls = Arc::new(Calls::default());
    let counted = Arc::clone(&calls);
    let stops = stop.clone();
    let handler = service_fn(move |request: Request<Incoming>| {
        let (service, calls) = (Arc::clone(&service), Arc::clone(&counted));
        let stops = stops.clone();
        Calls::count(&calls.begun);
        let by_http1 = request.version() < Version::HTTP_2;
        calls.by_http1.store(by_http1, Ordering::Relaxed);
        async move {
            // The content type and path distinguish gRPC from other requests, on any connection.
            let mut response = if grpc::is_meant(&service, &request) {
                grpc::respond(&service, request).await
            } else {
                rest::respond(&service, request, &stops).await
            };
            Calls::count(&calls.ended);
            if by_http1 && matches!(response.body(), ResponseBody::Streamed(_)) {
                let counted = |body| ResponseBody::Streamed(Box::pin(Counted { body, calls }));
                response = response.map(counted);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut connection = pin!(builder.serve_connection_with_upgrades(io, handler));
    let mut silence = pin!(tokio::time::sleep(timeouts.first_request));
    let (mut before, mut stopping) = (Some(0), false);
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    log::connection_error(&chain(error.as_ref()));
                }
                return;
            }
            () = silence.as_mut() => {
                let now = calls.at_rest();
                if now == Some(0) {
                    let patience = timeouts.first_request;
                    log::connection_error(&format!("no request within {patience:?}"));
                    return;
                }
                if now.is_some() && now == before && calls.by_http1.load(Ordering::Relaxed) {
                    let patience = timeouts.request_head;
                    log::connection_error(&format!("no further request within {patience:?}"));
                    return;
                }
                before = now;
                silence.as_mut().reset(Instant::now() + timeouts.request_head);
            }
            _ = stop.changed(), if !stopping => {
                connection.as_mut().graceful_shutdown();
                stopping = true;
            }
        }
    }
}

/// Formats an error and its causes on one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    std::iter::successors(Some(error), |&error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
