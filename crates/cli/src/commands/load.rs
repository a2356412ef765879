//! `rpcgauge load`: calls to a service that runs already.

mod messages;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use rpcgauge_lab::Stacks;
use rpcgauge_lab::live::{self as lab, Extent, Live, LiveError, LiveInputs};
use rpcgauge_load::Tls;
use rpcgauge_message::Schema;
use rpcgauge_study::capacity::{self, CapacityOptions};
use rpcgauge_study::live::{self, DEFAULT_STOP, LoadOptions};
use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::settings::{
    Arrivals, AtEnd, ConnectionUse, HttpVersion, Keepalive, Protocol, Schedule, Settings, Stop,
    TlsChoice,
};
use rustix::process::{Resource, getrlimit};

use self::messages::{Source, Template, data, messages, schema, texts};
use super::measure::{self, Ended, How};
use crate::args::{self, LoadArgs, PaceArgs};
use crate::exit::{self, Failure, Outcome};
use crate::inputs::{self, Resolved};
use crate::signals;
use crate::watch::Exports;

pub(crate) fn run(args: LoadArgs) -> Outcome {
    let template = Template::read(&args.data)?;
    let options = options(&args, template.as_ref())?;
    let plan = live::plan(&options).map_err(Failure::input)?;
    let data = data(&args, template, &plan)?;
    let schema = schema(&args)?;
    let exports = Exports::open(&args.exports)?;
    warn_of_files(&plan);
    let called = || plan.variants.iter().filter(|v| v.repeats.is_none());
    // Before Ctrl-C sets a flag: a pipe that nobody writes to is waited for.
    let tls: Result<Vec<_>, _> = called()
        .map(|variant| lab::tls(&variant.settings))
        .collect();
    let tls = tls.map_err(Failure::input)?;
    let stop = signals::stop_flag()?;
    let mut found = BTreeMap::new();
    for (variant, tls) in called().zip(tls) {
        let is_vs = variant.name == live::VS;
        let sources = Sources {
            headers: if is_vs {
                &args.vs_header
            } else {
                &args.service.header
            },
            tls,
            data: data.as_ref(),
            schema: schema.as_ref(),
        };
        match find(&plan, variant, &sources, &stop) {
            Ok(live) => found.insert(variant.name.clone(), live),
            Err(Unready::Interrupted) => return Ok(ExitCode::from(exit::INTERRUPTED)),
            // The second target's headers have an option of their own.
            Err(Unready::Uncallable(error)) if is_vs => {
                let text = error.to_string().replace("-H '", "--vs-header '");
                return Err(Failure::input(text));
            }
            Err(Unready::Uncallable(error)) => return Err(Failure::input(error)),
            Err(Unready::Failed(failure)) => return Err(failure),
        };
    }
    let how = How {
        output: &args.output,
        stop: &stop,
        live: &found,
        subjects: &Stacks::default(),
    };
    measure::start_with(&Resolved { plan, text: None }, how, exports).map(Ended::code)
}

/// Says that not all connections can be opened that are asked for, where that is so.
fn warn_of_files(plan: &Plan) {
    let connections = plan.variants.iter().map(|v| v.settings.connections).max();
    let Some(limit) = getrlimit(Resource::Nofile).current else {
        return;
    };
    if let Some(line) = few_files(u64::from(connections.unwrap_or(0)), limit) {
        exit::note(&line);
    }
}

/// What is said where `connections` are asked for and a process may have `limit` open files.
fn few_files(connections: u64, limit: u64) -> Option<String> {
    (connections >= limit).then(|| {
        format!(
            "{connections} connections are asked for, and this program may have {limit} open files: \
             raise the limit (`ulimit -n`), or not all can be opened"
        )
    })
}

/// What a target's calls are made of.
struct Sources<'a> {
    headers: &'a [(String, String)],
    tls: Option<Tls>,
    data: Option<&'a Source>,
    /// From the user's files; without them each gRPC target is asked itself, by reflection.
    schema: Option<&'a Schema>,
}

/// Why a target is not ready to be called.
enum Unready {
    /// The user ended it.
    Interrupted,
    /// It cannot be called so.
    Uncallable(LiveError),
    /// What is to be sent does not fit it.
    Failed(Failure),
}

impl From<LiveError> for Unready {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Interrupted => Self::Interrupted,
            error => Self::Uncallable(error),
        }
    }
}

impl From<Failure> for Unready {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn find(
    plan: &Plan,
    variant: &Variant,
    sources: &Sources<'_>,
    stop: &AtomicBool,
) -> Result<Live, Unready> {
    let settings = &variant.settings;
    let inputs = LiveInputs {
        headers: sources.headers.to_vec(),
        tls: sources.tls.clone(),
        texts: None,
    };
    let asked = match (sources.schema, sources.data) {
        (None, Some(_)) if settings.protocol == Protocol::Grpc => {
            Some(lab::reflect(settings, &inputs, stop)?)
        }
        _ => None,
    };
    let inputs = LiveInputs {
        texts: texts(variant, sources.data, sources.schema.or(asked.as_ref()))?,
        ..inputs
    };
    let extent = Extent {
        warmup: plan.warmup,
        limits: plan.limits,
        prepared_bytes: Extent::PREPARED_BYTES,
    };
    Ok(Live::find(&largest(plan, variant), &inputs, &extent, stop)?)
}

/// The settings of a variant's largest trial: every trial has the same texts, as many as that needs.
/// How many those are is not known for a search without a highest rate, nor for a trial in slices, each of
/// which leaves calls out.
fn largest(plan: &Plan, variant: &Variant) -> Settings {
    let settings = &variant.settings;
    let highest = plan.capacity.map(|search| (search, search.highest));
    match highest {
        None if plan.slice(settings).is_none() => settings.clone(),
        Some((search, Some(highest))) => capacity::at_rate(settings, &search, highest),
        None | Some((_, None)) => Settings {
            stop: Stop {
                calls: None,
                time_ms: None,
            },
            ..settings.clone()
        },
    }
}

fn options(args: &LoadArgs, template: Option<&Template>) -> Result<LoadOptions, Failure> {
    let (service, pace, tls) = (&args.service, &args.pace, &args.tls);
    let connection = match pace.connect_per_call {
        true => ConnectionUse::PerCall,
        false => ConnectionUse::Reuse,
    };
    let http = service.http.map(|http| match http {
        args::Http::Http1 => HttpVersion::Http1,
        args::Http::Http2 => HttpVersion::Http2,
    });
    Ok(LoadOptions {
        target: args.target.clone(),
        versus: args.vs.clone(),
        blocks: args.blocks,
        unix_socket: service.unix_socket.clone(),
        method: service.method.clone(),
        http_method: service.request_method.clone(),
        http,
        header_names: [&service.header, &args.vs_header]
            .map(|headers| headers.iter().map(|(name, _)| name.clone()).collect()),
        tls: TlsChoice {
            ca: tls.cacert.clone(),
            cert: tls.cert.clone(),
            key: tls.key.clone(),
            server_name: tls.server_name.clone(),
            insecure: tls.insecure,
        },
        messages: messages(args, template),
        at_end: match pace.at_end {
            args::AtEnd::Wait => AtEnd::Wait,
            args::AtEnd::Cancel => AtEnd::Cancel,
        },
        keepalive: pace.keepalive.map(|time_ms| Keepalive {
            time_ms,
            timeout_ms: pace.keepalive_timeout.unwrap_or(Keepalive::TIMEOUT_MS),
        }),
        request_compression: service.request_compression,
        response_compression: service.response_compression,
        connections: pace.connections,
        connection,
        schedule: schedule(pace),
        stop: match (pace.calls, pace.duration) {
            (None, None) => DEFAULT_STOP,
            (calls, time_ms) => Stop { calls, time_ms },
        },
        warmup_ms: pace.warmup,
        deadline_ms: pace.deadline,
        objectives: args.slo.clone(),
        capacity: pace.find_capacity.then_some(CapacityOptions {
            start: pace.start_rate,
            highest: pace.max_rate,
            precision: pace.precision,
            time_ms: pace.duration,
        }),
        seed: args.data.seed,
        limits: inputs::limits(&args.limits)?,
    })
}

fn schedule(pace: &PaceArgs) -> Schedule {
    let arrivals = match pace.poisson {
        true => Arrivals::Poisson,
        false => Arrivals::Constant,
    };
    match (pace.rate, &pace.ramp) {
        (Some(per_second), _) => Schedule::Rate {
            per_second,
            arrivals,
        },
        (None, Some(ramp)) => Schedule::Ramp {
            parts: ramp.0.clone(),
            arrivals,
        },
        // The search fills it in.
        (None, None) if pace.find_capacity => Schedule::Rate {
            per_second: 1.0,
            arrivals,
        },
        (None, None) => Schedule::Closed {
            in_flight: pace.in_flight.or(pace.connections).unwrap_or(1),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_than_open_files_are_told() {
        assert_eq!(few_files(64, 1024), None);
        let line = few_files(65_536, 20_000).unwrap();
        assert!(line.contains("65536") && line.contains("20000"), "{line}");
    }
}
