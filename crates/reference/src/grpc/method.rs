//! Methods that a server has besides that of its workload.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use rpcgauge_message::Encoding;

use super::status::Status;

/// Methods by their paths: `/package.Service/Method`.
pub type Methods = BTreeMap<String, Arc<dyn UnaryMethod>>;

/// A unary method. The server frames and compresses its messages and enforces its deadline; the method decodes
/// and encodes them.
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
    /// All header fields of the request: metadata, and gRPC's own.
    pub fields: HeaderMap,
    /// The timeout that the client sets, if any.
    pub timeout: Option<Duration>,
    /// The encoding of the request, and of the response.
    pub encoding: Encoding,
    /// The request's message, decompressed.
    pub message: Vec<u8>,
}

/// A method's response.
#[derive(Debug, Clone)]
pub struct MethodResponse {
    /// Header fields, sent before the message.
    pub initial_metadata: HeaderMap,
    /// The encoded message, or the error status.
    pub result: Result<Vec<u8>, Status>,
    /// Trailer fields, sent after the message and besides the status.
    pub trailing_metadata: HeaderMap,
}
