//! Measures for how long calls are disturbed after a switch between variants. Two variants alternate, and
//! one call of each slice is timed: the first, the second, and so on.
//!
//! `make bench-slices` runs this with the built program as the server.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_contract::{self as contract, HttpVersion, Protocol};
use rpcgauge_lab::SubjectCommand;
use rpcgauge_lab::machine::idle::IdleHold;
use rpcgauge_lab::machine::placement::{Bound, Placements};
use rpcgauge_lab::subject::{Start, Subject};
use rpcgauge_load as load;
use rpcgauge_message::{
    Codec, Compression, Encoding, Limits, Message, Workload, WorkloadSpec, content_type,
};
use rpcgauge_study::settings::{Idle, Placement};
use rpcgauge_trial::{Address, Slice, Timing};

/// The positions of the timed calls within a slice, from 1.
const PLACES: [u64; 10] = [1, 2, 3, 4, 5, 7, 10, 15, 25, 40];

/// The number of times that each of these calls is timed.
const ROUNDS: u32 = 150;

/// The number of calls before anything is timed.
const WARM_UP: u64 = 500;

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<(), Problem> {
    let program = std::env::var_os("RPCGAUGE").map(PathBuf::from);
    let program = program.ok_or("set RPCGAUGE to the built program")?;
    println!("median latency of the k-th call of a slice, relative to the last column, in %:");
    let places = PLACES.map(|k| format!("{k:>7}")).concat();
    println!("{:44}{:>9}{places}", "alternating variants", "call");
    for placement in [Placement::TwoCores, Placement::OneCore] {
        for (name, workload) in [
            ("hello", WorkloadSpec::Hello {}),
            ("list n=100", WorkloadSpec::List { n: 100 }),
            ("echo n=5000", WorkloadSpec::Echo { n: 5_000 }),
        ] {
            for (name, latencies) in goes_round(&program, name, &workload, placement)? {
                let last = latencies[PLACES.len() - 1];
                let over = latencies.map(|ns| format!("{:>+7.1}", (ns / last - 1.0) * 100.0));
                println!("{name:44}{:>6.1} µs{}", last / 1e3, over.concat());
            }
        }
    }
    Ok(())
}

/// Times alternating gRPC and REST calls. Returns the median latency of each of these calls, ns.
fn goes_round(
    program: &PathBuf,
    name: &str,
    spec: &WorkloadSpec,
    placement: Placement,
) -> Result<Vec<(String, [f64; PLACES.len()])>, Problem> {
    let stop = AtomicBool::new(false);
    let layout = Placements::detect()?.layout(placement)?;
    let command = SubjectCommand::new(program, ["subject"]);
    let folder = tempfile::tempdir()?;
    let mut sides = Vec::new();
    for protocol in [Protocol::Grpc, Protocol::Rest] {
        let settings = settings(spec, protocol);
        let start = Start {
            command: &command,
            settings: &settings,
            cores: Some(&layout.server),
            log: &folder.path().join("log"),
            ready_timeout: contract::READY_TIMEOUT,
            end_timeout: contract::END_TIMEOUT,
        };
        let subject = Subject::start(&start, &stop)?;
        let workload = Workload::new(spec)?;
        sides.push((
            subject,
            Calls::new(&workload, protocol)?,
            trial(&workload, protocol),
        ));
    }
    for (subject, _, trial) in &mut sides {
        if let Some(address) = &subject.said().address {
            trial.endpoint.address = address.clone();
        }
    }
    let bound = Bound::to(&layout.client)?;
    let idle = IdleHold::ask(Idle::Held);
    let mut latencies = [[0.0; PLACES.len()]; 2];
    for (place, column) in PLACES.iter().zip(0..) {
        let mut sessions = Vec::new();
        for (_, calls, trial) in &mut sides {
            let hooks = load::Hooks {
                settling: Box::new(|_| load::Settling::GoOn),
                measuring: Box::new(|_| ()),
                checks: Vec::new(),
                progress: None,
            };
            let bodies = load::Bodies::PerCall(calls);
            let mut session = load::Session::open(trial, bodies, hooks, &stop)?;
            while !session.warm_up_turn(&stop)? {}
            sessions.push(session);
        }
        let bounds = Slice {
            skip_calls: place - 1,
            skip_us: 0,
            least_calls: 1,
            time_us: 0,
        };
        for _ in 0..ROUNDS {
            for session in &mut sessions {
                session.slice(&bounds, 1, &stop)?;
            }
        }
        for (session, row) in sessions.into_iter().zip(0..) {
            let latency = session.finish()?.figures.latency.unpack();
            latencies[row][column] = latency.quantile(0.5);
        }
    }
    drop((bound, idle));
    let place = format!("{placement}");
    let named = |protocol: &str| format!("{name} over gRPC and REST, {place}: {protocol}");
    Ok(vec![
        (named("gRPC"), latencies[0]),
        (named("REST"), latencies[1]),
    ])
}

fn settings(workload: &WorkloadSpec, protocol: Protocol) -> contract::SettingsLine {
    contract::SettingsLine::Server(Box::new(contract::ServerSettings {
        stack: None,
        workload: workload.clone(),
        protocol,
        http: http(protocol),
        encoding: encoding(protocol),
        listen: contract::Listen::Tcp {
            host: contract::LOOPBACK.to_owned(),
        },
        response_compression: Compression::None,
        threads: 1,
        marks: true,
        tls: false,
        stream: None,
        protobuf_samples: Vec::new(),
        limits: contract::Limits::default(),
    }))
}

fn http(protocol: Protocol) -> HttpVersion {
    match protocol {
        Protocol::Grpc => HttpVersion::Http2,
        Protocol::Rest | Protocol::Connect => HttpVersion::Http1,
    }
}

fn encoding(protocol: Protocol) -> Encoding {
    match protocol {
        Protocol::Grpc => Encoding::Protobuf,
        Protocol::Rest | Protocol::Connect => Encoding::Json,
    }
}

fn trial(workload: &Workload, protocol: Protocol) -> load::Trial {
    let (style, path, version) = match protocol {
        Protocol::Grpc => (
            load::CallStyle::Grpc {
                subtype: Some("proto".to_owned()),
            },
            workload.method_path(),
            load::Protocol::Http2,
        ),
        Protocol::Rest | Protocol::Connect => (
            load::CallStyle::Http {
                method: "POST".to_owned(),
            },
            workload.rest_path(),
            load::Protocol::Http1,
        ),
    };
    let headers = match protocol {
        Protocol::Grpc => Vec::new(),
        Protocol::Rest | Protocol::Connect => ["content-type", "accept"]
            .map(|name| {
                (
                    name.to_owned(),
                    content_type::rest(Encoding::Json).to_owned(),
                )
            })
            .to_vec(),
    };
    let endpoint = load::Endpoint {
        address: Address::Tcp(([127, 0, 0, 1], 1).into()),
        protocol: version,
        more_addresses: Vec::new(),
        tls: None,
    };
    let request = load::Request {
        style,
        path: path.to_owned(),
        authority: "localhost".to_owned(),
        headers,
    };
    load::Trial {
        timing: Timing::Stages,
        warmup: Some(load::WarmupBounds {
            max_calls: WARM_UP,
            max_time: Duration::from_secs(10),
            least_calls: 0,
            slice_calls: WARM_UP,
            slice_time: Duration::ZERO,
        }),
        ..load::Trial::new(endpoint, request)
    }
}

/// A workload's calls, encoded and decoded every time.
struct Calls {
    request: Message,
    request_codec: Codec,
    response_codec: Codec,
}

impl Calls {
    fn new(workload: &Workload, protocol: Protocol) -> Result<Self, Problem> {
        let codec = |message_type: &rpcgauge_message::MessageType| {
            let encoding = encoding(protocol);
            Codec::new(
                message_type.clone(),
                encoding,
                Compression::None,
                Limits::DEFAULT,
            )
        };
        Ok(Self {
            request: workload.request(0),
            request_codec: codec(workload.request_type())?,
            response_codec: codec(workload.response_type())?,
        })
    }
}

impl load::Codec for Calls {
    fn encode(&mut self, _: u64, out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        let encoded = self.request_codec.encode(&self.request, out);
        encoded.map_err(|error| load::CodecError(error.to_string()))
    }

    fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), load::CodecError> {
        Err(load::CodecError("nothing is compressed here".to_owned()))
    }

    fn decode(&mut self, plain: &[u8]) -> Result<(), load::CodecError> {
        let decoded = self.response_codec.decode(plain);
        decoded
            .map_err(|error| load::CodecError(error.to_string()))
            .map(drop)
    }

    fn verify(&mut self, _: u64, _: u64) -> Result<(), load::CodecError> {
        Ok(())
    }
}
