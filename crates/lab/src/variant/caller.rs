//! A running client or codec subject. It is verified before and after its trials. In between it runs the slices
//! that it is asked for and writes their records to a file.

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_contract::{ClientSettings, CodecSettings, Record, SliceAsk, SliceBounds, SliceDone};
use rpcgauge_load::monotonic_ns;
use rpcgauge_message::Workload;
use rpcgauge_study::settings::Operation;
use rustix::thread::sched_getaffinity;

use crate::error::TrialResult;
use crate::subject::{RecordsFile, SliceRecords, Subject, SubjectError};
use crate::variant::responses::Responses;
use crate::variant::verify::{self, CodecSample};

pub(crate) struct Caller {
    pub(crate) subject: Subject,
    records: RecordsFile,
    bounds: SliceBounds,
    proof: Proof,
    is_right: bool,
    /// The accepted sizes of a client's responses, bytes; `None` if unknown.
    sizes: Option<RangeInclusive<f64>>,
}

/// A client's requests can differ from those that verified its server, and so can the response sizes: by at
/// most this factor plus this many bytes.
const SIZE_FACTOR: f64 = 2.0;
const SIZE_BYTES: f64 = 16.0;

/// The coarsest clock that a caller may have, ns.
const MAX_CLOCK_NS: u32 = 1_000_000;

/// What a caller's output is compared with.
enum Proof {
    /// The expected responses to a client's requests.
    Responses(Responses),
    /// The sample that a codec encodes or decodes.
    Sample(Box<CodecSample>),
}

impl Caller {
    /// Wraps a running client, given the settings it was started with.
    pub(crate) fn client(
        subject: Subject,
        settings: &ClientSettings,
        workload: Workload,
    ) -> TrialResult<Self> {
        let in_flight = settings.in_flight;
        // A library opens one connection per channel or per call in flight; the sum is an upper bound for both.
        let connections = in_flight.saturating_add(settings.channels);
        let requests = settings.requests.len() as u64;
        let proof = Proof::Responses(Responses::new(workload, requests, settings.stream));
        let messages = settings.message_records.as_deref().zip(settings.stream);
        let records = RecordsFile::open(&settings.records, messages);
        Self::new(subject, records, (in_flight, connections), proof)
    }

    /// Wraps a running codec, given the settings it was started with.
    pub(crate) fn codec(
        subject: Subject,
        settings: &CodecSettings,
        sample: CodecSample,
    ) -> TrialResult<Self> {
        let proof = Proof::Sample(Box::new(sample));
        let records = RecordsFile::open(&settings.records, None);
        Self::new(subject, records, (1, 0), proof)
    }

    fn new(
        mut subject: Subject,
        records: Result<RecordsFile, SubjectError>,
        (in_flight, connections): (u32, u32),
        proof: Proof,
    ) -> TrialResult<Self> {
        let allowed = sched_getaffinity(None).map_err(|error| SubjectError::Pipe(error.into()))?;
        Ok(Self {
            records: records.map_err(|error| subject.broken_off(error))?,
            bounds: SliceBounds {
                in_flight,
                connections,
                cores: allowed.count(),
                clock_ns: subject.said().clock_ns.unwrap_or(0).min(MAX_CLOCK_NS),
            },
            subject,
            proof,
            is_right: false,
            sizes: None,
        })
    }

    /// Sets the mean size of the server's responses, which bounds the sizes a client may record.
    pub(crate) fn expecting(mut self, response_bytes: Option<f64>) -> Self {
        self.sizes = response_bytes
            .map(|bytes| bytes / SIZE_FACTOR - SIZE_BYTES..=bytes * SIZE_FACTOR + SIZE_BYTES);
        self
    }

    /// The resolution of its clock, ns; 0 if that is fine.
    pub(crate) fn clock_ns(&self) -> u32 {
        self.bounds.clock_ns
    }

    /// What a codec does; `None` for a client.
    pub(crate) fn operation(&self) -> Option<Operation> {
        match &self.proof {
            Proof::Responses(_) => None,
            Proof::Sample(sample) => Some(sample.operation),
        }
    }

    /// Verifies the caller before anything is timed. A no-op if it has already passed.
    ///
    /// # Errors
    /// Its output is wrong, or it does not report any.
    pub(crate) fn prove(&mut self, limit: Duration, stop: &AtomicBool) -> TrialResult {
        if !self.is_right {
            self.check(limit, stop)?;
            self.is_right = true;
        }
        Ok(())
    }

    /// Verifies the caller again after a trial, which only counts its output.
    ///
    /// # Errors
    /// Same as [`Caller::prove`]. For a client, the server may have begun to respond incorrectly.
    pub(crate) fn prove_again(&mut self, limit: Duration, stop: &AtomicBool) -> TrialResult {
        self.check(limit, stop).map_err(|mut failure| {
            failure.reason = format!("after it was measured, {}", failure.reason);
            failure
        })
    }

    fn check(&mut self, limit: Duration, stop: &AtomicBool) -> TrialResult {
        let verified = self.subject.verify(limit, stop)?;
        let right = match &self.proof {
            Proof::Responses(responses) => verify::right_responses(&verified, responses),
            Proof::Sample(sample) => sample.right(&verified),
        };
        right.map_err(|reason| self.subject.wrong(reason))
    }

    /// Requests a slice, waits at most `limit` for the answer, calls `answered`, and then reads the slice's
    /// records.
    ///
    /// # Errors
    /// Same as [`Subject::slice`]. Also fails if the records do not match the slice.
    pub(crate) fn slice(
        &mut self,
        ask: &SliceAsk,
        limit: Duration,
        stop: &AtomicBool,
        answered: impl FnOnce(),
    ) -> TrialResult<(SliceDone, SliceRecords)> {
        self.silent()?;
        let asked = monotonic_ns();
        let done = self.subject.slice(ask, limit, stop)?;
        let answered_at = monotonic_ns();
        answered();
        let took = Duration::from_nanos(answered_at.saturating_sub(asked));
        let records = match self.bounds.check(ask, took, &done) {
            Ok(()) => self.records.read(&done, asked..=answered_at),
            Err(error) => Err(SubjectError::Contract(error.to_string())),
        };
        let records = records.and_then(|records| {
            let checked = self.bounds.check_records(&done, &records.calls);
            checked.map_err(|error| SubjectError::Contract(error.to_string()))?;
            self.check_sizes(&records.calls)?;
            Ok(records)
        });
        let records = records.map_err(|error| self.subject.broken_off(error))?;
        Ok((done, records))
    }

    fn check_sizes(&self, records: &[Record]) -> Result<(), SubjectError> {
        let Some(sizes) = &self.sizes else {
            return Ok(());
        };
        let answered = records.iter().filter(|record| !record.failed);
        let mut known = answered.filter_map(|record| record.response_bytes);
        match known.find(|bytes| !sizes.contains(&f64::from(*bytes))) {
            None => Ok(()),
            Some(bytes) => Err(SubjectError::Contract(format!(
                "it recorded a response of {bytes} bytes, but its server sends {:.0} to {:.0} bytes",
                sizes.start().max(0.0),
                sizes.end()
            ))),
        }
    }

    /// Checks that the subject has recorded nothing since its last slice.
    pub(crate) fn silent(&mut self) -> TrialResult {
        let nothing = SliceDone::default();
        if self.records.read(&nothing, 0..=u64::MAX).is_ok() {
            return Ok(());
        }
        let reason = "it continues to make calls after its slice, or writes records late";
        let error = SubjectError::Contract(reason.to_owned());
        Err(self.subject.broken_off(error))
    }
}
