//! A histogram as stored in records.

use std::fmt;
use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2SerializeError, V2Serializer};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

/// Counts of values, which are whole numbers of a unit.
pub type Unpacked = Hdr<u64>;

/// Values with three significant digits, as an HDR histogram.
///
/// Stored packed, in HdrHistogram's compressed V2 format: unpacked, the thousands of histograms of a run would take
/// hundreds of megabytes. Written as the standard base64 of the same bytes, so that other tools can read it. A
/// histogram of picoseconds has the prefix `ps:`.
#[derive(Clone)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(with = "String")
)]
pub struct Histogram {
    packed: Box<[u8]>,
    count: u64,
    unit: Unit,
}

/// The unit of a histogram's times, which are whole numbers of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, the resolution of clocks.
    Ns,
    /// Picoseconds, for codecs: an operation is timed as part of a batch, and may take only a few nanoseconds.
    Ps,
}

impl Unit {
    /// The prefix of the base64 of a histogram of picoseconds.
    const PS: &str = "ps:";

    fn per_ns(self) -> u16 {
        match self {
            Self::Ns => 1,
            Self::Ps => 1_000,
        }
    }

    /// The minimum distance between two times of a histogram near this one, as a fraction of it.
    pub fn resolution(self, ns: f64) -> f64 {
        let units = ns * f64::from(self.per_ns());
        let magnitude = units.max(1.0).log2().floor() as i32;
        2_f64.powi((magnitude - BITS).max(0)) / units
    }
}

/// Three significant digits need this many bits after the first one.
const BITS: i32 = 10;

/// The maximum [`Unit::resolution`] of times that are long compared with their unit.
pub const RESOLUTION: f64 = 1.0 / (1 << BITS) as f64;

impl Default for Histogram {
    /// An empty histogram of nanoseconds.
    fn default() -> Self {
        Times::new(Unit::Ns).into()
    }
}

/// Times that can be queried and added to. They are counted in a unit, and queried in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    counts: Unpacked,
    unit: Unit,
}

impl Times {
    /// An empty set of times.
    pub fn new(unit: Unit) -> Self {
        Self {
            counts: times(),
            unit,
        }
    }

    /// Records the mean time of operations that took `all_ns` together, once for each operation.
    pub fn add_each(&mut self, all_ns: u64, operations: u64) {
        let all = u128::from(all_ns) * u128::from(self.unit.per_ns());
        let by = u128::from(operations.max(1));
        let each = u64::try_from((all + by / 2) / by).unwrap_or(u64::MAX);
        // A histogram that resizes itself accepts every number.
        let _ = self.counts.record_n(each, operations);
    }

    /// Adds other times.
    ///
    /// # Errors
    /// The units differ, or the counts overflow.
    pub fn add(&mut self, other: &Self) -> Result<(), String> {
        if other.unit != self.unit {
            return Err("one is in nanoseconds, the other in picoseconds".to_owned());
        }
        self.counts.auto(true);
        self.counts.add(&other.counts).map_err(|e| e.to_string())
    }

    /// The counts themselves, in the unit of the times.
    pub fn counts(&self) -> &Unpacked {
        &self.counts
    }

    /// The number of times.
    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Their arithmetic mean, ns.
    pub fn mean(&self) -> f64 {
        self.counts.mean() / f64::from(self.unit.per_ns())
    }

    /// A quantile of them, ns.
    pub fn quantile(&self, quantile: f64) -> f64 {
        self.in_ns(self.counts.value_at_quantile(quantile))
    }

    /// The shortest, ns.
    pub fn min(&self) -> f64 {
        self.in_ns(self.counts.min())
    }

    /// The longest, ns.
    pub fn max(&self) -> f64 {
        self.in_ns(self.counts.max())
    }

    fn in_ns(&self, units: u64) -> f64 {
        units as f64 / f64::from(self.unit.per_ns())
    }
}

impl Histogram {
    /// Unpacks the times. The result is not cached.
    #[must_use]
    pub fn unpack(&self) -> Times {
        match unpack(&self.packed) {
            Ok(counts) => Times {
                counts,
                unit: self.unit,
            },
            // The packed bytes were written, or already read once, by the same library.
            Err(problem) => unreachable!("a packed histogram does not unpack: {problem}"),
        }
    }

    /// `None` if it has no values.
    #[must_use]
    pub fn non_empty(self) -> Option<Self> {
        Some(self).filter(|times| times.count > 0)
    }

    /// The number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The unit of its times.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }
}

/// The maximum number of values in a histogram that is read. Up to this number, counts are exact as `f64`, and sums of
/// histograms stay within the range of the format.
const MAX_VALUES: u64 = 1 << 53;

/// The maximum number of bytes of counts: at most nine for each of the roughly 56,000 distinct values of 64 bits at
/// this precision.
const MAX_COUNTS_BYTES: u32 = 512 << 10;

/// The maximum number of significant digits of a histogram.
const MAX_DIGITS: u8 = 3;

fn unpack(bytes: &[u8]) -> Result<Unpacked, String> {
    // The deserializer allocates as much memory as the packed bytes request.
    if counts_bytes(bytes).is_none_or(|bytes| bytes > MAX_COUNTS_BYTES) {
        return Err("its counts are too many or missing".to_owned());
    }
    let mut rest = bytes;
    let histogram: Unpacked = Deserializer::new()
        .deserialize(&mut rest)
        .map_err(|e| e.to_string())?;
    if !rest.is_empty() || histogram.sigfig() > MAX_DIGITS {
        return Err("bytes follow the histogram, or it is too precise".to_owned());
    }
    // The sum saturates, so that an overflow does not look like a small number of values.
    if histogram.len() <= MAX_VALUES {
        Ok(histogram)
    } else {
        Err("it has more values than can be measured".to_owned())
    }
}

/// The kind of packed bytes, with which they begin.
const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];

/// The number of bytes of counts that the packed bytes declare. The packed bytes begin with four bytes of kind and four
/// of length. In the deflated data that follows, the number comes after four more bytes of kind.
fn counts_bytes(bytes: &[u8]) -> Option<u32> {
    let mut head = [0; 8];
    ZlibDecoder::new(bytes.get(8..)?)
        .read_exact(&mut head)
        .ok()?;
    let [.., a, b, c, d] = head;
    Some(u32::from_be_bytes([a, b, c, d]))
}

/// An empty histogram with three significant digits that resizes itself.
pub fn times() -> Unpacked {
    Unpacked::new(3).expect("three digits are allowed")
}

impl From<Unpacked> for Histogram {
    fn from(histogram: Unpacked) -> Self {
        let count = histogram.len();
        match pack(histogram) {
            Ok(packed) => Self {
                packed: packed.into_boxed_slice(),
                count,
                unit: Unit::Ns,
            },
            Err(problem) => unreachable!("writing to memory does not fail: {problem}"),
        }
    }
}

/// The same bytes as those of [`hdrhistogram`]'s `V2DeflateSerializer`, which would keep the histogram while it deflates,
/// and both take hundreds of kilobytes. This must not add to the peak memory of the client that is measured.
fn pack(histogram: Unpacked) -> Result<Vec<u8>, V2SerializeError> {
    let mut plain = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut plain)?;
    drop(histogram);
    let mut packed = [COOKIE, [0; 4]].concat();
    let mut deflated = ZlibEncoder::new(&mut packed, Compression::default());
    deflated.write_all(&plain)?;
    deflated.finish()?;
    let length = (packed.len() - 8) as u32;
    packed[4..8].copy_from_slice(&length.to_be_bytes());
    Ok(packed)
}

impl From<Times> for Histogram {
    fn from(times: Times) -> Self {
        Self {
            unit: times.unit,
            ..Self::from(times.counts)
        }
    }
}

impl PartialEq for Histogram {
    /// Compares the counts. Packed bytes also state a range, which depends on the order in which values were counted.
    fn eq(&self, other: &Self) -> bool {
        let all_counts = |of: &Self| {
            let times = of.unpack();
            let recorded = times.counts.iter_recorded();
            let each = recorded.map(|value| (value.value_iterated_to(), value.count_at_value()));
            each.collect::<Vec<_>>()
        };
        self.unit == other.unit
            && self.count == other.count
            && (self.packed == other.packed || all_counts(self) == all_counts(other))
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, count) = (self.unpack(), self.count);
        let (min, max) = (all.min(), all.max());
        write!(f, "Histogram({count} values, {min} to {max} ns)")
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = match self.unit {
            Unit::Ns => String::new(),
            Unit::Ps => Unit::PS.to_owned(),
        };
        STANDARD.encode_string(&self.packed, &mut text);
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The libraries' own errors are about their formats and do not help a user.
        let damaged = || D::Error::custom("a histogram in it cannot be read");
        let (unit, text) = match text.strip_prefix(Unit::PS) {
            Some(text) => (Unit::Ps, text),
            None => (Unit::Ns, &*text),
        };
        let bytes = STANDARD.decode(text).map_err(|_| damaged())?;
        let count = unpack(&bytes).map_err(|_| damaged())?.len();
        Ok(Self {
            packed: bytes.into_boxed_slice(),
            count,
            unit,
        })
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::V2DeflateSerializer;

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
            assert_eq!(back.unpack().counts(), &of(values));
            let mut packed = Vec::new();
            let mut serializer = V2DeflateSerializer::new();
            serializer.serialize(&of(values), &mut packed).unwrap();
            assert_eq!(&*histogram.packed, packed);
        }
    }

    #[test]
    fn the_same_values_are_equal_whatever_the_range() {
        let mut wide = Hdr::new_with_bounds(1, 1 << 40, 3).unwrap();
        wide.record(7).unwrap();
        let (wide, narrow) = (Histogram::from(wide), Histogram::from(of(&[7])));
        assert_ne!(wide.packed, narrow.packed);
        assert_eq!(wide, narrow);
        assert_ne!(wide, Histogram::from(of(&[8])));
    }

    #[test]
    fn parts_of_nanoseconds_come_back() {
        let mut times = Times::new(Unit::Ps);
        times.add_each(20_000, 3_000);
        let text = serde_json::to_string(&Histogram::from(times.clone())).unwrap();
        assert!(text.starts_with("\"ps:HIST"), "{text}");
        let back: Histogram = serde_json::from_str(&text).unwrap();
        assert_eq!(back.unpack(), times);
        assert_eq!(times.len(), 3_000);
        for ns in [times.mean(), times.quantile(0.5), times.max()] {
            let off = (ns * 3.0 / 20.0 - 1.0).abs();
            assert!(off < Unit::Ps.resolution(ns), "{ns}");
        }
        let problem = times.add(&Times::new(Unit::Ns)).unwrap_err();
        assert!(problem.contains("picoseconds"), "{problem}");
    }

    #[test]
    fn the_resolution_is_the_distance_of_two_values() {
        let counts = times();
        for units in [1, 7, 1_023, 1_024, 2_047, 2_048, 6_400, 19_123, 1 << 40] {
            let width = counts.highest_equivalent(units) - counts.lowest_equivalent(units) + 1;
            let part = width as f64 / units as f64;
            for found in [
                Unit::Ns.resolution(units as f64),
                Unit::Ps.resolution(units as f64 / 1_000.0),
            ] {
                assert!((found / part - 1.0).abs() < 1e-9, "{units}: {found}");
            }
        }
    }

    /// A packed histogram with four bytes of its deflated data replaced.
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
        let counts = MAX_COUNTS_BYTES.to_be_bytes();
        let more_counts = (MAX_COUNTS_BYTES + 1).to_be_bytes();
        // The first is within the bound, and fails only because its counts are missing. The others are refused before
        // any memory is allocated.
        for (packed, asked) in [
            (changed(4, counts), MAX_COUNTS_BYTES),
            (changed(4, more_counts), MAX_COUNTS_BYTES + 1),
            (changed(4, [0xff; 4]), u32::MAX),
        ] {
            let bytes = STANDARD.decode(packed.trim_matches('"')).unwrap();
            assert_eq!(counts_bytes(&bytes), Some(asked));
            let problem = unpack(&bytes).unwrap_err();
            let is_bounded = problem == "its counts are too many or missing";
            assert_eq!(is_bounded, asked > MAX_COUNTS_BYTES, "{problem}");
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
        assert_eq!(holding(MAX_VALUES / 2).unwrap().count(), MAX_VALUES);
        holding(MAX_VALUES / 2 + 1).unwrap_err();
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
