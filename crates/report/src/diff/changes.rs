//! Changes of everything except figures: floors, verdicts, environment, settings and objectives.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_study::objective::Objective;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;
use serde::Serialize;

use super::{BeforeAfter, common};
use crate::document::machine_facts;
use crate::findings::describe::HowItCalls;
use crate::findings::objective::ObjectiveFindings;
use crate::findings::verdict::Comparison;
use crate::findings::{Findings, VariantFindings};
use crate::words::{self, Answer};

/// The ratio of two runs' floors under one placement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FloorChange {
    /// Where the bare loops ran.
    pub placement: Placement,
    /// The ratio, after over before: the median over the variants that both runs have.
    pub ratio: f64,
    /// The number of these variants.
    pub variants: u64,
}

/// A verdict that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerdictChange {
    /// The variant that it is about.
    pub of: String,
    /// The variant that it is compared with.
    pub against: String,
    /// The metric that is compared.
    pub metric: Metric,
    /// The first run's answer, in a word or two.
    pub was: String,
    /// The second run's answer.
    pub is: String,
    /// The first run's sentence.
    pub before: String,
    /// The second run's sentence.
    pub after: String,
}

/// Something that differs between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What differs: the key of a setting in a study, or a property of the machine or the programs.
    pub what: String,
    /// Its value in the first run; empty if that run has none.
    pub before: String,
    /// Its value in the second run; empty if that run has none.
    pub after: String,
}

/// A variant that calls in different ways in the two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingsChange {
    /// The variant.
    pub variant: String,
    /// The settings that differ.
    pub differences: Vec<Difference>,
}

/// The changes of the floors, for each placement under which both runs measured floors.
pub(super) fn floors(before: &Findings, after: &Findings) -> Vec<FloorChange> {
    let mut ratios: BTreeMap<Placement, Vec<f64>> = BTreeMap::new();
    for (old, new) in common(before, after) {
        for cell in &old.cells {
            let floor = |run: &VariantFindings| {
                let floor = run.figures(cell.placement)?.floor.as_ref()?;
                Some(floor.round_trip_ns).filter(|ns| *ns > 0.0)
            };
            if let (Some(was), Some(is)) = (floor(old), floor(new)) {
                ratios.entry(cell.placement).or_default().push(is / was);
            }
        }
    }
    let change = |(placement, ratios): (Placement, Vec<f64>)| {
        let ratio = rpcgauge_stats::median(&ratios).ok()?;
        Some(FloorChange {
            placement,
            ratio,
            variants: ratios.len() as u64,
        })
    };
    ratios.into_iter().filter_map(change).collect()
}

/// The verdicts that changed, and the number of those that did not. Verdicts without a common placement are ignored.
pub(super) fn verdicts(before: &Findings, after: &Findings) -> (Vec<VerdictChange>, u64) {
    let key = |c: &Comparison| (c.of.clone(), c.against.clone(), c.metric);
    let (mut changes, mut unchanged) = (Vec::new(), 0);
    for old in before.comparisons.iter().filter(|c| !c.a_a) {
        let Some(new) = after.comparisons.iter().find(|new| key(new) == key(old)) else {
            continue;
        };
        let (was, is) = common_answers(old, new);
        if was.is_empty() {
            continue;
        }
        if was == is {
            unchanged += 1;
            continue;
        }
        changes.push(VerdictChange {
            of: old.of.clone(),
            against: old.against.clone(),
            metric: old.metric,
            was: label(&was),
            is: label(&is),
            before: words::comparison(old, before.study.margin),
            after: words::comparison(new, after.study.margin),
        });
    }
    (changes, unchanged)
}

/// The answers by placement.
type Answers = Vec<(Placement, Answer)>;

/// The answers of two comparisons under the placements that both have, since an additional placement does not change
/// a verdict.
fn common_answers(old: &Comparison, new: &Comparison) -> (Answers, Answers) {
    let common = old.placements.iter().filter_map(|was| {
        let place = was.placement;
        let is = new.placements.iter().find(|is| is.placement == place)?;
        Some(((place, Answer::under(was)), (place, Answer::under(is))))
    });
    common.unzip()
}

/// The answers in a few words: one answer if all agree, otherwise each with its placement.
fn label(answers: &[(Placement, Answer)]) -> String {
    match answers {
        [(_, first), rest @ ..] if rest.iter().all(|(_, answer)| answer == first) => {
            first.label().to_owned()
        }
        _ => {
            let placed = answers.iter();
            let placed =
                placed.map(|(at, answer)| format!("{} {}", answer.label(), words::on(*at)));
            placed.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The differences between the named values of two runs.
pub(crate) fn differences(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<Difference> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let of =
        |run: &BTreeMap<String, String>, name: &str| run.get(name).cloned().unwrap_or_default();
    let differ = names.into_iter();
    let differ = differ.filter(|name| before.get(*name) != after.get(*name));
    let difference = |name: &String| Difference {
        what: name.clone(),
        before: of(before, name),
        after: of(after, name),
    };
    differ.map(difference).collect()
}

/// The differences between the environments.
pub(super) fn environment(before: &Findings, after: &Findings) -> Vec<Difference> {
    let facts = |run: &Findings| -> BTreeMap<String, String> {
        let environment = run.environment.as_ref();
        let versions = environment.into_iter().flat_map(|e| &e.subjects);
        let versions = versions.flat_map(|(subject, versions)| {
            let named = versions.iter();
            named.map(move |(what, version)| (format!("{subject}: {what}"), version.clone()))
        });
        let facts = environment.into_iter().flat_map(machine_facts);
        let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
        facts.chain(versions).collect()
    };
    differences(&facts(before), &facts(after))
}

/// The variants whose settings differ.
pub(super) fn settings(before: &Findings, after: &Findings) -> Vec<SettingsChange> {
    let named = |how: &HowItCalls| {
        let mut named = how.settings.clone();
        named.insert("what is called".to_owned(), how.called.clone());
        named.extend(
            how.link
                .clone()
                .map(|values| ("the link's values".to_owned(), values)),
        );
        let tls = how.service.as_ref().and_then(|service| service.verified);
        named.extend(tls.map(|verified| {
            let tls = if verified { "verified" } else { "unverified" };
            ("TLS".to_owned(), tls.to_owned())
        }));
        named
    };
    let changes = common(before, after).map(|(old, new)| SettingsChange {
        variant: old.name.clone(),
        differences: differences(&named(&old.how), &named(&new.how)),
    });
    changes
        .filter(|change| !change.differences.is_empty())
        .collect()
}

/// The objectives of both runs, in the first run's order. An objective may belong to only one run.
pub(super) fn objectives(
    before: &Findings,
    after: &Findings,
) -> Vec<BeforeAfter<ObjectiveFindings>> {
    let of_variant = |variant: &str, run: &Findings| -> Vec<ObjectiveFindings> {
        let own = run.objectives.iter().filter(|o| o.variant == variant);
        own.cloned().collect()
    };
    let mut changes = Vec::new();
    for (variant, _) in common(before, after) {
        let mut added = of_variant(&variant.name, after);
        for old in of_variant(&variant.name, before) {
            let same = |new: &ObjectiveFindings| asks_the_same(&new.objective, &old.objective);
            let new = added.iter().position(same).map(|at| added.remove(at));
            changes.push(BeforeAfter {
                before: Some(old),
                after: new,
            });
        }
        changes.extend(added.into_iter().map(|new| BeforeAfter {
            before: None,
            after: Some(new),
        }));
    }
    changes
}

/// Whether two objectives are the same, even if they are written differently.
fn asks_the_same(a: &Objective, b: &Objective) -> bool {
    (a.measure, a.sign, a.bound) == (b.measure, b.sign, b.bound)
}
