//! Causes of spikes and runtime events, in words.

use rpcgauge_study::record::EventKind;

use crate::findings::spikes::{Cause, SpikeCauses};
use crate::units;

/// The name of a cause, for a table.
pub(crate) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::GcPause => event(EventKind::GcPause),
        Cause::Safepoint => event(EventKind::Safepoint),
        Cause::OtherProgram => "another program",
        Cause::Host => "the host",
        Cause::Deoptimization => event(EventKind::Deoptimization),
        Cause::Compilation => event(EventKind::Compilation),
        Cause::Unexplained => "unexplained",
    }
}

pub(crate) fn event(kind: EventKind) -> &'static str {
    match kind {
        EventKind::GcPause => "garbage collection",
        EventKind::Safepoint => "safepoint",
        EventKind::Deoptimization => "deoptimization",
        EventKind::Compilation => "compilation",
    }
}

/// The share of the lost time that has a named cause.
pub(crate) fn explained(causes: &SpikeCauses) -> String {
    if causes.spikes == 0 {
        return "no slow calls".to_owned();
    }
    format!(
        "{} of the time lost in slow calls ({}) has a named cause",
        units::percent(causes.explained),
        units::ns(causes.lost_ns)
    )
}
