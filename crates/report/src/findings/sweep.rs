//! Variants that differ only in the size of their message: from which size on the other is better.

use std::collections::BTreeMap;

use rpcgauge_stats as stats;
use rpcgauge_stats::{AtSize, Better, Direction, Pair as Costs};
use rpcgauge_study::plan::{Metric, Pair, Plan, Variant};
use rpcgauge_study::settings::{DEFAULT_STOP, Placement, Settings};
use serde::Serialize;

use super::compare::Blocks;
use super::verdict::{Comparison, Outcome};
use crate::metric::better;

/// Variants of one part of a study that call for one message in several sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// The key of a study that the sizes are the values of: `n`, or `scale`.
    pub sized_by: &'static str,
    /// The ways to call.
    pub series: Vec<Series>,
    /// Two of them each, compared at several sizes.
    pub crossings: Vec<Crossing>,
}

/// One way to call, at its sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// What its variants' names share.
    pub name: String,
    /// Its variants, by size.
    pub variants: BTreeMap<u32, String>,
}

/// Two ways to call, compared at several sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Crossing {
    /// What is asked, without the size.
    pub question: String,
    /// The series that the verdicts are about.
    pub of: String,
    /// The series that it is compared with.
    pub against: String,
    /// What is compared.
    pub metric: Metric,
    /// The pairs, by size.
    pub pairs: BTreeMap<u32, String>,
    /// What was found under each placement that has several sizes, the study's own first.
    pub placements: Vec<Swept>,
}

/// What was found of two ways to call under a placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Swept {
    /// Where client and server ran.
    pub placement: Placement,
    /// What it comes to.
    pub outcome: SweptOutcome,
    /// The sizes at which the verdict turns, in rising order.
    pub turns: Vec<Turn>,
    /// The verdicts by size: neighbouring sizes with the same one together.
    pub stretches: Vec<Stretch>,
}

/// What the verdicts at all sizes come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SweptOutcome {
    /// The verdict turns, at one size or at several.
    Crosses,
    /// Every size is resolved, and the verdict does not turn.
    NoCrossing,
    /// It does not turn between the sizes that are resolved, and others are not.
    NotResolved,
}

/// A size at which the verdict turns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Turn {
    /// Where both cost the same.
    pub size: f64,
    /// The interval of that.
    pub interval: [f64; 2],
    /// The nearest sizes below and above that are resolved, in opposite directions.
    pub between: [u32; 2],
}

/// Neighbouring sizes with the same verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// The smallest of them.
    pub from: u32,
    /// The largest of them.
    pub to: u32,
    /// Their verdict.
    pub verdict: SizeVerdict,
}

/// A verdict at a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeVerdict {
    /// `of` is better.
    Faster,
    /// `of` is worse.
    Slower,
    /// The whole interval lies inside the margin.
    NoDifference,
    /// The figures do not decide, or there are none.
    NotResolved,
}

impl SizeVerdict {
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Faster => Self::Faster,
            Outcome::Slower => Self::Slower,
            Outcome::NoDifference => Self::NoDifference,
            Outcome::NotResolved { .. } | Outcome::NoVerdict { .. } => Self::NotResolved,
        }
    }

    fn direction(self) -> Option<Direction> {
        match self {
            Self::Faster => Some(Direction::Faster),
            Self::Slower => Some(Direction::Slower),
            Self::NoDifference | Self::NotResolved => None,
        }
    }
}

impl Swept {
    /// The sizes that a reader must know of beside the turns: those without a direction that lie between
    /// no two sizes at which the verdict turns.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Stretch> {
        let is_within = |turn: &Turn, stretch: &Stretch| {
            turn.between[0] < stretch.from && stretch.to < turn.between[1]
        };
        let open = self
            .stretches
            .iter()
            .filter(|stretch| stretch.verdict.direction().is_none());
        open.filter(move |stretch| !self.turns.iter().any(|turn| is_within(turn, stretch)))
    }
}

/// A variant with its size taken out.
struct Sized<'a> {
    variant: &'a Variant,
    by: &'static str,
    size: u32,
    /// How it calls, at no size and for no time.
    alike: Settings,
    /// The part of the study that it belongs to, without a size in its name.
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

/// A question without the size that it is asked at.
fn question_without(question: &str, by: &str, size: u32) -> String {
    let size = format!("{by}={size}");
    let text = question.replace(&format!(" ({size})"), "");
    let text = text.replace(&format!("({size}-"), "(");
    text.replace(&format!("-{size}"), "")
}

/// A sweep in the making.
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
            // One that is called in the same way under another name stands for itself.
            Some(series) if series.iter().all(|other| other.size != sized.size) => {
                series.push(sized);
            }
            Some(_) | None => self.series.push(vec![sized]),
        }
    }

    /// Puts a pair beside those that differ from it in size alone.
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
        }
    }
}

/// What the names of a series share, without their sizes.
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

/// What was found under a placement; nothing where it has not several sizes.
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

/// The sizes at which the verdict turns.
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
    // What costs less is better; of a yield that is its inverse.
    let cost = |metric: Metric, pair: &Costs| match better(metric) {
        Better::Lower => *pair,
        Better::Higher => Costs {
            of: 1.0 / pair.of,
            against: 1.0 / pair.against,
        },
    };
    let sizes = paired.iter().map(|(size, metric, verdict, invocations)| {
        // An invocation that was broken off has not every size.
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
        // They were whole numbers before.
        between: crossing.between.map(|size| size as u32),
    };
    found.iter().map(turn).collect()
}
