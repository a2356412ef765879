//! Asks a live gRPC service what its messages are, by server reflection.
//!
//! Each question is a call of its own, made by the engine as the measured ones are: with the same
//! address, TLS and metadata. A stream of one question is a unary call on the wire, and most servers
//! answer the first one with everything that its file imports.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rpcgauge_load::{self as load, FailureKind};
use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::reflection::{Answer, Files, METHOD_PATHS, Question};
use rpcgauge_message::{Compression, Limits, Schema};
use rpcgauge_study::settings::{LiveService, Settings};

use super::{LiveError, LiveInputs, calls, probe};
use crate::calls::Calls;
use crate::subject::one_line;

/// How long a service is asked in all.
const PATIENCE: Duration = Duration::from_secs(30);

/// Most bytes of an answer, whatever the limit of the calls themselves is: it can hold every file.
const MOST_ANSWER_BYTES: usize = Files::MOST_BYTES;

/// The schema of the service that is called: its file, and what that imports. `headers` are the
/// user's own fields, which a service may want to see before it tells anything.
///
/// # Errors
/// [`LiveError`], one line: a service that is not there or does not offer reflection, does not have
/// the service that is called, or tells what makes no schema.
pub fn reflect(
    settings: &Settings,
    headers: &[(String, String)],
    stop: &AtomicBool,
) -> Result<Schema, LiveError> {
    let service = settings.callee.live().ok_or(LiveError::Plan)?;
    let method = service.target.method().ok_or(LiveError::Plan)?;
    let name = method.split('/').next().unwrap_or(method);
    Asker::new(settings, service, headers, stop)?.schema(name)
}

/// Asks one service.
struct Asker<'a> {
    calls: Calls,
    settings: Settings,
    service: &'a LiveService,
    stop: &'a AtomicBool,
    /// Versions that the service may have, the one that is asked first.
    paths: &'static [&'static str],
    until: Instant,
}

impl<'a> Asker<'a> {
    fn new(
        settings: &Settings,
        service: &'a LiveService,
        headers: &[(String, String)],
        stop: &'a AtomicBool,
    ) -> Result<Self, LiveError> {
        let settings = Settings {
            request_compression: Compression::None,
            response_compression: Compression::None,
            ..settings.clone()
        };
        let inputs = LiveInputs {
            headers: headers.to_vec(),
            texts: None,
        };
        let limits = Limits {
            max_message_bytes: MOST_ANSWER_BYTES,
            ..Limits::DEFAULT
        };
        Ok(Self {
            calls: calls(&settings, service, &inputs, limits)?,
            settings,
            service,
            stop,
            paths: &METHOD_PATHS,
            until: Instant::now() + PATIENCE,
        })
    }

    /// Asks for the file of a service, and then for what is missing of its imports.
    fn schema(mut self, name: &str) -> Result<Schema, LiveError> {
        let mut files = Files::default();
        match self.ask(Question::FileContaining(name))? {
            Answer::Files(told) => self.add(&mut files, &told)?,
            Answer::Error { code, message } if code == Answer::NOT_FOUND => {
                return Err(self.unknown(name, &message)?);
            }
            other => return Err(self.unasked(&other)),
        }
        while let Some((import, importer)) = files.missing() {
            let (import, importer) = (import.to_owned(), importer.to_owned());
            match self.ask(Question::File(&import))? {
                Answer::Files(told) => self.add(&mut files, &told)?,
                Answer::Error { .. } => {
                    let known = files.add_well_known(&import);
                    known.map_err(|error| self.useless(&error))?;
                }
                other @ Answer::Services(_) => return Err(self.unasked(&other)),
            }
            if !files.has(&import) {
                let what = format!(
                    "does not tell of the file \"{}\", which \"{}\" imports",
                    one_line(&import),
                    one_line(&importer)
                );
                return Err(self.error(what));
            }
        }
        files.into_schema().map_err(|error| self.useless(&error))
    }

    fn add(&self, files: &mut Files, told: &[Vec<u8>]) -> Result<(), LiveError> {
        for file in told {
            files.add(file).map_err(|error| self.useless(&error))?;
        }
        Ok(())
    }

    /// What is said of a service that is not there: its nearest name.
    fn unknown(&mut self, name: &str, said: &str) -> Result<LiveError, LiveError> {
        let services = match self.ask(Question::Services)? {
            Answer::Services(services) => services,
            other => return Ok(self.unasked(&other)),
        };
        if services.iter().any(|service| service == name) {
            let said = because(said);
            return Ok(self.error(format!("has \"{name}\", but does not tell of it{said}")));
        }
        Ok(LiveError::UnknownService {
            target: self.service.target.to_string(),
            service: name.to_owned(),
            nearest: Nearest::or_known(name, services.iter().map(String::as_str)),
        })
    }

    /// Asks one question, in the newest version that the service has.
    fn ask(&mut self, question: Question<'_>) -> Result<Answer, LiveError> {
        while let Some((path, older)) = self.paths.split_first() {
            if let Some(answer) = self.ask_at(path, question)? {
                return Answer::from_bytes(&answer).map_err(|error| self.useless(&error));
            }
            self.paths = older;
        }
        Err(self.error("does not offer server reflection".to_owned()))
    }

    /// The answer's bytes; none where the service does not have this version.
    fn ask_at(&self, path: &str, question: Question<'_>) -> Result<Option<Vec<u8>>, LiveError> {
        let left = self.until.saturating_duration_since(Instant::now());
        let mut trial = self.calls.trial(&self.settings);
        path.clone_into(&mut trial.request.path);
        trial.deadline = trial.deadline.min(left);
        if trial.deadline.is_zero() {
            let seconds = PATIENCE.as_secs();
            return Err(self.error(format!(
                "has not told of all its messages within {seconds} s"
            )));
        }
        let mut one = OneCall {
            question: question.to_bytes(),
            answer: None,
        };
        let mut rule = |_: load::WarmupSlice| load::Settling::Settled;
        let bodies = load::Bodies::PerCall(&mut one);
        let measured = load::measure(&trial, bodies, &mut rule, self.stop);
        let measured = measured.map_err(|error| LiveError::Uncallable {
            target: self.service.target.to_string(),
            what: error.to_string(),
        })?;
        if measured.ending == load::Ending::Interrupted {
            return Err(LiveError::Interrupted);
        }
        match measured.calls.failed.keys().next() {
            None => Ok(one.answer),
            Some(FailureKind::GrpcStatus(probe::UNIMPLEMENTED)) => Ok(None),
            Some(kind) => {
                let said = measured.error_samples.first();
                let said = said.map(|sample| one_line(&sample.text));
                Err(self.failed(*kind, &said.unwrap_or_default()))
            }
        }
    }

    /// What is said of a question that failed as a call.
    fn failed(&self, kind: FailureKind, said: &str) -> LiveError {
        let target = self.service.target.to_string();
        match probe::refusal(kind, said, &self.settings, self.service) {
            Some(what) => LiveError::Refused { target, what },
            None => {
                let said = because(said);
                self.error(format!("does not answer server reflection: {kind}{said}"))
            }
        }
    }

    /// What is said of an answer to something else.
    fn unasked(&self, answer: &Answer) -> LiveError {
        self.error(match answer {
            Answer::Error { code, message } => {
                let said = because(message);
                format!("does not tell of its messages: status {code}{said}")
            }
            Answer::Files(_) | Answer::Services(_) => {
                "answers server reflection with what was not asked for".to_owned()
            }
        })
    }

    /// What is said of an answer that cannot be used.
    fn useless(&self, error: &dyn std::error::Error) -> LiveError {
        let what = one_line(&error.to_string());
        self.error(format!("answers server reflection with damage: {what}"))
    }

    fn error(&self, what: String) -> LiveError {
        LiveError::Reflection {
            target: self.service.target.to_string(),
            what,
        }
    }
}

/// A server's own words behind a sentence, if it has any.
fn because(said: &str) -> String {
    match one_line(said) {
        said if said.is_empty() => said,
        said => format!(" ({said})"),
    }
}

/// Sends one question and keeps the answer.
struct OneCall {
    question: Vec<u8>,
    answer: Option<Vec<u8>>,
}

impl load::Codec for OneCall {
    fn encode(&mut self, _call: u64, out: &mut Vec<u8>) -> Result<(), load::CodecError> {
        out.extend_from_slice(&self.question);
        Ok(())
    }

    fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), load::CodecError> {
        Err(load::CodecError(
            "the answer is compressed in a way that was not asked for".to_owned(),
        ))
    }

    fn decode(&mut self, plain: &[u8]) -> Result<(), load::CodecError> {
        self.answer = Some(plain.to_vec());
        Ok(())
    }

    fn verify(&mut self, _call: u64) -> Result<(), load::CodecError> {
        Ok(())
    }
}
