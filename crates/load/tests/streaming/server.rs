//! A real HTTP/2 server (hyper) with streaming gRPC methods. Each message is a few bytes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rpcgauge_trial::Address;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::support::serve_tasks;

/// Serves `/test.Stream/METHOD`; see [`respond`] for the methods. `Hung` sends nothing at all.
pub(crate) fn serve() -> Address {
    serve_tasks(|stream| async move {
        let service = service_fn(|request: Request<Incoming>| async {
            if request.uri().path().ends_with("/Hung") {
                std::future::pending::<()>().await;
            }
            let (sender, receiver) = mpsc::channel(4);
            tokio::spawn(respond(request, Call(sender)));
            let response = Response::builder()
                .header("content-type", "application/grpc")
                .body(Frames(receiver))
                .unwrap();
            Ok::<_, Infallible>(response)
        });
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
    })
}

/// The frames of a response, as they are sent.
struct Frames(Receiver<Frame<Bytes>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|frame| frame.map(Ok))
    }
}

/// The server's side of a call.
struct Call(Sender<Frame<Bytes>>);

impl Call {
    /// Sends a message. Returns whether the call goes on.
    async fn message(&self, text: &[u8]) -> bool {
        let prefix = [0, 0, 0, 0, u8::try_from(text.len()).unwrap()];
        self.data([&prefix, text].concat()).await
    }

    async fn data(&self, bytes: Vec<u8>) -> bool {
        self.0.send(Frame::data(bytes.into())).await.is_ok()
    }

    async fn end(&self, status: &'static str) {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", status.parse().unwrap());
        let _ = self.0.send(Frame::trailers(trailers)).await;
    }
}

/// The messages of a request.
struct Messages {
    body: Incoming,
    bytes: Vec<u8>,
}

impl Messages {
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some((prefix, rest)) = self.bytes.split_first_chunk::<5>() {
                let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
                if let Some((message, after)) = rest.split_at_checked(length as usize) {
                    let message = message.to_vec();
                    self.bytes = after.to_vec();
                    return Some(message);
                }
            }
            let frame = self.body.frame().await?.ok()?;
            self.bytes.extend_from_slice(&frame.into_data().ok()?);
        }
    }
}

async fn respond(request: Request<Incoming>, call: Call) {
    let method = request.uri().path().trim_start_matches("/test.Stream/");
    let method = method.to_owned();
    let mut requests = Messages {
        body: request.into_body(),
        bytes: Vec::new(),
    };
    match &*method {
        // Each message comes back.
        "Echo" => {
            while let Some(message) = requests.next().await {
                call.message(&message).await;
            }
        }
        // All messages, in one.
        "Collect" => {
            let mut all = Vec::new();
            while let Some(message) = requests.next().await {
                all.extend(message);
            }
            call.message(&all[all.len().saturating_sub(100)..]).await;
        }
        // Five messages, 20 ms apart.
        "Produce" => {
            for number in 0..5 {
                tokio::time::sleep(Duration::from_millis(20)).await;
                call.message(&[number]).await;
            }
        }
        // Messages until the call is cancelled.
        "Endless" => while call.message(b"again").await {},
        // Ends after two messages, however many are sent.
        "Early" => {
            for _ in 0..2 {
                requests.next().await;
            }
        }
        // One message, and nothing more.
        "Silent" => {
            call.message(b"one").await;
            std::future::pending().await
        }
        // Nothing, and never ends.
        "Mute" => std::future::pending().await,
        // Two messages for each.
        "Twice" => {
            while let Some(message) = requests.next().await {
                call.message(&message).await;
                call.message(&message).await;
            }
        }
        // The second message comes back at once, a message of the server's own follows, and the first message comes back
        // after 40 ms. The third does not.
        "Reorder" => {
            let first = requests.next().await.unwrap_or_default();
            let second = requests.next().await.unwrap_or_default();
            call.message(&second).await;
            call.message(b"news").await;
            tokio::time::sleep(Duration::from_millis(40)).await;
            call.message(&first).await;
            while requests.next().await.is_some() {}
        }
        // Each message comes back as an empty one.
        "Empty" => {
            while requests.next().await.is_some() {
                call.message(b"").await;
            }
        }
        // A message, and one that names no compression.
        "Broken" => {
            call.message(b"good").await;
            call.data(vec![1, 0, 0, 0, 1, b'x']).await;
        }
        // A message, and half of one.
        "Torn" => {
            call.message(b"whole").await;
            call.data(vec![0, 0, 0, 0, 9, b'h']).await;
        }
        // Some messages, and a failure.
        "Fail" => {
            call.message(b"a").await;
            return call.end("13").await;
        }
        other => panic!("no method {other}"),
    }
    call.end("0").await;
}
