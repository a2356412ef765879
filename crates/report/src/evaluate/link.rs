//! The behavior of a cell's link over all its trials.

use rpcgauge_stats::median;
use rpcgauge_study::link::{Direction, LinkRate, NamedLink};
use rpcgauge_study::record::{DirectionCounts, LinkCounts, TrialFigures};

use super::cell::MeasuredTrial;
use super::is_link_held;
use crate::findings::{LinkDirection, LinkFindings};
use crate::metric::per_call;

/// The findings about a link; `None` if no trial went over a link.
pub(super) fn findings(
    link: Option<&NamedLink>,
    trials: &[MeasuredTrial<'_>],
) -> Option<LinkFindings> {
    let NamedLink { name, terms } = link?;
    let counts = trials.iter().filter_map(|(_, m)| m.link.as_ref());
    let counts: Vec<&LinkCounts> = counts.collect();
    let middle = |of: fn(&LinkCounts) -> u64| {
        let all: Vec<f64> = counts.iter().map(|link| of(link) as f64).collect();
        median(&all).ok().map(|ns| ns as u64)
    };
    let most = |of: fn(&LinkCounts) -> u64| counts.iter().map(|link| of(link)).max().unwrap_or(0);
    let total = |of: fn(&LinkCounts) -> u64| sum(counts.iter().map(|link| of(link)));
    let calls = |of: fn(&TrialFigures) -> u64| sum(trials.iter().map(|(_, m)| of(m)));
    let is_held = |(t, m): &&MeasuredTrial<'_>| m.link.is_some() && is_link_held(t, m);
    let held = trials.iter().filter(is_held).count();
    Some(LinkFindings {
        name: name.clone(),
        like: link?.preset().map(|preset| preset.says.to_owned()),
        congestion: terms.congestion,
        up: direction(
            &terms.up,
            counts.iter().map(|link| &link.up),
            calls(TrialFigures::calls_of_sent_bytes),
        ),
        down: direction(
            &terms.down,
            counts.iter().map(|link| &link.down),
            calls(TrialFigures::calls_of_received_bytes),
        ),
        set_round_trip_ns: middle(|link| link.calibration.set_ns)?,
        round_trip_ns: middle(|link| link.calibration.median_ns)?,
        base_ns: middle(|link| link.calibration.base_ns())?,
        lateness_p50_ns: middle(|link| link.lateness.p50_ns)?,
        lateness_p99_ns: most(|link| link.lateness.p99_ns),
        lateness_max_ns: most(|link| link.lateness.max_ns),
        foreign_drops: total(|link| link.foreign_drops),
        retransmits: total(|link| link.retransmits),
        trials: counts.len() as u64,
        held: held as u64,
    })
}

fn direction<'c>(
    set: &Direction,
    counts: impl Iterator<Item = &'c DirectionCounts> + Clone,
    calls: u64,
) -> LinkDirection {
    let total = |of: fn(&DirectionCounts) -> u64| sum(counts.clone().map(of));
    LinkDirection {
        rate_bits: match set.rate {
            LinkRate::BitsPerSecond(bits) => Some(bits),
            LinkRate::Unlimited | LinkRate::Trace(_) => None,
        },
        trace: match &set.rate {
            LinkRate::Trace(trace) => Some(trace.file.clone()),
            LinkRate::Unlimited | LinkRate::BitsPerSecond(_) => None,
        },
        delay_ns: set.delay_ns,
        jitter_ns: set.jitter_ns,
        loss: set.loss.map(|loss| loss.part),
        packets_per_call: per_call(calls, total(|direction| direction.packets)),
        bytes_per_call: per_call(calls, total(|direction| direction.bytes)),
        lost: total(|direction| direction.lost),
        dropped: total(|direction| direction.dropped),
        queued_ns: per_call(
            total(DirectionCounts::queued),
            total(|direction| direction.queued_ns),
        ),
    }
}

/// A saturating sum, since the sum of damaged records may overflow.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
