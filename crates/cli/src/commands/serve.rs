//! `rpcgauge serve`: runs the embedded reference server for any client.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::str::FromStr as _;

use rpcgauge_message::{CodeKind, Compression, Encoding, MethodKind, Workload, WorkloadSpec};
use rpcgauge_reference::{
    DEFAULT_MESSAGES, ListenOn, ServeError, Server, ServerOptions, default_memory,
};
use rpcgauge_trial::Fault;
use serde::Serialize;
use signal_hook::iterator::Signals;

use crate::args::{ServeArgs, ServedWorkload};
use crate::exit::{Failure, Outcome, print_json_line, print_plain};
use crate::inputs;
use crate::signals;

/// Default number of items in a workload.
const DEFAULT_N: u32 = 100;

pub(crate) fn run(args: ServeArgs) -> Outcome {
    let settings = ServerOptions {
        listen: ListenOn::from_str(&args.listen).map_err(Failure::input)?,
        tls: args.tls,
        response_compression: Compression::from_str(&args.compression).map_err(Failure::input)?,
        threads: args.threads,
        reflection: !args.no_reflection,
        limits: inputs::limits(&args.limits)?,
        memory: args.max_memory.unwrap_or_else(default_memory),
        ..ServerOptions::new(workload(&args)?)
    };
    check_limits(&args, &settings)?;
    let mut signals = Signals::new(signals::ending())
        .map_err(|error| Failure::cannot(format!("cannot listen for Ctrl-C: {error}")))?;
    let server = Server::bind(&settings).map_err(failure)?;
    announce(&server, settings.streams_over_rest(), args.json)?;
    server
        .serve_until(move || {
            signals.forever().next();
        })
        .map_err(failure)?;
    Ok(ExitCode::SUCCESS)
}

/// The server's address, and what can be called there.
#[derive(Serialize)]
struct Announcement<'a> {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<&'a str>,
    grpc: &'a str,
    /// The methods that stream, by their kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    streams: BTreeMap<&'a str, &'a str>,
    rest: &'a str,
    code: CodeKind,
}

fn announce(server: &Server, streams_over_rest: bool, json: bool) -> Result<(), Failure> {
    let streams = server
        .methods()
        .filter_map(|(kind, path)| Some((kind.streams()?, path)));
    let announcement = Announcement {
        address: server.address().to_string(),
        certificate: server.certificate(),
        grpc: server.method_path(),
        streams: streams.collect(),
        rest: server.rest_path(),
        code: server.code(),
    };
    if json {
        return print_json_line(&announcement).map(drop);
    }
    let (grpc, certificate) = match announcement.certificate {
        None => ("gRPC (h2c)", String::new()),
        Some(pem) => ("gRPC (TLS)", format!("Certificate (for --cacert):\n{pem}")),
    };
    let methods: Vec<_> = server.methods().map(method_line).collect();
    let mut over_rest = String::new();
    if streams_over_rest {
        over_rest += &format!(
            "              with accept: application/x-ndjson or text/event-stream, \
             {DEFAULT_MESSAGES} messages\n"
        );
    }
    if server
        .methods()
        .any(|(kind, _)| kind == MethodKind::Bidirectional)
    {
        over_rest += &format!("  WebSocket   {}\n", announcement.rest);
    }
    print_plain(&format!(
        "listening on {}\n  {grpc}  {}\n  Connect     POST {}\n  REST        POST {}\n{over_rest}{certificate}Press Ctrl-C to stop.\n",
        announcement.address,
        methods.join("\n              "),
        announcement.grpc,
        announcement.rest
    ))
    .map(drop)
}

/// A gRPC method, and how it streams.
fn method_line((kind, path): (MethodKind, &str)) -> String {
    match kind {
        MethodKind::Unary => path.to_owned(),
        MethodKind::ServerStreaming => {
            format!("{path} (server stream of {DEFAULT_MESSAGES} messages)")
        }
        MethodKind::ClientStreaming => format!("{path} (client stream)"),
        MethodKind::Bidirectional => format!("{path} (bidirectional stream)"),
    }
}

fn workload(args: &ServeArgs) -> Result<WorkloadSpec, Failure> {
    if let (Some(method), Some(request), Some(response)) =
        (&args.method, &args.request, &args.response)
    {
        let (_, own) = inputs::own_workload(&args.schema, method, request, response)?;
        return Ok(WorkloadSpec::Own(Box::new(own)));
    }
    if !args.schema.is_empty() {
        return Err(Failure::input(
            "--proto and --descriptor-set describe your own method; also give --method, --request \
             and --response",
        ));
    }
    let has_one_size = matches!(
        args.workload,
        ServedWorkload::Hello | ServedWorkload::Items | ServedWorkload::Profile
    );
    if args.n.is_some() && has_one_size {
        return Err(Failure::input(
            "--n: this workload has only one size; omit --n, or use another --workload",
        ));
    }
    let n = args.n.unwrap_or(DEFAULT_N);
    Ok(match args.workload {
        ServedWorkload::Echo => WorkloadSpec::Echo { n },
        ServedWorkload::Hello => WorkloadSpec::Hello {},
        ServedWorkload::List => WorkloadSpec::List { n },
        ServedWorkload::Items => WorkloadSpec::Items {},
        ServedWorkload::Records => WorkloadSpec::Records { n },
        ServedWorkload::Profile => WorkloadSpec::Profile {},
        ServedWorkload::Followers => WorkloadSpec::Followers { n },
    })
}

/// Checks that the messages are within the limits in every encoding, since a client may choose any
/// of them.
fn check_limits(args: &ServeArgs, settings: &ServerOptions) -> Result<(), Failure> {
    let workload = Workload::new(&settings.workload).map_err(Failure::input)?;
    let files = args.request.as_ref().zip(args.response.as_ref());
    for encoding in Encoding::ALL {
        workload
            .check_limits(
                encoding,
                Compression::None,
                settings.response_compression,
                settings.limits,
            )
            .map_err(|over| inputs::over_limit(&over, files))?;
    }
    Ok(())
}

fn failure(error: ServeError) -> Failure {
    match error.fault() {
        Fault::User => Failure::input(error),
        Fault::Machine if matches!(error, ServeError::Listen(_)) => Failure::input(error),
        _ => Failure::cannot(error),
    }
}
