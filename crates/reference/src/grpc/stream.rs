//! Methods with a stream of requests, of responses, or of both.
//!
//! ```text
//! client          requests ─► the last one ─► response    once all requests have been read
//! server          request ──────────────────► responses   each when the connection has room for it
//! bidirectional   requests ─► RespondEach ──► responses   a request is read when there is room for its response,
//!                                                         so HTTP/2 slows down a flood of requests
//! ```

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};
use hyper::body::{Body as _, Incoming};
use rpcgauge_message::MethodKind;
use tokio::time::{Instant, Sleep};

use super::frame::{self, PREFIX_BYTES, Prefix};
use super::status::{self, Code, Status};
use super::{
    broken_off, check_deadline, insert_coding, only_message, read_message, reflection, succeeded,
    unknown_method, with_message,
};
use crate::body::ResponseBody;
use crate::budget::Charge;
use crate::service::{Call, CallError, CallResponse, Service};
use crate::stream::{Messages, Responses};

/// A call whose header block has been read.
pub(super) struct Opening {
    /// How to read its requests and write its responses. The compression of requests is that of messages whose
    /// compressed flag is set.
    pub(super) agreed: Call<'static>,
    pub(super) deadline: Option<Instant>,
    pub(super) reply_type: HeaderValue,
    pub(super) body: Incoming,
}

/// A method that responds to each request of a stream as soon as it has read it.
pub(super) trait RespondEach: Send {
    /// The response to a request, after space for its prefix.
    fn respond(&self, service: &Service, call: &Call<'_>) -> Result<Vec<u8>, CallError>;
}

/// The workload's bidirectional method.
struct Exchange;

impl RespondEach for Exchange {
    fn respond(&self, service: &Service, call: &Call<'_>) -> Result<Vec<u8>, CallError> {
        service.nth_response(&service.request(call)?, 0, call)
    }
}

/// Serves a call to a method that streams.
pub(super) async fn respond(
    service: &Arc<Service>,
    path: &str,
    opening: Opening,
) -> Result<Response<ResponseBody>, Status> {
    let mut methods = service.workload.methods();
    match methods.find(|(_, of)| *of == path).map(|(kind, _)| kind) {
        Some(MethodKind::ClientStreaming) => to_last(service, opening).await,
        Some(MethodKind::ServerStreaming) => to_one(service, opening).await,
        Some(MethodKind::Bidirectional) => to_each(service, opening, Box::new(Exchange)),
        Some(MethodKind::Unary) | None => {
            let method = reflection::method(service, path, opening.agreed.request_encoding)?;
            let method = method.ok_or_else(|| unknown_method(service, path))?;
            to_each(service, opening, Box::new(method))
        }
    }
}

/// Reads all requests, and responds to the last one.
async fn to_last(
    service: &Arc<Service>,
    opening: Opening,
) -> Result<Response<ResponseBody>, Status> {
    let (agreed, deadline) = (opening.agreed, opening.deadline);
    let mut requests = Requests::new(service, deadline, opening.body)?;
    let mut last = None;
    while let Some((prefix, request)) = poll_fn(|context| requests.poll_next(context)).await? {
        let call = with_message(agreed, prefix, &request)?;
        last = Some(service.request(&call)?);
    }
    let last =
        last.ok_or_else(|| Status::new(Code::InvalidArgument, "the stream has no requests"))?;
    let mut bytes = service.nth_response(&last, 0, &agreed)?;
    frame::write(&mut bytes, agreed.compress_response)?;
    check_deadline(deadline)?;
    let called = CallResponse { bytes, marks: None };
    succeeded(
        service,
        called,
        agreed.compress_response,
        opening.reply_type,
    )
}

/// Reads one request, and responds with a stream.
async fn to_one(
    service: &Arc<Service>,
    opening: Opening,
) -> Result<Response<ResponseBody>, Status> {
    let (agreed, deadline) = (opening.agreed, opening.deadline);
    let body = read_message(service, opening.body, deadline).await?;
    let call = only_message(service, body.bytes(), agreed)?;
    let messages = GrpcMessages {
        source: Source::ToOne(Responses::new(service, &call, agreed)?, deadline),
        agreed,
    };
    streamed(service, opening.reply_type, messages)
}

/// Responds to each request of a stream.
fn to_each(
    service: &Arc<Service>,
    opening: Opening,
    method: Box<dyn RespondEach>,
) -> Result<Response<ResponseBody>, Status> {
    let requests = Requests::new(service, opening.deadline, opening.body)?;
    let messages = GrpcMessages {
        source: Source::ToEach(requests, method),
        agreed: opening.agreed,
    };
    streamed(service, opening.reply_type, messages)
}

fn streamed(
    service: &Service,
    reply_type: HeaderValue,
    messages: GrpcMessages,
) -> Result<Response<ResponseBody>, Status> {
    let compressed = messages.agreed.compress_response;
    let mut response = Response::new(ResponseBody::of_messages(messages, service)?);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, reply_type);
    insert_coding(service, compressed, headers);
    Ok(response)
}

/// The stream of a method's responses.
struct GrpcMessages {
    source: Source,
    agreed: Call<'static>,
}

/// What the responses are to.
enum Source {
    /// One request, with the call's deadline.
    ToOne(Responses, Option<Instant>),
    /// Each request of a stream.
    ToEach(Requests, Box<dyn RespondEach>),
}

impl Messages for GrpcMessages {
    type Error = Status;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, Status>> {
        let response = match &mut self.source {
            Source::ToOne(responses, deadline) => {
                check_deadline(*deadline)?;
                responses.next()?
            }
            Source::ToEach(requests, method) => match ready!(requests.poll_next(context))? {
                Some((prefix, request)) => {
                    let call = with_message(self.agreed, prefix, &request)?;
                    Some(method.respond(&requests.service, &call)?)
                }
                None => None,
            },
        };
        let framed = response.map(|mut bytes| {
            frame::write(&mut bytes, self.agreed.compress_response)?;
            Ok(bytes)
        });
        Poll::Ready(framed.transpose())
    }

    fn end(ended: Result<(), Status>) -> Result<Option<HeaderMap>, CallError> {
        let mut trailers = HeaderMap::new();
        match ended {
            Ok(()) => status::insert_ok(&mut trailers),
            Err(status) => status.insert_into(&mut trailers),
        }
        Ok(Some(trailers))
    }
}

/// A client's stream of requests.
struct Requests {
    service: Arc<Service>,
    body: Incoming,
    /// Received bytes: at most one message and a part of the next.
    received: BytesMut,
    /// The received bytes' share of the budget.
    charge: Charge,
    deadline: Option<Instant>,
    /// When the next request must have arrived. An idle stream is not kept open forever.
    patience: Pin<Box<Sleep>>,
    /// Whether `patience` was set for the next request.
    is_waiting: bool,
}

impl Requests {
    fn new(
        service: &Arc<Service>,
        deadline: Option<Instant>,
        body: Incoming,
    ) -> Result<Self, CallError> {
        Ok(Self {
            service: Arc::clone(service),
            body,
            received: BytesMut::new(),
            charge: Charge::of(&service.ledger, 0)?,
            deadline,
            patience: Box::pin(tokio::time::sleep_until(Instant::now())),
            is_waiting: false,
        })
    }

    /// The next request with its prefix; `None` after the last one.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<(Prefix, BytesMut)>, Status>> {
        check_deadline(self.deadline)?;
        let most = self.service.limits.max_message_bytes;
        loop {
            if let Some(prefix) = frame::first(&self.received, most)? {
                self.is_waiting = false;
                self.received.advance(PREFIX_BYTES);
                let message = self.received.split_to(prefix.message_bytes);
                return Poll::Ready(Ok(Some((prefix, message))));
            }
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    // This server ignores request trailers.
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
                    ready!(self.poll_patience(context));
                    check_deadline(self.deadline)?;
                    let patience = self.service.timeouts.request_body;
                    let detail = format!("no request arrived within {patience:?}");
                    return Poll::Ready(Err(Status::new(Code::Cancelled, detail)));
                }
            }
        }
    }

    /// Waits as long as the next request may take. The time begins when the server has to wait for it.
    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_waiting {
            let until = Instant::now() + self.service.timeouts.request_body;
            let until = self.deadline.map_or(until, |deadline| deadline.min(until));
            self.patience.as_mut().reset(until);
            self.is_waiting = true;
        }
        self.patience.as_mut().poll(context)
    }
}
