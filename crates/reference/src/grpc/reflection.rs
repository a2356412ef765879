//! Server reflection: a stream of requests. Each is answered as soon as it arrives.

use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};
use hyper::body::{Body, Frame, Incoming};
use rpcgauge_message::reflection::{METHOD_PATHS, ReflectionServer};
use rpcgauge_message::{Compression, Encoding};
use tokio::time::{Instant, Sleep};

use super::frame::{self, PREFIX_BYTES};
use super::status::{Code, Status, insert_ok};
use super::{broken_off, deadline_exceeded, message_compression};
use crate::body::{Piece, ResponseBody};
use crate::budget::Charge;
use crate::service::{CallError, Service};

/// Whether a path is that of the reflection method, in either version.
pub(super) fn is_at(path: &str) -> bool {
    METHOD_PATHS.contains(&path)
}

/// The client's stream of requests, with the settings from its header block.
pub(super) struct Opening {
    pub(super) encoding: Encoding,
    pub(super) coding: Compression,
    pub(super) deadline: Option<Instant>,
    pub(super) reply_type: HeaderValue,
    pub(super) requests: Incoming,
}

/// Responds to a stream of requests until it ends.
pub(super) fn respond(
    service: &Arc<Service>,
    reflected: &ReflectionServer,
    opening: Opening,
) -> Result<Response<ResponseBody>, Status> {
    if opening.encoding != Encoding::Protobuf {
        return Err(Status::new(
            Code::Unimplemented,
            "server reflection supports only protobuf; use application/grpc",
        ));
    }
    let until = next_until(service, opening.deadline);
    let stream = ReflectionStream {
        service: Arc::clone(service),
        reflected: reflected.clone(),
        coding: opening.coding,
        requests: opening.requests,
        received: Vec::new(),
        charge: Charge::of(&service.ledger, 0).map_err(CallError::from)?,
        deadline: opening.deadline,
        patience: Box::pin(tokio::time::sleep_until(until)),
        is_over: false,
    };
    let mut response = Response::new(ResponseBody::Streamed(Box::pin(stream)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, opening.reply_type);
    Ok(response)
}

/// The time by which the next request must have arrived. An idle stream is not kept open forever.
fn next_until(service: &Service, deadline: Option<Instant>) -> Instant {
    let patience = Instant::now() + service.timeouts.request_body;
    deadline.map_or(patience, |deadline| deadline.min(patience))
}

/// The response's body. It reads requests when the connection polls it.
struct ReflectionStream {
    service: Arc<Service>,
    reflected: ReflectionServer,
    /// The compression of requests whose compressed flag is set.
    coding: Compression,
    requests: Incoming,
    /// Received bytes that have not been answered: at most one message and a part of the next.
    received: Vec<u8>,
    /// The stream's share of the budget.
    charge: Charge,
    deadline: Option<Instant>,
    patience: Pin<Box<Sleep>>,
    is_over: bool,
}

impl Body for ReflectionStream {
    type Data = Piece;
    type Error = Infallible;

    /// Returns the next response, the trailers at the end, and then `None`.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let frame = match ready!(self.poll_response(context)) {
            Ok(Some(response)) => Frame::data(response),
            Ok(None) => self.end(None),
            Err(status) => self.end(Some(status)),
        };
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

impl ReflectionStream {
    /// The next framed response; `None` after the client's last request.
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Piece>, Status>> {
        loop {
            if let Some(response) = self.respond_to_received()? {
                return Poll::Ready(Ok(Some(response)));
            }
            match Pin::new(&mut self.requests).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.received.extend_from_slice(&data);
                        let held = self.received.capacity();
                        self.charge.cover(held).map_err(CallError::from)?;
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(broken_off(error))),
                Poll::Ready(None) if self.received.is_empty() => return Poll::Ready(Ok(None)),
                Poll::Ready(None) => {
                    let detail = "the stream ends inside a message";
                    return Poll::Ready(Err(Status::new(Code::Internal, detail)));
                }
                Poll::Pending => {
                    return match self.patience.as_mut().poll(context) {
                        Poll::Pending => Poll::Pending,
                        Poll::Ready(()) => Poll::Ready(Err(self.out_of_time())),
                    };
                }
            }
        }
    }

    /// The response to the first received request; `None` until the whole request has arrived.
    fn respond_to_received(&mut self) -> Result<Option<Piece>, Status> {
        let most = self.service.limits.max_message_bytes;
        let Some(prefix) = frame::first(&self.received, most)? else {
            return Ok(None);
        };
        let end = PREFIX_BYTES + prefix.message_bytes;
        let compression = message_compression(&prefix, self.coding)?;
        let message = &self.received[PREFIX_BYTES..end];
        let request = self.service.decompress(message, compression)?;
        self.received.drain(..end);
        let response = self.reflected.respond(&request).map_err(CallError::from)?;
        let mut framed = self.service.compress(&response, false, PREFIX_BYTES)?;
        frame::write(&mut framed, false)?;
        let until = next_until(&self.service, self.deadline);
        self.patience.as_mut().reset(until);
        Ok(Some(self.service.charged(framed)?))
    }

    fn out_of_time(&self) -> Status {
        match self.deadline {
            Some(deadline) if deadline <= Instant::now() => deadline_exceeded(),
            _ => {
                let patience = self.service.timeouts.request_body;
                let detail = format!("no request arrived within {patience:?}");
                Status::new(Code::Cancelled, detail)
            }
        }
    }

    /// Ends the stream and returns its trailers.
    fn end(&mut self, failed: Option<Status>) -> Frame<Piece> {
        self.is_over = true;
        let mut trailers = HeaderMap::new();
        match failed {
            None => insert_ok(&mut trailers),
            Some(status) => status.insert_into(&mut trailers),
        }
        Frame::trailers(trailers)
    }
}
