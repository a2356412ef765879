//! The form of settings in a plan: one table for all kinds of target. A setting that does not apply to a target is
//! written with its default, as in plans of earlier versions.

use rpcgauge_contract::Stream;
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use rpcgauge_trial::is_default;
use serde::{Deserialize, Serialize};

use super::{
    CallOptions, Client, CodecWork, ConnectionUse, DeadlineFrom, HttpVersion, LiveCall,
    LiveService, LiveWire, Operation, Protocol, Runtime, Sample, Schedule, Settings, Stop,
    SubjectCall, Target, Transport, Wire,
};
use crate::link::NamedLink;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Written {
    #[serde(flatten)]
    target: WrittenTarget,
    protocol: Protocol,
    http: HttpVersion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<Encoding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stream: Option<Stream>,
    #[serde(default, skip_serializing_if = "is_default")]
    beside_streams: bool,
    request_compression: Compression,
    response_compression: Compression,
    #[serde(default = "one_thread", skip_serializing_if = "is_one_thread")]
    threads: u32,
    transport: Transport,
    #[serde(default, skip_serializing_if = "is_default")]
    tls: bool,
    connection: ConnectionUse,
    connections: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<Box<NamedLink>>,
    schedule: Schedule,
    stop: Stop,
    deadline_ms: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    deadline_from: DeadlineFrom,
    #[serde(default, skip_serializing_if = "is_default")]
    cold_calls: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    runtime: Runtime,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a variant names no known server, codec or service"
)]
enum WrittenTarget {
    Call {
        server: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<Client>,
        workload: WorkloadSpec,
    },
    Codec {
        codec: String,
        operation: Operation,
        sample: Sample,
        workload: WorkloadSpec,
    },
    Live {
        service: Box<LiveService>,
    },
}

fn one_thread() -> u32 {
    1
}

fn is_one_thread(threads: &u32) -> bool {
    *threads == 1
}

impl From<Settings> for Written {
    fn from(settings: Settings) -> Self {
        let Settings { target, stop } = settings;
        match target {
            Target::Call(call) => {
                let SubjectCall {
                    server,
                    client,
                    workload,
                    wire,
                    stream,
                    beside_streams,
                    options,
                    threads,
                    transport,
                    tls,
                    link,
                    cold_calls,
                    runtime,
                } = *call;
                let target = WrittenTarget::Call {
                    server,
                    client,
                    workload,
                };
                let encoding = Some(wire.encoding());
                Self {
                    stream,
                    beside_streams,
                    threads,
                    transport,
                    tls,
                    link,
                    cold_calls,
                    runtime,
                    ..Self::new(
                        target,
                        (wire.protocol(), wire.http(), encoding),
                        options,
                        stop,
                    )
                }
            }
            Target::Codec(work) => {
                let CodecWork {
                    codec,
                    operation,
                    sample,
                    workload,
                    encoding,
                    compression,
                    runtime,
                } = *work;
                let target = WrittenTarget::Codec {
                    codec,
                    operation,
                    sample,
                    workload,
                };
                let options = CallOptions {
                    request_compression: compression,
                    response_compression: compression,
                    ..CallOptions::default()
                };
                let wire = (Protocol::Rest, HttpVersion::Http1, Some(encoding));
                Self {
                    runtime,
                    ..Self::new(target, wire, options, stop)
                }
            }
            Target::Live(live) => {
                let transport = live.transport();
                let LiveCall {
                    service,
                    wire,
                    options,
                    threads,
                } = *live;
                let service = Box::new(service);
                let wire = (wire.protocol(), wire.http(), wire.encoding());
                Self {
                    threads,
                    transport,
                    ..Self::new(WrittenTarget::Live { service }, wire, options, stop)
                }
            }
        }
    }
}

impl Written {
    fn new(
        target: WrittenTarget,
        (protocol, http, encoding): (Protocol, HttpVersion, Option<Encoding>),
        options: CallOptions,
        stop: Stop,
    ) -> Self {
        let CallOptions {
            request_compression,
            response_compression,
            connection,
            connections,
            schedule,
            deadline_ms,
            deadline_from,
        } = options;
        Self {
            target,
            protocol,
            http,
            encoding,
            stream: None,
            beside_streams: false,
            request_compression,
            response_compression,
            threads: 1,
            transport: Transport::Tcp,
            tls: false,
            connection,
            connections,
            link: None,
            schedule,
            stop,
            deadline_ms,
            deadline_from,
            cold_calls: 0,
            runtime: Runtime::default(),
        }
    }
}

impl TryFrom<Written> for Settings {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, &'static str> {
        let Written {
            protocol,
            http,
            encoding,
            runtime,
            ..
        } = written;
        let encoding = encoding.ok_or("a variant has no encoding");
        let options = CallOptions {
            request_compression: written.request_compression,
            response_compression: written.response_compression,
            connection: written.connection,
            connections: written.connections,
            schedule: written.schedule,
            deadline_ms: written.deadline_ms,
            deadline_from: written.deadline_from,
        };
        let target = match written.target {
            WrittenTarget::Call {
                server,
                client,
                workload,
            } => {
                let wire = Wire::new(protocol, http, encoding?);
                let wire = wire.ok_or("a variant uses gRPC over HTTP/1.1")?;
                if let Some(stream) = &written.stream {
                    wire.check_stream(stream)?;
                }
                Target::from(SubjectCall {
                    server,
                    client,
                    workload,
                    wire,
                    stream: written.stream,
                    beside_streams: written.beside_streams,
                    options,
                    threads: written.threads,
                    transport: written.transport,
                    tls: written.tls,
                    link: written.link,
                    cold_calls: written.cold_calls,
                    runtime,
                })
            }
            WrittenTarget::Codec {
                codec,
                operation,
                sample,
                workload,
            } => Target::from(CodecWork {
                codec,
                operation,
                sample,
                workload,
                encoding: encoding?,
                compression: match sample {
                    Sample::Request => options.request_compression,
                    Sample::Response => options.response_compression,
                },
                runtime,
            }),
            WrittenTarget::Live { service } => Target::from(LiveCall {
                wire: match (LiveWire::default_for(service.url.scheme), protocol, http) {
                    (LiveWire::Grpc, Protocol::Grpc, HttpVersion::Http2) => LiveWire::Grpc,
                    (LiveWire::Http(_), Protocol::Rest, http) => LiveWire::Http(http),
                    (LiveWire::WebSocket, Protocol::Rest, HttpVersion::Http1) => {
                        LiveWire::WebSocket
                    }
                    _ => {
                        return Err("the protocol of a live service does not match its target");
                    }
                },
                service: *service,
                options,
                threads: written.threads,
            }),
        };
        Ok(Self {
            target,
            stop: written.stop,
        })
    }
}
