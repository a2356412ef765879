//! Compares a figure across two runs.
//!
//! The machine's speed changes between runs, which neither run's interval covers. So the figure is
//! compared as a ratio to a base that both runs measured in the same blocks: within each run, the
//! machine's speed cancels out. But a change in speed may affect one base more than another, and a
//! base may itself have changed. So a change counts only if it shows against every base and is
//! larger than the change of the bases relative to each other.

use crate::distribution::t_quantile;
use crate::estimate::{Estimate, Interval};
use crate::placement::{Combined, across_placements};
use crate::verdict::{Outcome, Verdict, VerdictRule, judge};

/// The ratio of one figure to one base, in two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InRuns {
    /// In the earlier run, the baseline.
    pub before: Estimate,
    /// In the later run, which is being judged.
    pub after: Estimate,
}

impl InRuns {
    /// After over before, with Welch's t interval (1947), because the runs are independent and one
    /// may be noisier than the other. With several `comparisons`, each interval is widened
    /// (Bonferroni) so that all of them together have the first run's confidence.
    pub fn change(&self, comparisons: usize) -> Estimate {
        let Self { before, after } = self;
        let confidence = 1.0 - (1.0 - before.confidence) / comparisons.max(1) as f64;
        let log_ratio = after.log_ratio - before.log_ratio;
        let errors = before.standard_error.zip(after.standard_error);
        let standard_error = errors.map(|(before, after)| before.hypot(after));
        let interval = standard_error.map(|error| {
            let reach = error * t_quantile(0.5 + confidence / 2.0, self.degrees());
            Interval::from_logs(log_ratio - reach, log_ratio + reach)
        });
        Estimate {
            log_ratio,
            standard_error,
            interval,
            confidence,
            invocations: before.invocations.min(after.invocations),
            blocks: before.blocks.min(after.blocks),
        }
    }

    /// The Welch-Satterthwaite degrees of freedom, rounded down.
    fn degrees(&self) -> usize {
        let part = |estimate: &Estimate| {
            let variance = estimate.standard_error.unwrap_or(0.0).powi(2);
            let own = (estimate.invocations.max(2) - 1) as f64;
            (variance, variance * variance / own, own as usize)
        };
        let (before, before_part, fewest) = part(&self.before);
        let (after, after_part, other) = part(&self.after);
        let degrees = (before + after).powi(2) / (before_part + after_part);
        // NaN becomes 0, which is the case if nothing varies.
        (degrees as usize).max(fewest.min(other))
    }
}

/// The combined change of one figure against several bases: the outcome that they all share. `None`
/// if they disagree, or if a difference does not lie beyond the change of the bases relative to
/// each other (`apart`). `aa` are the A/A pairs of both runs.
pub fn judge_changes(
    changes: &[Estimate],
    aa: &[Estimate; 2],
    apart: Option<&Estimate>,
    rule: &VerdictRule,
) -> Option<Outcome> {
    let all_say = |aa: &[Estimate]| {
        let judged = changes.iter().map(|change| judge(change, aa, rule));
        let judged: Vec<Verdict> = judged.collect();
        (across_placements(&judged) == Combined::Same).then(|| judged[0].outcome)
    };
    let outcome = all_say(aa)?;
    let is_beyond = |apart: &Estimate| all_say(&[aa[0], aa[1], *apart]) == Some(outcome);
    (outcome == Outcome::NoDifference || apart.is_none_or(is_beyond)).then_some(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Better;

    fn in_runs(before: (f64, f64), after: (f64, f64)) -> InRuns {
        InRuns {
            before: Estimate::sample(before.0, before.1),
            after: Estimate::sample(after.0, after.1),
        }
    }

    fn half_width(runs: InRuns, comparisons: usize) -> f64 {
        let interval = runs.change(comparisons).interval.unwrap();
        interval.log_half_width()
    }

    #[test]
    fn change_is_after_over_before_with_the_errors_of_both() {
        let runs = in_runs((0.49, 0.51), (0.98, 1.02));
        let change = runs.change(1);
        assert!((change.ratio() - 2.0).abs() < 1e-3, "{change:?}");
        let (before, after) = (runs.before, runs.after);
        let error = change.standard_error.unwrap();
        let expected = before
            .standard_error
            .unwrap()
            .hypot(after.standard_error.unwrap());
        assert!((error - expected).abs() < 1e-12);
        // Two runs of 8 invocations with the same noise have 14 degrees of freedom.
        let [low, high] = [0.98, 1.0 / 0.98];
        let even = in_runs((low, high), (low, high));
        let error = even.change(1).standard_error.unwrap();
        assert!((half_width(even, 1) / error - 2.1448).abs() < 1e-3);
        // If only one run is noisy, that run determines the degrees of freedom.
        let uneven = in_runs((low, high), (1.0, 1.0));
        let error = uneven.change(1).standard_error.unwrap();
        assert!((half_width(uneven, 1) / error - 2.3646).abs() < 1e-3);
    }

    #[test]
    fn more_comparisons_widen_the_intervals() {
        let runs = in_runs((0.98, 1.02), (0.98, 1.02));
        assert!((runs.change(10).confidence - 0.995).abs() < 1e-12);
        assert!(half_width(runs, 10) > 1.3 * half_width(runs, 1));
    }

    #[test]
    fn what_does_not_vary_is_exact() {
        let change = in_runs((2.0, 2.0), (3.0, 3.0)).change(100);
        let interval = change.interval.unwrap();
        assert!((interval.low() - 1.5).abs() < 1e-12 && interval.low() == interval.high());
        let one = InRuns {
            before: Estimate::sample_of_one(1.0),
            after: Estimate::sample(0.9, 1.1),
        };
        assert_eq!(one.change(1).interval, None);
    }

    #[test]
    fn a_change_must_be_seen_against_every_base() {
        let rule = VerdictRule::new(Better::Lower);
        let aa = [Estimate::sample(0.99, 1.01); 2];
        let (slower, faster) = (Estimate::sample(1.2, 1.3), Estimate::sample(0.7, 0.8));
        let (same, open) = (Estimate::sample(0.99, 1.01), Estimate::sample(0.8, 1.2));
        let table = [
            (vec![slower, slower], Some(Outcome::Slower)),
            (vec![faster, faster], Some(Outcome::Faster)),
            (vec![same, same], Some(Outcome::NoDifference)),
            (vec![slower], Some(Outcome::Slower)),
            (vec![slower, faster], None),
            (vec![slower, same], None),
            (vec![slower, open], None),
            (vec![], None),
        ];
        for (changes, expected) in table {
            assert_eq!(
                judge_changes(&changes, &aa, None, &rule),
                expected,
                "{changes:?}"
            );
        }
        let off = [Estimate::sample(1.0, 1.15); 2];
        assert_eq!(judge_changes(&[slower, slower], &off, None, &rule), None);
        let said = |changes: &[Estimate], apart| judge_changes(changes, &aa, Some(&apart), &rule);
        assert_eq!(said(&[slower, slower], Estimate::sample(0.8, 0.9)), None);
        let slightly = Estimate::sample(1.05, 1.1);
        assert_eq!(said(&[slower, slower], slightly), Some(Outcome::Slower));
        assert_eq!(said(&[same, same], slightly), Some(Outcome::NoDifference));
    }
}
