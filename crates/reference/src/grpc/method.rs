//! Methods that a server answers beside its workload's one.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};
use rpcgauge_message::Encoding;

use super::status::{Status, insert_ok};
use super::{GRPC_ENCODING, PREFIX_BYTES, frame};
use crate::body::AnswerBody;
use crate::service::Service;

/// Methods by their path, as in `/package.Service/Method`.
pub type Methods = BTreeMap<String, Arc<dyn UnaryMethod>>;

/// A unary method. The server frames and compresses its messages and keeps its deadline; the
/// method reads and writes their encoding.
pub trait UnaryMethod: Send + Sync {
    /// Answers one call. It is dropped when the call's time is up or its client goes away.
    fn call(&self, call: MethodCall) -> Pin<Box<dyn Future<Output = MethodAnswer> + Send + '_>>;
}

impl<F, A> UnaryMethod for F
where
    F: Fn(MethodCall) -> A + Send + Sync,
    A: Future<Output = MethodAnswer> + Send + 'static,
{
    fn call(&self, call: MethodCall) -> Pin<Box<dyn Future<Output = MethodAnswer> + Send + '_>> {
        Box::pin(self(call))
    }
}

/// What a client asks.
#[derive(Debug, Clone)]
pub struct MethodCall {
    /// All fields of the request's head: metadata, and gRPC's own.
    pub fields: HeaderMap,
    /// The time that the client gives the call.
    pub timeout: Option<Duration>,
    /// The encoding of the request, and of the answer.
    pub encoding: Encoding,
    /// The request's message, decompressed.
    pub message: Vec<u8>,
}

/// What a method answers.
#[derive(Debug, Clone)]
pub struct MethodAnswer {
    /// Fields before the message.
    pub initial_metadata: HeaderMap,
    /// The message, encoded, or why there is none.
    pub result: Result<Vec<u8>, Status>,
    /// Fields after the message, beside the status.
    pub trailing_metadata: HeaderMap,
}

impl MethodAnswer {
    /// The response: a head, the message if there is one, and trailers with the status.
    pub(super) fn into_response(
        self,
        service: &Service,
        compress: bool,
        reply_type: HeaderValue,
    ) -> Result<Response<AnswerBody>, Status> {
        let (mut head, mut trailers) = (self.initial_metadata, self.trailing_metadata);
        head.insert(CONTENT_TYPE, reply_type);
        let bytes = match self.result {
            Ok(message) => {
                if compress {
                    let coding = service.response_compression.coding();
                    head.insert(GRPC_ENCODING, HeaderValue::from_static(coding));
                }
                let mut bytes = service.compress(&message, compress, PREFIX_BYTES)?;
                frame::write(&mut bytes, compress)?;
                insert_ok(&mut trailers);
                bytes
            }
            Err(status) => {
                status.insert_into(&mut trailers);
                Vec::new()
            }
        };
        let data = service.charged(bytes)?;
        let mut response = Response::new(AnswerBody::with_trailers(data, trailers));
        *response.headers_mut() = head;
        Ok(response)
    }
}
