//! Options of other load generators, with the options of `rpcgauge load` that do the same.

use std::env;
use std::ffi::OsStr;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

const IN_FLIGHT: &str = "use --in-flight for calls in flight, or --connections for connections";

/// Names of options in ab, ghz, h2load, hey, k6, Locust, oha, vegeta, wrk and wrk2, with a hint.
const OPTIONS: [(&str, &str); 23] = [
    ("--amount", "use --calls"),
    ("--body", "use --data"),
    ("--call", "use --method"),
    ("--clients", IN_FLIGHT),
    ("--concurrency", IN_FLIGHT),
    ("--cpus", "use --threads"),
    ("--data-file", "use --data @FILE"),
    ("--max-concurrent-streams", "use --in-flight"),
    ("--metadata", "use --header"),
    ("--qps", "use --rate"),
    ("--requests", "use --calls"),
    ("--rps", "use --rate"),
    ("--skipTLS", "use --insecure"),
    ("--spawn-rate", "use --ramp"),
    ("--stages", "use --ramp"),
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
        "use --threads for threads, --timeout for the longest time of a call, or --duration for the time",
    ),
];

/// Options that other commands have under another name, with a hint.
const ELSEWHERE: [(&str, &str, &str); 6] = [
    ("compare", "--duration", "use --budget"),
    (
        "compare",
        "--data",
        "write the message to a file, and use --request",
    ),
    ("compare", "--vs", "use --stack several times, or --only"),
    ("gate", "--threshold", "use --fail-if-slower"),
    ("gate", "--vs", "use --old and --new"),
    ("load", "--vs-method", "name the method in the --vs target"),
];

/// Adds a hint to the error about an unknown option that another load generator or command has.
pub(super) fn hint(error: &mut clap::Error) {
    let command = env::args_os().nth(1);
    let command = command
        .as_deref()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let elsewhere = ELSEWHERE.iter().filter(|(of, ..)| *of == command);
    let mut elsewhere = elsewhere.map(|(_, option, hint)| (*option, *hint));
    let mut of_load = OPTIONS.into_iter().filter(|_| command == "load");
    let is_named = |(theirs, _): &(&str, &str)| theirs == unknown;
    let Some((_, hint)) = elsewhere.find(is_named).or_else(|| of_load.find(is_named)) else {
        return;
    };
    let tip = StyledStr::from(hint);
    // An option that is only spelled like the unknown one would mislead.
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
}
