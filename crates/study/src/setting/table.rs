//! The rows of the table of settings.

use rpcgauge_message::{Compression, Encoding};

use super::{
    AppliesTo, CALLS, DEADLINE, LINK, Misfit, RUNTIME, Setting, UNTIL, Value, Values, missing,
};
use crate::features::Role;
use crate::settings::{
    Arrivals, Client, ConnectionUse, DEFAULT_DEADLINE_MS, ENGINE, HttpVersion, MAX_IN_FLIGHT,
    MAX_THREADS, Operation, Protocol, REFERENCE, Sample, Schedule, Settings, Style, Target,
    Transport, protocol_defaults,
};
use crate::words::{Named, format_number};

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
    Gc,
    Heap,
    Events,
    ColdCalls,
}

/// What most rows have.
const ROW: Setting = Setting {
    key: Key::N,
    name: "",
    values: Values::Stack,
    applies_to: AppliesTo::Call,
    is_of_live: false,
    name_is_implied: false,
    conflicts_with: &[],
    overrides: &[],
    get: |_| None,
    set: |_, _| Ok(()),
    missing_feature: |_, _, _| None,
    column: CALLS,
    describe: |_, value| value.to_string(),
};

const BOTH_WAYS: &str = "\"compression\" sets both directions; write it alone, or each direction";
const CLOSED_OR_RATE: &str =
    "calls are sent either at a \"rate\" or with a fixed number \"in-flight\"; keep one of the two";
const NO_ARRIVALS: &str =
    "\"arrivals\" spaces calls at a \"rate\"; \"in-flight\" sends each call when one ends";

const NO_RATE: Misfit =
    Misfit::Absent("spaces calls at a \"rate\", and there is none; write rate = 1000");
const NO_CLIENT: Misfit =
    Misfit::Absent("is a client subject's, and the engine calls here; write client = \"…\"");

/// All settings.
pub static SETTINGS: [Setting; Key::ColdCalls as usize + 1] = [
    Setting {
        key: Key::Server,
        name: "server",
        name_is_implied: true,
        get: |s| Some(Value::stack(s.target.server()?)),
        set: |s, value| put(call(s)?.0, value.to_stack()),
        describe: |s, value| unless(s.target.server() == Some(REFERENCE), format!("of {value}")),
        ..ROW
    },
    Setting {
        key: Key::Client,
        name: "client",
        get: |s| {
            let engine = s.target.server().map(|_| ENGINE);
            let client = s.target.client().map(|client| client.stack.as_str());
            Some(Value::stack(client.or(engine)?))
        },
        set: |s, value| {
            let (client, stack, style) = (call(s)?.1, value.to_stack()?, Style::Blocking);
            *client = (stack != ENGINE).then_some(Client { stack, style });
            Ok(())
        },
        describe: |s, value| unless(s.target.client().is_none(), format!("by {value}")),
        ..ROW
    },
    Setting {
        key: Key::Style,
        name: "style",
        values: words::<Style>(),
        name_is_implied: true,
        get: |s| Value::word(s.target.client()?.style),
        set: |s, value| match call(s)?.1 {
            Some(client) => put(&mut client.style, value.to_word()),
            None => Err(NO_CLIENT),
        },
        missing_feature: |s, has, role| {
            missing(
                &has.styles,
                only(role, Role::Client, s.target.client()?.style)?,
            )
        },
        ..ROW
    },
    Setting {
        key: Key::Codec,
        name: "codec",
        applies_to: AppliesTo::Codec,
        name_is_implied: true,
        get: |s| Some(Value::stack(s.target.codec()?.0)),
        set: |s, value| put(codec(s)?.0, value.to_stack()),
        describe: |_, value| format!("by {value}"),
        ..ROW
    },
    Setting {
        key: Key::Operation,
        name: "operation",
        values: words::<Operation>(),
        applies_to: AppliesTo::Codec,
        name_is_implied: true,
        get: |s| Value::word(s.target.codec()?.1),
        set: |s, value| put(codec(s)?.1, value.to_word()),
        describe: |_, value| format!("to {value}"),
        ..ROW
    },
    Setting {
        key: Key::Sample,
        name: "sample",
        values: words::<Sample>(),
        applies_to: AppliesTo::Codec,
        name_is_implied: true,
        get: |s| Value::word(s.target.codec()?.2),
        set: |s, value| put(codec(s)?.2, value.to_word()),
        describe: |_, value| format!("the {value}"),
        ..ROW
    },
    Setting {
        key: Key::Protocol,
        name: "protocol",
        values: words::<Protocol>(),
        name_is_implied: true,
        get: |s| Value::word(s.protocol),
        set: |s, value| {
            put(&mut s.protocol, value.to_word())?;
            (s.http, s.encoding) = protocol_defaults(s.protocol);
            Ok(())
        },
        missing_feature: |s, has, _| {
            let protocols: Vec<Protocol> = has.protocols.keys().copied().collect();
            missing(&protocols, s.protocol)
        },
        column: "protocol",
        describe: |s, _| match (s.protocol, s.encoding) {
            (Protocol::Grpc, _) => "gRPC on".into(),
            (Protocol::Connect, _) => "Connect on".into(),
            (Protocol::Rest, Some(_)) => "REST on".into(),
            // Bodies are sent as they are given.
            (Protocol::Rest, None) => String::new(),
        },
        ..ROW
    },
    Setting {
        key: Key::Http,
        name: "http",
        is_of_live: true,
        values: words::<HttpVersion>(),
        get: |s| Value::word(s.http),
        set: |s, value| put(&mut s.http, value.to_word()),
        missing_feature: |s, has, _| missing(has.protocols.get(&s.protocol)?, s.http),
        column: "protocol",
        describe: |_, value| format!("HTTP/{value}"),
        ..ROW
    },
    Setting {
        key: Key::Encoding,
        name: "encoding",
        values: words::<Encoding>(),
        applies_to: AppliesTo::Both,
        name_is_implied: true,
        get: |s| Value::word(s.encoding?),
        set: |s, value| put(&mut s.encoding, value.to_word().map(Some)),
        missing_feature: |s, has, _| missing(&has.encodings, s.encoding?),
        column: "encoding",
        ..ROW
    },
    Setting {
        key: Key::Compression,
        name: "compression",
        is_of_live: true,
        values: Values::Compression,
        applies_to: AppliesTo::Both,
        conflicts_with: &[
            (Key::RequestCompression, BOTH_WAYS),
            (Key::ResponseCompression, BOTH_WAYS),
        ],
        overrides: &[Key::RequestCompression, Key::ResponseCompression],
        get: |s| is_one_compression(s).then_some(Value::Compression(s.request_compression)),
        set: |s, value| {
            put(&mut s.request_compression, value.to_compression())?;
            put(&mut s.response_compression, value.to_compression())
        },
        missing_feature: |s, has, role| {
            let needed = only(role, Role::Codec, s.request_compression)?;
            missing(&has.compressions, needed.into())
        },
        column: "compression",
        describe: |s, value| {
            unless(
                s.request_compression == Compression::None,
                value.to_string(),
            )
        },
        ..ROW
    },
    Setting {
        key: Key::RequestCompression,
        name: "request-compression",
        is_of_live: true,
        values: Values::Compression,
        get: |s| Some(Value::Compression(s.request_compression)),
        set: |s, value| put(&mut s.request_compression, value.to_compression()),
        missing_feature: |s, has, _| missing(&has.compressions, s.request_compression.into()),
        column: "compression",
        describe: |s, value| unless(is_one_compression(s), format!("request {value},")),
        ..ROW
    },
    Setting {
        key: Key::ResponseCompression,
        name: "response-compression",
        is_of_live: true,
        values: Values::Compression,
        get: |s| Some(Value::Compression(s.response_compression)),
        set: |s, value| put(&mut s.response_compression, value.to_compression()),
        missing_feature: |s, has, _| missing(&has.compressions, s.response_compression.into()),
        column: "compression",
        describe: |s, value| unless(is_one_compression(s), format!("response {value}")),
        ..ROW
    },
    Setting {
        key: Key::Threads,
        name: "threads",
        values: Values::Whole(1..=MAX_THREADS as u64),
        get: |s| s.target.server().map(|_| Value::Whole(s.threads.into())),
        set: |s, value| put(&mut s.threads, value.to_whole()),
        missing_feature: |s, has, role| {
            let needed = only(role, Role::Server, s.threads)?;
            (needed > has.threads).then(|| format!("has at most {} threads", has.threads))
        },
        column: "served",
        describe: |s, value| match s.threads {
            1 => String::new(),
            _ => format!("{value} threads"),
        },
        ..ROW
    },
    Setting {
        key: Key::Transport,
        name: "transport",
        values: words::<Transport>(),
        name_is_implied: true,
        get: |s| Value::word(s.transport),
        set: |s, value| put(&mut s.transport, value.to_word()),
        missing_feature: |s, has, _| missing(&has.transports, s.transport),
        column: "over",
        describe: |s, _| match s.transport {
            Transport::Tcp => "TCP".into(),
            Transport::Unix => "Unix socket".into(),
        },
        ..ROW
    },
    Setting {
        key: Key::Tls,
        name: "tls",
        values: Values::Flag,
        // As settings of earlier plans have it: nothing where there is none.
        get: |s| s.tls.then_some(Value::Flag(true)),
        set: |s, value| put(&mut s.tls, value.to_flag()),
        missing_feature: |s, has, role| {
            let lacks = s.tls && !has.tls.contains(&role);
            lacks.then(|| "does not speak TLS".to_owned())
        },
        column: "over",
        describe: |s, _| unless(!s.tls, "with TLS,".into()),
        ..ROW
    },
    Setting {
        key: Key::Connection,
        name: "connection",
        is_of_live: true,
        values: words::<ConnectionUse>(),
        name_is_implied: true,
        get: |s| Value::word(s.connection),
        set: |s, value| put(&mut s.connection, value.to_word()),
        missing_feature: |s, has, role| {
            missing(&has.connections, only(role, Role::Client, s.connection)?)
        },
        column: "over",
        describe: |s, _| match s.connection {
            ConnectionUse::Reuse => "connection kept".into(),
            ConnectionUse::PerCall => "connection per call".into(),
        },
        ..ROW
    },
    Setting {
        key: Key::Connections,
        name: "connections",
        is_of_live: true,
        values: COUNT_IN_FLIGHT,
        get: |s| Some(Value::Whole(s.connections.into())),
        set: |s, value| put(&mut s.connections, value.to_whole()),
        missing_feature: |s, has, role| {
            let needed = only(role, Role::Client, s.channels())?;
            (needed > has.channels).then(|| match has.channels {
                1 => "has one channel, and so one connection".to_owned(),
                most => format!("has at most {most} channels, a connection each"),
            })
        },
        column: "over",
        describe: |s, value| unless(s.connections == 1, format!("× {value}")),
        ..ROW
    },
    Setting {
        key: Key::Link,
        name: "link",
        values: Values::Link,
        name_is_implied: true,
        get: |s| s.target.server().map(|_| Value::Link(s.link.clone())),
        set: |s, value| match value {
            Value::Link(link) => put(&mut s.link, Ok(link.clone())),
            _ => Err(Misfit::Kind),
        },
        column: LINK,
        describe: |s, value| unless(s.link.is_none(), value.to_string()),
        ..ROW
    },
    Setting {
        key: Key::InFlight,
        name: "in-flight",
        is_of_live: true,
        values: COUNT_IN_FLIGHT,
        conflicts_with: &[(Key::Rate, CLOSED_OR_RATE), (Key::Arrivals, NO_ARRIVALS)],
        overrides: &[Key::Rate, Key::Arrivals],
        get: |s| {
            s.schedule
                .in_flight()
                .map(|number| Value::Whole(number.into()))
        },
        set: |s, value| {
            let in_flight = value.to_whole()?;
            put(&mut s.schedule, Ok(Schedule::Closed { in_flight }))
        },
        missing_feature: |s, has, role| {
            let needed = only(role, Role::Client, s.schedule.in_flight()?)?;
            (needed > has.in_flight).then(|| format!("has at most {} in flight", has.in_flight))
        },
        column: "sent",
        describe: |s, value| match s.schedule {
            Schedule::Closed { in_flight: 1 } => "one call after the other".into(),
            _ => format!("{value} calls in flight"),
        },
        ..ROW
    },
    Setting {
        key: Key::Rate,
        name: "rate",
        is_of_live: true,
        values: Values::Rate,
        overrides: &[Key::InFlight],
        get: |s| match &s.schedule {
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
            put(&mut s.schedule, schedule)
        },
        missing_feature: |s, _, role| {
            let is_asked = role == Role::Client && s.schedule.in_flight().is_none();
            is_asked.then(|| "sends each call when one ends, and has no rate".into())
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
        is_of_live: true,
        values: words::<Arrivals>(),
        get: |s| match s.schedule {
            Schedule::Closed { .. } => None,
            Schedule::Rate { arrivals, .. } | Schedule::Ramp { arrivals, .. } => {
                Value::word(arrivals)
            }
        },
        set: |s, value| match &mut s.schedule {
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
    // The size of the workload, which is made before.
    Setting {
        key: Key::N,
        name: "n",
        values: COUNT,
        applies_to: AppliesTo::Both,
        ..ROW
    },
    Setting {
        key: Key::Scale,
        name: "scale",
        values: COUNT,
        applies_to: AppliesTo::Both,
        ..ROW
    },
    Setting {
        key: Key::Calls,
        name: "calls",
        is_of_live: true,
        values: CALL_COUNT,
        applies_to: AppliesTo::Both,
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
        is_of_live: true,
        values: Values::Time { min_ms: 1 },
        applies_to: AppliesTo::Both,
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
        is_of_live: true,
        values: Values::Time { min_ms: 1 },
        get: |s| Some(Value::Time(s.deadline_ms)),
        set: |s, value| put(&mut s.deadline_ms, value.to_ms()),
        column: DEADLINE,
        // A live service's is part of the question.
        describe: |s, value| {
            let is_usual = s.deadline_ms == DEFAULT_DEADLINE_MS && s.target.live().is_none();
            unless(is_usual, value.to_string())
        },
        ..ROW
    },
    Setting {
        key: Key::Gc,
        name: "gc",
        values: Values::Plain,
        applies_to: AppliesTo::Both,
        get: |s| s.runtime.gc.clone().map(Value::Plain),
        set: |s, value| put(&mut s.runtime.gc, value.to_plain().map(Some)),
        missing_feature: |s, has, _| {
            let (needed, has) = (s.runtime.gc.as_ref()?, &has.runtime.gc);
            // Whether any of the stacks has it is asked of all of them together.
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
        applies_to: AppliesTo::Both,
        get: |s| s.runtime.heap_bytes.map(Value::Size),
        set: |s, value| put(&mut s.runtime.heap_bytes, value.to_bytes().map(Some)),
        column: RUNTIME,
        describe: |_, value| format!("heap {value}"),
        ..ROW
    },
    Setting {
        key: Key::Events,
        name: "events",
        values: Values::Flag,
        applies_to: AppliesTo::Both,
        // As settings of earlier plans have it: nothing where nothing is recorded.
        get: |s| s.runtime.events.then_some(Value::Flag(true)),
        set: |s, value| put(&mut s.runtime.events, value.to_flag()),
        column: RUNTIME,
        describe: |s, _| unless(!s.runtime.events, "events recorded".into()),
        ..ROW
    },
    Setting {
        key: Key::ColdCalls,
        name: "cold-calls",
        values: Values::Whole(1..=MAX_COLD_CALLS),
        get: |s| (s.cold_calls > 0).then_some(Value::Whole(s.cold_calls.into())),
        set: |s, value| put(&mut s.cold_calls, value.to_whole()),
        describe: |_, value| format!("first {value} calls timed"),
        ..ROW
    },
];

// Each row stands where its key says.
const _: () = {
    let mut place = 0;
    while place < SETTINGS.len() {
        assert!(SETTINGS[place].key as usize == place);
        place += 1;
    }
};

/// Puts a value of the right kind in its place.
fn put<T>(place: &mut T, value: Result<T, Misfit>) -> Result<(), Misfit> {
    *place = value?;
    Ok(())
}

/// The server of a call, and the client subject that makes it.
fn call(settings: &mut Settings) -> Result<(&mut String, &mut Option<Client>), Misfit> {
    match &mut settings.target {
        Target::Subject { server, client, .. } => Ok((server, client)),
        Target::Codec { .. } => Err(Misfit::Absent(OF_A_CALL)),
        Target::Live { .. } => Err(Misfit::Absent(OF_SUBJECTS)),
    }
}

/// A codec, and what it does.
fn codec(settings: &mut Settings) -> Result<(&mut String, &mut Operation, &mut Sample), Misfit> {
    match &mut settings.target {
        Target::Subject { .. } => Err(Misfit::Absent(
            "is a codec's, and there is none; write codec = \"…\"",
        )),
        Target::Codec {
            codec,
            operation,
            sample,
            ..
        } => Ok((codec, operation, sample)),
        Target::Live { .. } => Err(Misfit::Absent(OF_SUBJECTS)),
    }
}

/// Why a codec does not have a setting, and why a live service does not.
pub(crate) const OF_A_CALL: &str = "is a call's, and a codec calls nothing; leave it out";
pub(crate) const OF_SUBJECTS: &str =
    "is for subjects, but a live service is called here; leave it out";

const COUNT: Values = Values::Whole(1..=u32::MAX as u64);
const COUNT_IN_FLIGHT: Values = Values::Whole(1..=MAX_IN_FLIGHT as u64);
/// A start that is still cold after more calls is a warm-up.
const MAX_COLD_CALLS: u64 = 10_000;
/// The most that TOML can write.
const CALL_COUNT: Values = Values::Whole(1..=i64::MAX as u64);

const fn words<T: Named>() -> Values {
    Values::Words {
        what: T::KIND,
        all: || T::NAMES.iter().map(|(word, _)| *word).collect(),
    }
}

/// What a row says, unless it is not worth a word.
fn unless(is_needless: bool, text: String) -> String {
    if is_needless { String::new() } else { text }
}

/// A rate to a thousandth, or to four digits where it is less than 1.
fn format_rate(rate: f64) -> String {
    format_number(if rate < 1.0 {
        format!("{rate:.3e}").parse().unwrap_or(rate)
    } else {
        (rate * 1e3).round() / 1e3
    })
}

fn is_one_compression(settings: &Settings) -> bool {
    settings.request_compression == settings.response_compression
}

/// What is asked of stacks in one role only.
fn only<T>(role: Role, asked: Role, needed: T) -> Option<T> {
    (role == asked).then_some(needed)
}
