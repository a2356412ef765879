//! Decides which of several ways to make the same calls to use (docs/method.md, "The decision").

mod ranking;

use std::collections::BTreeSet;

use rpcgauge_study::plan::{Metric, Plan};
use rpcgauge_study::record::CodeKind;
use rpcgauge_study::settings::{Placement, REFERENCE, Schedule, SubjectCall, Target, Transport};

use self::ranking::{rank_by_price, unbeaten};
use super::compare::Blocks;
use super::network::{Computable, Rates, networks};
use crate::by_key;
use crate::error::ReportError;
use crate::findings::decision::{
    Best, Criterion, Decision, MetricVerdict, NotShown, PlacementDecision, Saving, Undecided,
};
use crate::findings::network::Turn;
use crate::findings::verdict::Outcome;
use crate::findings::{Findings, VariantFindings};
use crate::metric;

/// Variants that make the same calls in different ways, and that the study compares with each other.
struct Candidates<'a> {
    blocks: &'a Blocks<'a>,
    all: Vec<Candidate<'a>>,
    /// The index in the plan of the variant that most pairs compare others with.
    base: u32,
    /// Whether one of its pairs is a headline.
    headline: bool,
    /// The margin of "no difference".
    margin: f64,
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
    let all = candidates(plan, blocks, variants);
    let decision = |one: &Candidates<'_>| one.decision(plan, Criterion::LatencyAndCpu).ok();
    all.iter().filter_map(decision).collect()
}

/// A decision and what its choice saves, or what is called and why there is none.
pub(crate) type Decided = Result<(Decision, Vec<Saving>), (String, Undecided)>;

impl Findings {
    /// The decisions of these findings by a criterion, each with what its choice saves against its other variants. For
    /// calls without a decision, what they are and why.
    ///
    /// # Errors
    /// As [`Findings::new`].
    pub(crate) fn decide(
        &self,
        plan: &Plan,
        criterion: Criterion,
    ) -> Result<Vec<Decided>, ReportError> {
        let blocks = Blocks::new(plan, &self.variants, &self.trials)?;
        let decided = candidates(plan, &blocks, &self.variants);
        let decided = decided.iter().map(|one| {
            let decision = one.decision(plan, criterion);
            let decision = decision.map_err(|why| (one.called(plan), why))?;
            let savings = one.savings(&decision);
            Ok((decision, savings))
        });
        Ok(decided.collect())
    }
}

/// The sets of variants that a run decides between, in the order of their first variants.
fn candidates<'a>(
    plan: &'a Plan,
    blocks: &'a Blocks<'a>,
    variants: &'a [VariantFindings],
) -> Vec<Candidates<'a>> {
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
    same_calls
        .into_iter()
        .flat_map(|(_, all)| compared(plan, blocks, &all))
        .collect()
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
            margin: plan.margin,
        })
    });
    sets.collect()
}

impl Candidates<'_> {
    /// The decision, if there is one under the study's own placement.
    fn decision(&self, plan: &Plan, criterion: Criterion) -> Result<Decision, Undecided> {
        let (own, others) = plan
            .placements
            .split_first()
            .ok_or(Undecided::NotMeasured)?;
        let measured = self.measured(*own);
        let under = |place: Placement| self.under(&measured, criterion, place);
        let own = under(*own)?;
        let others = others.iter().filter_map(|place| under(*place).ok());
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
        let [pays_below, pays_above] = self.turns(&computable, &own);
        let computable: Vec<_> = computable.into_iter().map(|(_, one)| one).collect();
        Ok(Decision {
            group: self.all.first().and_then(|one| one.findings.group.clone()),
            headline: self.headline,
            called: self.called(plan),
            criterion,
            variants: names(&measured),
            left_out: names(&left_out),
            placements: std::iter::once(own).chain(others).collect(),
            not_shown: not_shown
                .into_iter()
                .filter_map(|(what, is_so)| is_so.then_some(what))
                .collect(),
            networks: networks(&computable),
            pays_below,
            pays_above,
        })
    }

    /// Below which rates other variants take less time than the choice, and above which rates they do.
    fn turns(
        &self,
        all: &[(Candidate<'_>, Computable<'_>)],
        own: &PlacementDecision,
    ) -> [Vec<Turn>; 2] {
        let is_choice = |one: &Candidate<'_>| own.choice.as_ref() == Some(&one.findings.name);
        let Some(choice) = all.iter().find(|(one, _)| is_choice(one)) else {
            return [const { Vec::new() }; 2];
        };
        // The rate below which the first one takes less time than the second.
        let turn = |of: &(Candidate<'_>, Computable<'_>),
                    against: &(Candidate<'_>, Computable<'_>)| {
            let verdict = self.judge(&of.0, &against.0, Metric::LatencyP50, own.placement);
            let is_judged = !matches!(verdict.outcome, Outcome::NoVerdict { .. });
            let estimate = verdict.estimate.filter(|_| is_judged)?;
            let rates = of.1.pays_below(&against.1, &estimate)?;
            Some((verdict.outcome, rates))
        };
        let named = |(rate, interval): Rates, variant: &Candidate<'_>| Turn {
            variant: variant.name(),
            rate,
            interval,
        };
        let others = || all.iter().filter(|(one, _)| !is_choice(one));
        let below = others().filter_map(|other| Some(named(turn(other, choice)?.1, &other.0)));
        let above = others().filter_map(|other| match turn(choice, other)? {
            (Outcome::Slower, rates) => Some(named(rates, &other.0)),
            _ => None,
        });
        [below.collect(), above.collect()]
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

    /// The decision among some of the variants under a placement, if there are two, all have a latency and what the
    /// criterion needs there, and verdicts do not go in a circle, in which each one is beaten by another.
    fn under(
        &self,
        all: &[Candidate<'_>],
        criterion: Criterion,
        placement: Placement,
    ) -> Result<PlacementDecision, Undecided> {
        if all.len() < 2 {
            return Err(Undecided::NotMeasured);
        }
        let latency = self.best(all, Metric::LatencyP50, placement);
        let latency = latency.ok_or(Undecided::NotMeasured)?;
        let cpu = self.best(all, Metric::Cpu, placement);
        // A client of a subject counts only the bodies of responses.
        let bytes = self.best(all, Metric::CallBytes, placement);
        let bytes = bytes.or_else(|| self.best(all, Metric::ResponseBytes, placement));
        let best: Vec<Best> = [Some(latency.clone()), cpu.clone(), bytes.clone()]
            .into_iter()
            .flatten()
            .collect();
        let metrics: Vec<Metric> = best.iter().map(|best| best.metric).collect();
        let unbeaten = match criterion {
            Criterion::LatencyAndCpu => [Some(latency.unbeaten), cpu.map(|cpu| cpu.unbeaten)]
                .into_iter()
                .flatten()
                .collect(),
            Criterion::Latency => vec![latency.unbeaten],
            Criterion::Cpu => vec![cpu.ok_or(Undecided::NoCpu)?.unbeaten],
            Criterion::Bytes => vec![bytes.ok_or(Undecided::NoBytes)?.unbeaten],
            Criterion::Price(prices) if prices.core_hour > 0.0 && cpu.is_none() => {
                return Err(Undecided::NoCpu);
            }
            Criterion::Price(prices) if prices.gigabyte > 0.0 && bytes.is_none() => {
                return Err(Undecided::NoBytes);
            }
            Criterion::Price(prices) => vec![unbeaten(all, |of, against| {
                let saving = self.saving(of, against, &metrics, placement);
                rank_by_price(&saving, prices, self.margin)
            })],
        };
        if unbeaten.iter().any(Vec::is_empty) {
            return Err(Undecided::Circle);
        }
        let fits = |one: &&Candidate<'_>| {
            let name = &one.findings.name;
            unbeaten.iter().all(|names| names.contains(name))
        };
        let fitting: Vec<&Candidate<'_>> = all.iter().filter(fits).collect();
        // The first of the simplest ones.
        let choice = fitting.iter().min_by_key(|one| one.call.departures());
        let choice = choice.copied();
        let alike = fitting
            .iter()
            .filter(|one| Some(one.index) != choice.map(|choice| choice.index));
        let find = |name: &str| all.iter().find(|one| one.findings.name == name);
        let saving = match choice {
            Some(choice) => self
                .other(all, choice, placement)
                .map(|other| (choice, other)),
            None => {
                let of = |metric| best.iter().find(|best| best.metric == metric);
                let of = |metric| find(&of(metric)?.variant);
                of(Metric::LatencyP50).zip(of(Metric::Cpu))
            }
        };
        Ok(PlacementDecision {
            placement,
            choice: choice.map(Candidate::name),
            alike: alike.map(|one| one.name()).collect(),
            one_host: choice.is_some_and(|one| one.call.transport == Transport::Unix),
            saving: saving.map(|(of, against)| self.saving(of, against, &metrics, placement)),
            best,
        })
    }

    /// What a variant saves against another one, in these metrics.
    fn saving(
        &self,
        of: &Candidate<'_>,
        against: &Candidate<'_>,
        metrics: &[Metric],
        placement: Placement,
    ) -> Saving {
        let verdicts = metrics.iter().map(|metric| MetricVerdict {
            metric: *metric,
            verdict: self.judge(of, against, *metric, placement),
        });
        Saving {
            of: of.name(),
            against: against.name(),
            verdicts: verdicts.collect(),
        }
    }

    /// What a decision's choice saves against each of its other variants, under the study's own placement.
    fn savings(&self, decision: &Decision) -> Vec<Saving> {
        let find = |name: &str| self.all.iter().find(|one| one.findings.name == name);
        let own = decision.placements.first();
        let choice = own.and_then(|own| Some((own, find(own.choice.as_deref()?)?)));
        let Some((own, choice)) = choice else {
            return Vec::new();
        };
        let metrics: Vec<Metric> = own.best.iter().map(|best| best.metric).collect();
        let others = decision.variants.iter().filter_map(|name| find(name));
        let others = others.filter(|other| other.index != choice.index);
        others
            .map(|other| self.saving(choice, other, &metrics, own.placement))
            .collect()
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
