//! Asks a live gRPC service for its message types, over server reflection.
//!
//! Each question is a separate call, made by the engine as the measured ones are: with the same address, TLS
//! and metadata. On the wire a stream of one question is a unary call. Most servers respond to the first
//! question with everything that its file imports.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rpcgauge_load as load;
use rpcgauge_message::reflection::{
    FetchError, Files, METHOD_PATHS, ReflectionError, ReflectionRequest, fetch_schema,
};
use rpcgauge_message::{Compression, Limits, Schema};
use rpcgauge_study::settings::{CallOptions, LiveCall};
use rpcgauge_trial::FailureKind;

use super::{LiveError, LiveInputs, calls, probe};
use crate::variant::call_spec::CallSpec;

/// The time limit for all questions together.
const PATIENCE: Duration = Duration::from_secs(30);

/// The maximum size of a response, bytes, whatever the limit of the calls themselves: a response can hold every
/// file.
const MAX_RESPONSE_BYTES: usize = Files::MAX_BYTES;

/// Fetches the schema of the service that is called: its file, and what that imports. Sends the headers of
/// `inputs`, which a service may require before it responds, but none of their texts.
///
/// # Errors
/// [`LiveError`], one line: the server cannot be reached, does not offer reflection, does not have the service
/// that is called, or its descriptors form no valid schema.
pub fn reflect(
    live: &LiveCall,
    inputs: &LiveInputs,
    stop: &AtomicBool,
) -> Result<Schema, LiveError> {
    let no_method = || LiveError::of(&live.service, "names no method; make the plan again");
    let method = live.service.url.method().ok_or_else(no_method)?;
    let name = method.split('/').next().unwrap_or(method);
    Asker::new(live, inputs, stop)?.schema(name)
}

struct Asker<'a> {
    calls: CallSpec,
    live: LiveCall,
    stop: &'a AtomicBool,
    /// Versions that the service may have, in the order in which they are tried.
    paths: &'static [&'static str],
    until: Instant,
}

impl<'a> Asker<'a> {
    fn new(live: &LiveCall, inputs: &LiveInputs, stop: &'a AtomicBool) -> Result<Self, LiveError> {
        let live = LiveCall {
            options: CallOptions {
                request_compression: Compression::None,
                response_compression: Compression::None,
                ..live.options.clone()
            },
            ..live.clone()
        };
        let inputs = LiveInputs {
            texts: None,
            ..inputs.clone()
        };
        let limits = Limits {
            max_message_bytes: MAX_RESPONSE_BYTES,
            ..Limits::DEFAULT
        };
        Ok(Self {
            calls: calls(&live, &inputs, limits)?,
            live,
            stop,
            paths: &METHOD_PATHS,
            until: Instant::now() + PATIENCE,
        })
    }

    /// Asks until the schema of a service is complete.
    fn schema(mut self, name: &str) -> Result<Schema, LiveError> {
        match fetch_schema(name, Files::default(), |question| self.ask(question)) {
            Ok(schema) => Ok(schema),
            Err(FetchError::Call(error)) => Err(error),
            Err(FetchError::Reflection(ReflectionError::NoService { service, nearest })) => {
                let what = format!("has no service \"{service}\"{nearest}");
                Err(LiveError::of(&self.live.service, what))
            }
            Err(FetchError::Reflection(error)) => Err(self.error(error.to_string())),
        }
    }

    /// Asks one question, with the newest version that the service has.
    fn ask(&mut self, question: ReflectionRequest<'_>) -> Result<Vec<u8>, LiveError> {
        while let Some((path, older)) = self.paths.split_first() {
            if let Some(response) = self.ask_at(path, question)? {
                return Ok(response);
            }
            self.paths = older;
        }
        Err(self.error("does not offer server reflection".to_owned()))
    }

    /// Asks one question at one path. Returns the response's bytes; `None` if the service does not have this
    /// version.
    fn ask_at(
        &self,
        path: &str,
        question: ReflectionRequest<'_>,
    ) -> Result<Option<Vec<u8>>, LiveError> {
        let left = self.until.saturating_duration_since(Instant::now());
        let mut trial = self.calls.trial();
        path.clone_into(&mut trial.request.path);
        trial.deadline = trial.deadline.min(left);
        if trial.deadline.is_zero() {
            let seconds = PATIENCE.as_secs();
            return Err(self.error(format!(
                "has not sent all its descriptors within {seconds} s"
            )));
        }
        let mut one = OneCall {
            question: question.to_bytes(),
            response: None,
        };
        let bodies = load::Bodies::PerCall(&mut one);
        let (_, failure) = probe::one_call(&trial, bodies, None, &self.live.service, self.stop)?;
        match failure {
            None => Ok(one.response),
            Some((FailureKind::GrpcStatus(probe::UNIMPLEMENTED), _)) => Ok(None),
            Some((kind, said)) => Err(self.failed(kind, &said)),
        }
    }

    /// The error of a question that failed as a call.
    fn failed(&self, kind: FailureKind, said: &str) -> LiveError {
        // A response that breaks a rule says nothing about the method that is called.
        let refusal = match kind {
            FailureKind::Protocol => None,
            kind => probe::refusal(kind, said, &self.live),
        };
        match refusal {
            Some(what) => LiveError::of(&self.live.service, what),
            None => {
                let said = match said {
                    "" => String::new(),
                    said => format!(" ({said})"),
                };
                self.error(format!(
                    "does not respond to server reflection: {kind}{said}"
                ))
            }
        }
    }

    fn error(&self, what: String) -> LiveError {
        let advice = "give --proto FILE or --descriptor-set FILE";
        LiveError::of(&self.live.service, format!("{what}; {advice}"))
    }
}

/// Sends one question and keeps the response.
struct OneCall {
    question: Vec<u8>,
    response: Option<Vec<u8>>,
}

impl load::Codec for OneCall {
    fn encode(&mut self, _call: u64, out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        out.extend_from_slice(&self.question);
        Ok(())
    }

    fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), load::CodecError> {
        Err(load::CodecError(
            "the response is compressed in a way that was not asked for".to_owned(),
        ))
    }

    fn decode(&mut self, plain: &[u8]) -> Result<(), load::CodecError> {
        self.response = Some(plain.to_vec());
        Ok(())
    }

    fn verify(&mut self, _call: u64) -> Result<(), load::CodecError> {
        Ok(())
    }
}
