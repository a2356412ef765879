//! A client or codec subject that is up. It is verified before and after its trials; in between it is asked for
//! slices, whose records it writes to a file.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_contract::{ClientSettings, CodecSettings, Record, SliceAsk, SliceBounds, SliceDone};
use rpcgauge_load::monotonic_ns;
use rpcgauge_message::Workload;
use rpcgauge_study::settings::Operation;
use rustix::thread::sched_getaffinity;

use crate::error::TrialResult;
use crate::subject::{RecordsFile, Subject, SubjectError};
use crate::variant::verify::{self, CodecSample};

pub(crate) struct Caller {
    pub(crate) subject: Subject,
    records: RecordsFile,
    bounds: SliceBounds,
    proof: Proof,
    is_right: bool,
    /// The expected size of a client's responses, bytes, if it is known.
    sizes: Option<RangeInclusive<f64>>,
}

/// A client's responses may differ in size from those that verified its server, since their requests differ: by
/// at most this factor and this many bytes.
const SIZE_FACTOR: f64 = 2.0;
const SIZE_BYTES: f64 = 16.0;

/// What a caller is verified with.
enum Proof {
    /// The response to a client's first request.
    Response(Workload),
    /// The sample that a codec encodes or decodes.
    Sample(Box<CodecSample>),
}

impl Caller {
    /// Wraps a client that is up, with the settings that it was started with.
    pub(crate) fn client(
        subject: Subject,
        settings: &ClientSettings,
        workload: Workload,
    ) -> TrialResult<Self> {
        let in_flight = settings.in_flight;
        // A library opens one for each channel, or for each call in flight.
        let connections = in_flight.saturating_add(settings.channels);
        let proof = Proof::Response(workload);
        Self::new(subject, &settings.records, (in_flight, connections), proof)
    }

    /// Wraps a codec that is up, with the settings that it was started with.
    pub(crate) fn codec(
        subject: Subject,
        settings: &CodecSettings,
        sample: CodecSample,
    ) -> TrialResult<Self> {
        let proof = Proof::Sample(Box::new(sample));
        Self::new(subject, &settings.records, (1, 0), proof)
    }

    fn new(
        mut subject: Subject,
        records: &Path,
        (in_flight, connections): (u32, u32),
        proof: Proof,
    ) -> TrialResult<Self> {
        let records = RecordsFile::open(records);
        let allowed = sched_getaffinity(None).map_err(|error| SubjectError::Pipe(error.into()))?;
        Ok(Self {
            records: records.map_err(|error| subject.broken_off(error))?,
            bounds: SliceBounds {
                in_flight,
                connections,
                cores: allowed.count(),
            },
            subject,
            proof,
            is_right: false,
            sizes: None,
        })
    }

    /// The same client, whose server's responses have this mean size.
    pub(crate) fn expecting(mut self, response_bytes: Option<f64>) -> Self {
        self.sizes = response_bytes
            .map(|bytes| bytes / SIZE_FACTOR - SIZE_BYTES..=bytes * SIZE_FACTOR + SIZE_BYTES);
        self
    }

    /// What a codec does; `None` for a client.
    pub(crate) fn operation(&self) -> Option<Operation> {
        match &self.proof {
            Proof::Response(_) => None,
            Proof::Sample(sample) => Some(sample.operation),
        }
    }

    /// Verifies it once, before anything is timed.
    ///
    /// # Errors
    /// Its output is wrong, or it does not report it.
    pub(crate) fn prove(&mut self, limit: Duration, stop: &AtomicBool) -> TrialResult {
        if !self.is_right {
            self.check(limit, stop)?;
            self.is_right = true;
        }
        Ok(())
    }

    /// Verifies it again, after a trial in which its output was only counted.
    ///
    /// # Errors
    /// As [`Caller::prove`]. A client's server may have begun to respond wrongly.
    pub(crate) fn prove_again(&mut self, limit: Duration, stop: &AtomicBool) -> TrialResult {
        self.check(limit, stop).map_err(|mut failure| {
            failure.reason = format!("after it was measured, {}", failure.reason);
            failure
        })
    }

    fn check(&mut self, limit: Duration, stop: &AtomicBool) -> TrialResult {
        let verified = self.subject.verify(limit, stop)?;
        let right = match &self.proof {
            Proof::Response(workload) => verify::right_response(&verified, workload),
            Proof::Sample(sample) => sample.right(&verified),
        };
        right.map_err(|reason| self.subject.wrong(reason))
    }

    /// Asks for a slice, waits at most `limit` for it, calls `answered`, and reads its records.
    ///
    /// # Errors
    /// As [`Subject::slice`], or its records are not those of the slice.
    pub(crate) fn slice(
        &mut self,
        ask: &SliceAsk,
        limit: Duration,
        stop: &AtomicBool,
        answered: impl FnOnce(),
    ) -> TrialResult<(SliceDone, Vec<Record>)> {
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
            let checked = self.bounds.check_records(&done, &records);
            checked.map_err(|error| SubjectError::Contract(error.to_string()))?;
            self.check_sizes(&records)?;
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
                "it records a response of {bytes} bytes, but its server's have {:.0} to {:.0}",
                sizes.start().max(0.0),
                sizes.end()
            ))),
        }
    }

    /// Checks that it has recorded nothing since its last slice.
    pub(crate) fn silent(&mut self) -> TrialResult {
        let nothing = SliceDone::default();
        if self.records.read(&nothing, 0..=u64::MAX).is_ok() {
            return Ok(());
        }
        let reason = "it keeps calling after its slice, or records late";
        let error = SubjectError::Contract(reason.to_owned());
        Err(self.subject.broken_off(error))
    }
}
