//! What may explain slow calls: what runtimes did, and what others took.

use rpcgauge_message::contract::RuntimeEvent;
use serde::{Deserialize, Serialize};

use super::is_zero;
use crate::features::Role;
use crate::settings::Placement;

/// The most slow calls of a trial that are kept: those that lost the most time.
pub const MOST_SLOW: usize = 1_000;

/// The most events of a process that are kept.
pub const MOST_EVENTS: usize = 2_000;

/// A trial's slow calls. Times are those of CLOCK_MONOTONIC, ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// When the first measured call was due: where the timeline begins.
    pub from_ns: u64,
    /// The slow calls, in the order in which they were due.
    pub slow: Vec<SlowCall>,
    /// Slow calls that are not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_kept: u64,
    /// By how much these took longer than usual.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_kept_ns: u64,
}

/// A call that took more than three times as long as usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCall {
    /// When it was due.
    pub due_ns: u64,
    /// Its latency.
    pub latency_ns: u64,
    /// The median latency of the 64 calls before it.
    pub usual_ns: u64,
    /// What others took of its time; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbed>,
}

/// Time that others took from a slow call, ns, as far as it is more than usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbed {
    /// Client and server waited for their cores, on which others ran.
    pub waited_ns: u64,
    /// The hypervisor kept the cores for others.
    pub stolen_ns: u64,
}

impl SlowCall {
    /// By how much it took longer than usual.
    pub fn lost_ns(&self) -> u64 {
        self.latency_ns.saturating_sub(self.usual_ns)
    }
}

/// What the runtime of a process did while its variant was measured in an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsRecord {
    /// Which fresh start of the subjects.
    pub invocation: u32,
    /// The variant's name.
    pub variant: String,
    /// Where its processes ran.
    pub placement: Placement,
    /// Which of its processes.
    pub process: Role,
    /// The events, in the order in which they began.
    pub events: Vec<RuntimeEvent>,
    /// Events outside of what was measured, which are not kept: a start or a warm-up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outside: u64,
    /// Events that were joined with the next one of their kind, since there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joined: u64,
}

impl EventsRecord {
    /// Joins neighbours of one kind, the nearest first, until there are no more than [`MOST_EVENTS`].
    pub fn join_down_to_most(&mut self) {
        let too_many = self.events.len().saturating_sub(MOST_EVENTS);
        if too_many == 0 {
            return;
        }
        self.events
            .sort_by_key(|event| (event.kind, event.begin_ns));
        let gap = |pair: &[RuntimeEvent]| {
            let (one, next) = (&pair[0], &pair[1]);
            (one.kind == next.kind).then(|| next.begin_ns.saturating_sub(one.end_ns))
        };
        let mut gaps: Vec<(u64, usize)> = self
            .events
            .windows(2)
            .enumerate()
            .filter_map(|(place, pair)| Some((gap(pair)?, place + 1)))
            .collect();
        gaps.sort_unstable();
        let mut joins: Vec<usize> = gaps
            .iter()
            .take(too_many)
            .map(|(_, place)| *place)
            .collect();
        joins.sort_unstable();
        self.joined += joins.len() as u64;
        let mut joins = joins.into_iter().peekable();
        let mut kept: Vec<RuntimeEvent> = Vec::with_capacity(MOST_EVENTS);
        for (place, event) in std::mem::take(&mut self.events).into_iter().enumerate() {
            match kept.last_mut() {
                Some(before) if joins.next_if_eq(&place).is_some() => {
                    before.end_ns = before.end_ns.max(event.end_ns);
                }
                _ => kept.push(event),
            }
        }
        kept.sort_by_key(|event| event.begin_ns);
        self.events = kept;
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_message::contract::EventKind;

    use super::*;

    #[test]
    fn the_nearest_events_of_a_kind_are_joined_and_counted() {
        let event = |kind, begin_ns| RuntimeEvent {
            kind,
            begin_ns,
            end_ns: begin_ns + 10,
            detail: String::new(),
        };
        // Further and further apart, with pauses between them.
        let compiled =
            (0..MOST_EVENTS as u64).map(|n| event(EventKind::Compilation, n * n + 20 * n));
        let paused = (0..5).map(|n| event(EventKind::GcPause, 1_000 * n));
        let mut events: Vec<RuntimeEvent> = compiled.chain(paused).collect();
        events.sort_by_key(|event| event.begin_ns);
        let mut record = EventsRecord {
            invocation: 0,
            variant: "jvm".to_owned(),
            placement: Placement::TwoCores,
            process: Role::Server,
            events,
            outside: 0,
            joined: 0,
        };
        record.join_down_to_most();
        assert_eq!((record.events.len(), record.joined), (MOST_EVENTS, 5));
        let pauses = record.events.iter();
        let pauses = pauses.filter(|event| event.kind == EventKind::GcPause);
        assert_eq!(pauses.count(), 5, "pauses are far apart");
        let mut events = record.events.iter();
        let first = events
            .find(|event| event.kind == EventKind::Compilation)
            .unwrap();
        // The first six are the nearest to each other.
        assert_eq!((first.begin_ns, first.end_ns), (0, 5 * 5 + 20 * 5 + 10));
        assert!(record.events.is_sorted_by_key(|event| event.begin_ns));
    }
}
