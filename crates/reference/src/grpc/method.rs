//! Methods that a server has beside its workload's one.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use rpcgauge_message::Encoding;

use super::status::Status;

/// Methods by their path, as in `/package.Service/Method`.
pub type Methods = BTreeMap<String, Arc<dyn UnaryMethod>>;

/// A unary method. The server frames and compresses its messages and keeps its deadline; the
/// method reads and writes their encoding.
pub trait UnaryMethod: Send + Sync {
    /// Serves one call. It is dropped when the call's time is up or its client goes away.
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
    /// All fields of the request's head: metadata, and gRPC's own.
    pub fields: HeaderMap,
    /// The time that the client gives the call.
    pub timeout: Option<Duration>,
    /// The encoding of the request, and of the response.
    pub encoding: Encoding,
    /// The request's message, decompressed.
    pub message: Vec<u8>,
}

/// What a method returns.
#[derive(Debug, Clone)]
pub struct MethodResponse {
    /// Fields before the message.
    pub initial_metadata: HeaderMap,
    /// The message, encoded, or why there is none.
    pub result: Result<Vec<u8>, Status>,
    /// Fields after the message, beside the status.
    pub trailing_metadata: HeaderMap,
}
