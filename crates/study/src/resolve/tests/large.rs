//! Very large plans. The time of each step must grow at most like sorting: a step that iterates over all pairs for each
//! pair, or over all variants for each pair of each group, would not finish here.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::plan::TrialSpec;

const GROUPS: usize = 240;
const PAIRS: usize = 30_000;

/// Groups of four variants; the last group has thousands of questions about the same two.
fn large() -> String {
    let mut text = "# Is it fast?\nworkload = { name = \"hello\" }\ninvocations = 2\nblocks = 1\n\
                    [base]\nprotocol = \"grpc\"\n"
        .to_owned();
    for group in 0..GROUPS {
        writeln!(
            text,
            "[[groups]]\nname = \"g{group}\"\nquestion = \"Is it?\""
        )
        .unwrap();
        for calls in 1..5 {
            writeln!(
                text,
                "[[groups.variants]]\nname = \"v{calls}\"\ncalls = {calls}"
            )
            .unwrap();
        }
        let pairs = if group + 1 == GROUPS { PAIRS } else { 1 };
        for number in 0..pairs {
            let question = format!("question = \"Is it so, {number}?\"");
            writeln!(
                text,
                "[[groups.pairs]]\nof = \"v1\"\nagainst = \"v2\"\n{question}"
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn a_plan_of_many_groups_and_pairs_is_made() {
    let plan = resolve_with(&large(), 2, &Overrides::default()).unwrap();
    assert_eq!(
        plan.variants.len(),
        GROUPS * 5,
        "each group has its control"
    );
    assert_eq!(plan.pairs.len(), GROUPS - 1 + PAIRS + GROUPS);
    let names: BTreeSet<&str> = plan.pairs.iter().map(|pair| &*pair.name).collect();
    assert_eq!(names.len(), plan.pairs.len());
    let last = format!("g{}-v1-vs-v2-{PAIRS}", GROUPS - 1);
    assert!(names.contains(&*last), "{last}");
    let together = |trial: &&TrialSpec| trial.rotation == plan.trials[0].rotation;
    let first: BTreeSet<u32> = plan
        .trials
        .iter()
        .filter(together)
        .map(|t| t.variant)
        .collect();
    assert!(
        first.len() <= 3,
        "two variants and a control take turns: {first:?}"
    );
    plan.check().unwrap();
    let text = plan.text(None);
    assert!(text.lines().count() > plan.pairs.len() + plan.variants.len());
}
