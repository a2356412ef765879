//! Decides which of several ways to make the same calls to use (docs/method.md, "The decision").

use std::collections::BTreeSet;

use rpcgauge_study::plan::{Metric, Plan};
use rpcgauge_study::record::CodeKind;
use rpcgauge_study::settings::{Placement, REFERENCE, Schedule, SubjectCall, Target, Transport};

use super::compare::Blocks;
use super::network::{Computable, networks};
use crate::by_key;
use crate::findings::VariantFindings;
use crate::findings::decision::{
    Best, Decision, MetricVerdict, NotShown, PlacementDecision, Saving,
};
use crate::findings::network::PaysBelow;
use crate::findings::verdict::{Outcome, PlacementVerdict, Withheld};
use crate::metric;

/// Variants that make the same calls in different ways, and that the study compares with each other.
struct Candidates<'a> {
    blocks: &'a Blocks<'a>,
    all: Vec<Candidate<'a>>,
    /// The index in the plan of the variant that most pairs compare others with.
    base: u32,
    /// Whether one of its pairs is a headline.
    headline: bool,
}

#[derive(Clone, Copy)]
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
            // Variants whose first calls are timed are about the start of a server.
            Target::Call(call) if variant.repeats.is_none() && call.cold_calls == 0 => {
                Some(Candidate {
                    index,
                    call,
                    findings,
                })
            }
            Target::Call(_) | Target::Codec(_) | Target::Live(_) => None,
        },
    );
    let same_calls = by_key(calls.map(|one| {
        let link = one.call.link.as_ref().map(|link| &*link.name);
        let messages = one
            .call
            .stream
            .map(|stream| (stream.requests(), stream.responses(), stream.is_in_turn()));
        let call = (
            &one.call.workload,
            messages,
            &one.call.options.schedule,
            link,
        );
        ((one.findings.group.as_deref(), call), one)
    }));
    let compared = same_calls
        .into_iter()
        .flat_map(|(_, all)| compared(plan, blocks, &all));
    compared.filter_map(|one| one.decision(plan)).collect()
}

/// Splits variants with the same calls into sets that the study compares with each other, directly or by way of others.
fn compared<'a>(plan: &Plan, blocks: &'a Blocks<'a>, all: &[Candidate<'a>]) -> Vec<Candidates<'a>> {
    // rpcgauge's own client is not a choice beside the clients of stacks.
    let has_client = |one: &&Candidate<'_>| one.call.client.is_some();
    let by_stacks: Vec<Candidate<'a>> = all.iter().filter(has_client).copied().collect();
    let all = if by_stacks.is_empty() {
        all
    } else {
        &by_stacks
    };
    let index = |name: &str| all.iter().find(|one| one.findings.name == name);
    let pairs = plan.pairs.iter().filter(|pair| !pair.a_a);
    // Of and against, and whether the pair is a headline.
    let pairs = pairs.filter_map(|pair| {
        let (of, against) = (index(&pair.of)?, index(&pair.against)?);
        Some((of.index, against.index, pair.headline))
    });
    let pairs: Vec<(u32, u32, bool)> = pairs.collect();
    let mut sets: Vec<BTreeSet<u32>> = Vec::new();
    for (of, against, _) in &pairs {
        let (joined, others): (Vec<_>, Vec<_>) = sets
            .into_iter()
            .partition(|set| set.contains(of) || set.contains(against));
        sets = others;
        let members = joined.into_iter().flatten();
        sets.push(members.chain([*of, *against]).collect());
    }
    sets.sort_by_key(|set| set.first().copied());
    let sets = sets.into_iter().filter_map(|set| {
        let own = || pairs.iter().filter(|(of, ..)| set.contains(of));
        let bases = by_key(own().map(|(_, against, _)| (*against, ())));
        // The first of those with the most pairs.
        let base = bases.iter().rev().max_by_key(|(_, pairs)| pairs.len());
        Some(Candidates {
            blocks,
            all: all
                .iter()
                .filter(|one| set.contains(&one.index))
                .copied()
                .collect(),
            base: base?.0,
            headline: own().any(|(.., headline)| *headline),
        })
    });
    sets.collect()
}

impl Candidates<'_> {
    /// `None` unless there is a decision under the study's own placement.
    fn decision(&self, plan: &Plan) -> Option<Decision> {
        let (own, others) = plan.placements.split_first()?;
        let measured = self.measured(*own);
        let own = self.under(&measured, *own)?;
        let others = others
            .iter()
            .filter_map(|place| self.under(&measured, *place));
        let calls = || self.all.iter().map(|one| one.call);
        let one_at_a_time =
            |call: &SubjectCall| matches!(call.options.schedule, Schedule::Closed { in_flight: 1 });
        let is_websocket = |call: &SubjectCall| call.wire.is_websocket(call.stream.as_ref());
        // The code of a stack is generated. What rpcgauge's own client does is covered by `YourClient`.
        let is_dynamic = |one: &Candidate<'_>| {
            if one.call.server != REFERENCE {
                return false;
            }
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
            (
                NotShown::OpenWebSocket,
                calls().any(is_websocket) && !calls().all(is_websocket),
            ),
            (NotShown::GeneratedCode, self.all.iter().any(is_dynamic)),
        ];
        let names = |all: &[Candidate<'_>]| all.iter().map(Candidate::name).collect();
        let is_left_out = |one: &&Candidate<'_>| measured.iter().all(|m| m.index != one.index);
        let left_out: Vec<_> = self.all.iter().filter(is_left_out).copied().collect();
        let computable = measured.iter().filter_map(|one| {
            let figures = one.findings.figures(own.placement)?;
            let computable = Computable::new(&one.findings.name, one.call, figures)?;
            Some((*one, computable))
        });
        let computable: Vec<_> = computable.collect();
        let pays_below = self.pays_below(&computable, &own);
        let computable: Vec<_> = computable.into_iter().map(|(_, one)| one).collect();
        Some(Decision {
            group: self.all.first()?.findings.group.clone(),
            headline: self.headline,
            called: self.called(plan),
            variants: names(&measured),
            left_out: names(&left_out),
            placements: std::iter::once(own).chain(others).collect(),
            not_shown: not_shown
                .into_iter()
                .filter_map(|(what, is_so)| is_so.then_some(what))
                .collect(),
            networks: networks(&computable),
            pays_below,
        })
    }

    /// Where variants that move fewer bytes than the choice take less time.
    fn pays_below(
        &self,
        all: &[(Candidate<'_>, Computable<'_>)],
        own: &PlacementDecision,
    ) -> Vec<PaysBelow> {
        let is_choice = |one: &Candidate<'_>| own.choice.as_ref() == Some(&one.findings.name);
        let Some((choice, computed)) = all.iter().find(|(one, _)| is_choice(one)) else {
            return Vec::new();
        };
        let others = all.iter().filter(|(one, _)| !is_choice(one));
        let below = others.filter_map(|(one, other)| {
            let verdict = self.judge(one, choice, Metric::LatencyP50, own.placement);
            let is_judged = !matches!(verdict.outcome, Outcome::NoVerdict { .. });
            let estimate = verdict.estimate.filter(|_| is_judged)?;
            other.pays_below(computed, &estimate)
        });
        below.collect()
    }

    /// What they call and, of streams, with how many messages.
    fn called(&self, plan: &Plan) -> String {
        let called = plan.variants[self.base as usize].settings.target.called();
        match self.all.first().and_then(|one| one.call.stream) {
            None => called,
            Some(stream) => format!("{called}, {} messages per call", stream.messages()),
        }
    }

    /// The variants that have a latency under a placement.
    fn measured(&self, placement: Placement) -> Vec<Candidate<'_>> {
        let all = self.all.iter().copied();
        all.filter(|one| one.figure(Metric::LatencyP50, placement).is_some())
            .collect()
    }

    /// The decision among some of the variants under a placement; `None` unless there are two, all have a latency
    /// there, and verdicts do not go in a circle, in which each one is beaten by another.
    fn under(&self, all: &[Candidate<'_>], placement: Placement) -> Option<PlacementDecision> {
        if all.len() < 2 {
            return None;
        }
        let latency = self.best(all, Metric::LatencyP50, placement)?;
        let cpu = self.best(all, Metric::Cpu, placement);
        if [Some(&latency), cpu.as_ref()]
            .into_iter()
            .flatten()
            .any(|best| best.unbeaten.is_empty())
        {
            return None;
        }
        // A client of a subject counts only the bodies of responses.
        let bytes = self.best(all, Metric::CallBytes, placement);
        let bytes = bytes.or_else(|| self.best(all, Metric::ResponseBytes, placement));
        let fits = |one: &&Candidate<'_>| {
            let name = &one.findings.name;
            latency.includes(name) && cpu.as_ref().is_none_or(|cpu| cpu.includes(name))
        };
        // The first of the simplest ones.
        let choice = all.iter().filter(fits);
        let choice = choice.min_by_key(|one| one.call.departures());
        let metrics = [Some(&latency), cpu.as_ref(), bytes.as_ref()];
        let metrics: Vec<Metric> = metrics
            .into_iter()
            .flatten()
            .map(|best| best.metric)
            .collect();
        let find = |name: &str| all.iter().find(|one| one.findings.name == name);
        let saving = match choice {
            Some(choice) => self
                .other(all, choice, placement)
                .map(|other| (choice, other)),
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
            one_host: choice.is_some_and(|one| one.call.transport == Transport::Unix),
            saving,
            best: [Some(latency), cpu, bytes].into_iter().flatten().collect(),
        })
    }

    /// What a choice is compared with: the study's base, or if that is the choice, the next best in latency.
    fn other<'c>(
        &self,
        all: &'c [Candidate<'c>],
        choice: &Candidate<'_>,
        placement: Placement,
    ) -> Option<&'c Candidate<'c>> {
        let base = all.iter().find(|one| one.index == self.base);
        if let Some(base) = base.filter(|base| base.index != choice.index) {
            return Some(base);
        }
        let others = all.iter().filter(|one| one.index != choice.index);
        let latency = |one: &&Candidate<'_>| one.figure(Metric::LatencyP50, placement);
        let rank = |one: &&Candidate<'_>| latency(one).unwrap_or(f64::INFINITY);
        others.min_by(|a, b| rank(a).total_cmp(&rank(b)))
    }

    /// The variants that no other one beats in a metric of which less is better; `None` unless all have its figure.
    fn best(&self, all: &[Candidate<'_>], metric: Metric, placement: Placement) -> Option<Best> {
        let figures = all.iter().map(|one| one.figure(metric, placement));
        let figures: Vec<f64> = figures.collect::<Option<Vec<_>>>()?;
        let mut beaten = vec![false; all.len()];
        for (index, one) in all.iter().enumerate() {
            for (further, other) in all.iter().enumerate().skip(index + 1) {
                match self.judge(one, other, metric, placement) {
                    verdict if loses(&verdict, Outcome::Slower) => beaten[index] = true,
                    verdict if loses(&verdict, Outcome::Faster) => beaten[further] = true,
                    _ => {}
                }
            }
        }
        let mut ranked: Vec<usize> = (0..all.len()).collect();
        ranked.sort_by(|a, b| {
            let figures = || figures[*a].total_cmp(&figures[*b]);
            beaten[*a].cmp(&beaten[*b]).then_with(figures)
        });
        let unbeaten = all.iter().zip(&beaten).filter(|(_, beaten)| !**beaten);
        Some(Best {
            metric,
            variant: all[*ranked.first()?].name(),
            unbeaten: unbeaten.map(|(one, _)| one.name()).collect(),
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

/// Whether the first variant of a verdict loses by `Slower`, or the second one by `Faster`. A variant with more
/// unsuccessful calls loses if these could change the verdict.
fn loses(verdict: &PlacementVerdict, by: Outcome) -> bool {
    let is_withheld = Outcome::NoVerdict {
        reason: Withheld::Unanswered,
    };
    let fails_more = verdict.unanswered.is_some_and(|shares| match by {
        Outcome::Slower => shares.of > shares.against,
        _ => shares.against > shares.of,
    });
    verdict.outcome == by || (verdict.outcome == is_withheld && fails_more)
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
