//! Sweeps: variants that differ only in the size of their message, and the sizes at which another variant becomes
//! the better one.

use std::collections::BTreeMap;

use rpcgauge_stats as stats;
use rpcgauge_stats::{AtSize, Better, Pair as Costs};
use rpcgauge_study::plan::{Metric, Pair, Plan, Variant};
use rpcgauge_study::settings::{DEFAULT_STOP, Placement, Settings};

use super::compare::Blocks;
use crate::findings::sweep::{
    Crossing, Series, SizeVerdict, Stretch, Sweep, Swept, SweptOutcome, Turn,
};
use crate::findings::verdict::Comparison;
use crate::metric::better;

/// A variant, with its size separated from its other settings.
struct Sized<'a> {
    variant: &'a Variant,
    by: &'static str,
    size: u32,
    /// The settings without the size and the length of a trial, which variants of one series share.
    alike: Settings,
    /// The name of the variant's group without the size.
    part: String,
}

impl<'a> Sized<'a> {
    fn of(variant: &'a Variant) -> Option<Self> {
        let mut alike = variant.settings.clone();
        alike.stop = DEFAULT_STOP;
        let (by, size) = match alike.target.take_size()? {
            Some(n) => ("n", n),
            None => ("scale", variant.scale.unwrap_or(1)),
        };
        let group = variant.group.as_deref().unwrap_or_default();
        Some(Self {
            part: without(group, by, size),
            variant,
            by,
            size,
            alike,
        })
    }

    fn is_beside(&self, other: &Self) -> bool {
        let message = |one: &Self| one.alike.target.workload().cloned();
        self.by == other.by && self.part == other.part && message(self) == message(other)
    }
}

/// A name without its size: `list-grpc` of `list-grpc-n=10`.
fn without(name: &str, by: &str, size: u32) -> String {
    let size = format!("{by}={size}");
    let parts = name.split(['-', ' ']).filter(|part| *part != size);
    parts.collect::<Vec<_>>().join("-")
}

/// A question without its size.
fn question_without(question: &str, by: &str, size: u32) -> String {
    let size = format!("{by}={size}");
    let text = question.replace(&format!(" ({size})"), "");
    let text = text.replace(&format!("({size}-"), "(");
    text.replace(&format!("-{size}"), "")
}

/// A sweep under construction.
struct Draft<'a> {
    series: Vec<Vec<Sized<'a>>>,
    crossings: Vec<Crossing>,
}

/// The sweeps of a plan in which pairs are compared at several sizes.
pub(super) fn sweeps(plan: &Plan, blocks: &Blocks<'_>, comparisons: &[Comparison]) -> Vec<Sweep> {
    let own = plan
        .variants
        .iter()
        .filter(|variant| variant.repeats.is_none());
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for sized in own.filter_map(Sized::of) {
        let mut all = drafts.iter_mut();
        match all.find(|draft| draft.series[0][0].is_beside(&sized)) {
            Some(draft) => draft.add(sized),
            None => drafts.push(Draft {
                series: vec![vec![sized]],
                crossings: Vec::new(),
            }),
        }
    }
    for draft in &mut drafts {
        for pair in plan.pairs.iter().filter(|pair| !pair.a_a) {
            draft.compare(pair);
        }
        for crossing in &mut draft.crossings {
            let placements = plan.placements.iter();
            let swept = placements.filter_map(|p| swept(blocks, comparisons, crossing, *p));
            let swept: Vec<Swept> = swept.collect();
            crossing.placements = swept;
        }
        draft
            .crossings
            .retain(|crossing| !crossing.placements.is_empty());
    }
    let drafts = drafts
        .into_iter()
        .filter(|draft| !draft.crossings.is_empty());
    drafts.map(Draft::finish).collect()
}

impl<'a> Draft<'a> {
    fn add(&mut self, sized: Sized<'a>) {
        let mut all = self.series.iter_mut();
        match all.find(|series| series[0].alike == sized.alike) {
            // A variant with the same settings and size but another name is a series of its own.
            Some(series) if series.iter().all(|other| other.size != sized.size) => {
                series.push(sized);
            }
            Some(_) | None => self.series.push(vec![sized]),
        }
    }

    /// Adds a pair to the crossing of the pairs that differ from it only in size.
    fn compare(&mut self, pair: &Pair) {
        let find = |name: &str| {
            let mut all = self.series.iter();
            all.find_map(|series| {
                let sized = series.iter().find(|sized| sized.variant.name == name)?;
                Some((name_of(series), sized))
            })
        };
        let (Some((of, sized)), Some((against, other))) = (find(&pair.of), find(&pair.against))
        else {
            return;
        };
        if sized.size != other.size || of == against {
            return;
        }
        let (size, question) = (
            sized.size,
            question_without(&pair.question, sized.by, sized.size),
        );
        let is_same = |known: &&mut Crossing| {
            known.question == question
                && (&known.of, &known.against, known.metric) == (&of, &against, pair.metric)
        };
        match self.crossings.iter_mut().find(is_same) {
            Some(known) => {
                known.pairs.entry(size).or_insert_with(|| pair.name.clone());
            }
            None => self.crossings.push(Crossing {
                question,
                of,
                against,
                metric: pair.metric,
                pairs: BTreeMap::from([(size, pair.name.clone())]),
                placements: Vec::new(),
            }),
        }
    }

    fn finish(self) -> Sweep {
        let several = self.series.iter().filter(|series| series.len() > 1);
        let series = several.map(|series| Series {
            name: name_of(series),
            variants: series
                .iter()
                .map(|one| (one.size, one.variant.name.clone()))
                .collect(),
        });
        Sweep {
            sized_by: self.series[0][0].by,
            series: series.collect(),
            crossings: self.crossings,
            map: None,
        }
    }
}

/// The parts that the names of a series share, without their sizes.
fn name_of(series: &[Sized<'_>]) -> String {
    let names = series
        .iter()
        .map(|one| without(&one.variant.name, one.by, one.size));
    let names: Vec<String> = names.collect();
    let shared = names[0].split('-').filter(|part| {
        let mut all = names.iter();
        all.all(|name| name.split('-').any(|other| other == *part))
    });
    let shared = shared.collect::<Vec<_>>().join("-");
    if shared.is_empty() {
        names[0].clone()
    } else {
        shared
    }
}

/// The findings under a placement; `None` with fewer than two sizes.
fn swept(
    blocks: &Blocks<'_>,
    comparisons: &[Comparison],
    crossing: &Crossing,
    placement: Placement,
) -> Option<Swept> {
    let compared = crossing.pairs.iter().filter_map(|(size, pair)| {
        let comparison = comparisons.iter().find(|c| c.pair == *pair)?;
        let under = comparison
            .placements
            .iter()
            .find(|v| v.placement == placement)?;
        Some((*size, comparison, SizeVerdict::of(under.outcome)))
    });
    let compared: Vec<(u32, &Comparison, SizeVerdict)> = compared.collect();
    if compared.len() < 2 {
        return None;
    }
    let turns = turns(blocks, &compared, placement);
    let mut stretches: Vec<Stretch> = Vec::new();
    for (size, _, verdict) in compared {
        match stretches.last_mut() {
            Some(last) if last.verdict == verdict => last.to = size,
            _ => stretches.push(Stretch {
                from: size,
                to: size,
                verdict,
            }),
        }
    }
    let is_open = stretches
        .iter()
        .any(|s| s.verdict == SizeVerdict::NotResolved);
    let outcome = match (turns.is_empty(), is_open) {
        (false, _) => SweptOutcome::Crosses,
        (true, true) => SweptOutcome::NotResolved,
        (true, false) => SweptOutcome::NoCrossing,
    };
    Some(Swept {
        placement,
        outcome,
        turns,
        stretches,
    })
}

/// The sizes at which the better variant changes.
fn turns(
    blocks: &Blocks<'_>,
    compared: &[(u32, &Comparison, SizeVerdict)],
    placement: Placement,
) -> Vec<Turn> {
    let paired = compared.iter().filter_map(|(size, c, verdict)| {
        let paired = blocks.pairs(&c.of, &c.against, c.metric, placement)?;
        (!paired.invocations.is_empty()).then_some((*size, c.metric, *verdict, paired.invocations))
    });
    let paired: Vec<_> = paired.collect();
    // A lower cost is better, so for a metric that is better when higher, the cost is its inverse.
    let cost = |metric: Metric, pair: &Costs| match better(metric) {
        Better::Lower => *pair,
        Better::Higher => Costs {
            of: 1.0 / pair.of,
            against: 1.0 / pair.against,
        },
    };
    let sizes = paired.iter().map(|(size, metric, verdict, invocations)| {
        // An interrupted invocation lacks some sizes.
        let shared = invocations
            .iter()
            .filter(|(key, _)| paired.iter().all(|(.., others)| others.contains_key(*key)));
        let costs = shared.map(|(_, pairs)| pairs.iter().map(|pair| cost(*metric, pair)).collect());
        AtSize {
            size: f64::from(*size),
            direction: verdict.direction(),
            costs: costs.collect(),
        }
    });
    let sizes: Vec<AtSize> = sizes.collect();
    let found = stats::crossings(&sizes, &blocks.bootstrap()).unwrap_or_default();
    let turn = |crossing: &stats::Crossing| Turn {
        size: crossing.size,
        interval: crossing.interval,
        // Measured sizes are whole numbers.
        between: crossing.between.map(|size| size as u32),
    };
    found.iter().map(turn).collect()
}
