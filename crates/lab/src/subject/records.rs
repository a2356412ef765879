//! The file to which a client or codec appends the records of its calls, read slice by slice.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::ops::RangeInclusive;
use std::path::Path;

use rpcgauge_contract::{RECORD_BYTES, Record, SliceDone};

use super::error::SubjectError;
use crate::files::regular;

/// Records in the order they were appended; each is read once.
#[derive(Debug)]
pub(crate) struct RecordsFile(File);

fn unreadable(error: &io::Error) -> SubjectError {
    SubjectError::Contract(format!("its records cannot be read: {error}"))
}

impl RecordsFile {
    /// Opens the file, which the subject must create before it is ready.
    ///
    /// # Errors
    /// Fails if the file does not exist or is not a regular file.
    pub(crate) fn open(path: &Path) -> Result<Self, SubjectError> {
        let file = regular::open(path);
        file.map(Self).map_err(|error| unreadable(&error))
    }

    /// Reads the records of a slice. The range `slice` is from the request for the slice to the answer, on the
    /// host's monotonic clock, ns.
    ///
    /// # Errors
    /// Fails if the number of records differs from the reported one, a record is damaged, or a record lies
    /// outside the slice because the subject made calls between slices or uses another clock.
    pub(crate) fn read(
        &mut self,
        done: &SliceDone,
        slice: RangeInclusive<u64>,
    ) -> Result<Vec<Record>, SubjectError> {
        let size = RECORD_BYTES as u64;
        let length = self.0.metadata().map_err(|error| unreadable(&error))?.len();
        let begin = self.0.stream_position().map_err(SubjectError::Pipe)?;
        let wrote = length.saturating_sub(begin);
        if Some(wrote) != done.records.checked_mul(size) {
            return Err(SubjectError::Contract(format!(
                "it reports {} × {size} bytes of records, but wrote {wrote}",
                done.records
            )));
        }
        // One record at a time: a sparse file can claim any length, but fails at its first record.
        let mut bytes = BufReader::new((&mut self.0).take(wrote));
        let mut records = Vec::new();
        let mut record = [0; RECORD_BYTES];
        for index in 0..usize::try_from(done.records).unwrap_or(usize::MAX) {
            let read = bytes.read_exact(&mut record);
            read.map_err(|error| unreadable(&error))?;
            let record = Record::from_bytes(index, &record);
            records.push(record.map_err(|error| SubjectError::Contract(error.to_string()))?);
        }
        let is_outside =
            |record: &Record| record.begin < *slice.start() || record.end > *slice.end();
        match records.iter().position(is_outside) {
            None => Ok(records),
            Some(index) => Err(SubjectError::Contract(format!(
                "record {index} lies outside its slice: it made calls between slices, or its clock is \
                 not the host's monotonic one"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

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
        let mut records = RecordsFile::open(file.path()).unwrap();
        let mut write = |bytes: &[u8]| file.write_all(bytes).unwrap();

        write(&record(10, 20).to_bytes());
        write(&record(20, 30).to_bytes());
        let read = records.read(&done(2), 10..=30).unwrap();
        assert_eq!(read, [record(10, 20), record(20, 30)]);

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
        let mut records = RecordsFile::open(file.path()).unwrap();
        let claimed = 1 << 30;
        let bytes = claimed * RECORD_BYTES as u64;
        file.as_file().set_len(bytes).unwrap();
        let refused = records.read(&done(claimed), 0..=9).unwrap_err().to_string();
        assert!(refused.contains("record 0 has no"), "{refused}");
    }

    #[test]
    fn records_of_the_wrong_size_are_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut records = RecordsFile::open(file.path()).unwrap();
        file.write_all(&[1; 72]).unwrap();
        let refused = records.read(&done(1), 0..=9).unwrap_err().to_string();
        assert!(
            refused.contains("it reports 1 × 80 bytes of records, but wrote 72"),
            "{refused}"
        );
    }
}
