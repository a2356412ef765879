//! Methods that a server offers in addition to its workload's.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use rpcgauge_message::Encoding;

use super::status::Status;

/// Methods by path: `/package.Service/Method`.
pub type Methods = BTreeMap<String, Arc<dyn UnaryMethod>>;

/// A unary method. The server handles framing, compression and the deadline. The method decodes requests and
/// encodes responses.
pub trait UnaryMethod: Send + Sync {
    /// Serves one call. The future is dropped when the call's deadline passes or its client disconnects.
    fn call(&self, call: MethodCall) -> Pin<Box<dyn Future<Output = MethodResponse> + Send + '_>>;
}

impl<F, A> UnaryMethod for F
where
    F: Fn(MethodCall) -> A + Send + Sync,
    A: Future<Output = MethodResponse> + Send + 'static,
{
    fn call(&self, call: MethodCall) -> Pin<Box<dyn Future<Output = MethodResponse> + Send + '_>> {
        Box::pin(self(call))
    }
}

/// A call's request.
#[derive(Debug, Clone)]
pub struct MethodCall {
    /// All header fields of the request: metadata, and gRPC's own fields.
    pub fields: HeaderMap,
    /// The timeout set by the client, if any.
    pub timeout: Option<Duration>,
    /// The encoding of both request and response.
    pub encoding: Encoding,
    /// The request's message, decompressed but still encoded.
    pub message: Vec<u8>,
}

/// A method's response.
#[derive(Debug, Clone)]
pub struct MethodResponse {
    /// Header fields to send before the message.
    pub initial_metadata: HeaderMap,
    /// The encoded message, or the error status.
    pub result: Result<Vec<u8>, Status>,
    /// Trailer fields to send after the message, along with the status.
    pub trailing_metadata: HeaderMap,
}
