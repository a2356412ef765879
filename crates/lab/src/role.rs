//! The settings line that a subject is started with, by its role (contract/README.md).

use std::path::{Path, PathBuf};

use rpcgauge_message::contract::{
    self, Address, ClientSettings, CodecSettings, Listen, ServerSettings,
};
use rpcgauge_message::{Limits, Workload};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{Sample, Settings, Target, Transport};
use rpcgauge_trial::{Schedule, Timing};

use crate::error::{TrialFailure, TrialResult};
use crate::exchange::encoding;
use crate::verify::{self, CodecSample};

/// A variant's server.
pub(crate) fn server(
    settings: &Settings,
    listen: Listen,
    stack: Option<String>,
    limits: Limits,
) -> TrialResult<contract::Settings> {
    let workload = settings.target.workload();
    Ok(contract::Settings::Server(Box::new(ServerSettings {
        stack,
        workload: workload.ok_or_else(other_role)?.clone(),
        protocol: settings.protocol,
        http: settings.http,
        encoding: encoding(settings)?,
        listen,
        response_compression: settings.response_compression,
        threads: settings.threads,
        // A process belongs to one variant, and all trials of a variant are timed in one way. Under
        // load nothing reads the marks: they would only make the responses larger.
        marks: settings.timing() == Timing::Stages,
        limits: contract_limits(limits),
    })))
}

/// A client that calls the server at `address` with at most `requests` requests that differ.
pub(crate) fn client(
    settings: &Settings,
    (workload, requests): (&Workload, u64),
    address: Address,
    stack: Option<String>,
    records: &Path,
    limits: Limits,
) -> TrialResult<contract::Settings> {
    let (
        Target::Subject {
            client,
            workload: spec,
            ..
        },
        Schedule::Closed { in_flight },
    ) = (&settings.target, &settings.schedule)
    else {
        return Err(other_role());
    };
    Ok(contract::Settings::Client(Box::new(ClientSettings {
        stack,
        workload: spec.clone(),
        protocol: settings.protocol,
        http: settings.http,
        encoding: encoding(settings)?,
        address,
        requests: verify::requests(workload, requests)?,
        request_compression: settings.request_compression,
        response_compression: settings.response_compression,
        connection: settings.connection,
        channels: settings.channels(),
        style: client.as_ref().map(|client| client.style),
        in_flight: *in_flight,
        deadline_ms: settings.deadline_ms,
        marks: settings.timing() == Timing::Stages,
        records: records.to_owned(),
        limits: contract_limits(limits),
    })))
}

/// A codec, and the sample that proves it right.
pub(crate) fn codec(
    settings: &Settings,
    workload: &Workload,
    stack: Option<String>,
    records: &Path,
    limits: Limits,
) -> TrialResult<(contract::Settings, CodecSample)> {
    let Target::Codec {
        operation,
        sample,
        workload: spec,
        ..
    } = &settings.target
    else {
        return Err(other_role());
    };
    let (message, compression) = match sample {
        Sample::Request => (workload.request(0), settings.request_compression),
        Sample::Response => (workload.expected(0), settings.response_compression),
    };
    let encoding = encoding(settings)?;
    let line = contract::Settings::Codec(Box::new(CodecSettings {
        stack,
        workload: spec.clone(),
        sample: *sample,
        message: verify::as_json(&message)?,
        encoding,
        operation: *operation,
        compression,
        records: records.to_owned(),
        limits: contract_limits(limits),
    }));
    let sample = CodecSample {
        message,
        operation: *operation,
        encoding,
        compression,
        limits,
    };
    Ok((line, sample))
}

/// Where a subject listens; `path` is for a Unix socket.
pub(crate) fn listen(transport: Transport, path: PathBuf) -> Listen {
    match transport {
        Transport::Tcp => Listen::Tcp {
            host: contract::LOOPBACK.to_owned(),
        },
        Transport::Unix => Listen::Unix { path },
    }
}

/// Bounds as the contract has them: those that are not the default.
fn contract_limits(limits: Limits) -> contract::Limits {
    let changed = |given: usize, default: usize| (given != default).then_some(given);
    contract::Limits {
        max_message_bytes: changed(limits.max_message_bytes, Limits::DEFAULT.max_message_bytes),
        max_depth: changed(limits.max_depth, Limits::DEFAULT.max_depth),
        max_inflation: changed(limits.max_inflation, Limits::DEFAULT.max_inflation),
    }
}

fn other_role() -> TrialFailure {
    let reason = "the variant's settings are of another role than its subject";
    TrialFailure::new(Fault::Instrument, reason)
}
