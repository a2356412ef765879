//! What a run had to reach, and whether it did.

use rpcgauge_study::objective::{Measure, Objective};
use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::model::VariantFindings;

/// An objective, held against one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveFindings {
    /// The variant.
    pub variant: String,
    /// The objective, as it was written.
    pub objective: Objective,
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
            let (figure, outcome) = held_against(objective, figures);
            ObjectiveFindings {
                variant: variant.name.clone(),
                objective: objective.clone(),
                figure,
                outcome,
            }
        })
    })
    .collect()
}

fn held_against(
    objective: &Objective,
    figures: Option<&Figures>,
) -> (Option<f64>, ObjectiveOutcome) {
    let measure = objective.measure;
    let calls = figures.map_or(0, |figures| calls(measure, figures));
    let needed = measure.fewest_calls();
    let figure = figures
        .filter(|_| calls >= needed)
        .and_then(|f| figure(measure, f));
    let outcome = match figure {
        None => ObjectiveOutcome::TooFewCalls { calls, needed },
        Some(figure) if objective.is_reached(figure) => ObjectiveOutcome::Reached,
        Some(_) => ObjectiveOutcome::Missed,
    };
    (figure, outcome)
}

/// The calls that tell of a measure: those that were answered, or all of them.
fn calls(measure: Measure, figures: &Figures) -> u64 {
    match measure {
        Measure::Percentile(_) | Measure::Mean | Measure::Max => figures.calls.answered,
        Measure::Errors | Measure::Goodput => figures.calls.started,
    }
}

fn figure(measure: Measure, figures: &Figures) -> Option<f64> {
    let latency = figures.latency.as_ref();
    match measure {
        Measure::Percentile(percentile) => {
            let histogram = latency?.histogram.unpack();
            Some(histogram.value_at_quantile(percentile / 100.0) as f64)
        }
        Measure::Mean => latency.map(|latency| latency.mean_ns),
        Measure::Max => latency.map(|latency| latency.max_ns as f64),
        Measure::Errors => {
            let calls = &figures.calls;
            let unanswered = calls.started.saturating_sub(calls.answered);
            Some(unanswered as f64 / calls.started as f64)
        }
        Measure::Goodput => Some(figures.goodput),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Findings;
    use crate::fixture::{findings, live, quickstart};

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
