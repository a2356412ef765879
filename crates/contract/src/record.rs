//! The 80-byte record of one call or batch, which clients and codecs append to their file.

/// Size of a record in bytes.
pub const RECORD_BYTES: usize = 80;

/// Stands for an unknown size.
const NOT_KNOWN: u32 = u32::MAX;

/// One call of a client, or one batch of a codec. Times are nanoseconds of the host's monotonic
/// clock, `None` if the library cannot observe them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Before the message is encoded, or before the batch.
    pub begin: u64,
    /// The request's bytes are encoded and compressed.
    pub encoded: Option<u64>,
    /// The request's bytes are handed to the transport.
    pub sent: Option<u64>,
    /// The first byte of the response arrived.
    pub first_byte: Option<u64>,
    /// The last byte of the response arrived.
    pub received: Option<u64>,
    /// The response is decoded, or the batch is complete.
    pub end: u64,
    /// The handler's start, from the server's mark.
    pub handler_start: Option<u64>,
    /// The handler's end, from the server's mark.
    pub handler_end: Option<u64>,
    /// Size of the request body as sent, in bytes.
    pub request_bytes: Option<u32>,
    /// Size of the response body as received, in bytes.
    pub response_bytes: Option<u32>,
    /// Whether the call failed.
    pub failed: bool,
    /// 1 for a call; for a batch, its number of operations; for a stream, its number of message records.
    pub operations: u32,
}

/// Why bytes are not valid records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes are not a whole number of records.
    #[error("{0} bytes of records are not a multiple of {RECORD_BYTES}")]
    Size(usize),
    /// A mandatory time is missing. Contains the record's index, from 0, and the time's name.
    #[error("record {0} has no \"{1}\"")]
    Absent(usize, &'static str),
    /// A time is before an earlier step's time.
    #[error("in record {index}, \"{later}\" is {by_ns} ns before \"{earlier}\"")]
    Backwards {
        /// The record's index, from 0.
        index: usize,
        /// The step that should come first.
        earlier: &'static str,
        /// The step that should follow.
        later: &'static str,
        /// How far the later step is before the earlier one, in ns.
        by_ns: u64,
    },
    /// A status or number of operations that is not valid.
    #[error("in record {0}, \"{1}\" is {2}, which is invalid")]
    Value(usize, &'static str, u32),
}

impl Record {
    /// The record as its bytes in the file.
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let times = self.times().map(|(_, time)| time.unwrap_or(0));
        let words = [
            self.request_bytes.unwrap_or(NOT_KNOWN),
            self.response_bytes.unwrap_or(NOT_KNOWN),
            u32::from(self.failed),
            self.operations,
        ];
        let mut bytes = [0; RECORD_BYTES];
        let (head, tail) = bytes.split_at_mut(8 * times.len());
        for (place, time) in head.chunks_exact_mut(8).zip(times) {
            place.copy_from_slice(&time.to_le_bytes());
        }
        for (place, word) in tail.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Parses all records of a file.
    pub fn read_all(bytes: &[u8]) -> Result<Vec<Self>, RecordError> {
        let (records, []) = bytes.as_chunks::<RECORD_BYTES>() else {
            return Err(RecordError::Size(bytes.len()));
        };
        let read = |(index, bytes)| Self::from_bytes(index, bytes);
        records.iter().enumerate().map(read).collect()
    }

    /// Parses one record. `index`, from 0, is only for errors.
    pub fn from_bytes(index: usize, bytes: &[u8; RECORD_BYTES]) -> Result<Self, RecordError> {
        let time = |place: usize| {
            let (times, _) = bytes.as_chunks::<8>();
            u64::from_le_bytes(times[place])
        };
        let word = |place: usize| {
            let (words, _) = bytes[64..].as_chunks::<4>();
            u32::from_le_bytes(words[place])
        };
        let seen = |place| Some(time(place)).filter(|time| *time != 0);
        let always = |place, name| seen(place).ok_or(RecordError::Absent(index, name));
        let known = |place| Some(word(place)).filter(|size| *size != NOT_KNOWN);
        let wrong = |field, value| Err(RecordError::Value(index, field, value));
        let record = Self {
            begin: always(0, "begin")?,
            encoded: seen(1),
            sent: seen(2),
            first_byte: seen(3),
            received: seen(4),
            end: always(5, "end")?,
            handler_start: seen(6),
            handler_end: seen(7),
            request_bytes: known(0),
            response_bytes: known(1),
            failed: match word(2) {
                0 => false,
                1 => true,
                other => return wrong("status", other),
            },
            operations: match word(3) {
                // A stream can fail before its first message.
                0 if word(2) == 0 => return wrong("operations", 0),
                operations => operations,
            },
        };
        record.in_order(index).map(|()| record)
    }

    /// Each timestamp with its name, in the file's order.
    fn times(&self) -> [(&'static str, Option<u64>); 8] {
        [
            ("begin", Some(self.begin)),
            ("encoded", self.encoded),
            ("sent", self.sent),
            ("first byte", self.first_byte),
            ("received", self.received),
            ("end", Some(self.end)),
            ("handler start", self.handler_start),
            ("handler end", self.handler_end),
        ]
    }

    /// Checks that no time is before an earlier step's time. A response may begin before its
    /// handler has ended, so marks are only compared with `begin` and `end`.
    fn in_order(&self, index: usize) -> Result<(), RecordError> {
        let [begin, encoded, sent, first, received, end, start, stop] = self.times();
        let orders: [&[_]; 2] = [
            &[begin, encoded, sent, first, received, end],
            &[begin, start, stop, end],
        ];
        for order in orders {
            let mut last = ("begin", self.begin);
            for (later, time) in order
                .iter()
                .filter_map(|(name, time)| Some((*name, (*time)?)))
            {
                let (earlier, before) = last;
                if time < before {
                    return Err(RecordError::Backwards {
                        index,
                        earlier,
                        later,
                        by_ns: before - time,
                    });
                }
                last = (later, time);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Time from each step to the next; `None` if the step is not observed.
    fn gaps<const N: usize>() -> impl Strategy<Value = [Option<u32>; N]> {
        prop::array::uniform(prop::option::of(any::<u32>()))
    }

    fn after<const N: usize>(begin: u64, gaps: [Option<u32>; N]) -> ([Option<u64>; N], u64) {
        let mut last = begin;
        let times = gaps.map(|gap| {
            last += u64::from(gap?);
            Some(last)
        });
        (times, last)
    }

    prop_compose! {
        fn record()(
            begin in 1..u64::MAX / 2,
            stamps in gaps::<4>(),
            marks in gaps::<2>(),
            rest in any::<u32>(),
            sizes in prop::array::uniform2(prop::option::of(0..NOT_KNOWN)),
            failed in any::<bool>(),
            operations in 1..=u32::MAX,
        ) -> Record {
            let ([encoded, sent, first_byte, received], last) = after(begin, stamps);
            let ([handler_start, handler_end], last_mark) = after(begin, marks);
            Record {
                begin, encoded, sent, first_byte, received,
                end: last.max(last_mark) + u64::from(rest),
                handler_start, handler_end,
                request_bytes: sizes[0], response_bytes: sizes[1],
                failed, operations,
            }
        }
    }

    proptest! {
        #[test]
        fn records_come_back_from_their_bytes(records in prop::collection::vec(record(), 0..5)) {
            let bytes: Vec<u8> = records.iter().flat_map(Record::to_bytes).collect();
            prop_assert_eq!(Record::read_all(&bytes), Ok(records));
        }

        #[test]
        fn what_is_read_is_written_the_same(bytes in prop::array::uniform::<_, RECORD_BYTES>(any::<u8>())) {
            if let Ok(records) = Record::read_all(&bytes) {
                prop_assert_eq!(records[0].to_bytes(), bytes);
            }
        }

        #[test]
        fn a_time_before_an_earlier_one_is_refused(record in record(), place in 1_usize..8, by in 1_u64..1000) {
            let mut bytes = record.to_bytes();
            let before = record.begin.saturating_sub(by).max(1);
            prop_assume!(before < record.begin);
            bytes[8 * place..][..8].copy_from_slice(&before.to_le_bytes());
            let read = Record::read_all(&bytes);
            prop_assert!(matches!(read, Err(RecordError::Backwards { .. })), "{:?}", read);
        }
    }

    #[test]
    fn bytes_that_are_no_records_are_distinct_errors() {
        let record = Record {
            begin: 5,
            encoded: None,
            sent: None,
            first_byte: None,
            received: None,
            end: 6,
            handler_start: None,
            handler_end: None,
            request_bytes: None,
            response_bytes: None,
            failed: false,
            operations: 1,
        };
        let with = |place: usize, byte: u8| {
            let mut bytes = [record.to_bytes(), record.to_bytes()].concat();
            bytes[RECORD_BYTES + place] = byte;
            Record::read_all(&bytes)
                .expect_err("no records")
                .to_string()
        };
        assert_eq!(with(0, 0), "record 1 has no \"begin\"");
        assert_eq!(with(40, 0), "record 1 has no \"end\"");
        assert_eq!(with(40, 4), "in record 1, \"end\" is 1 ns before \"begin\"");
        assert_eq!(
            with(48, 7),
            "in record 1, \"end\" is 1 ns before \"handler start\""
        );
        assert_eq!(
            with(72, 2),
            "in record 1, \"status\" is 2, which is invalid"
        );
        assert_eq!(
            with(76, 0),
            "in record 1, \"operations\" is 0, which is invalid"
        );
        assert_eq!(
            Record::read_all(&[1; 81])
                .expect_err("too many")
                .to_string(),
            "81 bytes of records are not a multiple of 80"
        );
    }
}
