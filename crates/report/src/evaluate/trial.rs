//! Builds the row of a measured trial.

use rpcgauge_study::histogram::Times;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::{CLIENT_BOUND_SHARE, FloorRecord, TrialFigures, TrialRecord};

use super::{client_share, is_link_held};
use crate::findings::supported;
use crate::findings::trial::{FloorBeside, RowFigures, SendDelay, TrialRow, Unfit};
use crate::metric::{
    self, Kind, UnpackedTrial, filled, is_about_server, is_counted, median_ns, per_call,
};

impl FloorBeside {
    /// The medians over the records of a trial's own floor; `None` if there are none.
    pub(crate) fn of(trial: &TrialRecord, floors: &[&FloorRecord]) -> Option<Self> {
        let is_beside = |floor: &&FloorRecord| {
            floor.placement == trial.trial.placement
                && floor.invocation == trial.trial.invocation
                && floor.block == trial.trial.block
                && floor.variants.contains(&trial.variant)
        };
        let beside = || floors.iter().copied().filter(is_beside);
        let medians = beside().filter_map(|floor| median_ns(&floor.latency));
        let medians: Vec<f64> = medians.collect();
        Some(Self {
            round_trip_ns: rpcgauge_stats::median(&medians).ok()?,
            client_cpu_ns: floor_cpu(beside()),
        })
    }

    /// The floor's figure for a metric: its calls per second for goodput. `None` for bytes and memory, which
    /// do not depend on the machine's speed.
    pub(crate) fn beside(&self, metric: Metric) -> Option<f64> {
        match metric::row(metric).kind {
            Kind::Goodput => Some(1e9 / self.round_trip_ns),
            Kind::Cpu(_) => self.client_cpu_ns,
            Kind::Bytes(_) | Kind::Memory(_) => None,
            Kind::Quantile(_) | Kind::Mean { .. } => Some(self.round_trip_ns),
        }
    }
}

/// The calling loop's CPU time per call: the median over floors. Floors over a link are ignored, as is the CPU time
/// of calls over a link.
pub(super) fn floor_cpu<'f>(floors: impl Iterator<Item = &'f FloorRecord>) -> Option<f64> {
    let on_loopback = floors.filter(|floor| floor.link.is_none());
    let all: Vec<f64> = on_loopback.map(|floor| floor.client_cpu_ns).collect();
    rpcgauge_stats::median(&all).ok()
}

impl TrialRow {
    /// Why the trial is unfit for a metric; `None` if it is fit. The timing of the trial itself decides, since a stage
    /// trial can be compared with a load.
    pub(crate) fn unfit(&self, metric: Metric) -> Option<Unfit> {
        if self.link_not_held && !is_counted(metric) {
            return Some(Unfit::LinkNotHeld);
        }
        let is_bound = self.client_bound && is_about_server(metric, self.timing);
        is_bound.then_some(Unfit::ClientBound)
    }

    /// The row of a measured trial.
    pub(crate) fn of(
        record: &TrialRecord,
        measured: &TrialFigures,
        floor: Option<FloorBeside>,
    ) -> Self {
        Self {
            index: record.trial.index,
            variant: record.variant.clone(),
            invocation: record.trial.invocation,
            block: record.trial.block,
            placement: record.trial.placement,
            idle: record.idle,
            timing: record.timing,
            started_at_ms: record.started_at_ms,
            rate: record.rate,
            elapsed_ns: measured.elapsed_ns,
            settled: measured.warmup.settled,
            client_bound: client_share(measured) > Some(CLIENT_BOUND_SHARE)
                && !includes_client(measured),
            link_not_held: !is_link_held(record, measured),
            link: measured.link,
            client_share: client_share(measured),
            started: measured.calls.started,
            answered: measured.calls.answered,
            failed: measured.calls.failed_total(),
            abandoned: measured.calls.abandoned,
            marks_bytes: measured
                .bytes
                .and_then(|bytes| {
                    per_call(measured.calls_of_received_bytes(), bytes.received.marks)
                })
                .filter(|b| *b > 0.0),
            never_begun: measured.calls.never_begun,
            never_sent: measured.calls.never_sent,
            warmup_failed: measured.warmup.failed,
            connections_at_start: measured.connections_at_start,
            connections_opened: measured.connections_opened,
            connects_failed: measured.connects_failed,
            uncompressed_responses: measured.uncompressed_responses,
            errors_without_sample: measured.errors_without_sample,
            retried: measured.calls.retried,
            answered_after_retry: measured.calls.answered_after_retry,
            bodies_late: measured.bodies_late,
            send_delay: filled(&measured.send_delay).map(|delays| SendDelay::of(&delays)),
            server_startup_ns: measured.startup.server_ns,
            client_startup_ns: measured.startup.client_ns,
            floor,
            figures: RowFigures::of(measured),
        }
    }
}

/// Whether the work of the client is part of what is measured, as it is if stages are timed: one call at a time is in
/// flight to a subject, in a closed loop. Such a load is a stream, or is compared with one.
fn includes_client(measured: &TrialFigures) -> bool {
    // The code of messages is unknown for a live service, and calls at a rate are not measured in slices: a client that is
    // late for them delays them.
    measured.code.is_some() && measured.slices.is_some() && measured.most_in_flight == Some(1)
}

impl SendDelay {
    fn of(histogram: &Times) -> Self {
        Self {
            p50_ns: histogram.quantile(0.5),
            p99_ns: supported(histogram, 0.99),
            max_ns: histogram.max(),
        }
    }
}

impl RowFigures {
    fn of(measured: &TrialFigures) -> Self {
        let trial = UnpackedTrial::of(measured);
        let figures = Metric::all().filter_map(|metric| Some((metric, trial.figure(metric)?)));
        Self(figures.collect())
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::plan::Slice;
    use rpcgauge_study::record::{CodeKind, Slices};

    use super::*;

    #[test]
    fn only_a_closed_loop_of_one_call_to_a_subject_includes_its_client() {
        let closed = TrialFigures {
            code: Some(CodeKind::Generated),
            most_in_flight: Some(1),
            slices: Some(Slices {
                count: 1,
                each: Slice {
                    skip_calls: 1,
                    skip_us: 0,
                    least_calls: 1,
                    time_us: 1,
                },
                skipped: 0,
                skipped_failed: 0,
                skipped_never_sent: 0,
            }),
            ..TrialFigures::default()
        };
        assert!(includes_client(&closed));
        for other in [
            TrialFigures {
                code: None,
                ..closed.clone()
            },
            TrialFigures {
                slices: None,
                ..closed.clone()
            },
            TrialFigures {
                most_in_flight: Some(2),
                ..closed
            },
        ] {
            assert!(!includes_client(&other));
        }
    }
}
