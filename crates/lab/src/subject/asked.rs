//! What a client or codec is asked after its ready line, line by line.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rpcgauge_load::monotonic_ns;
use rpcgauge_message::contract::{Answer, Ask, Record, SliceAsk, SliceDone, Verified};

use super::RecordsFile;
use super::conversation::{Heard, exchange};
use super::error::{SubjectError, one_line};
use super::process::{
    Subject, TERM_GRACE, how_it_ended, unasked_lines, wait_until_ended, wrong_line,
};
use crate::error::TrialFailure;

/// A client or codec that is ready, with its file.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) subject: Subject,
    records: RecordsFile,
}

impl Asked {
    /// Opens its file.
    ///
    /// # Errors
    /// It has made none.
    pub(crate) fn new(mut subject: Subject, records: &Path) -> Result<Self, TrialFailure> {
        match RecordsFile::open(records) {
            Ok(records) => Ok(Self { subject, records }),
            Err(error) => Err(subject.broken_off(error)),
        }
    }

    /// Asks for a slice, waits at most `limit` for it, and reads its records.
    ///
    /// # Errors
    /// As [`Subject::slice`], and what its records are that they must not be.
    pub(crate) fn slice(
        &mut self,
        ask: &SliceAsk,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<(SliceDone, Vec<Record>), TrialFailure> {
        self.silent()?;
        let asked = monotonic_ns();
        let done = self.subject.slice(ask, limit, stop)?;
        match self.records.read(&done, asked..=monotonic_ns()) {
            Ok(records) => Ok((done, records)),
            Err(error) => Err(self.subject.broken_off(error)),
        }
    }

    /// Sees to it that it recorded nothing since its last slice.
    ///
    /// # Errors
    /// It did.
    pub(crate) fn silent(&mut self) -> Result<(), TrialFailure> {
        let nothing = SliceDone::default();
        if self.records.read(&nothing, 0..=u64::MAX).is_ok() {
            return Ok(());
        }
        let reason = "it goes on calling after its slice, or records late";
        let error = SubjectError::Contract(reason.to_owned());
        Err(self.subject.broken_off(error))
    }
}

impl Subject {
    /// Asks a client or codec what it must refuse; what it says to that.
    ///
    /// # Errors
    /// It does it, or says nothing, or something else.
    pub(crate) fn refuses(
        &mut self,
        line: &str,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<(), TrialFailure> {
        let error = match self.answer(line, limit, stop) {
            Err(SubjectError::Refused(_)) => return Ok(()),
            Ok(_) => SubjectError::Contract(format!("it does what it must refuse: {line}")),
            Err(error) => error,
        };
        Err(self.broken_off(error))
    }

    /// Asks a client or codec to prove itself right.
    ///
    /// # Errors
    /// As [`Subject::slice`].
    pub fn verify(&mut self, limit: Duration, stop: &AtomicBool) -> Result<Verified, TrialFailure> {
        match self.converse(&Ask::Verify, limit, stop)? {
            Answer::Verified(verified) => Ok(verified),
            other => Err(self.broken_off(unasked(&other))),
        }
    }

    /// Asks a client or codec for a slice and waits at most `limit` until it is made.
    ///
    /// # Errors
    /// It hung, died, wrote something else, or says that it cannot go on. It is ended then, so that
    /// it disturbs no other and its log is whole; the failure has the log's last lines.
    pub fn slice(
        &mut self,
        ask: &SliceAsk,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<SliceDone, TrialFailure> {
        match self.converse(&Ask::Slice(*ask), limit, stop)? {
            Answer::Slice(done) => Ok(done),
            other => Err(self.broken_off(unasked(&other))),
        }
    }

    fn converse(
        &mut self,
        ask: &Ask,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Answer, TrialFailure> {
        self.answer(&ask.to_line(), limit, stop)
            .map_err(|error| self.broken_off(error))
    }

    fn answer(
        &mut self,
        ask: &str,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Answer, SubjectError> {
        let (Some(stdin), Some(stdout)) = (&self.stdin, &mut self.stdout) else {
            let status = how_it_ended(&self.child).unwrap_or_else(|| "its input closed".to_owned());
            return Err(SubjectError::Died { status });
        };
        let line = match exchange(stdin, stdout, ask, limit, stop) {
            Ok(Heard::Line(line, rest)) if rest.is_empty() => line,
            Ok(Heard::Line(..)) => return Err(unasked_lines()),
            Ok(Heard::End(_)) => {
                wait_until_ended(&self.child, Instant::now() + TERM_GRACE);
                let status = how_it_ended(&self.child);
                let status = status.unwrap_or_else(|| "its output closed".to_owned());
                return Err(SubjectError::Died { status });
            }
            Err(SubjectError::NotReady(limit)) => return Err(SubjectError::Silent(limit)),
            Err(error) => return Err(error),
        };
        match Answer::parse(&line) {
            Ok(Answer::Failed(failed)) => Err(SubjectError::Refused(failed)),
            Ok(answer) => Ok(answer),
            Err(error) => Err(SubjectError::Contract(wrong_line(&error, &line))),
        }
    }

    /// Ends a subject that is of no more use.
    pub(crate) fn broken_off(&mut self, error: SubjectError) -> TrialFailure {
        self.end(Duration::ZERO);
        TrialFailure::from(error).with_log(self.log_tail())
    }
}

fn unasked(answer: &Answer) -> SubjectError {
    SubjectError::Contract(format!(
        "it answered what was not asked: {}",
        one_line(&answer.to_line())
    ))
}
