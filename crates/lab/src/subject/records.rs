//! The file that a client or codec appends its calls' records to, read slice by slice.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use rpcgauge_message::contract::{RECORD_BYTES, Record, SliceDone};

use super::error::SubjectError;

/// Records as they are appended, each read once.
#[derive(Debug)]
pub(crate) struct RecordsFile(File);

impl RecordsFile {
    /// Opens the file that a subject has made before it was ready.
    ///
    /// # Errors
    /// It is not there.
    pub(crate) fn open(path: &Path) -> Result<Self, SubjectError> {
        let no_file = |error| {
            let path = path.display();
            SubjectError::Contract(format!("its records cannot be read at {path}: {error}"))
        };
        File::open(path).map(Self).map_err(no_file)
    }

    /// Reads the records of a slice, whose ask and answer lie at these times of the host's monotonic
    /// clock.
    ///
    /// # Errors
    /// They are not as many as it reports, are damaged, or lie outside of the slice: it called
    /// between slices, or its clock is another.
    pub(crate) fn read(
        &mut self,
        done: &SliceDone,
        slice: RangeInclusive<u64>,
    ) -> Result<Vec<Record>, SubjectError> {
        let said = usize::try_from(done.records).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        // One more than it reports, to find one too many.
        let most = done
            .records
            .saturating_add(1)
            .saturating_mul(RECORD_BYTES as u64);
        (&mut self.0)
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(SubjectError::Pipe)?;
        let wrote = bytes.len();
        if Some(wrote) != said.checked_mul(RECORD_BYTES) {
            let or_more = match wrote as u64 == most {
                true => " or more",
                false => "",
            };
            return Err(SubjectError::Contract(format!(
                "it reports {said} × {RECORD_BYTES} bytes of records, and wrote {wrote}{or_more}"
            )));
        }
        let records =
            Record::read_all(&bytes).map_err(|error| SubjectError::Contract(error.to_string()))?;
        let is_outside =
            |record: &Record| record.begin < *slice.start() || record.end > *slice.end();
        match records.iter().position(is_outside) {
            None => Ok(records),
            Some(index) => Err(SubjectError::Contract(format!(
                "record {index} lies outside of its slice: it called between slices, or its clock is \
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
        assert!(
            early.contains("record 0 lies outside of its slice"),
            "{early}"
        );
        let late = refused(&record(50, 70).to_bytes(), 1, 40..=60);
        assert!(
            late.contains("record 0 lies outside of its slice"),
            "{late}"
        );
        let few = refused(&record(50, 55).to_bytes(), 2, 40..=60);
        assert!(
            few.contains("it reports 2 × 80 bytes of records, and wrote 80"),
            "{few}"
        );
        let many = refused(&[record(50, 55).to_bytes(); 3].concat(), 1, 40..=60);
        assert!(many.contains("and wrote 160 or more"), "{many}");
    }

    #[test]
    fn records_of_the_wrong_size_are_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut records = RecordsFile::open(file.path()).unwrap();
        file.write_all(&[1; 72]).unwrap();
        let refused = records.read(&done(1), 0..=9).unwrap_err().to_string();
        assert!(
            refused.contains("it reports 1 × 80 bytes of records, and wrote 72"),
            "{refused}"
        );
    }
}
