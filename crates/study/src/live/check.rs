//! Which options contradict each other, or their target.

use rpcgauge_trial::is_rate;

use super::{LoadOptions, LoadPlanError};
use crate::settings::{
    AtEnd, ConnectionUse, HttpVersion, MOST_IN_FLIGHT, Schedule, Settings, TlsChoice,
};
use crate::target::Target;

/// The shortest time of a keep-alive.
const SHORTEST_KEEPALIVE_MS: u64 = 1_000;

/// Refuses numbers that cannot be carried out.
pub(super) fn check_numbers(options: &LoadOptions) -> Result<(), LoadPlanError> {
    let number = |option, what: &str| {
        Err(LoadPlanError::Number {
            option,
            what: what.to_owned(),
        })
    };
    let at_most = format!("must be at most {MOST_IN_FLIGHT}");
    let too_many = |count: u32| count > MOST_IN_FLIGHT;
    // First, as they are the calls in flight where nothing is said of those.
    if options.connections == Some(0) {
        return number("--connections", "must be at least 1");
    }
    if options.connections.is_some_and(too_many) {
        return number("--connections", &at_most);
    }
    match &options.schedule {
        Schedule::Closed { in_flight: 0 } => return number("--in-flight", "must be at least 1"),
        Schedule::Closed { in_flight } if too_many(*in_flight) => {
            return number("--in-flight", &at_most);
        }
        Schedule::Rate { per_second, .. } if !is_rate(*per_second) => {
            return number(
                "--rate",
                "must be more than 0 and at most 1e9 calls a second",
            );
        }
        _ => {}
    }
    match (&options.schedule, options.connection, options.connections) {
        (Schedule::Closed { in_flight }, ConnectionUse::Reuse, Some(connections))
            if *in_flight < connections =>
        {
            let what = format!(
                "{connections} connections are more than the {in_flight} calls in flight; give \
                 --in-flight {connections} or more, or fewer connections"
            );
            return number("--connections", &what);
        }
        _ => {}
    }
    if options.at_end == AtEnd::Cancel && options.stop.calls.is_some() {
        return number(
            "--at-end cancel",
            "is for an end by time, and --calls counts calls that may end; leave one of the two out",
        );
    }
    if options.stop.calls == Some(0) {
        return number("--calls", "must be at least 1");
    }
    if let Some(keepalive) = options.keepalive {
        let least = "must be at least 1s: the system's keep-alive of TCP counts whole seconds";
        if keepalive.time_ms < SHORTEST_KEEPALIVE_MS {
            return number("--keepalive", least);
        }
        if keepalive.timeout_ms < SHORTEST_KEEPALIVE_MS {
            return number("--keepalive-timeout", least);
        }
    }
    Ok(())
}

/// Refuses what a ramp cannot be combined with.
pub(super) fn check_ramp(options: &LoadOptions) -> Result<(), LoadPlanError> {
    if !matches!(options.schedule, Schedule::Ramp { .. }) {
        return Ok(());
    }
    let refuse = |option, what: &str| {
        Err(LoadPlanError::Number {
            option,
            what: what.to_owned(),
        })
    };
    if options.versus.is_some() {
        return refuse(
            "--ramp",
            "two targets are compared at one rate or in a closed loop; give --rate, or leave --vs out",
        );
    }
    if options.warmup_ms.is_some_and(|ms| ms > 0) {
        return refuse(
            "--warmup",
            "a ramp has none; begin the ramp with it, as in --ramp 100:5s,100..1000:30s",
        );
    }
    Ok(())
}

/// Refuses options that none of the targets can have: gRPC and HTTP may be compared.
pub(super) fn check_targets(
    options: &LoadOptions,
    targets: &[&Target],
) -> Result<(), LoadPlanError> {
    let any = |is: fn(&Target) -> bool| targets.iter().any(|target| is(target));
    let not_for = |option, why| {
        Err(LoadPlanError::NotFor {
            option,
            target: options.target.to_string(),
            why,
        })
    };
    if let Some(target) = targets.iter().find(|target| target.path.contains("{{")) {
        return Err(LoadPlanError::Placeholder(target.to_string()));
    }
    let is_grpc = |target: &Target| target.scheme.is_grpc();
    let is_http = |target: &Target| !target.scheme.is_grpc();
    if options.http_method.is_some() && !any(is_http) {
        return not_for("-X", "is called by gRPC, which has its own; leave it out");
    }
    if options.method.is_some() && !any(is_grpc) {
        return not_for(
            "--method",
            "is called by HTTP; the path behind its host says what is called",
        );
    }
    if options.http == Some(HttpVersion::Http1) && any(is_grpc) {
        return not_for("--http 1.1", "is called by gRPC, which needs HTTP/2");
    }
    let is_http1 =
        |target: &&Target| !target.scheme.is_grpc() && options.http != Some(HttpVersion::Http2);
    if options.keepalive.is_some() && options.unix_socket.is_some() && targets.iter().all(is_http1)
    {
        return not_for(
            "--keepalive",
            "is called by HTTP/1.1 over a Unix socket, where there is nothing to keep alive; leave it out",
        );
    }
    if options.tls != TlsChoice::default() && !any(|target| target.scheme.is_tls()) {
        return not_for(
            "--cacert, --cert, --key, --server-name, --insecure",
            "is called without TLS; write grpcs:// or https://",
        );
    }
    Ok(())
}

/// Refuses targets of which one has as many calls in flight as are asked for, and the other cannot:
/// they would be held against each other under different loads.
pub(super) fn check_concurrency<'a>(
    targets: impl Iterator<Item = &'a Settings>,
) -> Result<(), LoadPlanError> {
    let in_flight = |settings: &Settings| match settings.schedule {
        Schedule::Closed { in_flight } => in_flight.min(settings.at_a_time().unwrap_or(in_flight)),
        Schedule::Rate { .. } | Schedule::Ramp { .. } => 0,
    };
    let counts: Vec<u32> = targets.map(in_flight).collect();
    match counts[..] {
        [a, b] if a != b => Err(LoadPlanError::Number {
            option: "--connections",
            what: format!(
                "one target carries many calls on a connection and the other one call, so that {} \
                 calls would be in flight to one and {} to the other; give --connections {}, or leave \
                 it out",
                a.max(b),
                a.min(b),
                a.max(b)
            ),
        }),
        _ => Ok(()),
    }
}
