//! Decides which of several ways to make the same calls to use (docs/method.md, "The decision").

use rpcgauge_study::plan::{Metric, Plan};
use rpcgauge_study::record::CodeKind;
use rpcgauge_study::settings::{Placement, Schedule, SubjectCall, Target};

use super::compare::Blocks;
use crate::by_key;
use crate::findings::VariantFindings;
use crate::findings::decision::{
    Best, Decision, MetricVerdict, NotShown, PlacementDecision, Saving,
};
use crate::findings::verdict::{Outcome, PlacementVerdict};
use crate::metric;

/// Variants that make the same calls in different ways, and that the study compares with each other.
struct Candidates<'a> {
    blocks: &'a Blocks<'a>,
    all: Vec<Candidate<'a>>,
    /// The index in the plan of the variant that the study compares others with.
    base: u32,
    /// Whether one of its pairs is a headline.
    headline: bool,
}

struct Candidate<'a> {
    /// Its index in the plan.
    index: u32,
    call: &'a SubjectCall,
    findings: &'a VariantFindings,
}

/// The decisions of a run, in the order of their first variants.
pub(super) fn decisions(
    plan: &Plan,
    blocks: &Blocks<'_>,
    variants: &[VariantFindings],
) -> Vec<Decision> {
    let calls = (0..).zip(&plan.variants).zip(variants);
    let calls = calls.filter_map(
        |((index, variant), findings)| match &variant.settings.target {
            Target::Call(call) if variant.repeats.is_none() => Some(Candidate {
                index,
                call,
                findings,
            }),
            Target::Call(_) | Target::Codec(_) | Target::Live(_) => None,
        },
    );
    let same_calls = by_key(calls.map(|one| {
        let link = one.call.link.as_ref().map(|link| &*link.name);
        let call = (&one.call.workload, &one.call.options.schedule, link);
        ((one.findings.group.as_deref(), call), one)
    }));
    let compared = same_calls
        .into_iter()
        .flat_map(|(_, all)| compared(plan, blocks, all));
    compared.filter_map(|one| one.decision(plan)).collect()
}

/// Splits variants with the same calls into sets that the study compares with each other, directly or by way of others.
fn compared<'a>(
    plan: &Plan,
    blocks: &'a Blocks<'a>,
    mut all: Vec<Candidate<'a>>,
) -> Vec<Candidates<'a>> {
    /// The indices of the variants, the base, and whether a pair is a headline.
    type Set = (Vec<u32>, u32, bool);
    let mut sets: Vec<Set> = Vec::new();
    for pair in plan.pairs.iter().filter(|pair| !pair.a_a) {
        let index = |name: &str| {
            let one = all.iter().find(|one| one.findings.name == name);
            one.map(|one| one.index)
        };
        let (Some(of), Some(against)) = (index(&pair.of), index(&pair.against)) else {
            continue;
        };
        let (joined, others): (Vec<_>, Vec<_>) = sets
            .into_iter()
            .partition(|(set, ..)| set.contains(&of) || set.contains(&against));
        sets = others;
        let base = joined.first().map_or(against, |(_, base, _)| *base);
        let headline = pair.headline || joined.iter().any(|(.., headline)| *headline);
        let members = joined.into_iter().flat_map(|(set, ..)| set);
        sets.push((members.chain([of, against]).collect(), base, headline));
    }
    sets.sort_by_key(|(set, ..)| set.iter().min().copied());
    let sets = sets.into_iter().map(|(set, base, headline)| {
        let (own, rest) = std::mem::take(&mut all)
            .into_iter()
            .partition(|one| set.contains(&one.index));
        all = rest;
        Candidates {
            blocks,
            all: own,
            base,
            headline,
        }
    });
    sets.collect()
}

impl Candidates<'_> {
    fn decision(&self, plan: &Plan) -> Option<Decision> {
        let placements = plan.placements.iter().copied();
        let placements = placements.filter_map(|placement| self.under(placement));
        let placements: Vec<PlacementDecision> = placements.collect();
        let calls = || self.all.iter().map(|one| one.call);
        let one_at_a_time =
            |call: &SubjectCall| matches!(call.options.schedule, Schedule::Closed { in_flight: 1 });
        let is_dynamic = |one: &Candidate<'_>| {
            let figures = one.findings.measured().map(|(_, figures)| figures);
            figures
                .flat_map(|figures| &figures.code)
                .any(|code| *code == CodeKind::Dynamic)
        };
        let not_shown = [
            (NotShown::Network, calls().all(|call| call.link.is_none())),
            (NotShown::ManyCalls, calls().all(one_at_a_time)),
            (
                NotShown::YourClient,
                calls().all(|call| call.client.is_none()),
            ),
            (NotShown::YourHandler, true),
            (NotShown::GeneratedCode, self.all.iter().any(is_dynamic)),
        ];
        let first = self.all.first()?;
        Some(Decision {
            group: first.findings.group.clone(),
            headline: self.headline,
            called: plan.variants[first.index as usize].settings.target.called(),
            variants: self.all.iter().map(Candidate::name).collect(),
            placements,
            not_shown: not_shown
                .into_iter()
                .filter_map(|(what, is_so)| is_so.then_some(what))
                .collect(),
        })
        .filter(|decision| !decision.placements.is_empty())
    }

    /// The decision under a placement; `None` unless all variants have a latency there.
    fn under(&self, placement: Placement) -> Option<PlacementDecision> {
        let latency = self.best(Metric::LatencyP50, placement)?;
        let cpu = self.best(Metric::Cpu, placement);
        // A client of a subject counts only the bodies of responses.
        let bytes = self.best(Metric::CallBytes, placement);
        let bytes = bytes.or_else(|| self.best(Metric::ResponseBytes, placement));
        let fits = |one: &&Candidate<'_>| {
            let name = &one.findings.name;
            latency.includes(name) && cpu.as_ref().is_none_or(|cpu| cpu.includes(name))
        };
        // The first of the simplest ones.
        let choice = self.all.iter().filter(fits);
        let choice = choice.min_by_key(|one| one.call.departures());
        let metrics = [Some(&latency), cpu.as_ref(), bytes.as_ref()];
        let metrics: Vec<Metric> = metrics
            .into_iter()
            .flatten()
            .map(|best| best.metric)
            .collect();
        let find = |name: &str| self.all.iter().find(|one| one.findings.name == name);
        let saving = match choice {
            Some(choice) => self.other(choice, placement).map(|other| (choice, other)),
            None => find(&latency.variant).zip(cpu.as_ref().and_then(|cpu| find(&cpu.variant))),
        };
        let saving = saving.map(|(of, against)| Saving {
            of: of.name(),
            against: against.name(),
            verdicts: metrics
                .into_iter()
                .map(|metric| MetricVerdict {
                    metric,
                    verdict: self.judge(of, against, metric, placement),
                })
                .collect(),
        });
        Some(PlacementDecision {
            placement,
            choice: choice.map(Candidate::name),
            saving,
            best: [Some(latency), cpu, bytes].into_iter().flatten().collect(),
        })
    }

    /// What a choice is compared with: the study's base, or if that is the choice, the next best in latency.
    fn other(&self, choice: &Candidate<'_>, placement: Placement) -> Option<&Candidate<'_>> {
        let base = self.all.iter().find(|one| one.index == self.base);
        if let Some(base) = base.filter(|base| base.index != choice.index) {
            return Some(base);
        }
        let others = self.all.iter().filter(|one| one.index != choice.index);
        let latency = |one: &&Candidate<'_>| one.figure(Metric::LatencyP50, placement);
        let rank = |one: &&Candidate<'_>| latency(one).unwrap_or(f64::INFINITY);
        others.min_by(|a, b| rank(a).total_cmp(&rank(b)))
    }

    /// The best variant in a metric of which less is better; `None` unless all variants have its figure.
    fn best(&self, metric: Metric, placement: Placement) -> Option<Best> {
        let figures = self.all.iter().map(|one| one.figure(metric, placement));
        let figures: Vec<f64> = figures.collect::<Option<Vec<_>>>()?;
        let ranked = self.all.iter().zip(&figures);
        let (lead, _) = ranked.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let not_worse = self.all.iter().filter(|one| {
            one.index != lead.index
                && !matches!(
                    self.judge(one, lead, metric, placement).outcome,
                    Outcome::Slower | Outcome::NoVerdict { .. }
                )
        });
        Some(Best {
            metric,
            variant: lead.name(),
            not_worse: not_worse.map(Candidate::name).collect(),
        })
    }

    fn judge(
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

impl Candidate<'_> {
    fn name(&self) -> String {
        self.findings.name.clone()
    }

    fn figure(&self, metric: Metric, placement: Placement) -> Option<f64> {
        let figures = self.findings.figures(placement)?;
        metric::of_cell(metric, figures).filter(|figure| figure.is_finite())
    }
}
