//! The ways to call that are compared.

use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};

use crate::resolve::{DEFAULT_DEADLINE_MS, DEFAULT_STOP};
use crate::settings::{
    Callee, ConnectionUse, HttpVersion, Protocol, Schedule, Settings, Transport,
};

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
        Settings {
            callee: Callee::Subject {
                server: crate::features::REFERENCE.to_owned(),
                client: None,
                workload: WorkloadSpec::Own(Box::new(workload.clone())),
            },
            protocol: self.protocol,
            http: match self.protocol {
                Protocol::Grpc => HttpVersion::Http2,
                Protocol::Rest => HttpVersion::Http1,
            },
            encoding: Some(self.encoding),
            request_compression: self.compression,
            response_compression: self.compression,
            transport: self.transport,
            connection: ConnectionUse::Reuse,
            connections: 1,
            schedule: Schedule::Closed { in_flight: 1 },
            stop: DEFAULT_STOP,
            deadline_ms: DEFAULT_DEADLINE_MS,
        }
    }
}
