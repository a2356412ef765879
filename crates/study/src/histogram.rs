//! A histogram as it stands in a record.

use std::fmt;
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

/// A histogram that can be asked and added to.
pub type Unpacked = Hdr<u64>;

/// Values with three significant digits, as an HDR histogram.
///
/// Kept packed, in HdrHistogram's compressed V2 format: unpacked, the thousands of histograms of a
/// run would take hundreds of megabytes. Written as the standard base64 of the same bytes, so that
/// other tools can read it.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    packed: Box<[u8]>,
    count: u64,
}

impl Histogram {
    /// The histogram itself, unpacked anew by every call.
    #[must_use]
    pub fn unpack(&self) -> Unpacked {
        match unpack(&self.packed) {
            Ok(histogram) => histogram,
            // Both ways to make one end in bytes that were written or read by the same library.
            Err(problem) => unreachable!("a packed histogram does not unpack: {problem}"),
        }
    }

    /// How many values it holds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The most values of a histogram that is read: up to here an `f64` holds each count, and sums of
/// histograms stay within what the format can hold.
const MOST_VALUES: u64 = 1 << 53;

/// The most bytes of counts: at most nine for each of the values that 64 bits can hold at this
/// precision, which are some 56,000.
const MOST_COUNTS_BYTES: u32 = 512 << 10;

/// The most significant digits of a histogram here.
const MOST_DIGITS: u8 = 3;

fn unpack(bytes: &[u8]) -> Result<Unpacked, String> {
    // The reader takes the memory that the packed bytes ask for.
    if counts_bytes(bytes).is_none_or(|bytes| bytes > MOST_COUNTS_BYTES) {
        return Err("its counts are too many or missing".to_owned());
    }
    let mut rest = bytes;
    let histogram: Unpacked = Deserializer::new()
        .deserialize(&mut rest)
        .map_err(|e| e.to_string())?;
    if !rest.is_empty() || histogram.sigfig() > MOST_DIGITS {
        return Err("bytes follow the histogram, or it is too precise".to_owned());
    }
    // Sums saturate, so that too many counts do not look like few.
    match histogram.len() <= MOST_VALUES {
        true => Ok(histogram),
        false => Err("it holds more values than can be measured".to_owned()),
    }
}

/// How many bytes of counts the packed bytes say that they have. Four bytes of kind and four of
/// length come before what is deflated, and in it four bytes of kind before this.
fn counts_bytes(bytes: &[u8]) -> Option<u32> {
    let mut head = [0; 8];
    ZlibDecoder::new(bytes.get(8..)?)
        .read_exact(&mut head)
        .ok()?;
    let [.., a, b, c, d] = head;
    Some(u32::from_be_bytes([a, b, c, d]))
}

/// An empty histogram of times, three significant digits, that grows.
pub fn times() -> Unpacked {
    Unpacked::new(3).expect("three digits are allowed")
}

impl From<Unpacked> for Histogram {
    fn from(histogram: Unpacked) -> Self {
        let mut bytes = Vec::new();
        match V2DeflateSerializer::new().serialize(&histogram, &mut bytes) {
            Ok(_) => Self {
                packed: bytes.into_boxed_slice(),
                count: histogram.len(),
            },
            Err(problem) => unreachable!("writing to memory does not fail: {problem}"),
        }
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, count) = (self.unpack(), self.count);
        let (min, max) = (all.min(), all.max());
        write!(f, "Histogram({count} values, {min} to {max})")
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.packed))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The readers' own words are of their formats and do not help a user.
        let damaged = || D::Error::custom("a histogram in it cannot be read");
        let bytes = STANDARD.decode(text).map_err(|_| damaged())?;
        let count = unpack(&bytes).map_err(|_| damaged())?.len();
        Ok(Self {
            packed: bytes.into_boxed_slice(),
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn of(values: &[u64]) -> Hdr<u64> {
        let mut histogram = Hdr::new(3).unwrap();
        histogram.auto(true);
        for value in values {
            histogram.record(*value).unwrap();
        }
        histogram
    }

    #[test]
    fn what_is_packed_and_written_comes_back() {
        for values in [&[][..], &[0], &[1, 1_000, 3_600_000_000_000]] {
            let histogram = Histogram::from(of(values));
            let text = serde_json::to_string(&histogram).unwrap();
            let back: Histogram = serde_json::from_str(&text).unwrap();
            assert_eq!(back, histogram);
            assert_eq!(back.unpack(), of(values));
        }
    }

    /// The packed bytes of a histogram with other bytes at a place of what is deflated.
    fn changed(at: usize, with: [u8; 4]) -> String {
        let packed = Histogram::from(of(&[7])).packed;
        let mut plain = Vec::new();
        let mut inflated = ZlibDecoder::new(&packed[8..]);
        inflated.read_to_end(&mut plain).unwrap();
        plain[at..at + 4].copy_from_slice(&with);
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflated.write_all(&plain).unwrap();
        let deflated = deflated.finish().unwrap();
        let length = u32::try_from(deflated.len()).unwrap().to_be_bytes();
        let bytes = [&packed[..4], &length, &deflated].concat();
        format!("\"{}\"", STANDARD.encode(bytes))
    }

    #[test]
    fn packed_bytes_get_no_more_memory_than_a_histogram_takes() {
        let same = changed(0, [0x1c, 0x84, 0x93, 0x13]);
        serde_json::from_str::<Histogram>(&same).unwrap();
        let counts = MOST_COUNTS_BYTES.to_be_bytes();
        let more_counts = (MOST_COUNTS_BYTES + 1).to_be_bytes();
        // No memory is taken for the second: the reader would have missed the bytes, as in the first.
        for (packed, asked) in [
            (changed(4, counts), MOST_COUNTS_BYTES),
            (changed(4, more_counts), MOST_COUNTS_BYTES + 1),
            (changed(4, [0xff; 4]), u32::MAX),
        ] {
            let bytes = STANDARD.decode(packed.trim_matches('"')).unwrap();
            assert_eq!(counts_bytes(&bytes), Some(asked));
            let problem = unpack(&bytes).unwrap_err();
            let is_bounded = problem == "its counts are too many or missing";
            assert_eq!(is_bounded, asked > MOST_COUNTS_BYTES, "{problem}");
            serde_json::from_str::<Histogram>(&packed).unwrap_err();
        }
        // Five digits take a hundred times the memory of three.
        serde_json::from_str::<Histogram>(&changed(12, [0, 0, 0, 5])).unwrap_err();
        serde_json::from_str::<Histogram>(&changed(12, [0, 0, 0, 3])).unwrap();
    }

    #[test]
    fn more_values_than_can_be_measured_are_refused() {
        let holding = |count: u64| {
            let mut histogram = of(&[]);
            histogram.record_n(7, count).unwrap();
            histogram.record_n(9, count).unwrap();
            let text = serde_json::to_string(&Histogram::from(histogram)).unwrap();
            serde_json::from_str::<Histogram>(&text)
        };
        assert_eq!(holding(MOST_VALUES / 2).unwrap().count(), MOST_VALUES);
        holding(MOST_VALUES / 2 + 1).unwrap_err();
        holding(i64::MAX as u64).unwrap_err();
    }

    #[test]
    fn damage_is_refused_when_it_is_read() {
        let text = serde_json::to_string(&Histogram::from(of(&[7, 8, 9]))).unwrap();
        for damaged in [
            "\"\"".to_owned(),
            "\"HIST\"".to_owned(),
            text.replacen("HIST", "TSIH", 1),
        ] {
            assert!(
                serde_json::from_str::<Histogram>(&damaged).is_err(),
                "{damaged}"
            );
        }
    }
}
