//! The last line of a report on a terminal, for readers for whom the summary has scrolled away.

use crate::findings::verdict::Comparison;
use crate::findings::{Findings, VariantFindings};
use crate::units;
use crate::words::{self, Answer, LONGER};

/// Counts the verdicts of each kind and, if most are open, adds advice. `None` if the run compares nothing.
pub fn closing(findings: &Findings) -> Option<String> {
    let asked = findings.comparisons.iter().filter(|one| !one.a_a);
    let mut answers: Vec<(Answer, String)> = asked
        .map(|comparison| (Answer::of(comparison), counted(comparison)))
        .collect();
    if answers.is_empty() {
        return None;
    }
    // Answers under only one placement come after those under all placements.
    answers.sort();
    let kinds = answers.chunk_by(|one, other| one == other);
    let kinds = kinds.map(|same| format!("{} {}", same.len(), same[0].1));
    let all = units::counted(answers.len() as u64, "comparison");
    let mut text = format!("{all}: {}", words::joined(kinds, ", "));
    let open = answers.iter().filter(|(answer, _)| *answer == Answer::Open);
    if open.count() * 2 > answers.len() {
        let more = if findings.variants.iter().any(VariantFindings::is_running) {
            LONGER
        } else {
            "longer (more invocations and blocks, or a longer --budget)"
        };
        text += &format!("{MOSTLY_OPEN}, or measure {more}");
    } else if let Some((count, longer)) = settled_by(findings) {
        let open = units::counted(count, "open comparison");
        text += &format!(
            ". A run, or a --budget, {}× as long would probably settle {open}",
            units::number(longer)
        );
    }
    Some(text)
}

/// How many comparisons a longer run would settle, and how many times as long it would have to be.
fn settled_by(findings: &Findings) -> Option<(u64, f64)> {
    let own = findings.comparisons.iter().filter(|one| !one.a_a);
    let own = own.filter_map(|one| one.placements.first());
    let longer: Vec<f64> = own.filter_map(words::times_as_long).collect();
    let most = longer.iter().copied().max_by(f64::total_cmp)?;
    Some((longer.len() as u64, most))
}

/// A comparison's answer, to append to a number.
fn counted(comparison: &Comparison) -> String {
    match Answer::of(comparison) {
        Answer::Depends => "dependent on placement".to_owned(),
        Answer::Nothing => "without a verdict".to_owned(),
        _ => words::answer(comparison),
    }
}

/// The advice if noise hides most answers.
const MOSTLY_OPEN: &str = ". Most are not resolved: stop other programs, check with `rpcgauge doctor` how \
                           quiet this machine is";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::verdict::{Combined, More, Outcome, Unresolved};
    use crate::fixture::{findings, quickstart, two};

    #[test]
    fn verdicts_are_counted() {
        let findings = quickstart::findings();
        let text = closing(findings).unwrap();
        let rows = findings.comparisons.iter().filter(|c| !c.a_a).count();
        assert!(text.starts_with(&format!("{rows} comparisons: ")), "{text}");
        let (counted, _) = text.split_once(". ").unwrap();
        let numbers = counted.split(|c: char| !c.is_ascii_digit());
        let counts: Vec<usize> = numbers.filter_map(|number| number.parse().ok()).collect();
        assert_eq!(counts[1..].iter().sum::<usize>(), rows, "{text}");
    }

    #[test]
    fn a_verdict_of_one_placement_alone_is_counted_as_such() {
        let mut findings = findings(&two(2.0).build());
        findings.comparisons[0].combined = Combined::Unconfirmed;
        let text = closing(&findings).unwrap();
        assert!(text.starts_with("1 comparison: 1 better on "), "{text}");
        assert!(text.ends_with(" only"), "{text}");
    }

    #[test]
    fn a_longer_run_is_advised_for_what_it_would_settle() {
        let mut findings = quickstart::findings().clone();
        let (before, _) = settled_by(&findings).unwrap();
        let decided = findings.comparisons.iter_mut().find_map(|one| {
            let verdict = &mut one.placements[0];
            (!one.a_a && verdict.outcome == Outcome::Faster).then_some(verdict)
        });
        let verdict = decided.unwrap();
        let run = verdict.estimate.as_ref().unwrap().independent();
        verdict.outcome = Outcome::NotResolved {
            reason: Unresolved::NotBeyondAa,
            more: Some(More {
                invocations: 19 * run as usize,
                blocks: 5,
            }),
        };
        assert_eq!(settled_by(&findings), Some((before + 1, 20.0)));
        let text = closing(&findings).unwrap();
        let advice = ". A run, or a --budget, 20.0× as long would probably settle ";
        assert!(text.contains(advice), "{text}");
    }

    #[test]
    fn a_run_without_verdicts_says_what_to_do() {
        let mut sample = two(2.0).build();
        assert_eq!(
            closing(&findings(&sample)).unwrap(),
            "1 comparison: 1 better"
        );
        // One invocation gives no interval.
        let first = sample.trials[0].trial.invocation;
        sample
            .trials
            .retain(|record| record.trial.invocation == first);
        let text = closing(&findings(&sample)).unwrap();
        assert!(text.contains("1 not resolved. Most are"), "{text}");
    }
}
