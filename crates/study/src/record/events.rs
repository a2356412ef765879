//! Runtime events, which may explain slow calls.

use rpcgauge_contract::RuntimeEvent;
use rpcgauge_trial::is_default;
use serde::{Deserialize, Serialize};

use crate::features::Role;
use crate::settings::Placement;

/// The maximum number of events that are kept per process.
pub const MAX_EVENTS: usize = 10_000;

/// The events of a process's runtime while its variant was measured in an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsRecord {
    /// The invocation, from 0.
    pub invocation: u32,
    /// The variant's name.
    pub variant: String,
    /// Where its processes ran.
    pub placement: Placement,
    /// The role of the process in the variant.
    pub process: Role,
    /// The events, in the order in which they began.
    pub events: Vec<RuntimeEvent>,
    /// The number of events outside the measured parts, such as during a start or a warm-up. They are not kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outside: u64,
    /// The number of events that are not kept because there were too many. The shortest are dropped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: u64,
}

impl EventsRecord {
    /// Keeps the [`MAX_EVENTS`] longest events: short ones explain little.
    pub fn keep_longest(&mut self) {
        let Some(dropped) = self.events.len().checked_sub(MAX_EVENTS) else {
            return;
        };
        let length = |event: &RuntimeEvent| event.end_ns.saturating_sub(event.begin_ns);
        self.events
            .sort_by_key(|event| std::cmp::Reverse(length(event)));
        self.events.truncate(MAX_EVENTS);
        self.events.sort_by_key(|event| event.begin_ns);
        self.dropped += dropped as u64;
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_contract::EventKind;

    use super::*;

    #[test]
    fn the_longest_events_are_kept_in_their_order_and_the_others_counted() {
        let event = |n: u64| RuntimeEvent {
            kind: EventKind::Compilation,
            begin_ns: 1_000 * n,
            end_ns: 1_000 * n + n,
            detail: String::new(),
        };
        let mut record = EventsRecord {
            invocation: 0,
            variant: "jvm".to_owned(),
            placement: Placement::TwoCores,
            process: Role::Server,
            events: (0..MAX_EVENTS as u64 + 7).map(event).collect(),
            outside: 0,
            dropped: 0,
        };
        record.keep_longest();
        let kept: Vec<_> = (7..MAX_EVENTS as u64 + 7).map(event).collect();
        assert_eq!((record.dropped, record.events), (7, kept));
    }
}
