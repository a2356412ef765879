//! The ways to call that are compared.

use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};

use crate::settings::{Callee, Protocol, Settings, Transport};

/// One of the ways to call that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Its name, for `--only` and `--against`.
    pub name: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    protocol: Protocol,
    pub(super) encoding: Encoding,
    pub(super) compression: Compression,
    transport: Transport,
}

/// All ways, in the order they are shown.
pub const WAYS: [Way; 6] = [
    Way {
        name: "rest-json",
        what: "REST with JSON over HTTP/1.1",
        protocol: Protocol::Rest,
        encoding: Encoding::Json,
        compression: Compression::None,
        transport: Transport::Tcp,
    },
    Way {
        name: "grpc",
        what: "gRPC with protobuf",
        protocol: Protocol::Grpc,
        encoding: Encoding::Protobuf,
        compression: Compression::None,
        transport: Transport::Tcp,
    },
    Way {
        name: "grpc-gzip",
        what: "gRPC with protobuf, compressed by gzip",
        protocol: Protocol::Grpc,
        encoding: Encoding::Protobuf,
        compression: Compression::GZIP,
        transport: Transport::Tcp,
    },
    Way {
        name: "grpc-unix",
        what: "gRPC with protobuf over a Unix domain socket",
        protocol: Protocol::Grpc,
        encoding: Encoding::Protobuf,
        compression: Compression::None,
        transport: Transport::Unix,
    },
    Way {
        name: "msgpack",
        what: "REST with MessagePack over HTTP/1.1",
        protocol: Protocol::Rest,
        encoding: Encoding::Msgpack,
        compression: Compression::None,
        transport: Transport::Tcp,
    },
    Way {
        name: "hybrid",
        what: "gRPC with a JSON string inside a protobuf message",
        protocol: Protocol::Grpc,
        encoding: Encoding::Hybrid,
        compression: Compression::None,
        transport: Transport::Tcp,
    },
];

impl Way {
    /// How it calls; the budget decides how long (`set_trial`).
    pub(super) fn settings(&self, workload: &OwnWorkload) -> Settings {
        let workload = WorkloadSpec::Own(Box::new(workload.clone()));
        Settings {
            encoding: Some(self.encoding),
            request_compression: self.compression,
            response_compression: self.compression,
            transport: self.transport,
            ..Settings::new(Callee::reference(workload), self.protocol)
        }
    }
}
