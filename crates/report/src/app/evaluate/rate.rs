//! Warnings about requests at a rate.

use rpcgauge_study::app::SliceFigures;
use rpcgauge_study::histogram::{Times, Unit};

use super::together;
use crate::findings::caution::{Caution, CautionKind};
use crate::units;
use crate::words::caution::clause;

/// The service does not keep up if more than this share of the successful requests succeeded only after their slice
/// had ended.
const MAX_LEFT: f64 = 0.05;

/// Warnings about the figures of requests at a rate, one line each; empty for a load by users.
pub fn of_rate(slices: &[&SliceFigures]) -> Vec<String> {
    let mut delays = Times::new(Unit::Ns);
    let mut stalled = 0;
    for at_rate in slices.iter().filter_map(|slice| slice.at_rate.as_ref()) {
        // This cannot fail: both are in ns, and the counts are too small to overflow.
        let _ = delays.add(&at_rate.send_delay.unpack());
        stalled += at_rate.stalled;
    }
    if delays.is_empty() {
        return Vec::new();
    }
    let requests = slices.iter().flat_map(|slice| &slice.requests);
    let requests: Vec<_> = requests.collect();
    let seconds: f64 = slices.iter().map(|slice| slice.seconds).sum();
    let (times, _) = together(&requests);
    let failed: u64 = requests.iter().map(|one| one.failures).sum();
    let answered: u64 = slices.iter().map(|slice| slice.answered(None)).sum();
    let mut cautions = Vec::new();
    let [p99, delay] = [&times, &delays].map(|times| times.quantile(0.99));
    if times.len().saturating_sub(answered) as f64 > MAX_LEFT * times.len() as f64 {
        let rate = |count: u64| units::number(count as f64 / seconds);
        cautions.push(format!(
            "{} requests per second were due and {} succeeded: the service did not keep up, so response times grow \
             with the length of a slice; lower the rate",
            rate(times.len() + failed),
            rate(answered)
        ));
    } else if delay <= p99 && delay > p99 / 2.0 {
        let counts = [delay as u64, p99 as u64];
        let late = Caution::about(CautionKind::LateP99, "", counts);
        cautions.push(clause(&late, false));
    }
    if stalled > 0 {
        cautions.push(format!(
            "{} left out, since rpcgauge was stalled while they were due or in flight: something else used its core",
            units::counted(stalled, "request")
        ));
    }
    cautions
}
