//! `rpcgauge load`: calls to a service that is there already.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rpcgauge_lab::live::{self as lab, Extent, Live, LiveError, LiveInputs, Texts};
use rpcgauge_message::data::{Data, DataError, Form, Order, RowFormat, Rows};
use rpcgauge_message::{MessageType, Schema};
use rpcgauge_study::capacity::{self, CapacityOptions};
use rpcgauge_study::live::{self, DEFAULT_STOP, LoadOptions};
use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::settings::{
    Arrivals, AtEnd, ConnectionUse, HttpVersion, Keepalive, Messages, Protocol, RowOrder,
    RowsSource, Schedule, Settings, Stop, TemplateSource, TlsChoice,
};

use super::measure::{self, Ended, How};
use crate::args::{self, DataArgs, LoadArgs, PaceArgs};
use crate::exit::{self, Failure, Outcome};
use crate::inputs::{self, Resolved};
use crate::watch::Outlets;

/// Connections where a rate needs one for each call in flight and none are asked for: a call that
/// waits for another's connection would tell of the client, not of the service.
const CONNECTIONS_AT_A_RATE: u32 = 64;

pub(crate) fn run(args: LoadArgs) -> Outcome {
    let options = options(&args)?;
    let plan = live::plan(&options).map_err(Failure::input)?;
    let data = data(&args, &plan)?;
    let schema = schema(&args)?;
    let outlets = Outlets::open(&args.outlets)?;
    let stop = measure::stop_flag()?;
    let mut found = BTreeMap::new();
    for variant in plan.variants.iter().filter(|v| v.repeats.is_none()) {
        let sources = Sources {
            headers: &args.service.header,
            data: data.as_ref(),
            schema: schema.as_ref(),
        };
        match find(&plan, variant, &sources, &stop) {
            Ok(live) => found.insert(variant.name.clone(), live),
            Err(Unready::Interrupted) => return Ok(ExitCode::from(exit::INTERRUPTED)),
            Err(Unready::Failed(failure)) => return Err(failure),
        };
    }
    let how = How {
        output: &args.output,
        stop: &stop,
        live: &found,
    };
    measure::start_with(&Resolved { plan, text: None }, how, outlets).map(Ended::code)
}

/// What all targets' messages are made of.
struct Sources<'a> {
    headers: &'a [(String, String)],
    data: Option<&'a Source>,
    /// What the user's files say; each gRPC target is asked itself where there are none.
    schema: Option<&'a Schema>,
}

/// Why a target is not ready to be called.
enum Unready {
    /// The user ended it.
    Interrupted,
    /// It cannot be called so.
    Failed(Failure),
}

impl From<LiveError> for Unready {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Interrupted => Self::Interrupted,
            error => Self::Failed(Failure::input(error)),
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
    let asked = match (sources.schema, sources.data) {
        (None, Some(_)) if settings.protocol == Protocol::Grpc => {
            Some(lab::reflect(settings, sources.headers, stop)?)
        }
        _ => None,
    };
    let inputs = LiveInputs {
        headers: sources.headers.to_vec(),
        texts: texts(variant, sources.data, sources.schema.or(asked.as_ref()))?,
    };
    let extent = Extent {
        warmup: plan.warmup,
        limits: plan.limits,
        prepared_bytes: Extent::PREPARED_BYTES,
    };
    Ok(Live::find(&largest(plan, variant), &inputs, &extent, stop)?)
}

/// The settings of a variant's largest trial: every trial has the same texts, as many as that needs.
/// Nobody knows how many those of a search without a highest rate are.
fn largest(plan: &Plan, variant: &Variant) -> Settings {
    match plan.capacity {
        None => variant.settings.clone(),
        Some(search) => match search.highest {
            Some(highest) => capacity::at_rate(&variant.settings, &search, highest),
            None => Settings {
                stop: Stop {
                    calls: None,
                    time_ms: None,
                },
                ..variant.settings.clone()
            },
        },
    }
}

fn options(args: &LoadArgs) -> Result<LoadOptions, Failure> {
    let (service, pace, tls) = (&args.service, &args.pace, &args.tls);
    let connection = match pace.connect_per_call {
        true => ConnectionUse::PerCall,
        false => ConnectionUse::Reuse,
    };
    let http = service.http.map(|http| match http {
        args::Http::Http1 => HttpVersion::Http1,
        args::Http::Http2 => HttpVersion::Http2,
    });
    let one_call_a_connection =
        pace.connect_per_call || !args.target.scheme.is_grpc() && http != Some(HttpVersion::Http2);
    let at_a_rate = pace.rate.is_some() || pace.ramp.is_some() || pace.find_capacity;
    let connections = pace.connections.unwrap_or(match at_a_rate {
        true if one_call_a_connection => CONNECTIONS_AT_A_RATE,
        _ => 1,
    });
    Ok(LoadOptions {
        target: args.target.clone(),
        versus: args.vs.clone(),
        blocks: args.blocks,
        unix_socket: service.unix_socket.clone(),
        method: service.method.clone(),
        http_method: service.request_method.clone(),
        http,
        header_names: service
            .header
            .iter()
            .map(|(name, _)| name.clone())
            .collect(),
        tls: TlsChoice {
            ca: tls.cacert.clone(),
            cert: tls.cert.clone(),
            key: tls.key.clone(),
            server_name: tls.server_name.clone(),
            insecure: tls.insecure,
        },
        messages: messages(args),
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
        connections,
        connection,
        schedule: schedule(pace, connections),
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

fn schedule(pace: &PaceArgs, connections: u32) -> Schedule {
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
            in_flight: pace.in_flight.unwrap_or(connections),
        },
    }
}

/// What is sent, as the plan keeps it.
fn messages(args: &LoadArgs) -> Messages {
    let template = args.data.data.as_deref().map(|data| match file(data) {
        Some(path) => TemplateSource::File { path },
        None => TemplateSource::Text {
            text: data.to_owned(),
        },
    });
    let rows = args.data.rows.clone().map(|path| RowsSource {
        path,
        order: match args.data.order {
            args::Order::InTurn => RowOrder::InTurn,
            args::Order::Random => RowOrder::Random,
        },
    });
    let schema = &args.schema;
    Messages {
        template,
        rows,
        schema: schema
            .proto
            .iter()
            .chain(&schema.descriptor_set)
            .cloned()
            .collect(),
    }
}

/// The file that `@FILE` names.
fn file(data: &str) -> Option<PathBuf> {
    data.strip_prefix('@').map(PathBuf::from)
}

/// The texts of all calls with the name of where they come from.
struct Source {
    data: Arc<Data>,
    name: String,
}

fn data(args: &LoadArgs, plan: &Plan) -> Result<Option<Source>, Failure> {
    let DataArgs { data, rows, .. } = &args.data;
    let path = data.as_deref().and_then(file);
    if path.as_deref() == Some(Path::new("")) {
        return Err(Failure::input(
            "--data @ names no file; write @FILE, or @- for standard input",
        ));
    }
    let stdin = Path::new("-");
    if path.as_deref() == Some(stdin) && rows.as_deref() == Some(stdin) {
        return Err(Failure::input(
            "--data @- and --rows - cannot both read standard input; give one of them a file",
        ));
    }
    let template = match (&path, data) {
        (Some(path), _) => Some(inputs::text(path)?),
        (None, text) => text.clone(),
    };
    let rows_read = rows.as_deref().map(read_rows).transpose()?;
    let template_name = match &path {
        Some(path) => format!("--data @{}", path.display()),
        None => "--data".to_owned(),
    };
    let name = match (&template, rows) {
        (None, None) => return Ok(None),
        (Some(_), None) => template_name.clone(),
        (None, Some(rows)) => inputs::name(rows),
        (Some(_), Some(rows)) => format!("{template_name} with {}", inputs::name(rows)),
    };
    let order = match args.data.order {
        args::Order::InTurn => Order::InTurn,
        args::Order::Random => Order::Random,
    };
    let data = Data::new(template.as_deref(), rows_read, form(args), order, plan.seed);
    let data = data.map_err(|error| {
        // What is wrong with a row stands in its file, and the rest in the template.
        let place = match (&error, rows) {
            (
                DataError::Row { .. } | DataError::NoRows | DataError::Unreadable { .. },
                Some(rows),
            ) => inputs::name(rows),
            _ => template_name.clone(),
        };
        Failure::input(format!("{place}: {error}"))
    })?;
    Ok(Some(Source {
        data: Arc::new(data),
        name,
    }))
}

/// Whether any of the targets is called by gRPC.
fn is_grpc(args: &LoadArgs) -> bool {
    let mut targets = std::iter::once(&args.target).chain(&args.vs);
    targets.any(|target| target.scheme.is_grpc())
}

/// Whether texts are JSON: always for gRPC, and for HTTP unless its content type says otherwise.
fn form(args: &LoadArgs) -> Form {
    let headers = &args.service.header;
    let content_type = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    match content_type {
        Some((_, value)) if !is_grpc(args) && !value.contains("json") => Form::Plain,
        _ => Form::Json,
    }
}

/// Rows of a file that fits into memory are all read now, those of a larger one as calls need them.
fn read_rows(path: &Path) -> Result<Rows, Failure> {
    let format = match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => RowFormat::Csv,
        Some("jsonl" | "ndjson") => RowFormat::JsonLines,
        None if path == Path::new("-") => RowFormat::JsonLines,
        _ => {
            return Err(Failure::input(format!(
                "--rows {}: is it CSV or JSON lines? Name it .csv, .jsonl or .ndjson",
                path.display()
            )));
        }
    };
    let rows = match inputs::is_larger_than_memory(path) {
        true => Rows::in_file(path, format),
        false => Rows::from_text(&inputs::text(path)?, format),
    };
    rows.map_err(|error| Failure::input(format!("{}: {error}", inputs::name(path))))
}

/// What the user's files say of gRPC messages.
fn schema(args: &LoadArgs) -> Result<Option<Schema>, Failure> {
    match (is_grpc(args), args.schema.is_empty()) {
        (_, true) => Ok(None),
        (false, false) => Err(Failure::input(
            "--proto and --descriptor-set describe gRPC messages, and this target is called by HTTP, \
             where bodies are sent as they are given; leave them out",
        )),
        (true, false) => inputs::schema(&args.schema).map(Some),
    }
}

/// The texts of one variant's calls.
fn texts(
    variant: &Variant,
    source: Option<&Source>,
    schema: Option<&Schema>,
) -> Result<Option<Texts>, Failure> {
    let service = variant.settings.callee.live();
    let method = service.and_then(|service| service.target.method());
    let message_type: Option<MessageType> = match (schema, method) {
        (Some(schema), Some(method)) => {
            let option = match variant.name == live::VS {
                true => "--vs: ",
                false => "",
            };
            let method = schema.method(method);
            Some(
                method
                    .map_err(|error| Failure::input(format!("{option}{error}")))?
                    .request,
            )
        }
        _ => None,
    };
    Ok(source.map(|source| Texts {
        data: Arc::clone(&source.data),
        message_type,
        source: source.name.clone(),
    }))
}
