//! The verdicts on a ramp's steps, in a sentence.

use super::{About, Answer, joined};
use crate::findings::StepFindings;
use crate::findings::verdict::RampComparison;
use crate::metric::row;
use crate::units;

/// The target rate of a step: `400`, or `400–500` if it changes within the step.
pub(crate) fn rate(step: &StepFindings) -> String {
    if step.from == step.to {
        return units::rate(step.from);
    }
    format!("{}–{}", units::rate(step.from), units::rate(step.to))
}

/// In which steps one target is faster or slower than the other, and what is open. Pauses are left out.
pub(crate) fn sentence(compared: &RampComparison, steps: &[StepFindings]) -> String {
    let About { of, against, .. } = About::from(compared);
    let answers = compared.steps.iter().map(Answer::under).enumerate();
    let answers = answers
        .zip(steps)
        .filter(|(_, step)| step.to > 0.0 || step.from > 0.0);
    let answers: Vec<(usize, Answer)> = answers.map(|(answer, _)| answer).collect();
    let clause = |wanted: Answer| {
        let places = answers.iter().filter(|(_, answer)| *answer == wanted);
        let places: Vec<usize> = places.map(|(place, _)| *place).collect();
        let said = match wanted {
            Answer::Better => format!("{of} is faster than {against}"),
            Answer::Worse => format!("{of} is slower than {against}"),
            other => other.label().to_owned(),
        };
        (!places.is_empty()).then(|| format!("{said} in {}", listed(&places, steps)))
    };
    let all = [
        Answer::Worse,
        Answer::Better,
        Answer::Same,
        Answer::Open,
        Answer::Nothing,
    ];
    let name = row(compared.metric).name;
    format!(
        "In {name}, {}.",
        joined(all.into_iter().filter_map(clause), "; ")
    )
}

/// `steps 1 to 3 (100 to 400/s)`.
fn listed(places: &[usize], steps: &[StepFindings]) -> String {
    let runs = places.chunk_by(|one, other| one + 1 == *other);
    let run = |run: &[usize]| {
        let (first, last) = (run[0], run[run.len() - 1]);
        let [from, to] = [first, last].map(|place| rate(&steps[place]));
        let and = if run.len() == 2 { "and" } else { "to" };
        match run.len() {
            1 => format!("step {} ({from}/s)", first + 1),
            _ => format!(
                "steps {} {and} {} ({from} {and} {to}/s)",
                first + 1,
                last + 1
            ),
        }
    };
    joined(runs.map(run), ", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::verdict::Outcome;

    #[test]
    fn steps_with_one_answer_are_named_together_and_pauses_not_at_all() {
        let findings = crate::fixture::findings(&crate::fixture::versus_ramp());
        let mut compared = findings.ramps[0].clone();
        let mut steps = findings.variants[0].cells[0]
            .figures
            .as_ref()
            .unwrap()
            .steps
            .clone();
        assert_eq!(
            sentence(&compared, &steps),
            "In p50 latency, grpc is slower than rest in step 3 (400/s); no difference in step 1 (100/s)."
        );
        compared.steps[1].outcome = Outcome::Slower;
        (steps[1].from, steps[1].to) = (100.0, 400.0);
        assert_eq!(
            sentence(&compared, &steps),
            "In p50 latency, grpc is slower than rest in steps 2 and 3 (100–400 and 400/s); no difference in step 1 (100/s)."
        );
    }
}
