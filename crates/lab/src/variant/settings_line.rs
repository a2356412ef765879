//! The settings line that a subject is started with, by its role (contract/README.md).

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_contract::{
    self as contract, ClientSettings, CodecSettings, Listen, Ready, ServerSettings,
};
use rpcgauge_message::{Encoding, Limits, Message, Workload, WorkloadSpec};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{Sample, Settings, Target, Transport};
use rpcgauge_trial::{Schedule, Timing};

use crate::error::{TrialFailure, TrialResult};
use crate::subject::SubjectCommand;
use crate::variant::verify::{self, CodecSample};
use crate::variant::workload_calls::{distinct_requests, encoding};

/// A variant's server.
pub(crate) fn server(
    settings: &Settings,
    workload: &Workload,
    listen: Listen,
    command: &SubjectCommand,
    limits: Limits,
) -> TrialResult<contract::SettingsLine> {
    let spec = settings.target.workload().ok_or_else(other_role)?;
    let samples = [workload.expected(0)];
    Ok(contract::SettingsLine::Server(Box::new(ServerSettings {
        stack: command.stack.clone(),
        workload: spec.clone(),
        protocol: settings.protocol,
        http: settings.http,
        encoding: encoding(settings)?,
        listen,
        response_compression: settings.response_compression,
        threads: settings.threads,
        // A process belongs to one variant, and all trials of a variant are timed in one way. Under
        // load nothing reads the marks: they would only make the responses larger.
        marks: settings.timing() == Timing::Stages,
        tls: settings.tls,
        protobuf_samples: protobuf_samples(command, settings, spec, samples)?,
        limits: contract_limits(limits),
    })))
}

/// A client that calls the server of this ready line with at most `requests` requests that differ.
pub(crate) fn client(
    settings: &Settings,
    (workload, requests): (&Workload, u64),
    server: &Ready,
    command: &SubjectCommand,
    records: &Path,
    limits: Limits,
) -> TrialResult<contract::SettingsLine> {
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
    let no_address = || TrialFailure::new(Fault::Subject, "the server gave no address");
    let samples = (0..distinct_requests(workload, requests)).map(|call| workload.request(call));
    Ok(contract::SettingsLine::Client(Box::new(ClientSettings {
        stack: command.stack.clone(),
        workload: spec.clone(),
        protocol: settings.protocol,
        http: settings.http,
        encoding: encoding(settings)?,
        address: server.address.clone().ok_or_else(no_address)?,
        certificate: server.certificate.clone().filter(|_| settings.tls),
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
        protobuf_samples: protobuf_samples(command, settings, spec, samples)?,
        limits: contract_limits(limits),
    })))
}

/// A codec, and the sample that verifies it.
pub(crate) fn codec(
    settings: &Settings,
    workload: &Workload,
    command: &SubjectCommand,
    records: &Path,
    limits: Limits,
) -> TrialResult<(contract::SettingsLine, CodecSample)> {
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
    let line = contract::SettingsLine::Codec(Box::new(CodecSettings {
        stack: command.stack.clone(),
        workload: spec.clone(),
        sample: *sample,
        message: verify::as_json(&message)?,
        encoding,
        operation: *operation,
        compression,
        records: records.to_owned(),
        protobuf_samples: protobuf_samples(command, settings, spec, [message.clone()])?,
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

/// The samples as protobuf bytes, where the stack asks for them: of a user's own messages in protobuf. All
/// else is JSON in any case.
fn protobuf_samples(
    command: &SubjectCommand,
    settings: &Settings,
    spec: &WorkloadSpec,
    samples: impl IntoIterator<Item = Message>,
) -> TrialResult<Vec<String>> {
    let is_own = matches!(spec, WorkloadSpec::Own(_));
    if !is_own || !command.protobuf_samples || encoding(settings)? != Encoding::Protobuf {
        return Ok(Vec::new());
    }
    let samples = samples.into_iter().map(|sample| {
        let bytes = sample.to_bytes(Encoding::Protobuf);
        bytes.map(|bytes| STANDARD.encode(bytes))
    });
    samples
        .collect::<Result<_, _>>()
        .map_err(|error| TrialFailure::new(Fault::Instrument, error.to_string()))
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

#[cfg(test)]
mod tests {
    use rpcgauge_message::schema::Schema;
    use rpcgauge_message::workload::OwnWorkload;
    use rpcgauge_study::settings::{Operation, Protocol};

    use super::*;

    /// A method whose message has an extension, which not every library's JSON can hold.
    fn own() -> WorkloadSpec {
        let folder = tempfile::tempdir().unwrap();
        let proto = folder.path().join("own.proto");
        let source = "syntax = \"proto2\"; package a; service S { rpc M(M) returns (M); }
            message M { extensions 100; } extend M { optional string e = 100; }";
        std::fs::write(&proto, source).unwrap();
        let schema = Schema::compile(&[proto], &[]).unwrap();
        let own = OwnWorkload::new(&schema, "a.S/M", "{}", r#"{"[a.e]": "x"}"#);
        WorkloadSpec::Own(Box::new(own.unwrap()))
    }

    fn samples(spec: WorkloadSpec, encoding: Encoding, command: &SubjectCommand) -> Vec<String> {
        let workload = Workload::new(&spec).unwrap();
        let target = Target::Codec {
            codec: String::new(),
            operation: Operation::Decode,
            sample: Sample::Response,
            workload: spec,
        };
        let settings = Settings {
            encoding: Some(encoding),
            ..Settings::new(target, Protocol::Grpc)
        };
        let records = Path::new("/records");
        let line = codec(&settings, &workload, command, records, Limits::DEFAULT).unwrap();
        match line.0 {
            contract::SettingsLine::Codec(codec) => codec.protobuf_samples,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_stack_that_asks_gets_its_users_samples_as_protobuf() {
        let silent = SubjectCommand::new("a", ["b"]);
        let asking = SubjectCommand {
            protobuf_samples: true,
            ..silent.clone()
        };
        // Field 100, of one letter.
        let bytes = STANDARD.encode(b"\xa2\x06\x01x");
        assert_eq!(samples(own(), Encoding::Protobuf, &asking), [bytes]);
        let nothing: [&str; 0] = [];
        assert_eq!(samples(own(), Encoding::Protobuf, &silent), nothing);
        assert_eq!(samples(own(), Encoding::ProtoJson, &asking), nothing);
        let hello = WorkloadSpec::Hello {};
        assert_eq!(samples(hello, Encoding::Protobuf, &asking), nothing);
    }
}
