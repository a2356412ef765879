//! Options of other load generators, with the options of `rpcgauge load` that do the same.

use std::env;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

const IN_FLIGHT: &str = "use --in-flight for calls in flight, or --connections for connections";
const ONE_THREAD: &str = "rpcgauge sends all calls from one thread";

/// Names of options in ab, ghz, h2load, hey, k6, Locust, oha, vegeta, wrk and wrk2, with a hint.
const OPTIONS: [(&str, &str); 24] = [
    ("--amount", "use --calls"),
    ("--body", "use --data"),
    ("--call", "use --method"),
    ("--clients", IN_FLIGHT),
    ("--concurrency", IN_FLIGHT),
    ("--cpus", ONE_THREAD),
    ("--data-file", "use --data @FILE"),
    ("--max-concurrent-streams", "use --in-flight"),
    ("--metadata", "use --header"),
    ("--qps", "use --rate"),
    ("--requests", "use --calls"),
    ("--rps", "use --rate"),
    ("--skipTLS", "use --insecure"),
    ("--spawn-rate", "use --ramp"),
    ("--stages", "use --ramp"),
    ("--threads", ONE_THREAD),
    ("--total", "use --calls"),
    ("--users", "use --in-flight"),
    ("--vus", "use --in-flight"),
    ("-R", "use --rate"),
    ("-c", IN_FLIGHT),
    (
        "-d",
        "use --data for the message, or --duration for the time",
    ),
    (
        "-m",
        "use --in-flight for calls in flight, or -X for the HTTP method",
    ),
    (
        "-t",
        "use --timeout for the longest time of a call, or --duration for the time; rpcgauge sends all calls from one \
         thread",
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
    let Some((_, hint)) = OPTIONS.iter().find(|(theirs, _)| theirs == unknown) else {
        return;
    };
    let tip = StyledStr::from(*hint);
    // An option that is only spelled like the unknown one would mislead.
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
}
