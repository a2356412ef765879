//! Merges the latencies that the slices of a cell's trials counted by bucket into a heat map.

use rpcgauge_study::record::{LatencyCounts, TimelineSlice, TrialFigures, TrialRecord};

use super::timeline::slices_together;
use crate::findings::is_supported;
use crate::findings::timeline::{HeatColumn, HeatMap};

/// The maximum number of columns.
const MAX_COLUMNS: usize = 100;

/// The number of columns below which fewer calls do not make them wider.
const FEW_COLUMNS: u64 = 20;

/// How many calls a column should have: enough for its 99th percentile, even if some columns have fewer.
const CALLS_A_COLUMN: u64 = 150;

/// The maximum number of rows.
const MAX_ROWS: u16 = 40;

/// The successful calls of a time.
#[derive(Default)]
struct Column {
    start_ns: u64,
    length_ns: u64,
    latencies: LatencyCounts,
    max_ns: u64,
}

/// The heat map of trials, end to end; `None` if they did not count latencies by bucket.
pub(super) fn of(trials: &[(&TrialRecord, &TrialFigures)]) -> Option<HeatMap> {
    let columns = columns(trials);
    let mut all = LatencyCounts::default();
    columns.iter().for_each(|column| all.add(&column.latencies));
    let (lowest, _) = all.iter().next()?;
    let (highest, _) = all.iter().next_back()?;
    // Rows are of equally many buckets, so that no bucket is divided.
    let mut together = 1;
    while highest / together - lowest / together >= MAX_ROWS {
        together *= 2;
    }
    let (first, last) = (lowest / together, highest / together);
    let low = |row: u16| LatencyCounts::bounds(row * together)[0];
    let [_, high] = LatencyCounts::bounds(highest);
    let row = |bucket: u16| usize::from(bucket / together - first);
    let column = |column: &Column| {
        let mut counts = vec![0; row(highest) + 1];
        for (bucket, count) in column.latencies.iter() {
            let cell = &mut counts[row(bucket)];
            *cell = count.saturating_add(*cell);
        }
        let calls = column.latencies.calls();
        let percentile = |quantile: f64| {
            let found = column.latencies.quantile(quantile)?;
            is_supported(calls, quantile).then_some(found.min(column.max_ns as f64))
        };
        HeatColumn {
            start_ns: column.start_ns,
            length_ns: column.length_ns,
            p50_ns: percentile(0.5),
            p90_ns: percentile(0.9),
            p99_ns: percentile(0.99),
            counts,
        }
    };
    Some(HeatMap {
        rows_ns: (first..=last)
            .map(low)
            .chain([high.saturating_add(1)])
            .collect(),
        columns: columns.iter().map(column).collect(),
    })
}

/// Neighbouring slices, merged. A column spans two trials only if there are more trials than columns.
fn columns(trials: &[(&TrialRecord, &TrialFigures)]) -> Vec<Column> {
    let slices = trials.iter().flat_map(|(_, m)| &m.timeline.slices);
    let calls = slices.map(|slice| slice.latencies.calls());
    let calls = calls.fold(0, u64::saturating_add);
    let most = (calls / CALLS_A_COLUMN).clamp(FEW_COLUMNS, MAX_COLUMNS as u64);
    let together = slices_together(trials, most as usize);
    let parts = trials.iter().flat_map(|(_, m)| {
        let parts = m.timeline.slices.chunks(together);
        parts.map(|slices| (m.timeline.slice_ns, slices))
    });
    let parts: Vec<(u64, &[TimelineSlice])> = parts.collect();
    let mut end_ns = 0_u64;
    let column = |parts: &[(u64, &[TimelineSlice])]| {
        let mut column = Column {
            start_ns: end_ns,
            ..Column::default()
        };
        for (slice_ns, slices) in parts {
            end_ns = end_ns.saturating_add(slice_ns.saturating_mul(slices.len() as u64));
            for slice in *slices {
                column.latencies.add(&slice.latencies);
                column.max_ns = column.max_ns.max(slice.latency_max_ns);
            }
        }
        column.length_ns = end_ns - column.start_ns;
        column
    };
    let together = parts.len().div_ceil(MAX_COLUMNS).max(1);
    parts.chunks(together).map(column).collect()
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::{Timeline, TrialOutcome};

    use super::*;

    /// A trial whose slices of a second have these latencies, in µs, each of `calls` calls.
    fn trial(latencies: &[&[u64]], calls: u64) -> TrialRecord {
        let mut trial = crate::fixture::live().trials.remove(0);
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            panic!("it was measured")
        };
        let slice = |latencies: &&[u64]| {
            let mut slice = TimelineSlice::default();
            for us in *latencies {
                slice.latencies.add(&LatencyCounts::of(us * 1_000, calls));
                slice.latency_max_ns = slice.latency_max_ns.max(us * 1_000);
            }
            slice
        };
        measured.timeline = Timeline {
            slice_ns: 1_000_000_000,
            slices: latencies.iter().map(slice).collect(),
        };
        trial
    }

    fn heat_map(trials: &[TrialRecord]) -> Option<HeatMap> {
        let measured = trials.iter().map(|trial| match &trial.outcome {
            TrialOutcome::Measured(measured) => (trial, &**measured),
            TrialOutcome::Failed { .. } => panic!("it was measured"),
        });
        of(&measured.collect::<Vec<_>>())
    }

    #[test]
    fn each_call_is_in_the_cell_of_its_time_and_latency() {
        let map = heat_map(&[trial(&[&[100, 990], &[], &[100]], 60)]).unwrap();
        assert_eq!(map.columns.len(), 3);
        let [first, pause, last] = &map.columns[..] else {
            panic!("{map:?}")
        };
        assert_eq!(
            (last.start_ns, last.length_ns),
            (2_000_000_000, 1_000_000_000)
        );
        let rows = first.counts.len();
        assert_eq!(map.rows_ns.len(), rows + 1);
        assert_eq!((first.counts[0], first.counts[rows - 1]), (60, 60));
        assert!(
            map.rows_ns[0] <= 100_000 && map.rows_ns[1] > 100_000,
            "{map:?}"
        );
        assert!(map.rows_ns[rows - 1] <= 990_000 && map.rows_ns[rows] > 990_000);
        assert_eq!((pause.p50_ns, pause.counts.iter().sum::<u64>()), (None, 0));
        let near = |found: f64, exact: f64| (found / exact - 1.0).abs() <= LatencyCounts::MAX_ERROR;
        assert!(near(first.p50_ns.unwrap(), 1e5));
        assert_eq!(first.p99_ns, Some(990_000.0), "not above the longest call");
        assert_eq!(last.p99_ns, None, "60 calls do not have a 99th percentile");
    }

    #[test]
    fn a_map_has_few_cells_and_every_call() {
        let wide: Vec<u64> = (0..30).map(|power| 1 << power).collect();
        let trials: Vec<TrialRecord> = (0..3).map(|_| trial(&[&wide[..]; 199], 7)).collect();
        let map = heat_map(&trials).unwrap();
        assert!(
            (50..=MAX_COLUMNS).contains(&map.columns.len()),
            "{}",
            map.columns.len()
        );
        assert!(map.rows_ns.len() <= usize::from(MAX_ROWS) + 1);
        assert!(map.rows_ns.is_sorted_by(|low, high| low < high));
        let counts = map.columns.iter().flat_map(|column| &column.counts);
        assert_eq!(counts.sum::<u64>(), 3 * 199 * 30 * 7);
        let many = vec![trial(&[&[5]], 1); 1_000];
        assert!(heat_map(&many).unwrap().columns.len() <= MAX_COLUMNS);
    }

    #[test]
    fn columns_are_wider_if_there_are_few_calls() {
        let columns = |calls| {
            heat_map(&[trial(&[&[5][..]; 100], calls)])
                .unwrap()
                .columns
                .len()
        };
        assert_eq!([1, 60, 150].map(columns), [20, 34, 100]);
    }

    #[test]
    fn there_is_no_map_without_buckets() {
        assert_eq!(heat_map(&[trial(&[&[], &[]], 1)]), None);
    }
}
