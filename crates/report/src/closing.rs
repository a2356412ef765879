//! The last line under a report on a terminal, where the summary has scrolled away.

use crate::findings::Findings;
use crate::questions::Answer;
use crate::summary;

/// How many verdicts there are of each kind, and what to do where most are open; none where a run
/// asks no question.
#[must_use]
pub fn closing(findings: &Findings) -> Option<String> {
    let answers: Vec<Answer> = summary::rows(findings)
        .iter()
        .map(|row| row.answer)
        .collect();
    if answers.is_empty() {
        return None;
    }
    let count = |answer: Answer| answers.iter().filter(|found| **found == answer).count();
    let told: Vec<String> = KINDS
        .into_iter()
        .map(|(answer, name)| (count(answer), name))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    let noun = match answers.len() {
        1 => "comparison",
        _ => "comparisons",
    };
    let mut text = format!("{} {noun}: {}", answers.len(), told.join(", "));
    if count(Answer::Open) * 2 > answers.len() {
        text += MOSTLY_OPEN;
    }
    Some(text)
}

const KINDS: [(Answer, &str); 6] = [
    (Answer::Better, "better"),
    (Answer::Worse, "worse"),
    (Answer::Same, "no difference"),
    (Answer::Depends, "dependent on placement"),
    (Answer::Open, "not resolved"),
    (Answer::Nothing, "without a verdict"),
];

/// What to do where noise hides most of what was asked.
const MOSTLY_OPEN: &str = ". Most are not resolved: stop other programs, let `rpcgauge doctor` say how \
                           quiet this machine is, or measure more invocations and blocks";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{findings, quickstart, two};

    #[test]
    fn verdicts_are_counted() {
        let findings = quickstart::findings();
        let text = closing(findings).unwrap();
        let rows = summary::rows(findings).len();
        assert!(text.starts_with(&format!("{rows} comparisons: ")), "{text}");
        let numbers = text.split(|c: char| !c.is_ascii_digit());
        let counts: Vec<usize> = numbers.filter_map(|number| number.parse().ok()).collect();
        assert_eq!(counts[1..].iter().sum::<usize>(), rows, "{text}");
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
