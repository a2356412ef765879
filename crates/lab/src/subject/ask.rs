//! Requests to a client or codec after its ready line, one per line.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_contract::{Answer, Ask, Asked, SliceAsk, SliceDone, Verified};

use super::error::{SubjectError, one_line};
use super::handshake::{Reply, exchange};
use super::process::{Subject, unasked_lines, wrong_line};
use crate::error::{TrialFailure, TrialResult};

impl Subject {
    /// Sends a client or codec a line that it must reject.
    ///
    /// # Errors
    /// Fails if the subject accepts the line or fails in any other way.
    pub(crate) fn refuses(
        &mut self,
        line: &str,
        limit: Duration,
        stop: &AtomicBool,
    ) -> TrialResult {
        let error = match self.answer(line, limit, stop) {
            Err(SubjectError::Refused(_)) => return Ok(()),
            Ok(_) => SubjectError::Contract(format!("it accepts what it must reject: {line}")),
            Err(error) => error,
        };
        Err(self.broken_off(error))
    }

    /// Requests the message or bytes that verify a client or codec.
    ///
    /// # Errors
    /// See [`Subject::slice`].
    pub fn verify(&mut self, limit: Duration, stop: &AtomicBool) -> TrialResult<Verified> {
        match self.converse(Asked::Verify, limit, stop)? {
            Answer::Verified(verified) => Ok(verified),
            other => Err(self.broken_off(unasked(&other))),
        }
    }

    /// Requests a slice from a client or codec, and waits at most `limit` for it to finish.
    ///
    /// # Errors
    /// Fails if the subject hangs, died, wrote anything else, or reports that it cannot continue. The lab then
    /// stops it, so that it does not disturb other subjects and its log is complete. The error includes the
    /// log's last lines.
    pub fn slice(
        &mut self,
        ask: &SliceAsk,
        limit: Duration,
        stop: &AtomicBool,
    ) -> TrialResult<SliceDone> {
        match self.converse(Asked::Slice(*ask), limit, stop)? {
            Answer::Slice(done) => Ok(done),
            other => Err(self.broken_off(unasked(&other))),
        }
    }

    fn converse(
        &mut self,
        asked: Asked,
        limit: Duration,
        stop: &AtomicBool,
    ) -> TrialResult<Answer> {
        let part = self.part;
        if self.shared.failed.get().is_some_and(|(of, _)| *of != part) {
            self.alive()?;
        }
        self.answer(&Ask { part, asked }.to_line(), limit, stop)
            .map_err(|error| self.broken_off(error))
    }

    fn answer(
        &mut self,
        ask: &str,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Answer, SubjectError> {
        let mut process = self.shared.process.borrow_mut();
        let line = match exchange(&mut process.child, ask, limit, stop) {
            Ok(Reply::Line(line, rest)) if rest.is_empty() => line,
            Ok(Reply::Line(..)) => return Err(unasked_lines()),
            Ok(Reply::End(_)) => {
                return Err(SubjectError::Died(process.how_it_ends()));
            }
            Err(SubjectError::NotReady(limit)) => return Err(SubjectError::Silent(limit)),
            Err(error) => return Err(error),
        };
        match Answer::parse(&line) {
            Ok(Answer::Failed(failed)) => Err(SubjectError::Refused(failed)),
            Ok(answer) => Ok(answer),
            Err(error) => Err(wrong_line(&error, &line)),
        }
    }

    /// Stops a subject that is no longer usable. Returns `error` with the log.
    pub(crate) fn broken_off(&mut self, error: SubjectError) -> TrialFailure {
        let failure = self.shared.process.borrow_mut().broken_off(error);
        let shared = &self.shared;
        shared
            .failed
            .get_or_init(|| (self.part, failure.reason.clone()));
        failure
    }
}

fn unasked(answer: &Answer) -> SubjectError {
    SubjectError::Contract(format!(
        "it sent an answer that was not requested: {}",
        one_line(&answer.to_line())
    ))
}
