//! The file to which a client or codec appends the records of its calls, read slice by slice.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::ops::RangeInclusive;
use std::path::Path;

use rpcgauge_contract::{MessageRecord, Record, RecordError, SliceDone, Stream};

use super::error::SubjectError;
use crate::files::regular;

/// Records in the order they were appended; each is read once.
#[derive(Debug)]
pub(crate) struct RecordsFile {
    calls: File,
    /// The file of their messages, if calls stream.
    messages: Option<(File, Stream)>,
}

/// The records of a slice.
#[derive(Debug, Default)]
pub(crate) struct SliceRecords {
    /// Those of calls or batches.
    pub(crate) calls: Vec<Record>,
    /// The messages of each call, if calls stream; otherwise empty.
    pub(crate) messages: Vec<Vec<MessageRecord>>,
}

fn unreadable(error: &io::Error) -> SubjectError {
    SubjectError::Contract(format!("its records cannot be read: {error}"))
}

impl RecordsFile {
    /// Opens the files, which the subject must create before it is ready.
    ///
    /// # Errors
    /// Fails if a file does not exist or is not a regular file.
    pub(crate) fn open(
        path: &Path,
        messages: Option<(&Path, Stream)>,
    ) -> Result<Self, SubjectError> {
        let open = |path: &Path| regular::open(path).map_err(|error| unreadable(&error));
        Ok(Self {
            calls: open(path)?,
            messages: match messages {
                None => None,
                Some((path, stream)) => Some((open(path)?, stream)),
            },
        })
    }

    /// Reads the records of a slice. The range `slice` is from the request for the slice to the answer, on the
    /// host's monotonic clock, ns.
    ///
    /// # Errors
    /// Fails if the number of records differs from the reported one, a record is damaged, or a record lies
    /// outside the slice because the subject made calls between slices or uses another clock. Also fails if the
    /// messages do not match their calls.
    pub(crate) fn read(
        &mut self,
        done: &SliceDone,
        slice: RangeInclusive<u64>,
    ) -> Result<SliceRecords, SubjectError> {
        let mut calls = read_new(&mut self.calls, done.records, Record::from_bytes)?;
        let is_outside =
            |record: &Record| record.begin < *slice.start() || record.end > *slice.end();
        if let Some(index) = calls.iter().position(is_outside) {
            return Err(SubjectError::Contract(format!(
                "record {index} lies outside its slice: it made calls between slices, or its clock is \
                 not the host's monotonic one"
            )));
        }
        let messages = match &mut self.messages {
            None => Vec::new(),
            Some((file, stream)) => messages_of(&mut calls, file, stream)?,
        };
        Ok(SliceRecords { calls, messages })
    }
}

/// Reads `count` records, which must be all that were appended since the last time.
fn read_new<const SIZE: usize, R>(
    file: &mut File,
    count: u64,
    parse: fn(usize, &[u8; SIZE]) -> Result<R, RecordError>,
) -> Result<Vec<R>, SubjectError> {
    let length = file.metadata().map_err(|error| unreadable(&error))?.len();
    let begin = file.stream_position().map_err(SubjectError::Pipe)?;
    let wrote = length.saturating_sub(begin);
    if Some(wrote) != count.checked_mul(SIZE as u64) {
        return Err(SubjectError::Contract(format!(
            "it reports {count} × {SIZE} bytes of records, but wrote {wrote}"
        )));
    }
    // One record at a time: a sparse file can claim any length, but fails at its first record.
    let mut bytes = BufReader::new(file.take(wrote));
    let mut records = Vec::new();
    let mut record = [0; SIZE];
    for index in 0..usize::try_from(count).unwrap_or(usize::MAX) {
        let read = bytes.read_exact(&mut record);
        read.map_err(|error| unreadable(&error))?;
        let record = parse(index, &record);
        records.push(record.map_err(|error| SubjectError::Contract(error.to_string()))?);
    }
    Ok(records)
}

/// Reads the messages of calls, whose records have their numbers as `operations`. Afterwards, each call is one operation.
fn messages_of(
    calls: &mut [Record],
    file: &mut File,
    stream: &Stream,
) -> Result<Vec<Vec<MessageRecord>>, SubjectError> {
    let count = calls.iter().map(|call| u64::from(call.operations)).sum();
    let mut all = read_new(file, count, MessageRecord::from_bytes)?.into_iter();
    let mut messages = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter_mut().enumerate() {
        let of_call: Vec<_> = all.by_ref().take(call.operations as usize).collect();
        call.operations = 1;
        let wrong = |what| SubjectError::Contract(format!("in call {index}, {what}"));
        MessageRecord::check_call(&of_call, stream, (call.begin, call.end)).map_err(wrong)?;
        let count = |has: fn(&MessageRecord) -> bool| of_call.iter().filter(|one| has(one)).count();
        let (sent, received) = (
            count(|one| one.sent.is_some()),
            count(|one| one.received.is_some()),
        );
        let expected = (stream.requests() as usize, stream.responses() as usize);
        if !call.failed && (sent, received) != expected {
            return Err(wrong(format!(
                "which succeeded, {sent} messages were sent and {received} received, not {} and {}",
                expected.0, expected.1
            )));
        }
        messages.push(of_call);
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rpcgauge_contract::RECORD_BYTES;
    use rpcgauge_trial::StreamForm;

    use super::*;

    fn record(begin: u64, end: u64) -> Record {
        Record {
            begin,
            encoded: None,
            sent: None,
            first_byte: None,
            received: None,
            end,
            handler_start: None,
            handler_end: None,
            request_bytes: None,
            response_bytes: None,
            failed: false,
            operations: 1,
        }
    }

    fn done(records: u64) -> SliceDone {
        SliceDone {
            records,
            ..SliceDone::default()
        }
    }

    #[test]
    fn each_slice_is_read_once_and_a_wrong_one_is_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut records = RecordsFile::open(file.path(), None).unwrap();
        let mut write = |bytes: &[u8]| file.write_all(bytes).unwrap();

        write(&record(10, 20).to_bytes());
        write(&record(20, 30).to_bytes());
        let read = records.read(&done(2), 10..=30).unwrap();
        assert_eq!(read.calls, [record(10, 20), record(20, 30)]);

        let mut refused = |bytes: &[u8], said, slice| {
            write(bytes);
            records.read(&done(said), slice).unwrap_err().to_string()
        };
        let early = refused(&record(30, 50).to_bytes(), 1, 40..=60);
        assert!(early.contains("record 0 lies outside its slice"), "{early}");
        let late = refused(&record(50, 70).to_bytes(), 1, 40..=60);
        assert!(late.contains("record 0 lies outside its slice"), "{late}");
        let few = refused(&record(50, 55).to_bytes(), 2, 40..=60);
        assert!(
            few.contains("it reports 2 × 80 bytes of records, but wrote 80"),
            "{few}"
        );
        let many = refused(&[record(50, 55).to_bytes(); 3].concat(), 1, 40..=60);
        // This includes the previous record, which was not read.
        assert!(many.contains("but wrote 320"), "{many}");
    }

    #[test]
    fn a_hole_is_no_records_and_takes_no_memory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut records = RecordsFile::open(file.path(), None).unwrap();
        let claimed = 1 << 30;
        let bytes = claimed * RECORD_BYTES as u64;
        file.as_file().set_len(bytes).unwrap();
        let refused = records.read(&done(claimed), 0..=9).unwrap_err().to_string();
        assert!(refused.contains("record 0 has no"), "{refused}");
    }

    #[test]
    fn the_messages_of_a_stream_belong_to_their_calls() {
        let (mut calls, mut messages) = (
            tempfile::NamedTempFile::new().unwrap(),
            tempfile::NamedTempFile::new().unwrap(),
        );
        let stream = Stream::new(StreamForm::Server, 2, false).unwrap();
        let mut records = RecordsFile::open(calls.path(), Some((messages.path(), stream))).unwrap();
        let mut read = |(begin, end, failed), of_call: &[(u64, u64)]| {
            let call = Record {
                operations: of_call.len() as u32,
                failed,
                ..record(begin, end)
            };
            calls.write_all(&call.to_bytes()).unwrap();
            for (sent, received) in of_call {
                let time = |time: &u64| Some(*time).filter(|time| *time != 0);
                let message = MessageRecord {
                    sent: time(sent),
                    received: time(received),
                };
                messages.write_all(&message.to_bytes()).unwrap();
            }
            let read = records.read(&done(1), 0..=99);
            read.map_err(|error| error.to_string())
        };
        let right = read((10, 20, false), &[(10, 15), (0, 16)]).unwrap();
        assert_eq!(right.calls, [record(10, 20)], "one operation");
        assert_eq!(right.messages[0].len(), 2);
        let failed = read((20, 30, true), &[(20, 25)]).unwrap();
        assert_eq!(failed.messages[0][0].received, Some(25));
        let few = read((30, 40, false), &[(30, 35)]).unwrap_err();
        assert!(
            few.contains("1 messages were sent and 1 received, not 1 and 2"),
            "{few}"
        );
        let late = read((40, 50, false), &[(40, 45), (0, 51)]).unwrap_err();
        assert!(late.contains("in call 0, message 1 was received"), "{late}");
    }

    #[test]
    fn records_of_the_wrong_size_are_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut records = RecordsFile::open(file.path(), None).unwrap();
        file.write_all(&[1; 72]).unwrap();
        let refused = records.read(&done(1), 0..=9).unwrap_err().to_string();
        assert!(
            refused.contains("it reports 1 × 80 bytes of records, but wrote 72"),
            "{refused}"
        );
    }
}
