//! Combines the verdicts of one comparison under several placements.

use serde::Serialize;

use crate::verdict::Verdict;

/// The combined verdict of one comparison under several placements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Combined {
    /// Every placement has the same resolved verdict. This includes a single placement.
    Same,
    /// Placements have different resolved verdicts, so there is no single answer.
    DependsOnPlacement,
    /// The resolved placements agree, but some are not resolved.
    Unconfirmed,
    /// No placement is resolved.
    NotResolved,
}

/// Combines the verdicts of one comparison, one per placement. Without any verdict, the result is
/// not resolved.
pub fn across_placements(verdicts: &[Verdict]) -> Combined {
    let mut resolved = verdicts.iter().filter(|v| v.is_resolved());
    let Some(first) = resolved.next() else {
        return Combined::NotResolved;
    };
    if resolved.any(|v| v.outcome != first.outcome) {
        return Combined::DependsOnPlacement;
    }
    if verdicts.iter().all(Verdict::is_resolved) {
        Combined::Same
    } else {
        Combined::Unconfirmed
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
            (vec![faster, verdict(0.8, 0.9)], Combined::Same),
            (vec![same], Combined::Same),
            (vec![faster, slower], Combined::DependsOnPlacement),
            (vec![faster, same], Combined::DependsOnPlacement),
            (vec![unknown, faster, slower], Combined::DependsOnPlacement),
            (vec![unknown, slower], Combined::Unconfirmed),
            (vec![unknown, unknown], Combined::NotResolved),
            (vec![], Combined::NotResolved),
        ];
        for (verdicts, expected) in table {
            assert_eq!(across_placements(&verdicts), expected);
        }
    }
}
