//! The end of a trial: turns what was counted into figures.

use std::time::Duration;

use rpcgauge_trial::{CpuTimes, Histogram, Memory, Startup, Threads, TrialFigures};

use super::Engine;
use super::phases::Slicing;
use crate::clock::{self, nanos};
use crate::error::LoadError;
use crate::measurement::{Measurement, bytes_of};

impl Engine<'_, '_, '_> {
    pub(super) fn finish(mut self) -> Result<Measurement, LoadError> {
        // The time is read first, because rpcgauge's own work at the end is not part of the trial.
        let now = clock::now();
        self.phases.spent.end_span(&self.pool);
        let spent = self.phases.spent.sum(&self.pool);
        self.messages.verify_last()?;
        self.messages.verify_samples()?;
        self.take_last_snapshot();
        self.pool.end_transports();
        self.phases.abandon_the_rest(now, &mut self.ledger);
        let slicing = self.phases.slicing();
        let most_in_flight = self.ledger.most_in_flight as u64;
        let requests_sent = self.ledger.requests_sent;
        let connects_failed = self.pool.counts.failed;
        let sizes = self.messages.sizes.sums;
        let uncompressed_responses = self.messages.sizes.uncompressed;
        let checked_responses = self.messages.checked_responses();
        let arrivals_end = self.phases.arrivals_end(now, &self.ledger);
        let mix = std::mem::take(&mut self.ledger.mix.figures).into_iter();
        let names = self.trial.mix.iter().map(|call| call.name.clone());
        let recorder = self.ledger.finish(arrivals_end);
        let span_ns = recorder.span_ns();
        let spent_over_ns = slicing.map_or(span_ns, |slicing| slicing.counted_ns);
        let arrivals_ns = arrivals_end.map(|end| recorder.offset(end));
        let stalled_ns = self.phases.stalled_ns;
        let without_stalls = |ns: u64| ns.saturating_sub(stalled_ns);
        let spent_over = Duration::from_nanos(without_stalls(spent_over_ns));
        // Packing a histogram takes half a megabyte, which must not count as memory of the trial. So whatever is no
        // longer needed is freed first.
        drop((self.pool, self.inbox, self.messages, recorder.interval));
        let timeline = recorder.timeline.finish(span_ns);
        let failed_latency = Some(recorder.failed_latency).filter(|times| !times.is_empty());
        let mut stages = recorder.stages;
        stages.retain(|(_, times)| !times.is_empty());
        let (service_time, first_byte) = recorder
            .service
            .map(|times| {
                (
                    Histogram::from(times.whole),
                    Histogram::from(times.first_byte),
                )
            })
            .unzip();
        let figures = TrialFigures {
            calls: recorder.account.close()?,
            warmup: self.phases.warmup.outcome,
            elapsed_ns: without_stalls(arrivals_ns.unwrap_or(spent_over_ns)),
            latency: recorder.latency.into(),
            failed_latency: failed_latency.map(Histogram::from),
            send_delay: recorder.send_delay.into(),
            service_time,
            first_byte,
            messages: recorder
                .messages
                .map(|messages| Box::new(messages.finish(nanos(spent_over)))),
            stages: stages
                .into_iter()
                .map(|(stage, times)| (stage, times.into()))
                .collect(),
            timeline,
            steps: recorder.steps.finish(),
            mix: mix
                .zip(names)
                .map(|(calls, name)| calls.finish(name))
                .collect(),
            requests_sent: Some(requests_sent),
            late: self.phases.warmup.late,
            slices: slicing.and_then(Slicing::slices),
            bytes: Some(bytes_of(
                &slicing.map_or(spent.traffic, |slicing| slicing.traffic),
            )),
            payload: sizes.means(),
            cpu: CpuTimes {
                client: Some(spent.cpu.time()),
                server: None,
            },
            client_share: Some(share(spent.cpu.total_ns, spent_over)),
            ending: self.phases.ending,
            connections_at_start: Some(self.phases.connections_at_start as u64),
            connections_opened: Some(spent.connections_opened),
            connections_reopened: slicing.map_or(0, |slicing| slicing.reopened),
            tls_resumed: spent.tls_resumed,
            connects_failed,
            uncompressed_responses,
            checked_responses,
            bodies_late: recorder.bodies_late,
            stalls: recorder.stalls,
            most_in_flight: Some(most_in_flight),
            error_samples: recorder.errors.samples,
            errors_without_sample: recorder.errors.without_sample,
            // The engine does not know the rest.
            measured_from_ms: None,
            watched: None,
            link: None,
            memory: Memory::default(),
            threads: Threads::default(),
            startup: Startup::default(),
            code: None,
        };
        Ok(Measurement {
            figures,
            spent_over,
            marks: recorder.marks,
            began: recorder.start,
            slow: recorder.slow.unwrap_or_default(),
            late_answered: self.phases.warmup.answered_in_measured,
            sizes,
        })
    }
}

/// The share of a core that `cpu_ns` are, at most 1. The CPU clock and the wall clock differ slightly, so a busy core
/// could seem to exceed 100%.
fn share(cpu_ns: u64, over: Duration) -> f64 {
    let over_ns = over.as_nanos() as f64;
    if over_ns == 0.0 {
        0.0
    } else {
        (cpu_ns as f64 / over_ns).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_share() {
        let share = |cpu_ns, over_ns| share(cpu_ns, Duration::from_nanos(over_ns));
        assert_eq!(share(1, 0), 0.0);
        assert_eq!(share(25, 100), 0.25);
        assert_eq!(share(101, 100), 1.0);
    }
}
