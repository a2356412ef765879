//! One comparison under several placements.

use crate::verdict::{Outcome, Verdict};

/// What the verdicts of one comparison under several placements come to together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Combined {
    /// Every placement gives the same resolved verdict.
    Same(Outcome),
    /// Placements give different resolved verdicts: both are reported, neither alone.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::verdict::{Better, VerdictRule, judge};

    fn verdict(low: f64, high: f64) -> Verdict {
        judge(
            &Estimate::sample(low, high),
            &[],
            &VerdictRule::new(Better::Lower),
        )
    }

    #[test]
    fn verdicts_of_placements_are_combined() {
        let (faster, slower) = (verdict(0.5, 0.6), verdict(1.5, 1.6));
        let (same, unknown) = (verdict(0.99, 1.01), verdict(0.8, 1.2));
        let table = [
            (
                vec![faster, verdict(0.8, 0.9)],
                Combined::Same(Outcome::Faster),
            ),
            (vec![same], Combined::Same(Outcome::NoDifference)),
            (vec![faster, slower], Combined::DependsOnPlacement),
            (vec![faster, same], Combined::DependsOnPlacement),
            (vec![unknown, faster, slower], Combined::DependsOnPlacement),
            (
                vec![unknown, slower],
                Combined::Unconfirmed(Outcome::Slower),
            ),
            (vec![unknown, unknown], Combined::NotResolved),
            (vec![], Combined::NotResolved),
        ];
        for (verdicts, expected) in table {
            assert_eq!(across_placements(&verdicts), expected);
        }
    }
}
