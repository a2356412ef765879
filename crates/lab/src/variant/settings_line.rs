//! The settings that each kind of subject is started with (contract/README.md).

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_contract::{
    self as contract, ClientSettings, CodecSettings, JsonText, Listen, ReadyPart, ServerSettings,
};
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Encoding, Limits, Message, Workload, WorkloadSpec};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{CodecWork, Sample, SubjectCall, Transport};
use rpcgauge_trial::Timing;

use crate::error::{TrialFailure, TrialResult};
use crate::subject::SubjectCommand;
use crate::variant::verify::CodecSample;
use crate::variant::workload_calls::distinct_requests;

/// The settings of a variant's server.
pub(crate) fn server(
    call: &SubjectCall,
    workload: &Workload,
    listen: Listen,
    command: &SubjectCommand,
    limits: Limits,
) -> TrialResult<ServerSettings> {
    let samples = [workload.expected(0)];
    Ok(ServerSettings {
        stack: command.stack.clone(),
        workload: formed(&call.workload, workload, call.wire.encoding())?,
        protocol: call.wire.protocol(),
        http: call.wire.http(),
        encoding: call.wire.encoding(),
        listen,
        response_compression: call.options.response_compression,
        threads: call.threads,
        // A part belongs to one variant, and all trials of a variant use the same timing. Under load,
        // nothing reads the marks: they would only make the responses larger.
        marks: call.timing() == Timing::Stages,
        tls: call.tls,
        stream: call.stream,
        protobuf_samples: protobuf_samples(command, call.wire.encoding(), &call.workload, samples)?,
        limits: contract_limits(limits),
    })
}

/// The settings of a client that calls this server with at most `requests` different requests.
///
/// # Errors
/// The schedule has a fixed rate, which client subjects do not support, or the server reported no address.
pub(crate) fn client(
    call: &SubjectCall,
    (workload, requests): (&Workload, u64),
    server: &ReadyPart,
    command: &SubjectCommand,
    records: &Path,
    limits: Limits,
) -> TrialResult<ClientSettings> {
    let in_flight = call.options.schedule.in_flight();
    let no_address = || TrialFailure::new(Fault::Subject, "the server reported no address");
    let samples = (0..distinct_requests(workload, requests)).map(|call| workload.request(call));
    let form = sample_form(&call.workload, call.wire.encoding());
    let text = |message: Message| as_json(&message, form);
    Ok(ClientSettings {
        stack: command.stack.clone(),
        workload: formed(&call.workload, workload, call.wire.encoding())?,
        protocol: call.wire.protocol(),
        http: call.wire.http(),
        encoding: call.wire.encoding(),
        address: server.address.clone().ok_or_else(no_address)?,
        certificate: server.certificate.clone().filter(|_| call.tls),
        requests: samples.clone().map(text).collect::<TrialResult<_>>()?,
        request_compression: call.options.request_compression,
        response_compression: call.options.response_compression,
        connection: call.options.connection,
        channels: call.channels(),
        style: call.client.as_ref().map(|client| client.style),
        in_flight: in_flight.ok_or_else(at_a_rate)?,
        deadline_ms: call.options.deadline_ms,
        marks: call.timing() == Timing::Stages,
        records: records.to_owned(),
        stream: call.stream,
        message_records: call.stream.map(|_| records.with_extension("messages")),
        protobuf_samples: protobuf_samples(command, call.wire.encoding(), &call.workload, samples)?,
        limits: contract_limits(limits),
    })
}

/// The settings of a codec, and the sample to verify it with.
pub(crate) fn codec(
    work: &CodecWork,
    workload: &Workload,
    command: &SubjectCommand,
    records: &Path,
    limits: Limits,
) -> TrialResult<(CodecSettings, CodecSample)> {
    let message = match work.sample {
        Sample::Request => workload.request(0),
        Sample::Response => workload.expected(0),
    };
    let samples = [message.clone()];
    let settings = CodecSettings {
        stack: command.stack.clone(),
        workload: formed(&work.workload, workload, work.encoding)?,
        sample: work.sample,
        message: as_json(&message, sample_form(&work.workload, work.encoding))?,
        encoding: work.encoding,
        operation: work.operation,
        compression: work.compression,
        records: records.to_owned(),
        protobuf_samples: protobuf_samples(command, work.encoding, &work.workload, samples)?,
        limits: contract_limits(limits),
    };
    let sample = CodecSample {
        message,
        operation: work.operation,
        encoding: work.encoding,
        compression: work.compression,
        limits,
    };
    Ok((settings, sample))
}

/// The form of the samples in the settings for this encoding. A user's own messages have the form that the encoding has
/// on the wire, so a stack without protobuf can use them as they are. Other encodings than JSON get the proto3 JSON
/// mapping, whose strings keep all digits of 64-bit integers in every JSON library.
fn sample_form(spec: &WorkloadSpec, encoding: Encoding) -> Encoding {
    use Encoding::{Hybrid, Json, JsonProtoNames, ProtoJson};
    match (spec, encoding) {
        (WorkloadSpec::Own(_), Json | JsonProtoNames | Hybrid) => Json,
        (WorkloadSpec::Own(_), _) => ProtoJson,
        _ => Json,
    }
}

/// A message as the JSON text of a settings line, in the form of this encoding.
fn as_json(message: &Message, form: Encoding) -> TrialResult<JsonText> {
    fn broken(error: impl ToString) -> TrialFailure {
        TrialFailure::new(Fault::Instrument, error.to_string())
    }
    let bytes = message.to_bytes(form).map_err(broken)?;
    let text = String::from_utf8(bytes).map_err(broken)?;
    JsonText::new(text).map_err(broken)
}

/// The workload with its samples in the form for this encoding.
fn formed(
    spec: &WorkloadSpec,
    workload: &Workload,
    encoding: Encoding,
) -> TrialResult<WorkloadSpec> {
    let WorkloadSpec::Own(own) = spec else {
        return Ok(spec.clone());
    };
    let form = sample_form(spec, encoding);
    let value = |message: &Message| {
        let text = as_json(message, form)?;
        serde_json::from_str(text.as_str())
            .map_err(|error| TrialFailure::new(Fault::Instrument, error.to_string()))
    };
    Ok(WorkloadSpec::Own(Box::new(OwnWorkload {
        request: value(&workload.request(0))?,
        response: value(&workload.expected(0))?,
        ..(**own).clone()
    })))
}

/// The samples as protobuf bytes, if the stack requests them and they are a user's own messages in protobuf.
/// Otherwise empty, and the stack receives the samples only as JSON.
fn protobuf_samples(
    command: &SubjectCommand,
    encoding: Encoding,
    spec: &WorkloadSpec,
    samples: impl IntoIterator<Item = Message>,
) -> TrialResult<Vec<String>> {
    let is_own = matches!(spec, WorkloadSpec::Own(_));
    if !is_own || !command.protobuf_samples || encoding != Encoding::Protobuf {
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

/// Where a subject must listen; `path` is for a Unix socket.
pub(crate) fn listen(transport: Transport, path: PathBuf) -> Listen {
    match transport {
        Transport::Tcp => Listen::Tcp {
            host: contract::LOOPBACK.to_owned(),
        },
        Transport::Unix => Listen::Unix { path },
    }
}

/// The limits in the contract's form: only those that differ from the default.
fn contract_limits(limits: Limits) -> contract::Limits {
    let changed = |given: usize, default: usize| (given != default).then_some(given);
    contract::Limits {
        max_message_bytes: changed(limits.max_message_bytes, Limits::DEFAULT.max_message_bytes),
        max_depth: changed(limits.max_depth, Limits::DEFAULT.max_depth),
        max_inflation: changed(limits.max_inflation, Limits::DEFAULT.max_inflation),
    }
}

/// The failure of a client or codec subject whose schedule has a fixed rate.
pub(crate) fn at_a_rate() -> TrialFailure {
    let reason = "a client or codec subject can be measured only in a closed loop; \
                  set calls in flight instead of a rate";
    TrialFailure::new(Fault::User, reason)
}

#[cfg(test)]
mod tests {
    use rpcgauge_message::schema::Schema;
    use rpcgauge_study::settings::Operation;

    use super::*;

    /// A method whose message has an extension, which not every library can represent in JSON.
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
        let work = CodecWork {
            operation: Operation::Decode,
            ..CodecWork::new("", spec, encoding)
        };
        let records = Path::new("/records");
        let (settings, _) = codec(&work, &workload, command, records, Limits::DEFAULT).unwrap();
        settings.protobuf_samples
    }

    #[test]
    fn a_users_sample_has_the_form_of_its_encoding() {
        let folder = tempfile::tempdir().unwrap();
        let proto = folder.path().join("own.proto");
        let source = "syntax = \"proto3\"; package a; service S { rpc M(M) returns (M); }
            message M { int64 id = 1; }";
        std::fs::write(&proto, source).unwrap();
        let schema = Schema::compile(&[proto], &[]).unwrap();
        let own = OwnWorkload::new(&schema, "a.S/M", r#"{"id":1e3}"#, r#"{"id":"2"}"#).unwrap();
        let spec = WorkloadSpec::Own(Box::new(own));
        let workload = Workload::new(&spec).unwrap();
        for (encoding, request, response) in [
            (Encoding::Json, r#"{"id":1000}"#, r#"{"id":2}"#),
            (Encoding::Hybrid, r#"{"id":1000}"#, r#"{"id":2}"#),
            (Encoding::ProtoJson, r#"{"id":"1000"}"#, r#"{"id":"2"}"#),
            (Encoding::Msgpack, r#"{"id":"1000"}"#, r#"{"id":"2"}"#),
        ] {
            let WorkloadSpec::Own(formed) = formed(&spec, &workload, encoding).unwrap() else {
                panic!("it is still the user's own");
            };
            let samples = [&formed.request, &formed.response].map(ToString::to_string);
            assert_eq!(samples, [request, response], "{encoding}");
        }
    }

    #[test]
    fn a_stack_that_asks_gets_its_users_samples_as_protobuf() {
        let silent = SubjectCommand::new("a", ["b"]);
        let asking = SubjectCommand {
            protobuf_samples: true,
            ..silent.clone()
        };
        // Field 100, a string of one letter.
        let bytes = STANDARD.encode(b"\xa2\x06\x01x");
        assert_eq!(samples(own(), Encoding::Protobuf, &asking), [bytes]);
        let nothing: [&str; 0] = [];
        assert_eq!(samples(own(), Encoding::Protobuf, &silent), nothing);
        assert_eq!(samples(own(), Encoding::ProtoJson, &asking), nothing);
        let hello = WorkloadSpec::Hello {};
        assert_eq!(samples(hello, Encoding::Protobuf, &asking), nothing);
    }
}
