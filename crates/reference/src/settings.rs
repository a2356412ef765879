//! What a server serves, where and how.

use rpcgauge_message::{Compression, Encoding, Limits, WorkloadSpec};

use crate::budget::default_memory;
use crate::listen::ListenOn;
use crate::timeouts::Timeouts;

/// A server's settings.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// What is called.
    pub workload: WorkloadSpec,
    /// Where to listen.
    pub listen: ListenOn,
    /// Whether TLS is spoken, with a certificate that the server makes.
    pub tls: bool,
    /// How responses are compressed for a client that accepts it.
    pub response_compression: Compression,
    /// The meaning of a content type that encodings share. For JSON: the form of responses; all forms
    /// are read. For gRPC without a subtype: this, unless it is JSON, and then protobuf.
    pub encoding: Encoding,
    /// Threads that serve, 1 to [`MAX_THREADS`](rpcgauge_contract::MAX_THREADS).
    pub threads: u32,
    /// Whether successful responses carry the handler's times (contract/README.md, "Marks").
    pub marks: bool,
    /// Whether gRPC Server Reflection (v1 and v1alpha) is offered.
    pub reflection: bool,
    /// Bounds of what is accepted.
    pub limits: Limits,
    /// Bytes that the calls of all connections may hold together, of requests that are not whole and
    /// of responses that are not read. A call beyond it is refused.
    pub memory: usize,
    /// How long clients may take.
    pub timeouts: Timeouts,
}

impl ServerOptions {
    /// A workload on the loopback interface at a free port: without TLS, uncompressed, one thread, the default
    /// limits, a quarter of the machine's memory, no marks, no reflection.
    pub fn new(workload: WorkloadSpec) -> Self {
        Self {
            workload,
            listen: ListenOn::loopback(),
            tls: false,
            response_compression: Compression::None,
            encoding: Encoding::Json,
            threads: 1,
            marks: false,
            reflection: false,
            limits: Limits::DEFAULT,
            memory: default_memory(),
            timeouts: Timeouts::DEFAULT,
        }
    }
}
