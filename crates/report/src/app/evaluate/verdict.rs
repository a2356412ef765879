//! Compares two variants by the slices of the same block.

use std::collections::BTreeMap;

use rpcgauge_stats::{self as stats, Better, Bootstrap, PairedRatios, VerdictRule};
use rpcgauge_study::app::{AppClaim, AppMetric, AppPair, SliceFigures};
use rpcgauge_study::settings::{Placement, Timing};

use super::super::better;
use super::super::findings::{AppClaimFindings, AppComparison};
use super::{About, Blocks, MAX_CORE_SHARE};
use crate::findings::verdict::{
    BlockCounts, ClaimOutcome, Control, Estimate, Outcome, PlacementVerdict, Unanswered, Withheld,
};

/// If more than this share of a variant's requests fail, its response times are meaningless, since failures are often
/// quick.
const MAX_FAILED_SHARE: f64 = 0.05;

impl<'a> Blocks<'a> {
    fn pairs(
        &self,
        of: &str,
        against: &str,
        about: About<'_>,
    ) -> (Vec<Vec<stats::Pair>>, BlockCounts) {
        let mut counts = BlockCounts::default();
        let mut invocations: BTreeMap<u32, Vec<stats::Pair>> = BTreeMap::new();
        let slice = |name: &str, at| self.slices.get(name).and_then(|all| all.get(&at)).copied();
        for block in &self.plan.blocks {
            counts.planned += 1;
            let at = (block.invocation, block.block);
            let (Some(of), Some(against)) = (slice(of, at), slice(against, at)) else {
                counts.missing += 1;
                continue;
            };
            let is_of_users = !matches!(about.0, AppMetric::Cpu | AppMetric::Inside(_));
            let share = |one: &SliceFigures| one.load_generator_cpu_seconds / one.spent_seconds();
            if is_of_users && share(of).max(share(against)) > MAX_CORE_SHARE {
                counts.client_bound += 1;
                continue;
            }
            let value = |slice| self.value(std::iter::once(slice), about);
            match (value(of), value(against)) {
                (Some(of), Some(against)) => {
                    counts.used += 1;
                    let pair = stats::Pair { of, against };
                    invocations.entry(block.invocation).or_default().push(pair);
                }
                _ => counts.no_value += 1,
            }
        }
        (invocations.into_values().collect(), counts)
    }

    fn estimate(&self, pairs: &[Vec<stats::Pair>]) -> Option<stats::Estimate> {
        let ratios = PairedRatios::from_pairs(pairs).ok()?;
        let bootstrap = Bootstrap::new(self.plan.confidence, self.plan.seed);
        stats::compare(&ratios, &bootstrap).ok()
    }

    /// The ratio of two variants.
    pub(in super::super) fn ratio(
        &self,
        of: &str,
        against: &str,
        about: About<'_>,
    ) -> Option<stats::Estimate> {
        self.estimate(&self.pairs(of, against, about).0)
    }

    /// The ratio of the A/A pair.
    pub(in super::super) fn a_a(&self, about: About<'_>) -> Option<stats::Estimate> {
        let (again, original) = self.control()?;
        self.ratio(again, original, about)
    }

    /// The A/A pair: the names of the second set and the original.
    fn control(&self) -> Option<(&'a str, &'a str)> {
        let mut variants = self.plan.variants.iter();
        variants.find_map(|variant| Some((variant.name.as_str(), variant.repeats.as_deref()?)))
    }

    /// The share of a variant's requests that failed.
    fn failed(&self, variant: &str, request: Option<&str>) -> f64 {
        let of = self.of(variant).flat_map(|slice| &slice.requests);
        let of = of.filter(|one| request.is_none_or(|name| one.name == name));
        let (failed, all) = of.fold((0, 0), |(failed, all), one| {
            (
                failed + one.failures,
                all + one.failures + one.times.count(),
            )
        });
        failed as f64 / all.max(1) as f64
    }

    fn judge(
        &self,
        (of, against): (&str, &str),
        about: About<'_>,
        a_a: bool,
    ) -> (PlacementVerdict, Option<stats::Verdict>) {
        let (pairs, blocks) = self.pairs(of, against, about);
        let estimate = self.estimate(&pairs);
        let control = self
            .control()
            .filter(|_| !a_a)
            .and_then(|(again, original)| {
                let estimate = self.ratio(again, original, about)?;
                let control = Control {
                    of: original.to_owned(),
                    again: again.to_owned(),
                    estimate: Estimate::of(&estimate),
                };
                Some((control, estimate))
            });
        let aa = control.as_ref().map(|(_, estimate)| *estimate);
        let rule = VerdictRule {
            better: better(self.plan, about.0),
            margin: self.plan.margin,
        };
        let is_of_users = about.0.is_of_request() && rule.better == Better::Lower;
        let failed = [of, against].map(|name| self.failed(name, about.1));
        let judged = match estimate {
            _ if blocks.client_bound * 2 > blocks.planned - blocks.missing => {
                Err(Withheld::ClientBound)
            }
            None => Err(Withheld::NotMeasured),
            Some(_) if is_of_users && failed.into_iter().any(|share| share > MAX_FAILED_SHARE) => {
                Err(Withheld::Unanswered)
            }
            Some(estimate) => Ok(stats::judge(&estimate, aa.as_slice(), &rule)),
        };
        let verdict = PlacementVerdict {
            placement: Placement::Free,
            timing: Timing::Load,
            of_value: self.value(self.of(of), about),
            against_value: self.value(self.of(against), about),
            estimate: estimate.as_ref().map(Estimate::of),
            outcome: match &judged {
                Ok(verdict) => Outcome::from(verdict.outcome),
                Err(reason) => Outcome::NoVerdict { reason: *reason },
            },
            blocks,
            control: control.map(|(control, _)| control),
            smallest_difference: estimate
                .and_then(|estimate| stats::smallest_difference(&estimate, aa.as_slice())),
            unanswered: (about.0.is_of_request() && failed != [0.0, 0.0]).then_some(Unanswered {
                of: failed[0],
                against: failed[1],
            }),
            cautions: Vec::new(),
        };
        (verdict, judged.ok())
    }

    /// The requests that a pair compares in a metric. `None` stands for all requests together.
    fn requests_of<'p>(&'p self, pair: &'p AppPair, metric: &AppMetric) -> Vec<Option<&'p str>> {
        if !metric.is_of_request() {
            return vec![None];
        }
        match &pair.requests[..] {
            [] if self.requests.len() == 1 => vec![None],
            [] => std::iter::once(None)
                .chain(self.requests.iter().map(|name| Some(*name)))
                .collect(),
            some => some.iter().map(|name| Some(name.as_str())).collect(),
        }
    }

    pub(super) fn comparisons(&self) -> Vec<AppComparison> {
        let mut all = Vec::new();
        for pair in &self.plan.pairs {
            for metric in &pair.metrics {
                for request in self.requests_of(pair, metric) {
                    let both = (pair.of.as_str(), pair.against.as_str());
                    all.push(AppComparison {
                        question: question(pair),
                        of: pair.of.clone(),
                        against: pair.against.clone(),
                        metric: metric.clone(),
                        request: request.map(str::to_owned),
                        a_a: false,
                        verdict: self.judge(both, (metric, request), false).0,
                    });
                }
            }
        }
        if let Some((again, original)) = self.control() {
            for metric in AppMetric::all(&self.plan.metrics) {
                let verdict = self.judge((again, original), (&metric, None), true).0;
                all.push(AppComparison {
                    question: "Does measuring the same thing twice show a difference?".to_owned(),
                    of: again.to_owned(),
                    against: original.to_owned(),
                    metric,
                    request: None,
                    a_a: true,
                    verdict,
                });
            }
        }
        all
    }

    pub(super) fn claim(&self, claim: &AppClaim) -> AppClaimFindings {
        let both = (claim.of.as_str(), claim.against.as_str());
        let request = claim
            .request
            .as_deref()
            .filter(|_| claim.metric.is_of_request());
        let (verdict, judged) = self.judge(both, (&claim.metric, request), false);
        let check = judged.and_then(|judged| stats::check_claim(claim.ratio, &judged).ok());
        AppClaimFindings {
            source: claim.source.clone(),
            ratio: claim.ratio,
            comparison: AppComparison {
                question: String::new(),
                of: claim.of.clone(),
                against: claim.against.clone(),
                metric: claim.metric.clone(),
                request: request.map(str::to_owned),
                a_a: false,
                verdict,
            },
            claim: match check.and_then(|check| check.is_reproduced) {
                Some(true) => ClaimOutcome::Reproduced,
                // Never `Contradicted`: the machine and the build are not the published ones.
                Some(false) => ClaimOutcome::NotReproduced,
                None => ClaimOutcome::NotResolved,
            },
            size: check.and_then(|check| check.size),
        }
    }
}

fn question(pair: &AppPair) -> String {
    let default = || format!("What do users gain with {} over {}?", pair.of, pair.against);
    pair.question.clone().unwrap_or_else(default)
}
