//! A real HTTP/2 server (hyper) that answers gRPC calls.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rpcgauge_trial::Address;

use super::support::serve_tasks;

pub(crate) type ResponseBody = http_body_util::combinators::BoxBody<Bytes, Infallible>;

/// Serves HTTP/2 with prior knowledge on its own thread.
pub(crate) fn serve_http2<F, A>(response: F) -> Address
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Response<ResponseBody>> + Send + 'static,
{
    serve_tasks(move |stream| {
        let response = response.clone();
        async move {
            let service = service_fn(move |request| {
                let response = response(request);
                async move { Ok::<_, Infallible>(response.await) }
            });
            let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(100)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        }
    })
}

/// A gRPC response with this data and status.
pub(crate) fn grpc(
    data: Bytes,
    status: &'static str,
    message: &'static str,
) -> Response<ResponseBody> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", status.parse().unwrap());
    trailers.insert("grpc-message", message.parse().unwrap());
    let body = Frames([Frame::data(data), Frame::trailers(trailers)].into_iter()).boxed();
    Response::builder()
        .header("content-type", "application/grpc")
        .body(body)
        .unwrap()
}

/// Frames that are immediately ready.
struct Frames(std::array::IntoIter<Frame<Bytes>, 2>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

/// Answers a gRPC call with the call's own message.
pub(crate) async fn echo(request: Request<Incoming>) -> Response<ResponseBody> {
    let body = request
        .into_body()
        .collect()
        .await
        .map(|body| body.to_bytes());
    grpc(body.unwrap_or_default(), "0", "")
}
