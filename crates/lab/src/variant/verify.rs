//! Verifies a server, client or codec before it is timed.

mod form;

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use form::other_form;
use rpcgauge_contract::{MAX_LINE_BYTES, MAX_VERIFIED_MESSAGES, Operation, Verified};
use rpcgauge_load::{self as load};
use rpcgauge_message::{
    Codec, Compression, Encoding, Limits, Message, MessageType, first_difference,
};
use rpcgauge_study::record::Fault;
use rpcgauge_trial::{Ending, Stop, TrialFigures};

use crate::error::{TrialFailure, TrialResult};
use crate::subject::one_line;
use crate::variant::responses::Responses;
use crate::variant::workload_calls::WorkloadCalls;

/// The minimum number of calls whose responses are compared. The first response can differ from later ones,
/// because connections are being set up and compressors and caches are empty.
const CALLS: u64 = 3;

/// Makes at least `calls` calls the way `trial` would, and compares every response with the expected one. Returns
/// the measurement, and the latency of each call without the comparison, ns.
///
/// # Errors
/// The first incorrect response with its JSON path, or why calls failed.
pub(crate) fn prove(
    workload_calls: &mut WorkloadCalls,
    trial: &load::Trial,
    calls: u64,
    stop: &AtomicBool,
) -> TrialResult<(load::Measurement, Vec<u64>)> {
    let calls = calls.max(CALLS);
    let trial = load::Trial {
        stop: Stop {
            calls: Some(calls),
            time_ms: None,
        },
        ..trial.clone()
    };
    let compressed = trial.expect.encoding.clone();
    let mut prover = Prover {
        workload_calls,
        wrong: None,
        call: 0,
        decoded: 0,
        began: Instant::now(),
        latencies_ns: Vec::new(),
    };
    let bodies = load::Bodies::PerCall(&mut prover);
    let result = load::measure(&trial, bodies, &mut |_| load::Settling::Settled, stop);
    let Prover {
        wrong,
        latencies_ns,
        ..
    } = prover;
    if let Some(wrong) = wrong {
        return Err(TrialFailure::new(
            Fault::Subject,
            format!("the server's response is wrong at {wrong}"),
        ));
    }
    let measurement = result.map_err(failure)?;
    let figures = &measurement.figures;
    if figures.ending == Ending::Interrupted {
        return Err(TrialFailure::new(
            Fault::Instrument,
            "stopped while verifying a server",
        ));
    }
    if figures.calls.answered < calls {
        return Err(unanswered(figures));
    }
    match compressed {
        Some(coding) if figures.uncompressed_responses > 0 && workload_calls.compression_pays() => {
            Err(TrialFailure::new(
                Fault::Subject,
                format!("the server responds without compression although {coding} was requested"),
            ))
        }
        _ => Ok((measurement, latencies_ns)),
    }
}

/// The failure of a trial in which no call succeeded, or that gave up.
pub(crate) fn unanswered(figures: &TrialFigures) -> TrialFailure {
    let calls = &figures.calls;
    let failed = calls.failed.iter().max_by_key(|(_, count)| **count);
    let Some((kind, _)) = failed else {
        let left = figures.late.unsent_at_start();
        let reason = match (calls.started, figures.requests_sent.unwrap_or(0)) {
            (0, _) if left > 0 => format!(
                "no call was measured: at least {left} calls that were due in the warm-up had not been sent \
                 when it ended, and sending them took all of the time; lower the rate"
            ),
            (0, sent) if figures.ending == Ending::MaxRequests => format!(
                "no call was measured: all {sent} allowed requests were sent before measuring began; \
                 allow more (max-requests)"
            ),
            (0, sent @ 1..) => {
                format!(
                    "no call was measured: all {sent} requests were sent before measuring began"
                )
            }
            (started, _) => format!("none of {started} calls succeeded in time"),
        };
        let fault = match figures.ending {
            Ending::MaxRequests => Fault::User,
            _ => Fault::Subject,
        };
        return TrialFailure::new(fault, reason);
    };
    let said = figures
        .error_samples
        .iter()
        .find(|sample| sample.kind == *kind);
    let said = said
        .map(|sample| format!(": {}", one_line(&sample.text)))
        .unwrap_or_default();
    let (count, started) = (calls.failed_total(), calls.started);
    let gave_up = match figures.ending {
        Ending::GaveUp => "; in the end all calls failed",
        Ending::Complete | Ending::Interrupted | Ending::MaxRequests => "",
    };
    TrialFailure::new(
        kind.fault(),
        format!("{count} of {started} calls failed{gave_up}, mostly as {kind}{said}"),
    )
}

pub(crate) fn failure(error: load::LoadError) -> TrialFailure {
    TrialFailure::new(error.fault(), error.to_string())
}

/// Compares each response as it is decoded, and stores the first difference.
struct Prover<'a> {
    workload_calls: &'a mut WorkloadCalls,
    wrong: Option<String>,
    call: u64,
    decoded: u64,
    began: Instant,
    latencies_ns: Vec<u64>,
}

impl load::Codec for Prover<'_> {
    fn encode(&mut self, number: u64, out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        self.call = number;
        self.began = Instant::now();
        self.workload_calls.encode(number, out)
    }

    fn compresses(&self) -> bool {
        self.workload_calls.compresses()
    }

    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        self.workload_calls.compress(plain, out)
    }

    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        self.workload_calls.decompress(carried, out)
    }

    fn decode(&mut self, plain: &[u8]) -> Result<(), load::CodecError> {
        self.workload_calls.decode(plain)?;
        let latency = self.began.elapsed().as_nanos();
        self.latencies_ns
            .push(u64::try_from(latency).unwrap_or(u64::MAX));
        let responses = self.workload_calls.responses();
        // One call is in flight, so that responses arrive in order.
        let (call, message) = match responses.stream() {
            None => (self.call, 0),
            Some(_) => {
                let calls = self.decoded / responses.per_call();
                let first = calls * responses.requests_per_call();
                (first, self.decoded % responses.per_call())
            }
        };
        self.decoded += 1;
        self.verify(call, message)?;
        let expected = self.workload_calls.expected(call, message);
        match other_form(self.workload_calls.wire.encoding(), &expected, plain) {
            None => Ok(()),
            Some(form) => {
                self.wrong.get_or_insert_with(|| form.clone());
                Err(load::CodecError(form))
            }
        }
    }

    fn verify(&mut self, call: u64, message: u64) -> Result<(), load::CodecError> {
        self.workload_calls
            .verify(call, message)
            .inspect_err(|difference| {
                self.wrong.get_or_insert_with(|| difference.0.clone());
            })
    }
}

/// Checks that a client decoded the responses of its first call.
pub(crate) fn right_responses(verified: &Verified, responses: &Responses) -> Result<(), String> {
    let messages = match (responses.stream(), verified) {
        (Some(_), Verified::Stream(messages)) => &messages[..],
        (Some(_), _) => {
            return Err(
                "its calls are streams, but it does not answer \"verify\" with \"stream\""
                    .to_owned(),
            );
        }
        (None, message) => std::slice::from_ref(message),
    };
    let expected = responses.per_call().min(MAX_VERIFIED_MESSAGES.into());
    if messages.len() as u64 != expected {
        let count = messages.len();
        return Err(format!("it decoded {count} messages, not {expected}"));
    }
    for (number, message) in (0..).zip(messages) {
        let message = decoded(responses.workload().response_type(), message)?;
        if let Some(difference) = first_difference(&responses.message(0, number), &message) {
            return Err(format!(
                "the message that it decoded is wrong at {difference}"
            ));
        }
    }
    Ok(())
}

/// Limits for a message in an answer, which is at most one line long.
const WHOLE_LINE: Limits = Limits {
    max_message_bytes: MAX_LINE_BYTES,
    ..Limits::DEFAULT
};

/// Parses the message that a subject decoded, from either form of its answer.
fn decoded(of: &MessageType, verified: &Verified) -> Result<Message, String> {
    let read =
        match verified {
            Verified::Message(json) => of.from_json(json.as_str()).map_err(|e| e.to_string()),
            Verified::Protobuf(bytes) => STANDARD
                .decode(bytes)
                .map_err(|e| e.to_string())
                .and_then(|bytes| {
                    let message = of.decode(&bytes, Encoding::Protobuf, &WHOLE_LINE);
                    message.map_err(|e| e.to_string())
                }),
            Verified::Bytes(_) | Verified::Stream(_) => {
                let what = "it does not answer \"verify\" with the message that it decoded";
                return Err(what.to_owned());
            }
        };
    read.map_err(|error| {
        format!(
            "the message that it decoded is not a {}: {error}",
            of.full_name()
        )
    })
}

pub(crate) struct CodecSample {
    pub(crate) message: Message,
    pub(crate) operation: Operation,
    pub(crate) encoding: Encoding,
    pub(crate) compression: Compression,
    pub(crate) limits: Limits,
}

impl CodecSample {
    /// Checks that the message that the codec encoded or decoded equals the sample, and that encoded JSON has the
    /// form that its encoding requires.
    pub(crate) fn right(&self, verified: &Verified) -> Result<(), String> {
        let made = match (self.operation, verified) {
            (Operation::Decode, _) => decoded(self.message.message_type(), verified)?,
            (Operation::Encode, Verified::Bytes(bytes)) => {
                let bytes = STANDARD.decode(bytes).map_err(|error| {
                    format!("the message that it encoded is not base64: {error}")
                })?;
                let (plain, made) = self.read(&bytes)?;
                if let Some(form) = other_form(self.encoding, &self.message, &plain) {
                    return Err(format!("the message that it encoded is wrong at {form}"));
                }
                made
            }
            (Operation::Encode, _) => {
                let what = "it answers \"verify\" with a message, not with the bytes it encoded";
                return Err(what.to_owned());
            }
        };
        match first_difference(&self.message, &made) {
            None => Ok(()),
            Some(difference) => Err(format!("its message is wrong at {difference}")),
        }
    }

    /// Decompresses and decodes a message. Returns the decompressed bytes and the message.
    fn read(&self, bytes: &[u8]) -> Result<(Vec<u8>, Message), String> {
        let of = self.message.message_type().clone();
        let mut codec = Codec::new(of, self.encoding, self.compression, self.limits)
            .map_err(|error| error.to_string())?;
        let mut plain = Vec::new();
        let message = codec
            .decompress(bytes, &mut plain)
            .and_then(|()| codec.decode(&plain))
            .map_err(|error| format!("the message that it encoded cannot be read: {error}"))?;
        Ok((plain, message))
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_contract::JsonText;
    use rpcgauge_message::{Workload, WorkloadSpec};

    use super::*;

    #[test]
    fn a_decoded_message_may_be_json_or_protobuf() {
        let workload = Workload::new(&WorkloadSpec::Hello {}).unwrap();
        let responses = Responses::new(workload, 1, None);
        let right = |verified| right_responses(&verified, &responses);
        let json = |json: &str| Verified::Message(JsonText::new(json.to_owned()).unwrap());
        let protobuf = |bytes: &[u8]| Verified::Protobuf(STANDARD.encode(bytes));
        assert_eq!(right(json(r#"{"message":"Hello, name_0."}"#)), Ok(()));
        assert_eq!(right(protobuf(b"\x0a\x0eHello, name_0.")), Ok(()));
        for (verified, why) in [
            (protobuf(b"\x0a\x0eHello, name_1."), "is wrong at $.message"),
            (protobuf(b"\x0a\x0eHello"), "is not a hello.HelloReply: "),
            (
                Verified::Protobuf("!".to_owned()),
                "is not a hello.HelloReply: ",
            ),
            (json("7"), "is not a hello.HelloReply: "),
            (
                Verified::Bytes(String::new()),
                "with the message that it decoded",
            ),
        ] {
            let error = right(verified.clone()).expect_err("wrong");
            assert!(error.contains(why), "{verified:?}: {error}");
        }
    }
}
