//! The events of runtimes: where each process writes them, and how they are read once the process has
//! exited.

use rpcgauge_contract::RuntimeEvent;
use rpcgauge_study::features::Role;
use rpcgauge_study::record::{EventsRecord, Record};
use rpcgauge_study::settings::Placement;
use rpcgauge_study::words::Named as _;

use super::Run;
use crate::error::LabError;
use crate::subject::EventsFile;

/// A process whose events can be read after it has exited.
pub(super) struct EventSource {
    pub(super) process: Role,
    pub(super) events: EventsFile,
}

/// An instance that has ended: where its events are, and when its trials were measured.
pub(super) struct Ended {
    pub(super) variant: u32,
    pub(super) placement: Placement,
    pub(super) sources: Vec<EventSource>,
    /// Intervals of CLOCK_MONOTONIC, ns.
    pub(super) measured: Vec<[u64; 2]>,
}

impl Run<'_> {
    /// Reads the events of instances that have ended, and records those from measured time. Unreadable
    /// events do not fail a trial: the report shows that they are unknown.
    pub(super) fn keep_events(
        &mut self,
        invocation: u32,
        ended: Vec<Ended>,
    ) -> Result<(), LabError> {
        for instance in ended {
            let name = self.plan.variants[instance.variant as usize].name.clone();
            for source in &instance.sources {
                let process = source.process;
                let events = match source.events.read(self.stop) {
                    Ok(events) => events,
                    Err(reason) => {
                        let process = process.as_str();
                        let text = format!(
                            "the events of the {process} of \"{name}\" are unknown: {reason}"
                        );
                        self.keep_warning(text)?;
                        continue;
                    }
                };
                let all = events.len();
                let is_within = |event: &RuntimeEvent| {
                    let mut spans = instance.measured.iter();
                    spans.any(|[from, to]| event.begin_ns <= *to && event.end_ns >= *from)
                };
                let mut events: Vec<RuntimeEvent> = events.into_iter().filter(is_within).collect();
                events.sort_by_key(|event| (event.begin_ns, event.end_ns));
                let mut record = EventsRecord {
                    invocation,
                    variant: name.clone(),
                    placement: instance.placement,
                    process,
                    outside: (all - events.len()) as u64,
                    dropped: 0,
                    events,
                };
                record.keep_longest();
                self.records.append(&Record::Events(record))?;
            }
        }
        Ok(())
    }
}
