//! The settings of a server.

use rpcgauge_message::{Compression, Encoding, Limits, WorkloadSpec};

use crate::budget::default_memory;
use crate::listen::ListenOn;
use crate::timeouts::Timeouts;

/// A server's settings.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The workload to serve.
    pub workload: WorkloadSpec,
    /// The address to listen on.
    pub listen: ListenOn,
    /// Whether the server uses TLS, with a certificate that it generates.
    pub tls: bool,
    /// How responses are compressed for clients that accept it.
    pub response_compression: Compression,
    /// The encoding to use if several share a content type. For JSON, this is the form of responses; requests
    /// may use any form. For gRPC without a subtype, it is this encoding, or protobuf if this is JSON.
    pub encoding: Encoding,
    /// Number of serving threads, 1 to [`MAX_THREADS`](rpcgauge_contract::MAX_THREADS).
    pub threads: u32,
    /// Whether successful responses include the handler's times (contract/README.md, "Marks").
    pub marks: bool,
    /// Whether to offer gRPC Server Reflection (v1 and v1alpha).
    pub reflection: bool,
    /// Limits on requests.
    pub limits: Limits,
    /// Memory budget of all calls, bytes. It covers requests that have not fully arrived and responses that
    /// have not been read. A call that exceeds it is rejected.
    pub memory: usize,
    /// How long clients may take.
    pub timeouts: Timeouts,
}

impl ServerOptions {
    /// A workload on the loopback interface with a free port: no TLS, no compression, one thread, the default
    /// limits, a quarter of the available memory, no marks, no reflection.
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
