//! The rows of the table of settings.

use rpcgauge_message::{Compression, Encoding};

use super::{CALLS, Setting, UNTIL, Value, Values, Whose, missing};
use crate::features::Role;
use crate::settings::{
    Arrivals, Callee, Client, ConnectionUse, DEFAULT_DEADLINE_MS, ENGINE, HttpVersion,
    MOST_IN_FLIGHT, MOST_THREADS, Operation, Protocol, REFERENCE, Sample, Schedule, Settings,
    Style, Transport, usual,
};
use crate::words::Word;

/// Which setting. The order is that of the table, and of their parts in a variant's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Server,
    Client,
    Style,
    Codec,
    Operation,
    Sample,
    Protocol,
    Http,
    Encoding,
    Compression,
    RequestCompression,
    ResponseCompression,
    Threads,
    Transport,
    Connection,
    Connections,
    InFlight,
    Rate,
    Arrivals,
    N,
    Scale,
    Calls,
    Time,
    Deadline,
}

/// What most rows have.
const ROW: Setting = Setting {
    key: Key::N,
    word: "",
    values: Values::Stack,
    whose: Whose::Call,
    speaks_for_itself: false,
    contradicts: &[],
    pushes_out: &[],
    get: |_| None,
    set: |_, _| {},
    lack: |_, _, _| None,
    column: CALLS,
    says: |_, value| value.to_string(),
};

const BOTH_WAYS: &str = "\"compression\" sets both directions; write it alone, or each direction";
const CLOSED_OR_RATE: &str =
    "calls are sent either at a \"rate\" or with so many \"in-flight\"; keep one of the two";
const NO_ARRIVALS: &str =
    "\"arrivals\" spaces calls at a \"rate\"; \"in-flight\" sends each call when one ends";

/// All settings.
pub static SETTINGS: [Setting; 24] = [
    Setting {
        key: Key::Server,
        word: "server",
        speaks_for_itself: true,
        get: |s| Some(Value::stack(s.callee.server()?)),
        set: |s, value| {
            if let Callee::Subject { server, .. } = &mut s.callee {
                *server = value.to_string();
            }
        },
        says: |s, value| unless(s.callee.server() == Some(REFERENCE), format!("of {value}")),
        ..ROW
    },
    Setting {
        key: Key::Client,
        word: "client",
        get: |s| {
            let engine = s.callee.server().map(|_| ENGINE);
            let client = s.callee.client().map(|client| client.stack.as_str());
            Some(Value::stack(client.or(engine)?))
        },
        set: |s, value| {
            if let Callee::Subject { client, .. } = &mut s.callee {
                let (stack, style) = (value.to_string(), Style::Blocking);
                *client = (stack != ENGINE).then_some(Client { stack, style });
            }
        },
        says: |s, value| unless(s.callee.client().is_none(), format!("by {value}")),
        ..ROW
    },
    Setting {
        key: Key::Style,
        word: "style",
        values: words::<Style>(),
        speaks_for_itself: true,
        get: |s| Value::word(s.callee.client()?.style),
        set: |s, value| {
            if let Callee::Subject { client, .. } = &mut s.callee {
                client
                    .iter_mut()
                    .for_each(|client| value.put(&mut client.style));
            }
        },
        lack: |s, has, role| {
            missing(
                &has.styles,
                only(role, Role::Client, s.callee.client()?.style)?,
            )
        },
        ..ROW
    },
    Setting {
        key: Key::Codec,
        word: "codec",
        whose: Whose::Codec,
        speaks_for_itself: true,
        get: |s| Some(Value::stack(s.callee.codec()?.0)),
        set: |s, value| {
            if let Some(workload) = s.callee.workload() {
                s.callee = Callee::Codec {
                    codec: value.to_string(),
                    operation: Operation::Encode,
                    sample: Sample::Response,
                    workload: workload.clone(),
                };
            }
        },
        says: |_, value| format!("by {value}"),
        ..ROW
    },
    Setting {
        key: Key::Operation,
        word: "operation",
        values: words::<Operation>(),
        whose: Whose::Codec,
        speaks_for_itself: true,
        get: |s| Value::word(s.callee.codec()?.1),
        set: |s, value| {
            if let Callee::Codec { operation, .. } = &mut s.callee {
                value.put(operation);
            }
        },
        says: |_, value| format!("to {value}"),
        ..ROW
    },
    Setting {
        key: Key::Sample,
        word: "sample",
        values: words::<Sample>(),
        whose: Whose::Codec,
        speaks_for_itself: true,
        get: |s| Value::word(s.callee.codec()?.2),
        set: |s, value| {
            if let Callee::Codec { sample, .. } = &mut s.callee {
                value.put(sample);
            }
        },
        says: |_, value| format!("the {value}"),
        ..ROW
    },
    Setting {
        key: Key::Protocol,
        word: "protocol",
        values: words::<Protocol>(),
        speaks_for_itself: true,
        get: |s| Value::word(s.protocol),
        set: |s, value| {
            value.put(&mut s.protocol);
            (s.http, s.encoding) = usual(s.protocol);
        },
        lack: |s, has, _| {
            let protocols: Vec<Protocol> = has.protocols.keys().copied().collect();
            missing(&protocols, s.protocol)
        },
        column: "protocol",
        says: |s, _| match (s.protocol, s.encoding) {
            (Protocol::Grpc, _) => "gRPC on".into(),
            (Protocol::Rest, Some(_)) => "REST on".into(),
            // Bodies are sent as they are given.
            (Protocol::Rest, None) => String::new(),
        },
        ..ROW
    },
    Setting {
        key: Key::Http,
        word: "http",
        values: words::<HttpVersion>(),
        get: |s| Value::word(s.http),
        set: |s, value| value.put(&mut s.http),
        lack: |s, has, _| missing(has.protocols.get(&s.protocol)?, s.http),
        column: "protocol",
        says: |_, value| format!("HTTP/{value}"),
        ..ROW
    },
    Setting {
        key: Key::Encoding,
        word: "encoding",
        values: words::<Encoding>(),
        whose: Whose::Both,
        speaks_for_itself: true,
        get: |s| Value::word(s.encoding?),
        set: |s, value| {
            s.encoding
                .iter_mut()
                .for_each(|encoding| value.put(encoding))
        },
        lack: |s, has, _| missing(&has.encodings, s.encoding?),
        column: "encoding",
        ..ROW
    },
    Setting {
        key: Key::Compression,
        word: "compression",
        values: Values::Compression,
        whose: Whose::Both,
        contradicts: &[
            (Key::RequestCompression, BOTH_WAYS),
            (Key::ResponseCompression, BOTH_WAYS),
        ],
        pushes_out: &[Key::RequestCompression, Key::ResponseCompression],
        get: |s| is_one_compression(s).then_some(Value::Compression(s.request_compression)),
        set: |s, value| {
            (s.request_compression, s.response_compression) =
                (value.compression(), value.compression());
        },
        lack: |s, has, role| {
            let needed = only(role, Role::Codec, s.request_compression)?;
            missing(&has.compressions, needed.into())
        },
        column: "compression",
        says: |s, value| {
            unless(
                s.request_compression == Compression::None,
                value.to_string(),
            )
        },
        ..ROW
    },
    Setting {
        key: Key::RequestCompression,
        word: "request-compression",
        values: Values::Compression,
        get: |s| Some(Value::Compression(s.request_compression)),
        set: |s, value| s.request_compression = value.compression(),
        lack: |s, has, _| missing(&has.compressions, s.request_compression.into()),
        column: "compression",
        says: |s, value| unless(is_one_compression(s), format!("request {value},")),
        ..ROW
    },
    Setting {
        key: Key::ResponseCompression,
        word: "response-compression",
        values: Values::Compression,
        get: |s| Some(Value::Compression(s.response_compression)),
        set: |s, value| s.response_compression = value.compression(),
        lack: |s, has, _| missing(&has.compressions, s.response_compression.into()),
        column: "compression",
        says: |s, value| unless(is_one_compression(s), format!("response {value}")),
        ..ROW
    },
    Setting {
        key: Key::Threads,
        word: "threads",
        values: Values::Whole(1..=MOST_THREADS),
        get: |s| s.callee.server().map(|_| Value::Whole(s.threads)),
        set: |s, value| s.threads = value.whole(),
        lack: |s, has, role| {
            let needed = only(role, Role::Server, s.threads)?;
            (needed > has.threads).then(|| format!("has at most {} threads", has.threads))
        },
        column: "served",
        says: |s, value| match s.threads {
            1 => String::new(),
            _ => format!("{value} threads"),
        },
        ..ROW
    },
    Setting {
        key: Key::Transport,
        word: "transport",
        values: words::<Transport>(),
        speaks_for_itself: true,
        get: |s| Value::word(s.transport),
        set: |s, value| value.put(&mut s.transport),
        lack: |s, has, _| missing(&has.transports, s.transport),
        column: "over",
        says: |s, _| match s.transport {
            Transport::Tcp => "TCP".into(),
            Transport::Unix => "Unix socket".into(),
        },
        ..ROW
    },
    Setting {
        key: Key::Connection,
        word: "connection",
        values: words::<ConnectionUse>(),
        speaks_for_itself: true,
        get: |s| Value::word(s.connection),
        set: |s, value| value.put(&mut s.connection),
        lack: |s, has, role| missing(&has.connections, only(role, Role::Client, s.connection)?),
        column: "over",
        says: |s, _| match s.connection {
            ConnectionUse::Reuse => "connection kept".into(),
            ConnectionUse::PerCall => "connection per call".into(),
        },
        ..ROW
    },
    Setting {
        key: Key::Connections,
        word: "connections",
        values: COUNT_IN_FLIGHT,
        get: |s| Some(Value::Whole(s.connections)),
        set: |s, value| s.connections = value.whole(),
        column: "over",
        says: |s, value| unless(s.connections == 1, format!("× {value}")),
        ..ROW
    },
    Setting {
        key: Key::InFlight,
        word: "in-flight",
        values: COUNT_IN_FLIGHT,
        contradicts: &[(Key::Rate, CLOSED_OR_RATE), (Key::Arrivals, NO_ARRIVALS)],
        pushes_out: &[Key::Rate, Key::Arrivals],
        get: |s| match s.schedule {
            Schedule::Closed { in_flight } => Some(Value::Whole(in_flight)),
            Schedule::Rate { .. } | Schedule::Ramp { .. } => None,
        },
        set: |s, value| {
            let in_flight = value.whole();
            s.schedule = Schedule::Closed { in_flight };
        },
        lack: |s, has, role| match only(role, Role::Client, &s.schedule)? {
            Schedule::Closed { in_flight } if *in_flight > has.in_flight => {
                Some(format!("has at most {} in flight", has.in_flight))
            }
            _ => None,
        },
        column: "sent",
        says: |s, value| match s.schedule {
            Schedule::Closed { in_flight: 1 } => "one call after the other".into(),
            _ => format!("{value} calls in flight"),
        },
        ..ROW
    },
    Setting {
        key: Key::Rate,
        word: "rate",
        values: Values::Rate,
        pushes_out: &[Key::InFlight],
        get: |s| match &s.schedule {
            Schedule::Closed { .. } => None,
            Schedule::Rate { per_second, .. } => Some(Value::Rate(*per_second)),
            Schedule::Ramp { parts, .. } => Some(Value::Ramp(parts.clone())),
        },
        set: |s, value| {
            let arrivals = Arrivals::Poisson;
            s.schedule = match value {
                Value::Ramp(parts) => Schedule::Ramp {
                    parts: parts.clone(),
                    arrivals,
                },
                _ => Schedule::Rate {
                    per_second: value.rate(),
                    arrivals,
                },
            };
        },
        lack: |s, _, role| match only(role, Role::Client, &s.schedule)? {
            Schedule::Closed { .. } => None,
            _ => Some("sends each call when one ends, and has no rate".into()),
        },
        column: "sent",
        says: |_, value| match value {
            Value::Rate(rate) => format!("{} calls/s,", (rate * 1e3).round() / 1e3),
            ramp => format!("a ramp of calls/s, {ramp},"),
        },
        ..ROW
    },
    Setting {
        key: Key::Arrivals,
        word: "arrivals",
        values: words::<Arrivals>(),
        get: |s| match s.schedule {
            Schedule::Closed { .. } => None,
            Schedule::Rate { arrivals, .. } | Schedule::Ramp { arrivals, .. } => {
                Value::word(arrivals)
            }
        },
        set: |s, value| match &mut s.schedule {
            Schedule::Closed { .. } => {}
            Schedule::Rate { arrivals, .. } | Schedule::Ramp { arrivals, .. } => {
                value.put(arrivals);
            }
        },
        column: "sent",
        says: |_, value| match value {
            Value::Word("constant") => "evenly spaced".into(),
            _ => "at random (Poisson)".into(),
        },
        ..ROW
    },
    // The size of the workload, which is made before.
    Setting {
        key: Key::N,
        word: "n",
        values: COUNT,
        whose: Whose::Both,
        ..ROW
    },
    Setting {
        key: Key::Scale,
        word: "scale",
        values: COUNT,
        whose: Whose::Both,
        ..ROW
    },
    Setting {
        key: Key::Calls,
        word: "calls",
        values: COUNT,
        whose: Whose::Both,
        pushes_out: &[Key::Time],
        get: |s| Some(Value::Whole(u32::try_from(s.stop.calls?).ok()?)),
        set: |s, value| (s.stop.calls, s.stop.time_ms) = (Some(value.whole().into()), None),
        column: UNTIL,
        says: |_, value| format!("{value} calls"),
        ..ROW
    },
    Setting {
        key: Key::Time,
        word: "time",
        values: Values::Time { least_ms: 1 },
        whose: Whose::Both,
        pushes_out: &[Key::Calls],
        get: |s| s.stop.time_ms.map(Value::Time),
        set: |s, value| s.stop.time_ms = Some(value.ms()),
        column: UNTIL,
        says: |s, value| match s.stop.calls {
            None => value.to_string(),
            Some(_) => format!("or {value}"),
        },
        ..ROW
    },
    Setting {
        key: Key::Deadline,
        word: "deadline",
        values: Values::Time { least_ms: 1 },
        get: |s| Some(Value::Time(s.deadline_ms)),
        set: |s, value| s.deadline_ms = value.ms(),
        column: "deadline",
        // A live service's is part of the question.
        says: |s, value| {
            let is_usual = s.deadline_ms == DEFAULT_DEADLINE_MS && s.callee.live().is_none();
            unless(is_usual, format!("deadline {value}"))
        },
        ..ROW
    },
];

const COUNT: Values = Values::Whole(1..=u32::MAX);
const COUNT_IN_FLIGHT: Values = Values::Whole(1..=MOST_IN_FLIGHT);

const fn words<T: Word>() -> Values {
    Values::Words {
        what: T::WHAT,
        all: || T::WORDS.iter().map(|(word, _)| *word).collect(),
    }
}

/// What a row says, unless it is not worth a word.
fn unless(is_needless: bool, text: String) -> String {
    if is_needless { String::new() } else { text }
}

fn is_one_compression(settings: &Settings) -> bool {
    settings.request_compression == settings.response_compression
}

/// What is asked of stacks in one role only.
fn only<T>(role: Role, asked: Role, needed: T) -> Option<T> {
    (role == asked).then_some(needed)
}
