//! The ways of making calls or encoding messages that a subject declares, and in which it is
//! checked.

use std::fmt;
use std::sync::LazyLock;

use rpcgauge_contract::Stream;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Compression, Encoding, Schema, WorkloadSpec};
use rpcgauge_study::features::{CompressionKind, Features, Role, WorkloadKind};
use rpcgauge_study::settings::{Client, Protocol, Style, SubjectCall, Transport, Wire};
use rpcgauge_study::words::Named as _;
use rpcgauge_trial::ConnectionUse;
use serde_json::json;

use super::broken;
use crate::error::TrialResult;

/// The number of rows in workloads: enough to verify that lists are handled as lists.
const ROWS: u32 = 3;

/// The number of messages in streams.
const MESSAGES: u32 = 5;

/// One way to make calls.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) wire: Wire,
    pub(super) coding: Coding,
    pub(super) transport: Transport,
    pub(super) tls: bool,
    pub(super) stream: Option<Stream>,
    /// The number of the server's threads.
    pub(super) threads: u32,
}

/// One way to encode messages.
#[derive(Debug, Clone)]
pub(super) struct Coding {
    pub(super) encoding: Encoding,
    pub(super) compression: Compression,
    pub(super) workload: WorkloadKind,
}

impl Way {
    /// Every way that a server or client declares.
    pub(super) fn calls(features: &Features, role: Role) -> Vec<Self> {
        let with_tls = features.tls.contains(&role).then_some(true);
        let mut ways = Vec::new();
        for (&protocol, versions) in &features.protocols {
            for &http in versions {
                for &transport in &features.transports {
                    for tls in [false].into_iter().chain(with_tls) {
                        let codings = Coding::all(features).into_iter();
                        ways.extend(codings.flat_map(|coding| {
                            // No subject.toml declares gRPC on HTTP/1.1.
                            let wire = Wire::new(protocol, http, coding.encoding);
                            wire.into_iter().flat_map(move |wire| {
                                let streams = streams(features, wire, &coding).map(Some);
                                let of = |stream| Self {
                                    wire,
                                    coding: coding.clone(),
                                    transport,
                                    tls,
                                    stream,
                                    threads: 1,
                                };
                                [None]
                                    .into_iter()
                                    .chain(streams)
                                    .map(of)
                                    .collect::<Vec<_>>()
                            })
                        }));
                    }
                }
            }
        }
        ways
    }

    /// The settings of a server's call or, if `style` is given, of a client's call.
    pub(super) fn call(&self, style: Option<Style>) -> TrialResult<SubjectCall> {
        let mut call = SubjectCall {
            server: String::new(),
            client: style.map(|style| Client {
                stack: String::new(),
                style,
            }),
            wire: self.wire,
            stream: self.stream,
            threads: self.threads,
            transport: self.transport,
            tls: self.tls,
            ..SubjectCall::new(self.coding.spec()?, self.wire.protocol())
        };
        if self.wire.is_websocket(self.stream.as_ref()) {
            call.options.connection = ConnectionUse::PerCall;
        }
        call.options.request_compression = self.coding.compression;
        call.options.response_compression = self.coding.compression;
        Ok(call)
    }

    /// The values in which one way can differ from another.
    pub(super) fn values(&self) -> Vec<String> {
        let (protocol, http) = (self.wire.protocol().as_str(), self.wire.http().as_str());
        let values = [protocol, http, self.transport.as_str(), self.tls_word()];
        let values = values.map(str::to_owned);
        [&values[..], &[self.stream_words()], &self.coding.values()].concat()
    }

    /// What it has in common with ways that differ only in their messages and HTTP version.
    pub(super) fn form(&self) -> String {
        let (transport, tls) = (self.transport.as_str(), self.tls_word());
        format!("{transport}{tls}{} {}", self.stream_words(), self.is_own())
    }

    /// Whether its messages are a user's own.
    pub(super) fn is_own(&self) -> bool {
        self.coding.workload == WorkloadKind::Own
    }

    fn stream_words(&self) -> String {
        let words = |stream: Stream| {
            let in_turn = if stream.is_in_turn() { " in turn" } else { "" };
            format!(", {}{in_turn}", stream.form().title())
        };
        self.stream.map(words).unwrap_or_default()
    }

    fn tls_word(&self) -> &'static str {
        if self.tls { " with TLS" } else { "" }
    }
}

impl Coding {
    /// Every way that a stack declares.
    pub(super) fn all(features: &Features) -> Vec<Self> {
        let mut codings = Vec::new();
        for &encoding in &features.encodings {
            for &kind in &features.compressions {
                for &workload in &features.workloads {
                    codings.push(Self {
                        encoding,
                        compression: match kind {
                            CompressionKind::None => Compression::None,
                            CompressionKind::Gzip => Compression::GZIP,
                            CompressionKind::Zstd => Compression::ZSTD,
                        },
                        workload,
                    });
                }
            }
        }
        codings
    }

    pub(super) fn spec(&self) -> TrialResult<WorkloadSpec> {
        Ok(match self.workload {
            WorkloadKind::Echo => WorkloadSpec::Echo { n: ROWS },
            WorkloadKind::Hello => WorkloadSpec::Hello {},
            WorkloadKind::List => WorkloadSpec::List { n: ROWS },
            WorkloadKind::Items => WorkloadSpec::Items {},
            WorkloadKind::Records => WorkloadSpec::Records { n: ROWS },
            WorkloadKind::Profile => WorkloadSpec::Profile {},
            WorkloadKind::Followers => WorkloadSpec::Followers { n: ROWS },
            WorkloadKind::Own => {
                let own = match self.encoding {
                    Encoding::Json | Encoding::JsonProtoNames | Encoding::Hybrid => {
                        &*OWN_IN_DOUBLES
                    }
                    _ => &*OWN,
                };
                own.clone().map_err(broken)?
            }
        })
    }

    /// The values in which one coding can differ from another.
    pub(super) fn values(&self) -> [String; 3] {
        let (encoding, compression) = (self.encoding.to_string(), self.compression.to_string());
        [self.workload.as_str().to_owned(), encoding, compression]
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workload = self.workload.as_str();
        write!(f, "{}, {}, {workload}", self.encoding, self.compression)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (protocol, http) = (self.wire.protocol().as_str(), self.wire.http().as_str());
        let (transport, tls) = (self.transport.as_str(), self.tls_word());
        write!(
            f,
            "{protocol} on HTTP/{http} over {transport}{tls}, {}{}",
            self.coding,
            self.stream_words()
        )
    }
}

/// The streams that a stack declares for calls like these. Compression is not part of a stream of text.
fn streams<'f>(
    features: &'f Features,
    wire: Wire,
    coding: &Coding,
) -> impl Iterator<Item = Stream> + use<'f> {
    let is_plain = coding.compression.is_none();
    let streams = coding.workload == WorkloadKind::Items;
    let forms = features.streams.iter().filter(move |_| streams);
    forms.flat_map(move |form| {
        let stream = |in_turn| Stream::new(*form, MESSAGES, in_turn).ok();
        let both = [stream(false), stream(true)].into_iter().flatten();
        both.filter(move |stream| {
            let compresses = wire.protocol() == Protocol::Grpc;
            wire.check_stream(stream).is_ok() && (compresses || is_plain)
        })
    })
}

/// A method of a user's own, in the form in which a user would provide it.
pub(super) static OWN: LazyLock<Result<WorkloadSpec, String>> =
    LazyLock::new(|| own(i64::MIN, u64::MAX, (1 << 53) + 1));

/// The same with integers that doubles represent exactly. JSON readers need not support others (RFC 7493, section 2.2),
/// and those of JavaScript do not.
static OWN_IN_DOUBLES: LazyLock<Result<WorkloadSpec, String>> =
    LazyLock::new(|| own(-(1 << 53) + 1, (1 << 53) - 1, (1 << 53) - 2));

fn own(signed: i64, unsigned: u64, wide: i64) -> Result<WorkloadSpec, String> {
    let own = || -> Result<OwnWorkload, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let proto = folder.path().join("own.proto");
        std::fs::write(&proto, include_str!("own.proto"))?;
        let schema = Schema::compile(&[proto], &[])?;
        let request = json!({"type": "any", "afterId": unsigned.to_string()});
        let part = json!({"partName": "a part", "weights": [0.5, -2, 1e300]});
        let response = json!({
            "signedId": signed.to_string(),
            "unsignedId": unsigned.to_string(),
            "rawBytes": "AAH+/w==",
            "kind": "KIND_LARGE",
            "kinds": ["KIND_SMALL", "KIND_UNSPECIFIED"],
            "partsByName": {"first": part, "": {}},
            "namesById": {"-7": "minus seven", "9007199254740993": "no double"},
            "number": (-wide).to_string(),
            "setToZero": 0,
            "madeAt": "2026-01-02T03:04:05.678Z",
            "ids": [wide.to_string(), "0", "-1"],
            "ratio": 0.25,
            "isNew": true,
            "children": [{"part": part}, {"text": "\u{e9}\"\\\n"}],
        });
        Ok(OwnWorkload::new(
            &schema,
            "check.v1.Things/Find",
            &request.to_string(),
            &response.to_string(),
        )?)
    };
    let own = own().map_err(|error| error.to_string())?;
    Ok(WorkloadSpec::Own(Box::new(own)))
}
