//! Options of other load generators, with the options of `rpcgauge load` that do the same.

use std::env;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

const IN_FLIGHT: &str = "--in-flight for calls in flight, or --connections for connections";
const DEADLINE: &str = "--deadline";
const RATE: &str = "--rate";

/// Names of options in ab, ghz, h2load, hey, k6, Locust, oha, vegeta, wrk and wrk2. A name that stands for different
/// things has each of them.
const OPTIONS: [(&str, &str); 26] = [
    ("--amount", "--calls"),
    ("--body", "--data"),
    ("--call", "--method"),
    ("--clients", IN_FLIGHT),
    ("--concurrency", IN_FLIGHT),
    ("--cpus", "nothing: one thread sends all calls"),
    ("--data-file", "--data @FILE"),
    ("--max-concurrent-streams", "--in-flight"),
    ("--metadata", "--header"),
    ("--qps", RATE),
    ("--requests", "--calls"),
    ("--rps", RATE),
    ("--skipTLS", "--insecure"),
    ("--spawn-rate", "--ramp"),
    ("--stages", "--ramp"),
    ("--threads", "nothing: one thread sends all calls"),
    ("--timeout", DEADLINE),
    ("--total", "--calls"),
    ("--users", "--in-flight"),
    ("--vus", "--in-flight"),
    ("-R", RATE),
    ("-c", IN_FLIGHT),
    ("-d", "--data for the message, or --duration for the time"),
    (
        "-m",
        "--in-flight for calls in flight, or -X for the HTTP method",
    ),
    ("-q", RATE),
    (
        "-t",
        "--deadline for the longest time of a call, or --duration for the time",
    ),
];

/// Adds a hint to the error about an unknown option of `rpcgauge load` if another load generator has it.
pub(super) fn hint(error: &mut clap::Error) {
    let is_load = env::args_os().nth(1).is_some_and(|word| word == "load");
    if error.kind() != ErrorKind::UnknownArgument || !is_load {
        return;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let Some((_, ours)) = OPTIONS.iter().find(|(theirs, _)| theirs == unknown) else {
        return;
    };
    let tip = StyledStr::from(format!("rpcgauge has {ours}"));
    // An option that is only spelled like the unknown one would mislead.
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
}
