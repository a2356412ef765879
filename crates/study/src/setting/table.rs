//! The rows of the settings table.

use rpcgauge_contract::{MAX_STREAM_MESSAGES, Stream};
use rpcgauge_message::{Compression, Encoding};
use rpcgauge_trial::StreamForm;

use super::{CALLS, DEADLINE, LINK, Misfit, RUNTIME, Setting, UNTIL, Value, Values, missing};
use crate::features::Role;
use crate::settings::{
    Arrivals, CallOptions, Client, CodecWork, ConnectionUse, DEFAULT_DEADLINE_MS, DeadlineFrom,
    ENGINE, HttpVersion, LiveWire, MAX_IN_FLIGHT, MAX_THREADS, Operation, Protocol, REFERENCE,
    Runtime, Sample, Schedule, Settings, Style, SubjectCall, Target, Transport, Wire,
};
use crate::words::{Named, format_number};

/// Identifies a setting. Rows of the table and parts of a variant's name are in this order.
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
    Stream,
    Messages,
    InTurn,
    Compression,
    RequestCompression,
    ResponseCompression,
    Threads,
    Transport,
    Tls,
    Connection,
    Connections,
    Link,
    InFlight,
    Rate,
    Arrivals,
    N,
    Scale,
    Calls,
    Time,
    Deadline,
    DeadlineFrom,
    Gc,
    Heap,
    AotCache,
    Events,
    ColdCalls,
}

/// The defaults of a row.
const ROW: Setting = Setting {
    key: Key::N,
    name: "",
    values: Values::Stack,
    name_is_implied: false,
    conflicts_with: &[],
    overrides: &[],
    get: |_| None,
    set: |_, _| Ok(()),
    missing_feature: |_, _, _| None,
    column: CALLS,
    describe: |_, value| value.to_string(),
};

const BOTH_WAYS: &str = "\"compression\" sets both directions; set it alone, or set each direction";
const CLOSED_OR_RATE: &str =
    "calls are sent either at a \"rate\" or with a fixed number \"in-flight\"; keep one of the two";
const NO_ARRIVALS: &str =
    "\"arrivals\" spaces calls at a \"rate\"; \"in-flight\" sends the next call when one ends";

/// Settings that a codec does not have because it makes no calls.
const OF_CALLS: &[Key] = &[
    Key::Server,
    Key::Client,
    Key::Style,
    Key::Protocol,
    Key::Http,
    Key::Stream,
    Key::Messages,
    Key::InTurn,
    Key::RequestCompression,
    Key::ResponseCompression,
    Key::Threads,
    Key::Transport,
    Key::Tls,
    Key::Connection,
    Key::Connections,
    Key::Link,
    Key::InFlight,
    Key::Rate,
    Key::Arrivals,
    Key::Deadline,
    Key::DeadlineFrom,
    Key::ColdCalls,
];
const OF_CODECS: &[Key] = &[Key::Codec, Key::Operation, Key::Sample];

const OF_A_CALL: Misfit = Misfit::Absent("applies to calls, and a codec makes none; leave it out");
const OF_A_CODEC: Misfit =
    Misfit::Absent("applies to a codec, and there is none; write codec = \"…\"");
const OF_SUBJECTS: Misfit =
    Misfit::Absent("is for subjects, but a live service is called here; leave it out");
const GRPC_OVER_HTTP_1: Misfit = Misfit::Refused(
    "gRPC needs HTTP/2; write http = \"2\", or exclude it by [[exclude]] with protocol = \"grpc\" and \
     http = \"1.1\"",
);
const LIVE_GRPC_OVER_HTTP_1: Misfit =
    Misfit::Refused("gRPC needs HTTP/2; write http = \"2\", or leave it out");
const WEBSOCKET_OVER_HTTP_2: Misfit =
    Misfit::Refused("a WebSocket needs HTTP/1.1; write http = \"1.1\", or leave it out");
const NO_RATE: Misfit =
    Misfit::Absent("spaces calls at a \"rate\", and there is none; write rate = 1000");
const NO_STREAM: Misfit = Misfit::Absent(
    "is for streams, and the calls are unary; write stream = \"server\", or leave it out",
);
const NO_CLIENT: Misfit = Misfit::Absent(
    "applies to client subjects, but rpcgauge's engine makes the calls here; write client = \"…\"",
);

/// All settings.
pub static SETTINGS: [Setting; Key::ColdCalls as usize + 1] = [
    Setting {
        key: Key::Server,
        name: "server",
        name_is_implied: true,
        overrides: OF_CODECS,
        get: |s| Some(Value::stack(&call(s)?.server)),
        set: |s, value| put(&mut call_mut(s)?.server, value.to_stack()),
        describe: |_, value| unless(*value == Value::stack(REFERENCE), format!("of {value}")),
        ..ROW
    },
    Setting {
        key: Key::Client,
        name: "client",
        overrides: OF_CODECS,
        get: |s| {
            let client = call(s)?.client.as_ref();
            Some(Value::stack(
                client.map_or(ENGINE, |client| client.stack.as_str()),
            ))
        },
        set: |s, value| {
            let (call, stack, style) = (call_mut(s)?, value.to_stack()?, Style::Blocking);
            call.client = (stack != ENGINE).then_some(Client { stack, style });
            Ok(())
        },
        describe: |_, value| unless(*value == Value::stack(ENGINE), format!("by {value}")),
        ..ROW
    },
    Setting {
        key: Key::Style,
        name: "style",
        values: words::<Style>(),
        name_is_implied: true,
        get: |s| Value::word(call(s)?.client.as_ref()?.style),
        set: |s, value| match &mut call_mut(s)?.client {
            Some(client) => put(&mut client.style, value.to_word()),
            None => Err(NO_CLIENT),
        },
        missing_feature: |s, has, role| {
            let style = call(s)?.client.as_ref()?.style;
            missing(&has.styles, only(role, Role::Client, style)?)
        },
        ..ROW
    },
    Setting {
        key: Key::Codec,
        name: "codec",
        name_is_implied: true,
        overrides: OF_CALLS,
        get: |s| Some(Value::stack(&codec(s)?.codec)),
        set: |s, value| put(&mut codec_mut(s)?.codec, value.to_stack()),
        describe: |_, value| format!("by {value}"),
        ..ROW
    },
    Setting {
        key: Key::Operation,
        name: "operation",
        values: words::<Operation>(),
        name_is_implied: true,
        get: |s| Value::word(codec(s)?.operation),
        set: |s, value| put(&mut codec_mut(s)?.operation, value.to_word()),
        describe: |_, value| format!("to {value}"),
        ..ROW
    },
    Setting {
        key: Key::Sample,
        name: "sample",
        values: words::<Sample>(),
        name_is_implied: true,
        get: |s| Value::word(codec(s)?.sample),
        set: |s, value| put(&mut codec_mut(s)?.sample, value.to_word()),
        describe: |_, value| format!("the {value}"),
        ..ROW
    },
    Setting {
        key: Key::Protocol,
        name: "protocol",
        values: words::<Protocol>(),
        name_is_implied: true,
        get: |s| Value::word(on_http(s)?.0),
        set: |s, value| {
            put(
                &mut call_mut(s)?.wire,
                value.to_word().map(Wire::default_for),
            )
        },
        missing_feature: |s, has, _| {
            let protocols: Vec<Protocol> = has.protocols.keys().copied().collect();
            missing(&protocols, on_http(s)?.0)
        },
        column: "protocol",
        describe: |s, _| match on_http(s).map(|(protocol, _)| protocol) {
            Some(Protocol::Grpc) => "gRPC on".into(),
            Some(Protocol::Connect) => "Connect on".into(),
            // A live service's bodies are sent as they are given.
            Some(Protocol::Rest) => unless(s.target.encoding().is_none(), "REST on".into()),
            None => String::new(),
        },
        ..ROW
    },
    Setting {
        key: Key::Http,
        name: "http",
        values: words::<HttpVersion>(),
        get: |s| Value::word(on_http(s)?.1),
        set: |s, value| set_http(s, value.to_word()?),
        missing_feature: |s, has, _| {
            let (protocol, http) = on_http(s)?;
            missing(has.protocols.get(&protocol)?, http)
        },
        column: "protocol",
        describe: |_, value| format!("HTTP/{value}"),
        ..ROW
    },
    Setting {
        key: Key::Encoding,
        name: "encoding",
        values: words::<Encoding>(),
        name_is_implied: true,
        get: |s| Value::word(s.target.encoding()?),
        set: |s, value| match &mut s.target {
            Target::Call(call) => {
                let wire = value.to_word().map(|encoding| call.wire.encoded(encoding));
                put(&mut call.wire, wire)
            }
            Target::Codec(work) => put(&mut work.encoding, value.to_word()),
            Target::Live(_) => Err(OF_SUBJECTS),
        },
        missing_feature: |s, has, _| missing(&has.encodings, s.target.encoding()?),
        column: "encoding",
        ..ROW
    },
    Setting {
        key: Key::Stream,
        name: "stream",
        values: words::<StreamForm>(),
        // Absent unless set, as in plans of earlier versions.
        get: |s| Value::word(call(s)?.stream?.form()),
        set: |s, value| {
            let form = value.to_word()?;
            let stream = Stream::new(form, DEFAULT_STREAM_MESSAGES, false);
            set_stream(s, stream)
        },
        missing_feature: |s, has, _| missing(&has.streams, call(s)?.stream?.form()),
        column: CALLS,
        describe: |s, _| {
            call(s)
                .and_then(|call| call.stream)
                .map_or_else(String::new, |stream| {
                    format!("as {} of", stream.form().article_and_title())
                })
        },
        ..ROW
    },
    Setting {
        key: Key::Messages,
        name: "messages",
        values: Values::Whole(1..=MAX_STREAM_MESSAGES as u64),
        get: |s| Some(Value::Whole(call(s)?.stream?.messages().into())),
        set: |s, value| {
            let stream = call_mut(s)?.stream.ok_or(NO_STREAM)?;
            set_stream(
                s,
                Stream::new(stream.form(), value.to_whole()?, stream.is_in_turn()),
            )
        },
        column: CALLS,
        describe: |_, value| format!("{value} messages"),
        ..ROW
    },
    Setting {
        key: Key::InTurn,
        name: "in-turn",
        values: Values::Flag,
        get: |s| call(s)?.stream?.is_in_turn().then_some(Value::Flag(true)),
        set: |s, value| {
            let stream = call_mut(s)?.stream.ok_or(NO_STREAM)?;
            set_stream(
                s,
                Stream::new(stream.form(), stream.messages(), value.to_flag()?),
            )
        },
        column: CALLS,
        describe: |_, _| "in turn".into(),
        ..ROW
    },
    Setting {
        key: Key::Compression,
        name: "compression",
        values: Values::Compression,
        conflicts_with: &[
            (Key::RequestCompression, BOTH_WAYS),
            (Key::ResponseCompression, BOTH_WAYS),
        ],
        overrides: &[Key::RequestCompression, Key::ResponseCompression],
        get: |s| one_compression(s).map(Value::Compression),
        set: |s, value| {
            if let Target::Codec(work) = &mut s.target {
                return put(&mut work.compression, value.to_compression());
            }
            let options = options_mut(s)?;
            put(&mut options.request_compression, value.to_compression())?;
            put(&mut options.response_compression, value.to_compression())
        },
        missing_feature: |s, has, _| missing(&has.compressions, codec(s)?.compression.into()),
        column: "compression",
        describe: |_, value| {
            unless(
                *value == Value::Compression(Compression::None),
                value.to_string(),
            )
        },
        ..ROW
    },
    Setting {
        key: Key::RequestCompression,
        name: "request-compression",
        values: Values::Compression,
        get: |s| Some(Value::Compression(s.target.options()?.request_compression)),
        set: |s, value| {
            put(
                &mut options_mut(s)?.request_compression,
                value.to_compression(),
            )
        },
        missing_feature: |s, has, _| {
            missing(
                &has.compressions,
                s.target.options()?.request_compression.into(),
            )
        },
        column: "compression",
        describe: |s, value| unless(one_compression(s).is_some(), format!("request {value},")),
        ..ROW
    },
    Setting {
        key: Key::ResponseCompression,
        name: "response-compression",
        values: Values::Compression,
        get: |s| Some(Value::Compression(s.target.options()?.response_compression)),
        set: |s, value| {
            put(
                &mut options_mut(s)?.response_compression,
                value.to_compression(),
            )
        },
        missing_feature: |s, has, _| {
            missing(
                &has.compressions,
                s.target.options()?.response_compression.into(),
            )
        },
        column: "compression",
        describe: |s, value| unless(one_compression(s).is_some(), format!("response {value}")),
        ..ROW
    },
    Setting {
        key: Key::Threads,
        name: "threads",
        values: Values::Whole(1..=MAX_THREADS as u64),
        // Of the server or, for a live service, of this client.
        get: |s| match &s.target {
            Target::Call(call) => Some(Value::Whole(call.threads.into())),
            Target::Codec(_) => None,
            // Absent unless set, as in plans of earlier versions.
            Target::Live(live) => (live.threads > 1).then(|| Value::Whole(live.threads.into())),
        },
        set: |s, value| match &mut s.target {
            Target::Call(call) => put(&mut call.threads, value.to_whole()),
            Target::Codec(_) => Err(OF_A_CALL),
            Target::Live(live) => put(&mut live.threads, value.to_whole()),
        },
        missing_feature: |s, has, role| {
            let needed = only(role, Role::Server, call(s)?.threads)?;
            (needed > has.threads).then(|| format!("has at most {} threads", has.threads))
        },
        column: "threads",
        describe: |_, value| unless(*value == Value::Whole(1), format!("{value} threads")),
        ..ROW
    },
    Setting {
        key: Key::Transport,
        name: "transport",
        values: words::<Transport>(),
        name_is_implied: true,
        get: |s| Value::word(transport(s)?),
        set: |s, value| put(&mut call_mut(s)?.transport, value.to_word()),
        missing_feature: |s, has, _| missing(&has.transports, transport(s)?),
        column: "over",
        describe: |s, _| match transport(s) {
            Some(Transport::Tcp) => "TCP".into(),
            Some(Transport::Unix) => "Unix socket".into(),
            None => String::new(),
        },
        ..ROW
    },
    Setting {
        key: Key::Tls,
        name: "tls",
        values: Values::Flag,
        // Absent unless set, as in plans of earlier versions.
        get: |s| call(s)?.tls.then_some(Value::Flag(true)),
        set: |s, value| put(&mut call_mut(s)?.tls, value.to_flag()),
        missing_feature: |s, has, role| {
            let lacks = call(s)?.tls && !has.tls.contains(&role);
            lacks.then(|| "does not speak TLS".to_owned())
        },
        column: "over",
        describe: |_, _| "with TLS,".into(),
        ..ROW
    },
    Setting {
        key: Key::Connection,
        name: "connection",
        values: words::<ConnectionUse>(),
        name_is_implied: true,
        get: |s| Value::word(s.target.options()?.connection),
        set: |s, value| put(&mut options_mut(s)?.connection, value.to_word()),
        missing_feature: |s, has, role| {
            let connection = s.target.options()?.connection;
            missing(&has.connections, only(role, Role::Client, connection)?)
        },
        column: "over",
        describe: |s, _| match s.target.options().map(|options| options.connection) {
            Some(ConnectionUse::Reuse) => "connection reused".into(),
            Some(ConnectionUse::PerCall) => "connection per call".into(),
            None => String::new(),
        },
        ..ROW
    },
    Setting {
        key: Key::Connections,
        name: "connections",
        values: COUNT_IN_FLIGHT,
        get: |s| Some(Value::Whole(s.target.options()?.connections.into())),
        set: |s, value| put(&mut options_mut(s)?.connections, value.to_whole()),
        missing_feature: |s, has, role| {
            let needed = only(role, Role::Client, call(s)?.channels())?;
            (needed > has.channels).then(|| match has.channels {
                1 => "has one channel, and therefore one connection".to_owned(),
                most => format!("has at most {most} channels, with a connection each"),
            })
        },
        column: "over",
        describe: |_, value| unless(*value == Value::Whole(1), format!("× {value}")),
        ..ROW
    },
    Setting {
        key: Key::Link,
        name: "link",
        values: Values::Link,
        name_is_implied: true,
        get: |s| Some(Value::Link(call(s)?.link.clone())),
        set: |s, value| put(&mut call_mut(s)?.link, value.to_link()),
        column: LINK,
        describe: |_, value| unless(*value == Value::Link(None), value.to_string()),
        ..ROW
    },
    Setting {
        key: Key::InFlight,
        name: "in-flight",
        values: COUNT_IN_FLIGHT,
        conflicts_with: &[(Key::Rate, CLOSED_OR_RATE), (Key::Arrivals, NO_ARRIVALS)],
        overrides: &[Key::Rate, Key::Arrivals],
        get: |s| {
            let in_flight = s.target.options()?.schedule.in_flight()?;
            Some(Value::Whole(in_flight.into()))
        },
        set: |s, value| {
            let closed = value.to_whole();
            let closed = closed.map(|in_flight| Schedule::Closed { in_flight });
            put(&mut options_mut(s)?.schedule, closed)
        },
        missing_feature: |s, has, role| {
            let in_flight = s.target.options()?.schedule.in_flight()?;
            let needed = only(role, Role::Client, in_flight)?;
            (needed > has.in_flight)
                .then(|| format!("has at most {} calls in flight", has.in_flight))
        },
        column: "sent",
        describe: |_, value| match value {
            Value::Whole(1) => "one call at a time".into(),
            _ => format!("{value} calls in flight"),
        },
        ..ROW
    },
    Setting {
        key: Key::Rate,
        name: "rate",
        values: Values::Rate,
        overrides: &[Key::InFlight],
        get: |s| match &s.target.options()?.schedule {
            Schedule::Closed { .. } => None,
            Schedule::Rate { per_second, .. } => Some(Value::Rate(*per_second)),
            Schedule::Ramp { parts, .. } => Some(Value::Ramp(parts.clone())),
        },
        set: |s, value| {
            let arrivals = Arrivals::Poisson;
            let schedule = match value.clone() {
                Value::Ramp(parts) => Ok(Schedule::Ramp { parts, arrivals }),
                Value::Rate(per_second) => Ok(Schedule::Rate {
                    per_second,
                    arrivals,
                }),
                _ => Err(Misfit::Kind),
            };
            put(&mut options_mut(s)?.schedule, schedule)
        },
        missing_feature: |s, _, role| {
            let schedule = &s.target.options()?.schedule;
            let is_asked = role == Role::Client && schedule.in_flight().is_none();
            is_asked.then(|| {
                "sends the next call only when one ends, and does not support a rate".into()
            })
        },
        column: "sent",
        describe: |_, value| match value {
            Value::Rate(rate) => format!("{} calls/s,", format_rate(*rate)),
            ramp => format!("a ramp of calls/s, {ramp},"),
        },
        ..ROW
    },
    Setting {
        key: Key::Arrivals,
        name: "arrivals",
        values: words::<Arrivals>(),
        get: |s| match s.target.options()?.schedule {
            Schedule::Closed { .. } => None,
            Schedule::Rate { arrivals, .. } | Schedule::Ramp { arrivals, .. } => {
                Value::word(arrivals)
            }
        },
        set: |s, value| match &mut options_mut(s)?.schedule {
            Schedule::Closed { .. } => Err(NO_RATE),
            Schedule::Rate { arrivals, .. } | Schedule::Ramp { arrivals, .. } => {
                put(arrivals, value.to_word())
            }
        },
        column: "sent",
        describe: |_, value| match value {
            Value::Word("constant") => "evenly spaced".into(),
            _ => "at random (Poisson)".into(),
        },
        ..ROW
    },
    // The size of the workload. The workload is already built when settings are applied.
    Setting {
        key: Key::N,
        name: "n",
        values: COUNT,
        set: |s, _| of_workload(s),
        ..ROW
    },
    Setting {
        key: Key::Scale,
        name: "scale",
        values: COUNT,
        set: |s, _| of_workload(s),
        ..ROW
    },
    Setting {
        key: Key::Calls,
        name: "calls",
        values: CALL_COUNT,
        overrides: &[Key::Time],
        get: |s| s.stop.calls.map(Value::Whole),
        set: |s, value| {
            put(&mut s.stop.calls, value.to_whole().map(Some))?;
            put(&mut s.stop.time_ms, Ok(None))
        },
        column: UNTIL,
        describe: |_, value| format!("{value} calls"),
        ..ROW
    },
    Setting {
        key: Key::Time,
        name: "time",
        values: Values::Time { min_ms: 1 },
        overrides: &[Key::Calls],
        get: |s| s.stop.time_ms.map(Value::Time),
        set: |s, value| put(&mut s.stop.time_ms, value.to_ms().map(Some)),
        column: UNTIL,
        describe: |s, value| match s.stop.calls {
            None => value.to_string(),
            Some(_) => format!("or {value}"),
        },
        ..ROW
    },
    Setting {
        key: Key::Deadline,
        name: "deadline",
        values: Values::Time { min_ms: 1 },
        get: |s| Some(Value::Time(s.target.options()?.deadline_ms)),
        set: |s, value| put(&mut options_mut(s)?.deadline_ms, value.to_ms()),
        column: DEADLINE,
        // A live service's deadline is always shown: it is part of the question.
        describe: |s, value| {
            let is_usual = *value == Value::Time(DEFAULT_DEADLINE_MS);
            unless(
                is_usual && !matches!(s.target, Target::Live(_)),
                value.to_string(),
            )
        },
        ..ROW
    },
    Setting {
        key: Key::DeadlineFrom,
        name: "deadline-from",
        values: words::<DeadlineFrom>(),
        get: |s| Value::word(s.target.options()?.deadline_from),
        set: |s, value| put(&mut options_mut(s)?.deadline_from, value.to_word()),
        column: DEADLINE,
        describe: |s, value| {
            let is_usual = Value::word(DeadlineFrom::Due).as_ref() == Some(value);
            unless(
                is_usual || s.target.options().is_none(),
                "from the send".into(),
            )
        },
        ..ROW
    },
    Setting {
        key: Key::Gc,
        name: "gc",
        values: Values::Plain,
        get: |s| s.target.runtime()?.gc.clone().map(Value::Plain),
        set: |s, value| put(&mut runtime_mut(s)?.gc, value.to_plain().map(Some)),
        missing_feature: |s, has, _| {
            let (needed, has) = (s.target.runtime()?.gc.as_ref()?, &has.runtime.gc);
            // `Check::runtime` checks that at least one of the stacks has it.
            let lacks = !has.is_empty() && !has.contains(needed);
            lacks.then(|| {
                let words = has.join(", ");
                format!("has no garbage collector \"{needed}\" (it has: {words})")
            })
        },
        column: RUNTIME,
        describe: |_, value| format!("collector {value}"),
        ..ROW
    },
    Setting {
        key: Key::Heap,
        name: "heap",
        values: Values::Size,
        get: |s| s.target.runtime()?.heap_bytes.map(Value::Size),
        set: |s, value| put(&mut runtime_mut(s)?.heap_bytes, value.to_bytes().map(Some)),
        column: RUNTIME,
        describe: |_, value| format!("heap {value}"),
        ..ROW
    },
    Setting {
        key: Key::AotCache,
        name: "aot-cache",
        values: Values::Flag,
        get: |s| s.target.runtime()?.aot_cache.then_some(Value::Flag(true)),
        set: |s, value| put(&mut runtime_mut(s)?.aot_cache, value.to_flag()),
        column: RUNTIME,
        describe: |_, _| "ahead-of-time cache".into(),
        ..ROW
    },
    Setting {
        key: Key::Events,
        name: "events",
        values: Values::Flag,
        // Absent unless set, as in plans of earlier versions.
        get: |s| s.target.runtime()?.events.then_some(Value::Flag(true)),
        set: |s, value| put(&mut runtime_mut(s)?.events, value.to_flag()),
        column: RUNTIME,
        describe: |_, _| "events recorded".into(),
        ..ROW
    },
    Setting {
        key: Key::ColdCalls,
        name: "cold-calls",
        values: Values::Whole(1..=MAX_COLD_CALLS),
        get: |s| match call(s)?.cold_calls {
            0 => None,
            calls => Some(Value::Whole(calls.into())),
        },
        set: |s, value| put(&mut call_mut(s)?.cold_calls, value.to_whole()),
        describe: |_, value| format!("first {value} calls timed"),
        ..ROW
    },
];

// Each row is at the index of its key.
const _: () = {
    let mut place = 0;
    while place < SETTINGS.len() {
        assert!(SETTINGS[place].key as usize == place);
        place += 1;
    }
};

/// Stores a value in `place` if it has the right kind.
fn put<T>(place: &mut T, value: Result<T, Misfit>) -> Result<(), Misfit> {
    *place = value?;
    Ok(())
}

fn call(settings: &Settings) -> Option<&SubjectCall> {
    match &settings.target {
        Target::Call(call) => Some(call),
        Target::Codec(_) | Target::Live(_) => None,
    }
}

fn call_mut(settings: &mut Settings) -> Result<&mut SubjectCall, Misfit> {
    match &mut settings.target {
        Target::Call(call) => Ok(call),
        Target::Codec(_) => Err(OF_A_CALL),
        Target::Live(_) => Err(OF_SUBJECTS),
    }
}

fn codec(settings: &Settings) -> Option<&CodecWork> {
    match &settings.target {
        Target::Codec(work) => Some(work),
        Target::Call(_) | Target::Live(_) => None,
    }
}

fn codec_mut(settings: &mut Settings) -> Result<&mut CodecWork, Misfit> {
    match &mut settings.target {
        Target::Call(_) => Err(OF_A_CODEC),
        Target::Codec(work) => Ok(work),
        Target::Live(_) => Err(OF_SUBJECTS),
    }
}

fn options_mut(settings: &mut Settings) -> Result<&mut CallOptions, Misfit> {
    match &mut settings.target {
        Target::Call(call) => Ok(&mut call.options),
        Target::Codec(_) => Err(OF_A_CALL),
        Target::Live(live) => Ok(&mut live.options),
    }
}

fn runtime_mut(settings: &mut Settings) -> Result<&mut Runtime, Misfit> {
    match &mut settings.target {
        Target::Call(call) => Ok(&mut call.runtime),
        Target::Codec(work) => Ok(&mut work.runtime),
        Target::Live(_) => Err(OF_SUBJECTS),
    }
}

/// Checks that the target has a workload, whose size is already set.
fn of_workload(settings: &Settings) -> Result<(), Misfit> {
    match settings.target.workload() {
        Some(_) => Ok(()),
        None => Err(OF_SUBJECTS),
    }
}

/// The protocol of a call, and the version of HTTP that carries it.
fn on_http(settings: &Settings) -> Option<(Protocol, HttpVersion)> {
    match &settings.target {
        Target::Call(call) => Some((call.wire.protocol(), call.wire.http())),
        Target::Codec(_) => None,
        Target::Live(live) => Some((live.wire.protocol(), live.wire.http())),
    }
}

fn set_http(settings: &mut Settings, http: HttpVersion) -> Result<(), Misfit> {
    match &mut settings.target {
        Target::Call(call) => {
            let wire = Wire::new(call.wire.protocol(), http, call.wire.encoding());
            put(&mut call.wire, wire.ok_or(GRPC_OVER_HTTP_1))
        }
        Target::Codec(_) => Err(OF_A_CALL),
        Target::Live(live) => match (live.wire, http) {
            (LiveWire::Grpc, HttpVersion::Http1) => Err(LIVE_GRPC_OVER_HTTP_1),
            (LiveWire::Grpc, HttpVersion::Http2) => Ok(()),
            (LiveWire::Http(_), http) => put(&mut live.wire, Ok(LiveWire::Http(http))),
            (LiveWire::WebSocket, HttpVersion::Http1) => Ok(()),
            (LiveWire::WebSocket, HttpVersion::Http2) => Err(WEBSOCKET_OVER_HTTP_2),
        },
    }
}

/// Puts a stream into a call whose protocol and encoding are already set.
fn set_stream(settings: &mut Settings, stream: Result<Stream, &'static str>) -> Result<(), Misfit> {
    let call = call_mut(settings)?;
    let stream = stream.map_err(Misfit::Refused)?;
    call.wire.check_stream(&stream).map_err(Misfit::Refused)?;
    put(&mut call.stream, Ok(Some(stream)))
}

fn transport(settings: &Settings) -> Option<Transport> {
    match &settings.target {
        Target::Call(call) => Some(call.transport),
        Target::Codec(_) => None,
        Target::Live(live) => Some(live.transport()),
    }
}

/// The compression of both directions; `None` if they differ.
fn one_compression(settings: &Settings) -> Option<Compression> {
    match &settings.target {
        Target::Codec(work) => Some(work.compression),
        Target::Call(_) | Target::Live(_) => {
            let options = settings.target.options()?;
            let request = options.request_compression;
            (request == options.response_compression).then_some(request)
        }
    }
}

/// The number of messages of a stream if it is not set.
const DEFAULT_STREAM_MESSAGES: u32 = 100;

const COUNT: Values = Values::Whole(1..=u32::MAX as u64);
const COUNT_IN_FLIGHT: Values = Values::Whole(1..=MAX_IN_FLIGHT as u64);
/// More calls than this are a warm-up, not a cold start.
const MAX_COLD_CALLS: u64 = 10_000;
/// The largest integer that TOML can hold.
const CALL_COUNT: Values = Values::Whole(1..=i64::MAX as u64);

const fn words<T: Named>() -> Values {
    Values::Words {
        what: T::KIND,
        all: || T::NAMES.iter().map(|(word, _)| *word).collect(),
    }
}

/// Returns a row's text, or an empty string if the text is needless.
fn unless(is_needless: bool, text: String) -> String {
    if is_needless { String::new() } else { text }
}

/// Formats a rate, rounded to a thousandth, or to four digits if it is below 1.
fn format_rate(rate: f64) -> String {
    format_number(if rate < 1.0 {
        format!("{rate:.3e}").parse().unwrap_or(rate)
    } else {
        (rate * 1e3).round() / 1e3
    })
}

/// Returns `needed` if `role` is the role that it applies to.
fn only<T>(role: Role, asked: Role, needed: T) -> Option<T> {
    (role == asked).then_some(needed)
}
