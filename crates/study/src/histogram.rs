//! A histogram as it stands in a record.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
pub struct Histogram(Box<[u8]>);

impl Histogram {
    /// The histogram itself, unpacked anew by every call.
    #[must_use]
    pub fn unpack(&self) -> Unpacked {
        match unpack(&self.0) {
            Ok(histogram) => histogram,
            // Both ways to make one end in bytes that were written or read by the same library.
            Err(problem) => unreachable!("a packed histogram does not unpack: {problem}"),
        }
    }
}

fn unpack(bytes: &[u8]) -> Result<Unpacked, String> {
    let mut rest = bytes;
    let histogram = Deserializer::new()
        .deserialize(&mut rest)
        .map_err(|e| e.to_string())?;
    if rest.is_empty() {
        Ok(histogram)
    } else {
        Err("bytes follow the histogram".to_owned())
    }
}

impl From<Unpacked> for Histogram {
    fn from(histogram: Unpacked) -> Self {
        let mut bytes = Vec::new();
        match V2DeflateSerializer::new().serialize(&histogram, &mut bytes) {
            Ok(_) => Self(bytes.into_boxed_slice()),
            Err(problem) => unreachable!("writing to memory does not fail: {problem}"),
        }
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let histogram = self.unpack();
        write!(
            f,
            "Histogram({} values, {} to {})",
            histogram.len(),
            histogram.min(),
            histogram.max()
        )
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The readers' own words are of their formats and help nobody who did not write them.
        let damaged = || D::Error::custom("a histogram in it cannot be read");
        let bytes = STANDARD.decode(text).map_err(|_| damaged())?;
        unpack(&bytes).map_err(|_| damaged())?;
        Ok(Self(bytes.into_boxed_slice()))
    }
}

#[cfg(test)]
mod tests {
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
