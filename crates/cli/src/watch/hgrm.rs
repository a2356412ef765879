//! Latency percentiles in the format of HdrHistogram's plotting tools (`.hgrm`).

use std::fmt::Write as _;

use rpcgauge_study::histogram::{Unpacked, times};
use rpcgauge_study::record::{TrialOutcome, TrialRecord};

/// Steps per halving of the distance to 100%, as in HdrHistogram's own output.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// Times are recorded in ns and written in ms.
const NS_PER_MS: f64 = 1e6;

/// The latency percentiles, in ms, of the successful calls in `trials`. The text is in the format
/// of HdrHistogram's `outputPercentileDistribution`, but with six decimals instead of three, so
/// that times of a few microseconds keep their precision.
pub(crate) fn text(trials: &[TrialRecord]) -> String {
    let measured = trials.iter().filter_map(|trial| match &trial.outcome {
        TrialOutcome::Measured(measured) => Some(measured.latency.unpack()),
        TrialOutcome::Failed { .. } => None,
    });
    let mut all = times();
    for latency in measured {
        all += latency.counts();
    }
    percentiles(&all)
}

fn percentiles(of: &Unpacked) -> String {
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let ms = |ns: f64| ns / NS_PER_MS;
    let mut calls = 0;
    for step in of.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        calls += step.count_since_last_iteration();
        let (value, quantile) = (
            ms(step.value_iterated_to() as f64),
            step.quantile_iterated_to(),
        );
        let _ = write!(text, "{value:12.6} {quantile:.12} {calls:10}");
        // The format leaves out the last value, which is infinite.
        if quantile < 1.0 {
            let _ = write!(text, " {:14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    let subs = 2_u64 << (of.sigfig() as f64 * 10_f64.log2()).ceil() as u32;
    let _ = writeln!(
        text,
        "#[Mean    = {:12.6}, StdDeviation   = {:12.6}]\n\
         #[Max     = {:12.6}, Total count    = {:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {subs:12}]",
        ms(of.mean()),
        ms(of.stdev()),
        ms(of.max() as f64),
        of.len(),
        of.buckets(),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Unpacked {
        let mut histogram = times();
        for value in values {
            histogram.record(value).expect("it grows");
        }
        histogram
    }

    #[test]
    fn a_few_calls_read_as_their_percentiles() {
        insta::assert_snapshot!(percentiles(&histogram([21_300, 40_000, 40_100, 5_000_000])));
    }

    #[test]
    fn no_call_is_an_empty_table() {
        insta::assert_snapshot!(text(&[]));
    }

    #[test]
    fn it_ends_at_the_maximum_with_every_call_counted() {
        let text = percentiles(&histogram(1..=10_000));
        let lines = text.lines().skip(2).filter(|line| !line.starts_with('#'));
        let rows: Vec<Vec<f64>> = lines
            .map(|line| {
                line.split_whitespace()
                    .map(|part| part.parse().expect("a number"))
            })
            .map(Iterator::collect)
            .collect();
        assert!(rows.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2]));
        let last = rows.last().expect("rows");
        assert_eq!(last[1..], [1.0, 10_000.0]);
        assert!((last[0] - 0.01).abs() < 0.000_01, "{last:?}");
    }
}
