//! The bases that two runs share, and a figure relative to them.
//!
//! Blocks of two runs cannot be paired, since the machine's speed differed. Therefore each figure is divided, block by
//! block, by a base that was measured in the same block, and these ratios are compared between the runs
//! (docs/method.md).

use std::collections::BTreeMap;

use rpcgauge_stats::{Bootstrap, Estimate, InRuns, Pair, PairedRatios, compare};
use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;
use serde::Serialize;

use super::common;
use crate::evaluate::{Uneven, controls, delay_decides, figure};
use crate::findings::trial::{TrialRow, Unfit};
use crate::findings::{Findings, VariantFindings};
use crate::metric::{depends_on_speed, resolution};

/// The base that a figure is divided by, so that the machine's speed cancels out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "base", rename_all = "kebab-case")]
pub enum Base {
    /// No base: the figure is counted and does not depend on the machine.
    Nothing,
    /// The floor of a variant, in the same run.
    Floor {
        /// The figure's variant, or the variant that it is compared with if its own calls differ between the runs.
        of: String,
    },
    /// The variant that the figure's variant is compared with, in the same run.
    Variant {
        /// Its name.
        name: String,
    },
}

impl Base {
    fn variant(name: &str) -> Self {
        let name = name.to_owned();
        Self::Variant { name }
    }
}

/// One figure of a variant.
#[derive(Clone, Copy)]
pub(super) struct Figure<'a> {
    pub(super) variant: &'a str,
    pub(super) placement: Placement,
    pub(super) metric: Metric,
}

/// A figure's trials in one run.
pub(super) struct Trials<'a> {
    rows: Vec<&'a TrialRow>,
    /// The rows that are fit for the metric.
    free: Vec<&'a TrialRow>,
}

impl Trials<'_> {
    /// The most frequent reason why trials are unfit for the metric; `None` unless more than half of them are unfit.
    pub(super) fn unfit(&self, metric: Metric) -> Option<Unfit> {
        let reasons = || self.rows.iter().filter_map(|row| row.unfit(metric));
        let are_most = self.free.len() * 2 < self.rows.len();
        let count = |reason| reasons().filter(|unfit| *unfit == reason).count();
        let most = [Unfit::LinkNotHeld, Unfit::ClientBound].into_iter();
        most.max_by_key(|reason| count(*reason))
            .filter(|_| are_most)
    }

    /// Whether there are trials in which no call succeeded.
    pub(super) fn some_are_silent(&self) -> bool {
        self.silent() > 0
    }

    /// Whether no call succeeded in most of the trials.
    pub(super) fn most_are_silent(&self) -> bool {
        self.silent() * 2 > self.rows.len()
    }

    fn silent(&self) -> usize {
        self.rows.iter().filter(|row| row.answered == 0).count()
    }
}

impl<'a> Figure<'a> {
    pub(super) fn trials(self, run: &Findings) -> Trials<'_> {
        let is_own = |t: &&TrialRow| t.variant == self.variant && t.placement == self.placement;
        let rows = run.trials.iter().filter(is_own);
        let rows: Vec<&TrialRow> = rows.filter(|t| run.rest_on(t)).collect();
        let is_free = |t: &&TrialRow| t.unfit(self.metric).is_none();
        Trials {
            free: rows.iter().copied().filter(is_free).collect(),
            rows,
        }
    }

    /// The same figure of another variant.
    fn of(self, variant: &str) -> Figure<'_> {
        Figure {
            variant,
            placement: self.placement,
            metric: self.metric,
        }
    }

    /// The pairs of the figure and its base by invocation, one for each block that has both. A running service is not
    /// restarted, so each block counts as an invocation.
    fn beside(self, base: &Base, run: &Findings) -> Vec<Vec<Pair>> {
        let name = match base {
            Base::Nothing => self.variant,
            Base::Floor { of: name } | Base::Variant { name } => name,
        };
        let others = self.of(name).trials(run);
        let block = |row: &TrialRow| (row.invocation, row.block);
        let value = |row: &TrialRow| match base {
            Base::Nothing => Some(1.0),
            Base::Floor { .. } => row.floor?.beside(self.metric),
            Base::Variant { .. } => figure(row, self.metric),
        };
        let all = match base {
            // A floor does not depend on how busy the client was.
            Base::Floor { .. } | Base::Nothing => others.rows,
            Base::Variant { .. } => others.free,
        };
        let beside: BTreeMap<(u32, u32), f64> = all
            .into_iter()
            .filter_map(|row| {
                Some((
                    block(row),
                    value(row).filter(|v| v.is_normal() && *v > 0.0)?,
                ))
            })
            .collect();
        let is_running = run.variants.iter().any(VariantFindings::is_running);
        let mut invocations: BTreeMap<(u32, u32), Vec<Pair>> = BTreeMap::new();
        for row in self.trials(run).free {
            if let (Some(of), Some(&against)) = (figure(row, self.metric), beside.get(&block(row)))
            {
                let block = if is_running { row.block } else { 0 };
                let pairs = invocations.entry((row.invocation, block)).or_default();
                pairs.push(Pair { of, against });
            }
        }
        invocations.into_values().collect()
    }

    /// The ratio of the figure to its base in a run.
    pub(super) fn over(self, base: &Base, run: &Findings) -> Option<Estimate> {
        let ratios = PairedRatios::from_pairs(&self.beside(base, run)).ok()?;
        let bootstrap = Bootstrap::new(run.study.confidence, run.study.seed);
        let figures = run.figures(self.variant, self.placement);
        let resolution = figures.map_or(0.0, |figures| resolution(self.metric, figures));
        Some(compare(&ratios, &bootstrap).ok()?.no_finer_than(resolution))
    }

    /// Whether a run withholds the verdict on this figure against that of its partner: because of send delay, of
    /// unsuccessful calls, or because the partner's trials are unfit. The figure's own trials were looked at before.
    fn is_unfit_beside(self, partner: &str, run: &Findings) -> bool {
        let both = [self.variant, partner].map(|name| run.figures(name, self.placement));
        let [own, other] = both;
        let is_uneven = own
            .zip(other)
            .is_some_and(|(own, other)| Uneven::of(self.metric, own, other).is_some());
        is_uneven
            || delay_decides(both, self.metric, run.study.margin)
            || self.of(partner).trials(run).unfit(self.metric).is_some()
    }

    fn in_runs(self, base: &Base, [before, after]: [&Findings; 2]) -> Option<InRuns> {
        Some(InRuns {
            before: self.over(base, before)?,
            after: self.over(base, after)?,
        })
    }

    /// The ratio of a run's A/A pair, which shows the run's noise. The pair shares no process that the figure's variant
    /// does not share with its partner; without a partner, with any variant.
    fn a_a(self, partner: Option<&str>, run: &Findings) -> Option<Estimate> {
        let name = |index: u32| &*run.variants[index as usize].name;
        let roles = run.shared_roles(self.variant, partner);
        let shared =
            |[again, original]: [u32; 2]| run.shared_roles(name(again), Some(name(original)));
        let pairs = controls(&run.variants, run.variant(self.variant)?, &roles, shared);
        pairs.into_iter().find_map(|[again, original]| {
            let original = Base::variant(name(original));
            self.of(name(again)).over(&original, run)
        })
    }

    fn a_a_in(
        self,
        partner: Option<&str>,
        [before, after]: [&Findings; 2],
    ) -> Option<[Estimate; 2]> {
        Some([self.a_a(partner, before)?, self.a_a(partner, after)?])
    }
}

/// A figure in two runs relative to its bases: a floor, unless it is of a live service, and the first partner that both
/// runs have. A figure that does not depend on the speed of the machine has no base.
pub(super) struct Held {
    pub(super) against: Vec<(Base, InRuns)>,
    /// The ratio of the bases to each other; `None` if there is only one.
    pub(super) bases: Option<InRuns>,
    pub(super) a_a: [Estimate; 2],
}

impl Held {
    /// `None` if the figure, a base or an A/A pair is missing in either run.
    pub(super) fn new(figure: Figure<'_>, runs: [&Findings; 2]) -> Option<Self> {
        if !depends_on_speed(figure.metric) {
            let alone = figure.in_runs(&Base::Nothing, runs)?;
            return Some(Self {
                against: vec![(Base::Nothing, alone)],
                bases: None,
                a_a: figure.a_a_in(None, runs)?,
            });
        }
        let floor = |of: &str| Base::Floor { of: of.to_owned() };
        let held_against = |name: &str| {
            let base = Base::variant(name);
            let beside = figure.in_runs(&base, runs)?;
            if is_live(figure.variant, runs) {
                let a_a = figure.a_a_in(Some(name), runs)?;
                let is_unfit = runs
                    .into_iter()
                    .any(|run| figure.is_unfit_beside(name, run));
                return (!is_unfit).then(|| Self {
                    against: vec![(base, beside)],
                    bases: None,
                    a_a,
                });
            }
            let own_floor = floor(name);
            let bases = figure.of(name).in_runs(&own_floor, runs)?;
            let of_floor = if calls_the_same(figure.variant, runs) {
                floor(figure.variant)
            } else {
                own_floor
            };
            let beside_floor = figure.in_runs(&of_floor, runs)?;
            Some(Self {
                against: vec![(of_floor, beside_floor), (base, beside)],
                bases: Some(bases),
                a_a: figure.a_a_in(Some(name), runs)?,
            })
        };
        let partners = partners(figure.variant, runs);
        partners.into_iter().find_map(held_against)
    }
}

/// Whether a variant calls a live service in two runs.
fn is_live(variant: &str, runs: [&Findings; 2]) -> bool {
    let is_live = |run: &Findings| run.variant(variant).is_some_and(VariantFindings::is_live);
    runs.into_iter().all(is_live)
}

/// Whether a variant calls in the same way in two runs.
fn calls_the_same(variant: &str, [before, after]: [&Findings; 2]) -> bool {
    let how = |run: &Findings| run.variant(variant).map(|v| v.how.clone());
    how(before) == how(after)
}

/// The variants that pairs of the runs compare this variant with, then the variants that they compare with this one.
/// Only variants that both runs have and that call in the same way are included. Without a floor, a change of a live
/// service looks like the opposite change of the one that it is compared with, so only the former is judged.
fn partners<'a>(variant: &str, runs: [&'a Findings; 2]) -> Vec<&'a str> {
    let [before, after] = runs;
    let pairs = || {
        let pairs = runs.into_iter().flat_map(|run| &run.comparisons);
        pairs.filter(|pair| !pair.a_a)
    };
    let against = pairs().filter(|p| p.of == variant).map(|p| &p.against);
    let of = pairs().filter(|p| p.against == variant && !is_live(variant, runs));
    let of = of.map(|p| &p.of);
    let is_shared = |name: &&String| {
        let shared = common(before, after).any(|(old, _)| old.name == **name);
        shared && calls_the_same(name, runs)
    };
    against
        .chain(of)
        .filter(is_shared)
        .map(|name| &**name)
        .collect()
}
