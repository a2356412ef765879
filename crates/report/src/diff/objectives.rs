//! What became of each objective in both runs. It may have been asked of one of them alone.

use rpcgauge_study::objective::Objective;

use super::{BeforeAfter, common};
use crate::findings::Findings;
use crate::findings::objective::ObjectiveFindings;

/// The objectives of both runs, in the first one's order.
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

/// Whether two objectives ask the same, however they are written.
fn asks_the_same(a: &Objective, b: &Objective) -> bool {
    (a.measure, a.sign, a.bound) == (b.measure, b.sign, b.bound)
}
