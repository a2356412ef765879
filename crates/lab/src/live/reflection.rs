//! Fetches the message types of a live gRPC service by server reflection.
//!
//! Each question is a separate call that the engine makes like a measured one, with the same address, TLS
//! settings and metadata. On the wire, a stream with one question is the same as a unary call. Most servers
//! answer the first question with all files that the requested one imports.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rpcgauge_load as load;
use rpcgauge_message::reflection::{
    FetchError, Files, METHOD_PATHS, ReflectionError, ReflectionRequest, fetch_schema,
};
use rpcgauge_message::{Compression, Limits, Schema};
use rpcgauge_study::settings::{LiveCall, StreamOptions};
use rpcgauge_trial::FailureKind;

use super::{LiveError, LiveInputs, calls, probe, resolve};
use crate::variant::call_spec::CallSpec;

/// The time limit for all questions together.
const PATIENCE: Duration = Duration::from_secs(30);

/// The maximum size of a response, bytes, regardless of the limit for the measured calls: a response can
/// contain all files.
const MAX_RESPONSE_BYTES: usize = Files::MAX_BYTES;

/// Fetches the schema of the called service: its file and that file's imports. Sends the headers of `inputs`,
/// which a service may require before it responds, but none of its texts.
///
/// # Errors
/// A one-line [`LiveError`]: the server cannot be reached, does not offer reflection, or does not have the
/// called service, or its descriptors are not a valid schema.
pub fn reflect(
    live: &LiveCall,
    inputs: &LiveInputs,
    stop: &AtomicBool,
) -> Result<Schema, LiveError> {
    let no_method = || LiveError::of(&live.service, "names no method; regenerate the plan");
    let method = live.service.url.method().ok_or_else(no_method)?;
    let name = method.split('/').next().unwrap_or(method);
    Asker::new(live, inputs, stop)?.schema(name)
}

struct Asker<'a> {
    calls: CallSpec,
    live: LiveCall,
    stop: &'a AtomicBool,
    /// The reflection versions that the service may support, in the order in which they are tried.
    paths: &'static [&'static str],
    until: Instant,
}

impl<'a> Asker<'a> {
    fn new(live: &LiveCall, inputs: &LiveInputs, stop: &'a AtomicBool) -> Result<Self, LiveError> {
        let mut live = live.clone();
        live.options.request_compression = Compression::None;
        live.options.response_compression = Compression::None;
        live.service.stream = StreamOptions::default();
        let inputs = LiveInputs {
            texts: None,
            ..inputs.clone()
        };
        let limits = Limits {
            max_message_bytes: MAX_RESPONSE_BYTES,
            ..Limits::DEFAULT
        };
        Ok(Self {
            calls: calls(&live, &inputs, limits, resolve::addresses(&live)?)?,
            live,
            stop,
            paths: &METHOD_PATHS,
            until: Instant::now() + PATIENCE,
        })
    }

    /// Asks questions until the schema of the service is complete.
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

    /// Asks one question, using the newest version that the service supports.
    fn ask(&mut self, question: ReflectionRequest<'_>) -> Result<Vec<u8>, LiveError> {
        while let Some((path, older)) = self.paths.split_first() {
            if let Some(response) = self.ask_at(path, question)? {
                return Ok(response);
            }
            self.paths = older;
        }
        Err(self.error("does not offer server reflection".to_owned()))
    }

    /// Asks one question at one path. Returns the response's bytes; `None` if the service does not support this
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

    /// The error for a question whose call failed.
    fn failed(&self, kind: FailureKind, said: &str) -> LiveError {
        // A protocol violation in a response says nothing about the called method.
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
                    "does not respond to server reflection requests: {kind}{said}"
                ))
            }
        }
    }

    fn error(&self, what: String) -> LiveError {
        let advice = "give --proto FILE or --descriptor-set FILE";
        LiveError::of(&self.live.service, format!("{what}; {advice}"))
    }
}

/// Sends one question and stores the response.
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
            "the response is compressed in a way that was not requested".to_owned(),
        ))
    }

    fn decode(&mut self, plain: &[u8]) -> Result<(), load::CodecError> {
        self.response = Some(plain.to_vec());
        Ok(())
    }

    fn verify(&mut self, _call: u64, _message: u64) -> Result<(), load::CodecError> {
        Ok(())
    }
}
