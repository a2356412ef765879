//! What in a load's own figures hides more than a percentile shows: calls that stall again and again, and
//! a tail that was over before calls were sent.

use super::figures::{Distribution, Figures};
use super::model::VariantFindings;
use crate::units;

/// A call that takes so many times the median one stalls, where that is a millisecond at least.
const STALL_FACTOR: f64 = 10.0;
const LEAST_STALL_NS: u64 = 1_000_000;

/// A percentile of a distribution, with its name.
type Tail = (&'static str, fn(&Distribution) -> Option<u64>);

/// The tails that are looked at, the nearest first.
const TAILS: [Tail; 2] = [
    ("p99", |times| times.p99_ns),
    ("p99.9", |times| times.p999_ns),
];

/// The warnings of the live services among some variants, each named where there are several. One
/// percentile over the rates of a ramp says little, and nothing is said of it.
pub(super) fn warnings(variants: &[VariantFindings]) -> Vec<String> {
    let is_looked_at = |v: &&VariantFindings| v.is_live() && v.repeats.is_none();
    let several = variants.iter().filter(is_looked_at).count() > 1;
    let of = |variant: &VariantFindings| {
        let name = match several {
            true => format!("{}: ", variant.name),
            false => String::new(),
        };
        let figures = variant.cells.iter().filter_map(|c| c.figures.as_deref());
        let level = figures.filter(|figures| figures.steps.is_empty());
        let told = level.flat_map(|figures| [stalls(figures), late(figures)]);
        told.flatten()
            .map(|text| name.clone() + &text)
            .collect::<Vec<_>>()
    };
    variants.iter().filter(is_looked_at).flat_map(of).collect()
}

/// That calls stalled in most of a run.
fn stalls(figures: &Figures) -> Option<String> {
    let median = figures.latency.as_ref()?.p50_ns;
    let longest = figures.timeline.usual_longest_ns?;
    let factor = longest as f64 / median as f64;
    (longest >= LEAST_STALL_NS && factor >= STALL_FACTOR).then(|| {
        format!(
            "spikes in most of the run: in half of its slices a call took {} or longer, {}× the median \
             ({}); look for what comes again and again, such as garbage collection, a timer or another program",
            units::time(longest as f64),
            units::ratio(factor),
            units::time(median as f64)
        )
    })
}

/// That most of a tail was over before its calls were sent.
fn late(figures: &Figures) -> Option<String> {
    let (latency, delay) = (figures.latency.as_ref()?, figures.send_delay.as_ref()?);
    TAILS.into_iter().find_map(|(name, tail)| {
        let (latency, delay) = (tail(latency)?, tail(delay)?);
        (delay > latency / 2).then(|| {
            format!(
                "{name} is mostly the delay of sends ({} of {}): calls waited for a connection or for \
                 this client, and it tells little of the service",
                units::time(delay as f64),
                units::time(latency as f64)
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::histogram::Unpacked;
    use rpcgauge_study::record::{Histogram, Measured, Outcome};

    use crate::fixture::{Sample, findings, live, ramp, versus};

    fn told(mut sample: Sample, change: impl Fn(&mut Measured)) -> Vec<String> {
        for record in &mut sample.trials {
            if let Outcome::Measured(measured) = &mut record.outcome {
                change(measured);
            }
        }
        let warnings = findings(&sample).warnings.into_iter();
        warnings
            .filter(|text| text.contains("spikes in most") || text.contains("delay of sends"))
            .collect()
    }

    /// The longest call of so many slices in a hundred.
    fn spiking(slices: usize, ns: u64) -> impl Fn(&mut Measured) {
        move |measured| {
            for slice in &mut measured.timeline.slices[..slices] {
                slice.latency_max_ns = ns;
            }
        }
    }

    #[test]
    fn spikes_of_milliseconds_in_most_of_a_load_are_warned_of() {
        assert_eq!(told(live(), |_| {}), [""; 0]);
        insta::assert_snapshot!(told(live(), spiking(60, 4_200_000)).join("\n"), @"spikes in most of the run: in half of its slices a call took 4.20 ms or longer, 41.6× the median (101 µs); look for what comes again and again, such as garbage collection, a timer or another program");
        for (slices, ns) in [(40, 4_200_000), (60, 900_000)] {
            assert_eq!(told(live(), spiking(slices, ns)), [""; 0], "{slices} {ns}");
        }
        assert_eq!(told(ramp(), spiking(60, 4_200_000)), [""; 0]);
        let each = told(versus(1.0, 0.01), spiking(60, 4_200_000));
        assert!(each[0].starts_with("grpc: ") && each[1].starts_with("rest: "));
        assert_eq!(each.len(), 2, "{each:?}");
    }

    /// As many calls of one length, and as many of another.
    fn times(parts: [(u64, u64); 2]) -> Histogram {
        let mut times = Unpacked::new(3).unwrap();
        for (calls, ns) in parts {
            times.record_n(ns, calls).unwrap();
        }
        times.into()
    }

    #[test]
    fn a_tail_that_is_mostly_the_delay_of_sends_is_warned_of() {
        let late = |calls: u64, delay_ns: u64| {
            move |measured: &mut Measured| {
                measured.latency = times([(2_000 - calls, 1_000_000), (calls, 50_000_000)]);
                measured.send_delay = times([(2_000 - calls, 1_000), (calls, delay_ns)]);
            }
        };
        insta::assert_snapshot!(told(live(), late(5, 49_000_000)).join("\n"), @"p99.9 is mostly the delay of sends (49.0 ms of 50.0 ms): calls waited for a connection or for this client, and it tells little of the service");
        insta::assert_snapshot!(told(live(), late(50, 49_000_000)).join("\n"), @"p99 is mostly the delay of sends (49.0 ms of 50.0 ms): calls waited for a connection or for this client, and it tells little of the service");
        assert_eq!(told(live(), late(5, 20_000_000)), [""; 0]);
        assert_eq!(told(ramp(), late(50, 49_000_000)), [""; 0]);
    }
}
