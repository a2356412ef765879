//! The settings of a server.

use rpcgauge_message::{Compression, Encoding, Limits, WorkloadSpec};

use crate::budget::default_memory;
use crate::listen::ListenOn;
use crate::timeouts::Timeouts;

/// A server's settings.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The workload.
    pub workload: WorkloadSpec,
    /// The address to listen on.
    pub listen: ListenOn,
    /// Whether the server uses TLS, with a certificate that it creates.
    pub tls: bool,
    /// How responses are compressed for a client that accepts it.
    pub response_compression: Compression,
    /// The encoding that a content type stands for if several encodings share it. For JSON: the form of
    /// responses; all forms are accepted in requests. For gRPC without a subtype: this encoding, or protobuf if
    /// this is JSON.
    pub encoding: Encoding,
    /// The number of threads that serve, 1 to [`MAX_THREADS`](rpcgauge_contract::MAX_THREADS).
    pub threads: u32,
    /// Whether successful responses carry the handler's times (contract/README.md, "Marks").
    pub marks: bool,
    /// Whether gRPC Server Reflection (v1 and v1alpha) is offered.
    pub reflection: bool,
    /// The limits on requests.
    pub limits: Limits,
    /// The memory budget in bytes of all calls together, for requests that have not fully arrived and responses
    /// that have not been read. A call beyond it is refused.
    pub memory: usize,
    /// How long clients may take.
    pub timeouts: Timeouts,
}

impl ServerOptions {
    /// A workload on the loopback interface with a free port: without TLS, uncompressed, one thread, the
    /// default limits, a quarter of the machine's memory, no marks, no reflection.
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
