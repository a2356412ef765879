//! What a run had to reach, and whether it did.

use rpcgauge_study::objective::{Measure, Objective};
use serde::{Deserialize, Serialize};

use super::figures::{Distribution, Figures};
use super::model::VariantFindings;
use super::steps::StepFindings;

/// An objective, held against one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveFindings {
    /// The variant.
    pub variant: String,
    /// The objective, as it was written.
    pub objective: Objective,
    /// The step of a ramp that decides it, from 0: the first that does not reach it, or the one that
    /// came nearest to that. Absent for other schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// What was measured, in the unit of the objective's bound: ns, a share, calls a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: ObjectiveOutcome,
}

/// What became of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ObjectiveOutcome {
    /// The figure holds it.
    Reached,
    /// The figure does not.
    Missed,
    /// There were too few calls to tell.
    TooFewCalls {
        /// How many there were.
        calls: u64,
        /// How many would have told.
        needed: u64,
    },
}

impl ObjectiveFindings {
    /// Whether it was reached: too few calls have not shown that it was.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.outcome == ObjectiveOutcome::Reached
    }
}

/// Holds every objective against every variant but those that repeat another.
pub(crate) fn judge(
    objectives: &[Objective],
    variants: &[VariantFindings],
) -> Vec<ObjectiveFindings> {
    let own = variants.iter().filter(|variant| variant.repeats.is_none());
    own.flat_map(|variant| {
        let cell = variant.cells.first();
        let figures = cell.and_then(|cell| cell.figures.as_deref());
        objectives.iter().map(move |objective| {
            let steps = figures.map_or(&[][..], |figures| &figures.steps);
            let (step, (figure, outcome)) = match deciding(objective, steps) {
                Some((step, held)) => (Some(step), held),
                None => (None, held_against(objective, &Evidence::of(figures))),
            };
            ObjectiveFindings {
                variant: variant.name.clone(),
                objective: objective.clone(),
                step,
                figure,
                outcome,
            }
        })
    })
    .collect()
}

/// What an objective is held against: the calls of a variant, of a step, or of one trial.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Evidence<'a> {
    pub(crate) started: u64,
    pub(crate) answered: u64,
    pub(crate) goodput: f64,
    pub(crate) latency: Option<&'a Distribution>,
}

impl<'a> Evidence<'a> {
    /// Nothing where nothing was measured.
    fn of(figures: Option<&'a Figures>) -> Self {
        figures.map_or_else(Self::default, |figures| Self {
            started: figures.calls.started,
            answered: figures.calls.answered,
            goodput: figures.goodput,
            latency: figures.latency.as_ref(),
        })
    }

    fn of_step(step: &'a StepFindings) -> Self {
        Self {
            started: step.started,
            answered: step.answered,
            goodput: step.goodput,
            latency: step.latency.as_ref(),
        }
    }
}

/// A figure, where there is one, and what it makes of an objective.
type Held = (Option<f64>, ObjectiveOutcome);

/// The step of a ramp that decides an objective, which each of them must reach: the first that misses
/// it, else the first with too few calls, else the one with the figure nearest to missing it. A
/// pause has nothing to reach; a step that the load ended before has shown nothing. None without
/// steps.
fn deciding(objective: &Objective, steps: &[StepFindings]) -> Option<(usize, Held)> {
    let held: Vec<(usize, Held)> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| step.started > 0 || step.is_not_reached())
        .map(|(index, step)| (index, held_against(objective, &Evidence::of_step(step))))
        .collect();
    let missed = |(_, (_, outcome)): &&(usize, Held)| *outcome == ObjectiveOutcome::Missed;
    let open = |(_, (figure, _)): &&(usize, Held)| figure.is_none();
    let worse = |figure: f64| match objective.measure {
        Measure::Goodput => -figure,
        _ => figure,
    };
    let nearest = held.iter().max_by(|(_, (a, _)), (_, (b, _))| {
        let [a, b] = [a, b].map(|figure| figure.map_or(f64::INFINITY, worse));
        a.total_cmp(&b)
    });
    let first = held.iter().find(missed).or(held.iter().find(open));
    first.or(nearest).copied()
}

/// Holds an objective against calls.
pub(crate) fn held_against(objective: &Objective, evidence: &Evidence<'_>) -> Held {
    let measure = objective.measure;
    let calls = calls(measure, evidence);
    let needed = measure.fewest_calls();
    let figure = (calls >= needed)
        .then(|| figure(measure, evidence))
        .flatten();
    let outcome = match figure {
        None => ObjectiveOutcome::TooFewCalls { calls, needed },
        Some(figure) if objective.is_reached(figure) => ObjectiveOutcome::Reached,
        Some(_) => ObjectiveOutcome::Missed,
    };
    (figure, outcome)
}

/// The calls that tell of a measure: those that were answered, or all of them.
fn calls(measure: Measure, evidence: &Evidence<'_>) -> u64 {
    match measure {
        Measure::Percentile(_) | Measure::Mean | Measure::Max => evidence.answered,
        Measure::Errors | Measure::Goodput => evidence.started,
    }
}

fn figure(measure: Measure, evidence: &Evidence<'_>) -> Option<f64> {
    match measure {
        Measure::Percentile(percentile) => {
            let histogram = evidence.latency?.histogram.unpack();
            Some(histogram.value_at_quantile(percentile / 100.0) as f64)
        }
        Measure::Mean => evidence.latency.map(|latency| latency.mean_ns),
        Measure::Max => evidence.latency.map(|latency| latency.max_ns as f64),
        Measure::Errors => {
            let unanswered = evidence.started.saturating_sub(evidence.answered);
            Some(unanswered as f64 / evidence.started as f64)
        }
        Measure::Goodput => Some(evidence.goodput),
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::{Outcome, Step};

    use super::*;
    use crate::findings::Findings;
    use crate::fixture::{findings, live, quickstart, ramp};

    fn judged(objectives: &[&str]) -> Findings {
        let mut sample = live();
        sample.plan.objectives = objectives
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        findings(&sample)
    }

    #[test]
    fn figures_are_in_the_bounds_unit() {
        let findings = judged(&["p50<1s", "mean<1s", "max<1s", "errors<1%", "goodput>1"]);
        let figures = findings.variants[0].cells[0].figures.as_deref().unwrap();
        let (latency, calls) = (figures.latency.as_ref().unwrap(), &figures.calls);
        let unanswered = (calls.started - calls.answered) as f64 / calls.started as f64;
        let found = findings
            .objectives
            .iter()
            .map(|found| found.figure.unwrap());
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                latency.p50_ns as f64,
                latency.mean_ns,
                latency.max_ns as f64,
                unanswered,
                figures.goodput
            ]
        );
    }

    #[test]
    fn an_objective_is_reached_missed_or_not_shown() {
        let findings = judged(&["max<1s", "max<1ns", "p99.9<1s"]);
        let outcomes = findings.objectives.iter().map(|found| found.outcome);
        let too_few = ObjectiveOutcome::TooFewCalls {
            calls: 200,
            needed: 1_000,
        };
        assert_eq!(
            outcomes.collect::<Vec<_>>(),
            [ObjectiveOutcome::Reached, ObjectiveOutcome::Missed, too_few]
        );
        assert!(!findings.is_reached() && findings.objectives[2].figure.is_none());
    }

    #[test]
    fn a_ramp_must_reach_an_objective_in_every_step() {
        let findings = findings(&ramp());
        let found: Vec<_> = findings
            .objectives
            .iter()
            .map(|found| (found.step, found.outcome))
            .collect();
        // Pauses are left out, and of what is reached the step nearest to missing is told.
        assert_eq!(
            found,
            [
                (Some(3), ObjectiveOutcome::Missed),
                (Some(3), ObjectiveOutcome::Missed),
                (Some(0), ObjectiveOutcome::Reached),
            ]
        );
        let mut scarce = ramp();
        scarce.plan.objectives = vec!["p99.9<10s".parse().unwrap()];
        let too_few = ObjectiveOutcome::TooFewCalls {
            calls: 100,
            needed: 1_000,
        };
        let found = &crate::fixture::findings(&scarce).objectives[0];
        assert_eq!((found.step, found.outcome), (Some(0), too_few));
    }

    /// The ramp of the fixture, ended by --calls or Ctrl-C before it was over.
    fn cut_off_after(elapsed_ns: u64, change: impl FnOnce(&mut Step)) -> Findings {
        let mut sample = ramp();
        sample.plan.objectives = vec!["goodput>49".parse().unwrap()];
        if let Outcome::Measured(measured) = &mut sample.trials[0].outcome {
            measured.elapsed_ns = elapsed_ns;
            change(&mut measured.steps[3]);
        }
        findings(&sample)
    }

    #[test]
    fn a_step_in_which_the_load_ended_counts_by_the_time_it_lasted() {
        let findings = cut_off_after(7_000_000_000, |_| {});
        let figures = findings.variants[0].cells[0].figures.as_deref().unwrap();
        let lasted = figures.steps.iter().map(|step| step.lasted_ns / 1_000_000);
        assert_eq!(lasted.collect::<Vec<_>>(), [2_000, 2_000, 2_000, 1_000]);
        assert_eq!(figures.steps[3].goodput, 500.0, "500 answers in a second");
        let text = crate::markdown::render(&findings);
        let row = "| 4 | 6 s | 400 | 800 | 500 | 300 |";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn a_step_that_the_load_ended_before_has_not_reached_anything() {
        let findings = cut_off_after(5_000_000_000, |last| {
            (last.started, last.answered, last.failed) = (0, 0, 0);
        });
        let found = &findings.objectives[0];
        let too_few = ObjectiveOutcome::TooFewCalls {
            calls: 0,
            needed: 1,
        };
        assert_eq!((found.step, found.outcome), (Some(3), too_few));
        assert!(!findings.is_reached());
    }

    #[test]
    fn without_objectives_a_live_service_must_answer_at_all() {
        let mut sample = live();
        sample.plan.objectives.clear();
        assert!(findings(&sample).is_reached());
        sample.trials.clear();
        assert!(!findings(&sample).is_reached());
        assert!(
            quickstart::findings().is_reached(),
            "a study has nothing to reach"
        );
    }
}
