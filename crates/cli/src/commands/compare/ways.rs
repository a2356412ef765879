//! The ways to call that are compared: settings of the embedded server, or stacks of subjects and
//! their codecs.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::{Encoding, MethodKind};
use rpcgauge_study::features::{Features, Role, WorkloadKind};
use rpcgauge_study::only;
use rpcgauge_study::settings::{HttpVersion, Operation, Protocol, REFERENCE, Sample, Transport};
use rpcgauge_study::words::Named as _;
use rpcgauge_trial::StreamForm;

use crate::args::CompareArgs;
use crate::exit::Failure;

/// One way to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) name: String,
    /// Settings of the variant, as a study writes them.
    pub(super) settings: Vec<(&'static str, String)>,
}

/// The ways to call the embedded server. `rest-json` is what most services use, `grpc` is its usual
/// alternative, and each of the others changes one setting of these two.
const EMBEDDED: [(&str, &[(&str, &str)]); 8] = [
    ("rest-json", &[("protocol", "rest")]),
    (
        "rest-gzip",
        &[("protocol", "rest"), ("compression", "gzip")],
    ),
    ("rest-http2", &[("protocol", "rest"), ("http", "2")]),
    ("grpc", &[("protocol", "grpc")]),
    (
        "grpc-gzip",
        &[("protocol", "grpc"), ("compression", "gzip")],
    ),
    ("grpc-unix", &[("protocol", "grpc"), ("transport", "unix")]),
    ("msgpack", &[("protocol", "rest"), ("encoding", "msgpack")]),
    ("hybrid", &[("protocol", "grpc"), ("encoding", "hybrid")]),
];

/// The ways to receive a stream of messages, or to send one. `grpc` and what is compared with it differ in what carries
/// the messages; a REST call without a `stream` carries one message each way.
const SERVER_STREAMS: [(&str, &[(&str, &str)]); 4] = [
    ("ndjson", &[("protocol", "rest"), ("stream", "ndjson")]),
    ("sse", &[("protocol", "rest"), ("stream", "sse")]),
    ("grpc", &[("protocol", "grpc"), ("stream", "server")]),
    (
        "grpc-gzip",
        &[
            ("protocol", "grpc"),
            ("stream", "server"),
            ("compression", "gzip"),
        ],
    ),
];
const CLIENT_STREAMS: [(&str, &[(&str, &str)]); 4] = [
    ("rest-json", &[("protocol", "rest")]),
    ("rest-http2", &[("protocol", "rest"), ("http", "2")]),
    ("grpc", &[("protocol", "grpc"), ("stream", "client")]),
    (
        "grpc-gzip",
        &[
            ("protocol", "grpc"),
            ("stream", "client"),
            ("compression", "gzip"),
        ],
    ),
];
const BIDIRECTIONAL_STREAMS: [(&str, &[(&str, &str)]); 6] = [
    ("rest-json", &[("protocol", "rest")]),
    ("rest-http2", &[("protocol", "rest"), ("http", "2")]),
    (
        "websocket-in-turn",
        &[
            ("protocol", "rest"),
            ("stream", "bidirectional"),
            ("in-turn", "true"),
        ],
    ),
    (
        "websocket",
        &[("protocol", "rest"), ("stream", "bidirectional")],
    ),
    (
        "grpc-in-turn",
        &[
            ("protocol", "grpc"),
            ("stream", "bidirectional"),
            ("in-turn", "true"),
        ],
    ),
    ("grpc", &[("protocol", "grpc"), ("stream", "bidirectional")]),
];

/// The encodings in which stacks are compared, by protocol.
const ENCODINGS: [(Protocol, &[Encoding]); 3] = [
    (Protocol::Grpc, &[Encoding::Protobuf]),
    (Protocol::Rest, &[Encoding::Json, Encoding::ProtoJson]),
    (
        Protocol::Connect,
        &[Encoding::Protobuf, Encoding::ProtoJson],
    ),
];

impl Way {
    /// Whether messages are compressed.
    pub(super) fn compresses(&self) -> bool {
        self.setting("compression").is_some()
    }

    /// Whether it uses a Unix socket.
    pub(super) fn is_over_unix(&self) -> bool {
        self.setting("transport") == Some(Transport::Unix.as_str())
    }

    /// Whether a stack's client makes the calls, not rpcgauge's own.
    pub(super) fn is_by_stack(&self) -> bool {
        self.setting("client").is_some()
    }

    /// How its calls stream; `None` if they are unary.
    pub(super) fn stream(&self) -> Option<StreamForm> {
        self.setting("stream").and_then(StreamForm::from_name)
    }

    /// Whether a client waits for the response to each message.
    pub(super) fn is_in_turn(&self) -> bool {
        self.setting("in-turn").is_some()
    }

    fn setting(&self, key: &str) -> Option<&str> {
        let setting = self.settings.iter().find(|(known, _)| *known == key);
        setting.map(|(_, value)| &**value)
    }
}

/// The ways selected by the options, and the name of the way that all others are compared with.
///
/// # Errors
/// An option has an unknown name, or leaves nothing to compare.
pub(super) fn chosen(
    args: &CompareArgs,
    kind: MethodKind,
    stacks: &BTreeMap<String, Features>,
) -> Result<(Vec<Way>, String), Failure> {
    let all = if args.stack.is_empty() && args.client.is_empty() {
        embedded(kind)
    } else {
        of_stacks(args, kind, stacks)?
    };
    let names: Vec<&str> = all.iter().map(|way| way.name.as_str()).collect();
    // With --client, calls by rpcgauge's own client are not what is compared.
    let is_base = |way: &&Way| args.client.is_empty() || way.is_by_stack();
    let first = || {
        let base = all.iter().find(is_base).or(all.first());
        base.map_or_else(String::new, |way| way.name.clone())
    };
    let against = args.against.clone().unwrap_or_else(first);
    if !names.contains(&against.as_str()) {
        let hint = Nearest::or_known(&against, names.iter().copied());
        return Err(Failure::input(format!(
            "--against: there is no variant \"{against}\"{hint}"
        )));
    }
    let only = only::chosen(&args.only, &names).map_err(Failure::input)?;
    let is_in = |way: &Way| way.name == against || only.contains(&way.name);
    let ways: Vec<Way> = all.iter().filter(|way| is_in(way)).cloned().collect();
    match (ways.len(), args.only.is_empty()) {
        (2.., _) => Ok((ways, against)),
        (_, false) => Err(Failure::input(format!(
            "--only leaves nothing to compare with \"{against}\"; select another variant"
        ))),
        (_, true) => Err(Failure::input(format!(
            "there is nothing to compare with \"{against}\"; give another --stack or --client"
        ))),
    }
}

fn embedded(kind: MethodKind) -> Vec<Way> {
    let ways = match kind {
        MethodKind::Unary => &EMBEDDED[..],
        MethodKind::ServerStreaming => &SERVER_STREAMS,
        MethodKind::ClientStreaming => &CLIENT_STREAMS,
        MethodKind::Bidirectional => &BIDIRECTIONAL_STREAMS,
    };
    let ways = ways.iter().map(|(name, settings)| Way {
        name: (*name).to_owned(),
        settings: settings
            .iter()
            .map(|(key, value)| (*key, (*value).to_owned()))
            .collect(),
    });
    ways.collect()
}

/// Each server, called by rpcgauge's own client and by each client that has a protocol and encoding
/// in common with it.
fn of_stacks(
    args: &CompareArgs,
    kind: MethodKind,
    stacks: &BTreeMap<String, Features>,
) -> Result<Vec<Way>, Failure> {
    let find =
        |option: &str, name: &str, role: Role| {
            let fits = |features: &Features| features.roles.contains(&role);
            stacks.get(name).filter(|features| fits(features)).ok_or_else(|| {
            let known = stacks.iter().filter(|(_, features)| fits(features));
            let hint = Nearest::or_known(name, known.map(|(name, _)| name.as_str()));
            let what = role.as_str();
            Failure::input(format!(
                "{option}: there is no {what} \"{name}\"{hint} (rpcgauge subjects lists them)"
            ))
        })
        };
    for (option, names) in [("--stack", &args.stack), ("--client", &args.client)] {
        let mut places = names.iter().enumerate();
        if let Some((_, twice)) = places.find(|(place, name)| names[..*place].contains(name)) {
            let message =
                format!("{option} {twice}: this stack is given twice; list each stack once");
            return Err(Failure::input(message));
        }
    }
    let reference = [REFERENCE.to_owned()];
    let servers = if args.stack.is_empty() {
        &reference[..]
    } else {
        &args.stack
    };
    let mut ways: Vec<Way> = Vec::new();
    for server in servers {
        let serves = find("--stack", server, Role::Server)?;
        if !args.stack.is_empty() {
            let spoken = spoken(kind, serves, None);
            ways.extend(spoken.map(|spoken| way(server, None, spoken)));
        }
        let mut called = Vec::new();
        for client in &args.client {
            let calls = find("--client", client, Role::Client)?;
            for spoken in spoken(kind, serves, Some(calls)) {
                ways.push(way(server, Some(client), spoken));
                if !called.contains(&spoken) {
                    called.push(spoken);
                }
            }
        }
        if args.stack.is_empty() {
            // Calls by rpcgauge's own client show how much of the other clients' times the kernel
            // and the server take.
            let by_engine = called.into_iter().map(|spoken| way(server, None, spoken));
            ways.extend(by_engine);
        }
    }
    for client in &args.client {
        let is_called = |way: &Way| way.settings.contains(&("client", client.clone()));
        if !ways.iter().any(is_called) {
            let servers = servers.join(", ");
            return Err(Failure::input(format!(
                "--client {client}: it shares no protocol and encoding for this method with {servers}; give --stack \
                 a server that it can call"
            )));
        }
    }
    Ok(told_apart(ways))
}

/// The codec work of the stacks in a call: a server decodes the request and encodes the response,
/// and a client does the reverse.
pub(super) fn codecs(ways: &[Way], stacks: &BTreeMap<String, Features>) -> Vec<Way> {
    const ROLES: [(&str, [(Operation, Sample); 2]); 2] = [
        (
            "server",
            [
                (Operation::Decode, Sample::Request),
                (Operation::Encode, Sample::Response),
            ],
        ),
        (
            "client",
            [
                (Operation::Encode, Sample::Request),
                (Operation::Decode, Sample::Response),
            ],
        ),
    ];
    let mut codecs: Vec<Way> = Vec::new();
    for way in ways {
        for (role, does) in &ROLES {
            let stack = way.setting(role).and_then(|stack| stacks.get(stack));
            let encoding = way.setting("encoding").and_then(Encoding::from_name);
            let takes = |codec: &&String| {
                let features = stacks.get(*codec);
                features.is_some_and(|features| features.workloads.contains(&WorkloadKind::Own))
            };
            let codec = stack.zip(encoding).and_then(|(features, encoding)| {
                let codec = features.codecs.get(&encoding).filter(takes)?;
                Some((codec, encoding))
            });
            let Some((codec, encoding)) = codec else {
                continue;
            };
            for (operation, sample) in does {
                let way = of_codec(codec, encoding, *operation, *sample);
                if !codecs.contains(&way) {
                    codecs.push(way);
                }
            }
        }
    }
    told_apart(codecs)
}

fn of_codec(codec: &str, encoding: Encoding, operation: Operation, sample: Sample) -> Way {
    let (operation, sample) = (operation.as_str(), sample.as_str());
    let encoding = encoding.as_str();
    let settings = [
        ("codec", codec),
        ("operation", operation),
        ("sample", sample),
        ("encoding", encoding),
    ];
    Way {
        name: format!("{codec}-{operation}-{sample}"),
        settings: settings.map(|(key, value)| (key, value.to_owned())).into(),
    }
}

/// Makes names unique by appending the settings in which ways of the same name differ.
fn told_apart(mut ways: Vec<Way>) -> Vec<Way> {
    let all = ways.clone();
    for way in &mut ways {
        let alike = || all.iter().filter(|other| other.name == way.name);
        let differing = |key| {
            let values: BTreeSet<_> = alike().map(|other| other.setting(key)).collect();
            values.len()
        };
        let keys: &[&str] = match alike().count() {
            1 => &[],
            ways if ways == differing("encoding") => &["encoding"],
            ways if ways == differing("stream") => &["stream"],
            _ => &["protocol", "encoding", "stream"],
        };
        let values: Vec<&str> = keys.iter().filter_map(|key| way.setting(key)).collect();
        way.name = [&[way.name.as_str()], &values[..]].concat().join("-");
    }
    ways
}

type Spoken = (Protocol, HttpVersion, Encoding, Option<StreamForm>);

/// What a server and its client have in common. Without a client, everything that the server
/// supports.
fn spoken<'f>(
    kind: MethodKind,
    server: &'f Features,
    client: Option<&'f Features>,
) -> impl Iterator<Item = Spoken> + 'f {
    let both =
        move |speaks: &dyn Fn(&Features) -> bool| speaks(server) && client.is_none_or(speaks);
    ENCODINGS.iter().flat_map(move |(protocol, encodings)| {
        let versions = server.protocols.get(protocol).into_iter().flatten();
        let has = |features: &Features, http: &HttpVersion| {
            features
                .protocols
                .get(protocol)
                .is_some_and(|all| all.contains(http))
        };
        let http = versions.copied().find(|http| both(&|f| has(f, http)));
        let encodings = encodings.iter().copied();
        let encodings = encodings.filter(move |encoding| both(&|f| f.encodings.contains(encoding)));
        let streams = streams(kind, *protocol);
        let streams = streams.iter().copied();
        let streams = streams.filter(move |stream| {
            stream.is_none_or(|form| both(&|features| features.streams.contains(&form)))
        });
        encodings.flat_map(move |encoding| {
            let all = streams.clone();
            all.filter_map(move |stream| Some((*protocol, http?, encoding, stream)))
        })
    })
}

/// How calls of a method stream over a protocol; `None` for unary calls, each with one of its messages. Over REST, a
/// bidirectional stream is a WebSocket.
fn streams(kind: MethodKind, protocol: Protocol) -> &'static [Option<StreamForm>] {
    use StreamForm::{Bidirectional, Client, Ndjson, Server, Sse};
    match (kind, protocol) {
        (MethodKind::Unary, _) => &[None],
        (MethodKind::ServerStreaming, Protocol::Rest) => &[Some(Ndjson), Some(Sse)],
        (MethodKind::ClientStreaming, Protocol::Rest) => &[None],
        (MethodKind::Bidirectional, Protocol::Rest) => &[None, Some(Bidirectional)],
        (MethodKind::ServerStreaming, Protocol::Grpc) => &[Some(Server)],
        (MethodKind::ClientStreaming, Protocol::Grpc) => &[Some(Client)],
        (MethodKind::Bidirectional, Protocol::Grpc) => &[Some(Bidirectional)],
        // Connect's own streams are not measured.
        (_, Protocol::Connect) => &[],
    }
}

fn way(server: &str, client: Option<&String>, (protocol, http, encoding, stream): Spoken) -> Way {
    let mut name = server.to_owned();
    let mut settings = vec![("server", server.to_owned())];
    if let Some(client) = client {
        name += &format!("+{client}");
        settings.push(("client", client.clone()));
    }
    settings.push(("protocol", protocol.as_str().to_owned()));
    settings.push(("http", http.as_str().to_owned()));
    settings.push(("encoding", encoding.as_str().to_owned()));
    settings.extend(stream.map(|form| ("stream", form.as_str().to_owned())));
    Way { name, settings }
}
