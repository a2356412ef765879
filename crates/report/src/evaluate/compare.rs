//! Compares two variants block by block, and judges them under each placement.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_stats as stats;
use rpcgauge_stats::{Bootstrap, PairedRatios, VerdictRule};
use rpcgauge_study::features::Role;
use rpcgauge_study::plan::{Metric, Pair, Plan};
use rpcgauge_study::settings::{Placement, Target};

use super::caution;
use super::withheld::{Uneven, delay_decides};
use crate::error::ReportError;
use crate::findings::trial::{TrialRow, Unfit};
use crate::findings::verdict::{
    BlockCounts, Combined, Comparison, Control, Estimate, Outcome, OverallVerdict,
    PlacementVerdict, Withheld,
};
use crate::findings::{Figures, VariantFindings};
use crate::metric::{self, better};

/// A trial's place in the plan without its variant: placement, invocation, block.
type Block = (Placement, u32, u32);

/// The trials of a plan by block, and the rows of the measured trials.
pub(crate) struct Blocks<'a> {
    plan: &'a Plan,
    variants: &'a [VariantFindings],
    planned: BTreeMap<(u32, Block), u32>,
    rows: BTreeMap<u32, &'a TrialRow>,
}

/// A comparison under one placement, with the verdict of the statistics.
pub(crate) struct Judged {
    pub(crate) verdict: PlacementVerdict,
    /// `None` if there is no verdict.
    pub(crate) stats: Option<stats::Verdict>,
}

/// The pairs of figures of two variants, and counts of all blocks, including those without a pair.
pub(crate) struct Paired {
    /// The pairs by invocation, and for running services, which are not restarted, also by block.
    pub(crate) invocations: BTreeMap<(u32, u32), Vec<stats::Pair>>,
    counts: BlockCounts,
    /// The smallest relative difference that the figures can show.
    resolution: f64,
}

impl<'a> Blocks<'a> {
    /// Arranges the measured trials by the plan's blocks.
    pub(crate) fn new(
        plan: &'a Plan,
        variants: &'a [VariantFindings],
        rows: &'a [TrialRow],
    ) -> Result<Self, ReportError> {
        let mut planned = BTreeMap::new();
        for spec in &plan.trials {
            let block = (spec.placement, spec.invocation, spec.block);
            if let Some(first) = planned.insert((spec.variant, block), spec.index) {
                let variant = plan.variants.get(spec.variant as usize);
                return Err(ReportError::TwiceInBlock {
                    first,
                    second: spec.index,
                    variant: variant.map_or_else(String::new, |v| v.name.clone()),
                });
            }
        }
        let rows = rows.iter().map(|row| (row.index, row)).collect();
        Ok(Self {
            plan,
            variants,
            planned,
            rows,
        })
    }

    /// The comparison of a pair of the plan.
    pub(crate) fn comparison(&self, pair: &Pair) -> Result<Comparison, ReportError> {
        let place = || format!("the pair {:?}", pair.name);
        let judged = self.judge_all(&pair.of, &pair.against, pair.metric, pair.a_a, place)?;
        let combined = combined(&judged);
        let of = self.plan.variants.iter().find(|v| v.name == pair.of);
        let operation = of.and_then(|of| match &of.settings.target {
            Target::Codec(work) => Some(work.operation),
            Target::Call(_) | Target::Live(_) => None,
        });
        let placements: Vec<PlacementVerdict> = judged.into_iter().map(|j| j.verdict).collect();
        Ok(Comparison {
            verdict: OverallVerdict::of(combined, &placements),
            pair: pair.name.clone(),
            question: pair.question.clone(),
            of: pair.of.clone(),
            against: pair.against.clone(),
            metric: pair.metric,
            operation,
            headline: pair.headline,
            a_a: pair.a_a,
            one_process: self.plan.are_in_one_process(&pair.of, &pair.against),
            placements,
            combined,
        })
    }

    /// Judges two variants under every placement under which the plan has both. Without such a placement, there is
    /// one verdict, under the first placement, that nothing was measured.
    pub(crate) fn judge_all(
        &self,
        of: &str,
        against: &str,
        metric: Metric,
        a_a: bool,
        place: impl Fn() -> String,
    ) -> Result<Vec<Judged>, ReportError> {
        let of = self.variant(of, &place)?;
        let against = self.variant(against, &place)?;
        let is_planned = |p: &Placement| self.blocks(of, against, *p).next().is_some();
        let all = self.plan.placements.iter().copied();
        let mut placements: Vec<Placement> = all.filter(is_planned).collect();
        if placements.is_empty() {
            placements.extend(self.plan.placements.first());
        }
        let judged = placements
            .into_iter()
            .map(|p| self.judge(of, against, metric, p, a_a));
        Ok(judged.collect())
    }

    fn variant(&self, name: &str, place: &impl Fn() -> String) -> Result<u32, ReportError> {
        let mut all = (0..).zip(&self.plan.variants);
        match all.find(|(_, variant)| variant.name == name) {
            Some((index, _)) => Ok(index),
            None => Err(ReportError::UnknownVariant {
                place: place(),
                variant: name.to_owned(),
            }),
        }
    }

    /// Judges two variants under one placement.
    pub(super) fn judge(
        &self,
        of: u32,
        against: u32,
        metric: Metric,
        placement: Placement,
        a_a: bool,
    ) -> Judged {
        let both = [of, against].map(|index| self.named(index));
        let figures = both.map(|variant| variant.figures(placement));
        let paired = self.paired(of, against, metric, placement);
        let counts = paired.counts;
        let control = (!a_a)
            .then(|| self.control([of, against], metric, placement))
            .flatten();
        let aa = control.as_ref().map(|(_, estimate)| *estimate);
        let estimate = self.estimate(&paired);
        let rule = VerdictRule {
            better: better(metric),
            margin: self.plan.margin,
        };
        let judge = |e: stats::Estimate| stats::judge(&e, aa.as_slice(), &rule);
        let [of_figures, against_figures] = figures;
        let uneven = of_figures
            .zip(against_figures)
            .and_then(|(of, against)| Uneven::of(metric, of, against));
        let stands = |verdict: &stats::Verdict| {
            let off = uneven
                .as_ref()
                .map(|uneven| verdict.estimate.off_by(uneven.reach));
            !verdict.is_resolved() || off.is_none_or(|e| judge(e).outcome == verdict.outcome)
        };
        let is_running = !self.plan.has_fresh_starts();
        let is_delayed = || self.plan.is_live() && delay_decides(figures, metric, self.plan.margin);
        let unfit = counts.client_bound + counts.link_not_held;
        let are_most_unfit = unfit * 2 > counts.planned - counts.missing;
        let judged = match estimate.map(judge) {
            _ if are_most_unfit && counts.client_bound >= counts.link_not_held => {
                Err(Withheld::ClientBound)
            }
            _ if are_most_unfit => Err(Withheld::LinkNotHeld),
            None => Err(Withheld::NotMeasured),
            Some(verdict) if !stands(&verdict) => Err(Withheld::Unanswered),
            Some(_) if is_delayed() => Err(Withheld::SendDelay),
            Some(verdict) => Ok(verdict),
        };
        let mut outcome = match judged {
            Ok(verdict) => Outcome::from(verdict.outcome),
            Err(reason) => Outcome::NoVerdict { reason },
        };
        if let Outcome::NotResolved {
            more: Some(more), ..
        } = &mut outcome
            && is_running
        {
            // Each block was treated as an invocation, but a live service can only have more blocks.
            more.invocations = 0;
        }
        let value = |figures: Option<&Figures>| figures.and_then(|f| metric::of_cell(metric, f));
        let mut verdict = PlacementVerdict {
            placement,
            timing: both[0].timing,
            of_value: value(of_figures),
            against_value: value(against_figures),
            estimate: estimate.as_ref().map(|e| self.shown(e)),
            outcome,
            blocks: counts,
            control: control.map(|(control, _)| control),
            smallest_difference: estimate
                .and_then(|e| stats::smallest_difference(&e, aa.as_slice())),
            unanswered: uneven.map(|uneven| uneven.shares),
            cautions: Vec::new(),
        };
        let [encoding, other] = [of, against].map(|variant| {
            let settings = &self.plan.variants[variant as usize].settings;
            settings.target.encoding()
        });
        let same_encoding = encoding.is_some() && encoding == other;
        verdict.cautions = caution::of_verdict(&verdict, metric, both, same_encoding, a_a);
        let stats = judged.ok();
        Judged { verdict, stats }
    }

    fn named(&self, variant: u32) -> &VariantFindings {
        &self.variants[variant as usize]
    }

    /// The blocks in which the plan has both variants, with the indices of the two trials.
    fn blocks(
        &self,
        of: u32,
        against: u32,
        placement: Placement,
    ) -> impl Iterator<Item = (Block, u32, u32)> {
        let of_trials = self
            .planned
            .range((of, (placement, 0, 0))..=(of, (placement, u32::MAX, u32::MAX)));
        of_trials.filter_map(move |(&(_, block), &first)| {
            self.planned
                .get(&(against, block))
                .map(|&second| (block, first, second))
        })
    }

    fn paired(&self, of: u32, against: u32, metric: Metric, placement: Placement) -> Paired {
        let mut counts = BlockCounts::default();
        let mut invocations: BTreeMap<(u32, u32), Vec<stats::Pair>> = BTreeMap::new();
        let cells = [of, against].map(|index| self.named(index).figures(placement));
        let resolutions = cells.into_iter().flatten();
        let resolutions = resolutions.map(|figures| metric::resolution(metric, figures));
        let resolution = resolutions.fold(0.0, f64::max);
        // The memory of one process is not divided between its variants.
        let process = match metric {
            Metric::ServerMemory => Some(Role::Server),
            Metric::ClientMemory => Some(Role::Client),
            _ => None,
        };
        let shared = self.plan.shared_roles(of, against);
        let has_figures = process.is_none_or(|role| !shared.contains(&role));
        for ((_, invocation, block), first, second) in self.blocks(of, against, placement) {
            counts.planned += 1;
            let (Some(of), Some(against)) = (self.rows.get(&first), self.rows.get(&second)) else {
                counts.missing += 1;
                continue;
            };
            if let Some(unfit) = of.unfit(metric).or(against.unfit(metric)) {
                match unfit {
                    Unfit::ClientBound => counts.client_bound += 1,
                    Unfit::LinkNotHeld => counts.link_not_held += 1,
                }
                continue;
            }
            match (figure(of, metric), figure(against, metric)) {
                (Some(of), Some(against)) if has_figures => {
                    counts.used += 1;
                    // A running service is not restarted, so its blocks are the independent units.
                    let is_running = !self.plan.has_fresh_starts();
                    let block = if is_running { block } else { 0 };
                    invocations
                        .entry((invocation, block))
                        .or_default()
                        .push(stats::Pair { of, against });
                }
                _ => counts.no_value += 1,
            }
        }
        Paired {
            invocations,
            counts,
            resolution,
        }
    }

    /// An estimate in the form of the findings.
    fn shown(&self, estimate: &stats::Estimate) -> Estimate {
        let mut shown = Estimate::of(estimate);
        if !self.plan.has_fresh_starts() {
            // Each block was treated as an invocation.
            shown.invocations = 1;
        }
        shown
    }

    fn estimate(&self, paired: &Paired) -> Option<stats::Estimate> {
        let invocations: Vec<Vec<stats::Pair>> = paired.invocations.values().cloned().collect();
        let ratios = PairedRatios::from_pairs(&invocations).ok()?;
        let estimate = stats::compare(&ratios, &self.bootstrap()).ok()?;
        Some(estimate.no_finer_than(paired.resolution))
    }

    /// The bootstrap that computes every interval of this plan.
    pub(crate) fn bootstrap(&self) -> Bootstrap {
        Bootstrap::new(self.plan.confidence, self.plan.seed)
    }

    /// The figures of two variants by name, block by block.
    pub(crate) fn pairs(
        &self,
        of: &str,
        against: &str,
        metric: Metric,
        placement: Placement,
    ) -> Option<Paired> {
        let place = |name: &str| self.variant(name, &String::new).ok();
        Some(self.paired(place(of)?, place(against)?, metric, placement))
    }

    /// The first A/A pair that has an estimate for this metric and placement.
    fn control(
        &self,
        [of, against]: [u32; 2],
        metric: Metric,
        placement: Placement,
    ) -> Option<(Control, stats::Estimate)> {
        let judged = self.plan.shared_roles(of, against);
        let shared = |[again, original]: [u32; 2]| self.plan.shared_roles(again, original);
        let controls = controls(self.variants, self.named(of), &judged, shared);
        let (again, original, estimate) = controls.into_iter().find_map(|[again, original]| {
            let paired = self.paired(again, original, metric, placement);
            Some((again, original, self.estimate(&paired)?))
        })?;
        let control = Control {
            of: self.named(original).name.clone(),
            again: self.named(again).name.clone(),
            estimate: self.shown(&estimate),
        };
        Some((control, estimate))
    }
}

/// The A/A pairs that can serve as controls of a variant, each as `[again, original]`, if the variant shares the
/// processes of these `roles` with what it is compared with, and a pair shares those that `shared` returns. A pair that
/// shares a server or a client lacks the variation between its starts, so it cannot be the control of variants that do
/// not share it. Pairs that share as much as the variants come first, then pairs of the variant's group, then pairs with
/// its timing, then the others in the study's order.
pub(crate) fn controls(
    variants: &[VariantFindings],
    judged: &VariantFindings,
    roles: &BTreeSet<Role>,
    shared: impl Fn([u32; 2]) -> BTreeSet<Role>,
) -> Vec<[u32; 2]> {
    let all = || (0..).zip(variants);
    let pair = |(again, variant): (u32, &VariantFindings)| {
        let name = variant.repeats.as_deref()?;
        let (original, _) = all().find(|(_, original)| original.name == name)?;
        Some([again, original])
    };
    let mut pairs: Vec<[u32; 2]> = all().filter_map(pair).collect();
    pairs.retain(|pair| shared(*pair).is_subset(roles));
    pairs.sort_by_key(|pair| {
        let variant = &variants[pair[0] as usize];
        (
            Reverse(shared(*pair).len()),
            variant.group != judged.group,
            variant.timing != judged.timing,
        )
    });
    pairs
}

/// A row's figure; `None` unless it is positive and finite, so that it has a logarithm.
pub(crate) fn figure(row: &TrialRow, metric: Metric) -> Option<f64> {
    row.figures
        .get(metric)
        .filter(|value| value.is_finite() && *value > 0.0)
}

/// The combined verdict of all placements.
fn combined(judged: &[Judged]) -> Combined {
    let verdicts: Vec<stats::Verdict> = judged.iter().filter_map(|j| j.stats).collect();
    match stats::across_placements(&verdicts) {
        // A placement without a verdict does not confirm the others.
        Combined::Same if verdicts.len() < judged.len() => Combined::Unconfirmed,
        combined => combined,
    }
}
