//! One comparison under several placements.

use crate::verdict::{Outcome, Verdict};

/// What the verdicts of one comparison under several placements come to together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Combined {
    /// Every placement gives the same resolved verdict.
    Same(Outcome),
    /// Placements give different resolved verdicts: both are to be told, neither as the answer.
    DependsOnPlacement,
    /// Those placements that are resolved agree, but others are not resolved.
    Unconfirmed(Outcome),
    /// No placement is resolved.
    NotResolved,
}

/// Combines the verdicts of one comparison, one for each placement. No verdicts at all are not
/// resolved.
#[must_use]
pub fn across_placements(verdicts: &[Verdict]) -> Combined {
    let mut resolved = verdicts.iter().filter(|v| v.is_resolved());
    let Some(first) = resolved.next() else {
        return Combined::NotResolved;
    };
    if resolved.any(|v| v.outcome != first.outcome) {
        return Combined::DependsOnPlacement;
    }
    if verdicts.iter().all(Verdict::is_resolved) {
        Combined::Same(first.outcome)
    } else {
        Combined::Unconfirmed(first.outcome)
    }
}
