//! What a trial came to.

use std::time::Duration;

use super::Engine;
use crate::clock;
use crate::error::LoadError;
use crate::measurement::{Ending, Measurement, SliceCount};

impl Engine<'_, '_, '_> {
    /// Closes the account and gathers the figures.
    pub(super) fn outcome(mut self) -> Result<Measurement, LoadError> {
        // Before what the instrument has to do at the end, which is no time of the trial.
        let now = clock::now();
        self.end_span();
        let spent = self.spent();
        self.look_at_the_end();
        self.end_transports();
        self.abandon_the_rest(now);
        self.end_with_the_schedule();
        let recorded = self.recorder.finish();
        Ok(Measurement {
            calls: recorded.account.close()?,
            warmup: self.warmup,
            elapsed: Duration::from_nanos(recorded.elapsed_ns),
            latency: recorded.latency,
            failed_latency: recorded.failed_latency,
            send_delay: recorded.send_delay,
            stages: recorded.stages,
            marks: recorded.marks,
            timeline: recorded.timeline,
            segments: recorded.segments,
            traffic: self.slicing.as_ref().map_or(spent.traffic, |s| s.traffic),
            payload: self.sizes.means(),
            cpu: spent.cpu,
            connections_at_start: self.connections_at_start as u64,
            connections_opened: spent.connections_opened,
            connections_reopened: self.connections_reopened,
            tls_resumed: spent.tls_resumed,
            slices: self.slicing.as_ref().map(|slicing| SliceCount {
                slices: slicing.slices,
                skipped: slicing.skipped,
                skipped_failed: slicing.skipped_failed,
            }),
            connects_failed: self.connects_failed,
            bodies_late: recorded.bodies_late,
            warmup_ended_after: self.warmup_ended_after,
            most_in_flight: self.most_in_flight as u64,
            uncompressed_answers: self.sizes.uncompressed,
            error_samples: recorded.errors.samples,
            errors_without_sample: recorded.errors.without_sample,
            ending: self.ending,
        })
    }

    /// Says on every connection that nothing more comes: a TLS session that just stops looks cut off
    /// to the server.
    fn end_transports(&mut self) {
        for connection in &mut self.connections {
            if let Some(open) = connection.open() {
                open.stream.say_end();
            }
        }
    }

    /// At a rate the last call has its own gap too: `n` calls at 10 a second take `n` tenths of a
    /// second. Without it their goodput would be above the rate at which they arrived. The end of
    /// a trial by time is no substitute: it begins at an arrival, and ends anywhere. A ramp that
    /// came to its end goes on to there.
    fn end_with_the_schedule(&mut self) {
        if matches!(self.ending, Ending::Complete | Ending::BodiesUsedUp) {
            self.recorder.end = self.recorder.end.max(self.dues.reach().unwrap_or(0));
        }
    }
}
