//! What a verdict on services that were running before says beside the others.

use crate::findings::verdict::{Note, Outcome, PlacementVerdict};

/// Why there is no verdict where the delay of sends decides.
pub(super) const SENT_LATE: &str = "how late calls were sent decides this: they waited for a connection, or for \
     this client; give more --connections or a lower rate";

/// How more is measured of running services.
pub(crate) const LONGER: &str = "a longer --duration with more --blocks";

/// Whether a verdict is on services that were running before.
pub(super) fn is_about(verdict: &PlacementVerdict) -> bool {
    verdict.notes.contains(&Note::RunningInstances)
}

/// Why a verdict is open, with what it holds for.
pub(super) fn reason(reason: Option<String>, verdict: &PlacementVerdict) -> Option<String> {
    let is_verdict = !matches!(verdict.outcome, Outcome::NoVerdict { .. });
    let holds_for = (is_verdict && is_about(verdict)).then(|| {
        "this is about these two running instances alone, neither of which was started afresh"
            .to_owned()
    });
    let parts: Vec<String> = reason.into_iter().chain(holds_for).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
