//! `rpcgauge load`: calls a running service.

use std::collections::BTreeMap;
use std::num::NonZero;

use rpcgauge_lab::Stacks;
use rpcgauge_report::Allowed;
use rpcgauge_study::ramp::format_ramp;
use rpcgauge_study::settings::{CallOptions, MessageCount};
use rpcgauge_study::url::Url;
use rpcgauge_study::words::format_time;

use super::gate::GateRule;
use super::measure::{self, Ended, RunContext};
use crate::args::{
    self, DataArgs, DeadlineArgs, LoadArgs, NamedTarget, SchemaArgs, ServiceArgs, StreamArgs,
    TlsArgs, VersusArgs,
};
use crate::exit::{Failure, Outcome, print};
use crate::inputs;
use crate::services;
use crate::signals;
use crate::study_text::{StudyText, number};
use crate::watch::Exports;

/// How long a comparison measures each target by default, in ms. Not used if the number of calls is
/// given.
const DURATION_MS: u64 = 10_000;
/// Default number of blocks in a comparison.
const BLOCKS: u32 = 10;
/// Minimum number of blocks in a comparison. With fewer, intervals are too wide to be useful.
const MIN_BLOCKS: u32 = 5;
/// Default and minimum number of blocks in a comparison during a ramp. Each block takes the time of three ramps, and
/// the differences of interest are large.
const RAMP_BLOCKS: u32 = 3;
/// Maximum number of blocks in a comparison.
const MAX_BLOCKS: u32 = 1_000;
/// Minimum duration of a block in a comparison, in ms.
const MIN_BLOCK_MS: u64 = 50;

/// The names of two targets that are not given any.
const NAMES: [&str; 2] = ["a", "b"];

pub(crate) fn run(args: LoadArgs) -> Outcome {
    let mut variables = BTreeMap::new();
    let study = study(&args, &mut variables)?;
    if args.print_study {
        return print(study.text());
    }
    let mut resolved = services::resolve(&study, &name(&args.target.url), variables, &args.limits)?;
    let exports = Exports::open(&args.exports)?;
    // This must come before the handler that makes Ctrl-C only set a flag. Otherwise Ctrl-C could
    // not interrupt the wait for a pipe that has no writer.
    services::look_up(&mut resolved)?;
    let prepared = services::prepare(&resolved)?;
    let stop = signals::stop_flag()?;
    let rule = allowed(&args.versus).map(|allowed| GateRule {
        allowed,
        is_beside_report: true,
        summary: None,
    });
    let how = RunContext {
        output: &args.output,
        stop: &stop,
        live: &services::find(&prepared, &resolved.plan, &stop)?,
        subjects: &Stacks::default(),
        folders: &[],
        gate: rule.as_ref(),
    };
    measure::start(&resolved, how, exports).map(Ended::code)
}

/// How much slower the first target may be, if that is judged.
fn allowed(versus: &VersusArgs) -> Option<Allowed> {
    versus.fail_if_slower.map(|usual| Allowed {
        usual,
        by_metric: versus.allow.iter().copied().collect(),
    })
}

/// The run's name: `load-` and the host, with only characters that are safe in a directory name.
pub(super) fn name(target: &Url) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let host: String = target.authority.chars().map(plain).collect();
    format!("load-{host}")
}

/// Writes the study that the options describe. Values of header fields become variables.
fn study(args: &LoadArgs, variables: &mut BTreeMap<String, String>) -> Result<StudyText, Failure> {
    let (pace, service, versus) = (&args.pace, &args.service, &args.versus);
    let blocks = blocks(args)?;
    let mut text = StudyText::new(&question(args));
    text.optional("seed", args.data.seed.map(number));
    if versus.vs.is_some() {
        text.key("blocks", i64::from(blocks));
    }
    if let Some(allowed) = allowed(versus) {
        text.key("margin", allowed.margin());
    }
    text.list("objectives", args.slo.iter().map(ToString::to_string));
    if let Some(ms) = pace.warmup {
        let time = match ms {
            0 => "0s".to_owned(),
            ms => format_time(ms),
        };
        let mut bounds = toml::Table::from_iter([("time".to_owned(), time.into())]);
        if let Some(calls) = pace.calls {
            let calls = number(calls.div_ceil(blocks.into()));
            bounds.insert("calls".to_owned(), calls.into());
        }
        text.key("warm-up", bounds);
    }
    if pace.find_capacity {
        let bounds = [
            ("start-rate", pace.start_rate),
            ("max-rate", pace.max_rate),
            ("precision", pace.precision),
        ];
        let given = |(key, number): (&str, Option<f64>)| Some((key.to_owned(), number?.into()));
        let bounds = bounds.into_iter().filter_map(given);
        text.key("capacity", toml::Table::from_iter(bounds));
    }
    text.table("[service]");
    let of_target = header_variables("", &service.header, variables);
    let of_vs = header_variables("VS_", &versus.vs_header, variables);
    if versus.vs.is_none() {
        text.key("target", args.target.url.to_string());
        text.list("headers", of_target.clone());
    }
    write_service(&mut text, service, &args.tls, &args.schema)?;
    write_data(&mut text, &args.data)?;
    write_stream(&mut text, &args.stream);
    text.optional("max-requests", pace.max_requests.map(number));
    if pace.at_end == args::AtEnd::Cancel {
        text.key("at-end", "cancel");
    }
    if pace.lb_strategy == args::LbStrategy::RoundRobin {
        text.key("lb-strategy", "round-robin");
    }
    text.optional("keepalive", pace.keepalive.map(format_time));
    text.optional("keepalive-timeout", pace.keepalive_timeout.map(format_time));
    text.table("[base]");
    write_pace(&mut text, args, blocks);
    let Some(vs) = &versus.vs else {
        text.table("[[variants]]");
        text.key("name", args.target.name.as_deref().unwrap_or("target"));
        return Ok(text);
    };
    let [of, against] = names(&args.target, vs);
    if of == against {
        return Err(Failure::input(format!(
            "--vs: both targets have the name \"{of}\"; give them different names, or none"
        )));
    }
    text.table("[[variants]]");
    text.key("name", of);
    text.key("service.target", args.target.url.to_string());
    text.list("service.headers", of_target);
    text.table("[[variants]]");
    text.key("name", against);
    text.key("service.target", vs.url.to_string());
    text.list("service.headers", of_vs);
    text.optional("service.data", versus.vs_data.clone());
    text.path("service.rows", versus.vs_rows.as_deref())?;
    text.paths("service.proto", &versus.vs_proto)?;
    text.optional("service.http-method", versus.vs_request_method.clone());
    for (metric, question) in [
        (
            "latency-p50",
            format!("Is a call to {of} faster than one to {against}?"),
        ),
        (
            "latency-p99",
            format!("Are the slowest calls to {of} faster than those to {against}?"),
        ),
    ] {
        text.table("[[pairs]]");
        text.key("of", of);
        text.key("against", against);
        text.key("metric", metric);
        text.key("question", question);
    }
    Ok(text)
}

/// The names of two targets in the report.
fn names<'a>(of: &'a NamedTarget, against: &'a NamedTarget) -> [&'a str; 2] {
    let named = [of, against].map(|target| target.name.as_deref());
    [0, 1].map(|place| named[place].unwrap_or(NAMES[place]))
}

pub(super) fn write_service(
    text: &mut StudyText,
    service: &ServiceArgs,
    tls: &TlsArgs,
    schema: &SchemaArgs,
) -> Result<(), Failure> {
    text.path("unix-socket", service.unix_socket.as_deref())?;
    text.optional("method", service.method.clone());
    text.optional("http-method", service.request_method.clone());
    text.list("expect", service.expect.iter().map(ToString::to_string));
    text.path("cacert", tls.cacert.as_deref())?;
    text.path("cert", tls.cert.as_deref())?;
    text.path("key", tls.key.as_deref())?;
    text.optional("server-name", tls.server_name.clone());
    text.optional("insecure", tls.insecure.then_some(true));
    text.optional("allow-missing-alpn", tls.allow_missing_alpn.then_some(true));
    inputs::write_schema(text, schema)
}

pub(super) fn write_data(text: &mut StudyText, data: &DataArgs) -> Result<(), Failure> {
    text.optional("data", data.data.clone());
    text.path("rows", data.rows.as_deref())?;
    if data.rows.is_some() && data.order == args::Order::Random {
        text.key("order", "random");
    }
    Ok(())
}

/// Writes how messages are exchanged.
pub(super) fn write_stream(text: &mut StudyText, stream: &StreamArgs) {
    let times = [
        ("think-time", stream.think_time),
        ("call-time", stream.call_time),
        ("message-timeout", stream.message_timeout),
    ];
    let times = times.map(|(key, ms)| (key, ms.map(|ms| format_time(ms).into())));
    let others = [
        ("form", stream.stream.map(|form| form.as_str().into())),
        (
            "messages",
            stream.messages.map(|count| match count {
                MessageCount::Number(messages) => number(messages).into(),
                MessageCount::Rows(_) => "rows".into(),
            }),
        ),
        ("message-rate", stream.message_rate.map(Into::into)),
        ("in-turn", stream.in_turn.then_some(true.into())),
        ("receive", stream.receive.map(|n| number(n).into())),
        (
            "pair-by",
            stream
                .pair_by
                .as_ref()
                .map(|paths| paths.to_string().into()),
        ),
    ];
    let given = others.into_iter().chain(times);
    let given = given.filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let given: toml::Table = given.collect();
    text.optional("stream", (!given.is_empty()).then_some(given));
}

/// Writes the form of calls.
pub(super) fn write_wire(text: &mut StudyText, service: &ServiceArgs) {
    text.optional("http", service.http.map(args::Http::as_str));
    for (key, compression) in [
        ("request-compression", service.request_compression),
        ("response-compression", service.response_compression),
    ] {
        let compresses = !compression.is_none();
        text.optional(key, compresses.then(|| compression.to_string()));
    }
}

pub(super) fn write_deadline(text: &mut StudyText, args: &DeadlineArgs) {
    text.optional("deadline", args.deadline.or(args.timeout).map(format_time));
    text.optional("deadline-from", args.timeout.map(|_| "send"));
}

/// Writes the amount and pace of the load.
fn write_pace(text: &mut StudyText, args: &LoadArgs, blocks: u32) {
    let pace = &args.pace;
    write_wire(text, &args.service);
    text.optional("connection", pace.connect_per_call.then_some("per-call"));
    text.optional("connections", pace.connections.map(i64::from));
    text.optional("threads", threads(args).map(i64::from));
    text.optional("rate", pace.rate);
    text.optional("rate", pace.ramp.as_ref().map(|ramp| format_ramp(&ramp.0)));
    if pace.rate.is_some() || pace.ramp.is_some() || pace.find_capacity {
        let spacing = if pace.poisson { "poisson" } else { "constant" };
        text.key("arrivals", spacing);
    } else {
        let in_flight = pace.in_flight.or(pace.connections);
        text.optional("in-flight", in_flight.map(i64::from));
    }
    // Each block gets an equal part of the total.
    let part = |whole: u64| whole.div_ceil(blocks.into());
    text.optional("calls", pace.calls.map(|calls| number(part(calls))));
    let duration = match (pace.duration, pace.calls, blocks) {
        (None, None, 2..) if pace.ramp.is_none() => Some(DURATION_MS),
        (duration, ..) => duration,
    };
    text.optional("time", duration.map(|ms| format_time(part(ms))));
    write_deadline(text, &pace.deadline);
}

/// The number of threads. As many as there are cores is at most the number of connections.
fn threads(args: &LoadArgs) -> Option<u32> {
    let pace = &args.pace;
    match pace.threads? {
        args::Threads::Count(threads) => Some(threads),
        args::Threads::Auto => {
            let http = args.service.http.unwrap_or(args::Http::Http1);
            let is_http1 = http == args::Http::Http1 && !args.target.url.scheme.is_grpc();
            let is_at_a_rate = pace.rate.is_some() || pace.ramp.is_some() || pace.find_capacity;
            let usual = match pace.in_flight.unwrap_or(1) {
                _ if !is_http1 && !pace.connect_per_call => 1,
                _ if is_at_a_rate => CallOptions::CONNECTIONS_AT_A_RATE,
                in_flight => in_flight,
            };
            let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
            let cores = u32::try_from(cores).unwrap_or(u32::MAX);
            Some(cores.min(pace.connections.unwrap_or(usual)))
        }
    }
}

fn blocks(args: &LoadArgs) -> Result<u32, Failure> {
    let asked = args.versus.blocks;
    if args.versus.vs.is_none() {
        return match asked {
            None => Ok(1),
            Some(_) => Err(Failure::input(
                "--blocks: there is nothing to compare; give --vs TARGET, or omit --blocks",
            )),
        };
    }
    let (usual, least) = match args.pace.ramp {
        None => (BLOCKS, MIN_BLOCKS),
        Some(_) => (RAMP_BLOCKS, RAMP_BLOCKS),
    };
    let blocks = asked.unwrap_or(usual);
    if !(least..=MAX_BLOCKS).contains(&blocks) {
        return Err(Failure::input(format!(
            "--blocks: must be from {least} to {MAX_BLOCKS}, not {blocks}"
        )));
    }
    let least = MIN_BLOCK_MS * u64::from(blocks);
    match args.pace.duration.filter(|ms| *ms < least) {
        None => Ok(blocks),
        Some(ms) => Err(Failure::input(format!(
            "--duration: {ms}ms is too short for {blocks} blocks; give at least {least}ms"
        ))),
    }
}

/// The study's question, which names the targets.
fn question(args: &LoadArgs) -> String {
    let called = |target: &Url| {
        let mut called = target.clone();
        if let (Some(method), None) = (&args.service.method, target.method())
            && target.scheme.is_grpc()
            && let Some(whole) = called.clone().with_method(method)
        {
            called = whole;
        }
        match &args.service.unix_socket {
            None => called.to_string(),
            Some(path) => called.over_unix_socket(path).to_string(),
        }
    };
    let Some(vs) = &args.versus.vs else {
        return called(&args.target.url);
    };
    let [of, against] = names(&args.target, vs);
    format!(
        "{} ({of}) against {} ({against})",
        called(&args.target.url),
        called(&vs.url)
    )
}

/// Makes the values of header fields variables, and returns the fields that refer to them.
pub(super) fn header_variables(
    of: &str,
    fields: &[(String, String)],
    variables: &mut BTreeMap<String, String>,
) -> Vec<String> {
    let reference = |(name, value): &(String, String)| {
        let variable = unused_variable(of, name, variables);
        variables.insert(variable.clone(), value.clone());
        format!("{name}: ${variable}")
    };
    fields.iter().map(reference).collect()
}

/// An unused name for the variable that stands for a header field's value.
fn unused_variable(of: &str, name: &str, used: &BTreeMap<String, String>) -> String {
    let upper = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let plain: String = of.chars().chain(name.chars().map(upper)).collect();
    let numbered = (2..).map(|number| format!("{plain}_{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    let unused = names.find(|name| !used.contains_key(name));
    unused.unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn the_question_names_what_is_called() {
        let shown = |method: &str| {
            let line = ["rpcgauge", "load", "grpc://h:1", "--method", method];
            match Arguments::try_parse_from(line).unwrap().command {
                Command::Load(args) => question(&args),
                other => panic!("{other:?}"),
            }
        };
        for method in ["shop.Orders.Get", "/shop.Orders/Get"] {
            assert_eq!(shown(method), "grpc://h:1/shop.Orders/Get");
        }
    }

    #[test]
    fn each_header_field_has_a_variable_of_its_own() {
        let mut used = BTreeMap::new();
        let mut next = |of: &str, name: &str| {
            let variable = unused_variable(of, name, &used);
            used.insert(variable.clone(), String::new());
            variable
        };
        let names = [
            next("", "x-a"),
            next("", "x_a"),
            next("", "X-A"),
            next("", "vs-x"),
            next("VS_", "x"),
        ];
        assert_eq!(names, ["X_A", "X_A_2", "X_A_3", "VS_X", "VS_X_2"]);
    }
}
