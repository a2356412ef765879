//! One connection: which version of HTTP it speaks, and how long it may be silent.

use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::sync::watch;

use crate::body::AnswerBody;
use crate::service::Service;
use crate::timeouts::Timeouts;
use crate::{grpc, log, rest};

/// Calls in flight on one HTTP/2 connection: more than any study has, so that the server's setting
/// is never what is measured.
const MAX_CONCURRENT_STREAMS: u32 = 4096;

/// How every connection is served.
pub(crate) fn builder(timeouts: &Timeouts) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.request_head);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    builder
}

/// Serves one connection to its end. When `stop` changes, calls in flight are answered and no new
/// ones are taken.
pub(crate) async fn serve<I>(
    io: I,
    builder: &auto::Builder<TokioExecutor>,
    service: Arc<Service>,
    mut stop: watch::Receiver<()>,
) where
    I: Read + Write + Unpin + Send + 'static,
{
    let first_request = service.timeouts.first_request;
    let called = Arc::new(AtomicBool::new(false));
    let saw_call = Arc::clone(&called);
    let handler = service_fn(move |request| {
        saw_call.store(true, Ordering::Relaxed);
        answer(Arc::clone(&service), request)
    });
    let mut connection = pin!(builder.serve_connection(io, handler));
    let mut silence = pin!(tokio::time::sleep(first_request));
    let (mut waiting, mut stopping) = (true, false);
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    log::connection_error(&chain(error.as_ref()));
                }
                return;
            }
            () = silence.as_mut(), if waiting => {
                if !called.load(Ordering::Relaxed) {
                    log::connection_error(&format!("no request within {first_request:?}"));
                    return;
                }
                waiting = false;
            }
            _ = stop.changed(), if !stopping => {
                connection.as_mut().graceful_shutdown();
                stopping = true;
            }
        }
    }
}

/// Either protocol on any connection: content type and path tell gRPC from REST.
async fn answer(
    service: Arc<Service>,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    Ok(if grpc::is_meant(&service, &request) {
        grpc::answer(&service, request).await
    } else {
        rest::answer(&service, request).await
    })
}

/// An error with its causes in one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    std::iter::successors(Some(error), |&error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
