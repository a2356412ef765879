//! Ranks variants by a metric or by their price.

use std::cmp::Ordering;

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

use super::{Candidate, Candidates};
use crate::findings::decision::{Amount, Best, Prices, Saving};
use crate::findings::verdict::{Outcome, PlacementVerdict, Withheld};

impl Candidates<'_> {
    /// The variants that no other one beats in a metric of which less is better; `None` unless all have its figure.
    pub(super) fn best(
        &self,
        all: &[Candidate<'_>],
        metric: Metric,
        placement: Placement,
    ) -> Option<Best> {
        let figures = all.iter().map(|one| one.figure(metric, placement));
        let figures: Vec<f64> = figures.collect::<Option<Vec<_>>>()?;
        let unbeaten = unbeaten(all, |of, against| {
            let verdict = self.judge(of, against, metric, placement);
            rank(&verdict)
        });
        let ranked = all
            .iter()
            .zip(figures)
            .min_by(|(a, a_figure), (b, b_figure)| {
                let is_beaten = |one: &Candidate<'_>| !unbeaten.contains(&one.findings.name);
                let figures = || a_figure.total_cmp(b_figure);
                is_beaten(a).cmp(&is_beaten(b)).then_with(figures)
            });
        Some(Best {
            metric,
            variant: ranked?.0.name(),
            unbeaten,
        })
    }

    pub(super) fn judge(
        &self,
        of: &Candidate<'_>,
        against: &Candidate<'_>,
        metric: Metric,
        placement: Placement,
    ) -> PlacementVerdict {
        let judged = self
            .blocks
            .judge(of.index, against.index, metric, placement, false);
        judged.verdict
    }
}

/// The variants that no other one beats. `rank` returns `Greater` if the first of two is worse, and `Less` if the second
/// one is.
pub(super) fn unbeaten(
    all: &[Candidate<'_>],
    rank: impl Fn(&Candidate<'_>, &Candidate<'_>) -> Ordering,
) -> Vec<String> {
    let mut beaten = vec![false; all.len()];
    for (index, one) in all.iter().enumerate() {
        for (further, other) in all.iter().enumerate().skip(index + 1) {
            match rank(one, other) {
                Ordering::Greater => beaten[index] = true,
                Ordering::Less => beaten[further] = true,
                Ordering::Equal => {}
            }
        }
    }
    let unbeaten = all.iter().zip(&beaten).filter(|(_, beaten)| !**beaten);
    unbeaten.map(|(one, _)| one.name()).collect()
}

/// Which of two variants is worse by the price of its CPU and bytes: `Greater` if it is the one that `saving` is of. A price
/// that differs by no more than the margin is no difference.
pub(super) fn rank_by_price(saving: &Saving, prices: Prices, margin: f64) -> Ordering {
    let (cpu, bytes) = (saving.of_cpu(), saving.of_bytes());
    let priced = [(cpu, prices.core_hour), (bytes, prices.gigabyte)];
    let priced = priced.into_iter().filter(|(_, price)| *price > 0.0);
    let priced: Vec<&PlacementVerdict> = priced.filter_map(|(verdict, _)| verdict).collect();
    // A variant with more unsuccessful calls has no verdict.
    let by_failures = priced.iter().map(|verdict| rank_by_failures(verdict));
    if let Some(ordering) = by_failures.into_iter().find(|ordering| ordering.is_ne()) {
        return ordering;
    }
    let value = |verdict: Option<&PlacementVerdict>| verdict.and_then(|one| one.against_value);
    let of_against =
        prices.of_cpu(value(cpu).unwrap_or(0.0)) + prices.of_bytes(value(bytes).unwrap_or(0.0));
    let amount = |verdict: Option<&PlacementVerdict>| verdict.and_then(Amount::saved);
    let saved = prices.saved(amount(cpu), amount(bytes));
    match saved.and_then(|saved| saved.range) {
        Some([least, most]) if least > 0.0 && most > of_against * margin => Ordering::Less,
        Some([least, most]) if most < 0.0 && least < -of_against * margin => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// Which of two variants a verdict shows to be worse: `Greater` if it is the first one.
fn rank(verdict: &PlacementVerdict) -> Ordering {
    match verdict.outcome {
        Outcome::Slower => Ordering::Greater,
        Outcome::Faster => Ordering::Less,
        _ => rank_by_failures(verdict),
    }
}

/// A variant with more unsuccessful calls is worse if these could change the verdict.
fn rank_by_failures(verdict: &PlacementVerdict) -> Ordering {
    let withheld = Outcome::NoVerdict {
        reason: Withheld::Unanswered,
    };
    let shares = verdict.unanswered.filter(|_| verdict.outcome == withheld);
    shares.map_or(Ordering::Equal, |shares| {
        shares.of.total_cmp(&shares.against)
    })
}
