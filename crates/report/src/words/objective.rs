//! The objectives of a run and their outcomes, in words.

use rpcgauge_study::objective::{Measure, Objective};

use crate::findings::objective::{ObjectiveFindings, ObjectiveOutcome};
use crate::units;

/// An objective's figure, with more digits if it would otherwise look equal to the bound.
pub(crate) fn measured(objective: &Objective, figure: f64) -> String {
    let bound = objective.bound;
    let plain = |value: f64| match objective.measure {
        Measure::Percentile(_) | Measure::Mean | Measure::Max => units::time(value),
        Measure::Errors => units::percent(value),
        Measure::Goodput => format!("{}/s", units::number(value)),
    };
    if figure == bound || plain(figure) != plain(bound) {
        return plain(figure);
    }
    match objective.measure {
        Measure::Percentile(_) | Measure::Mean | Measure::Max => units::time_beside(figure, bound),
        Measure::Errors => units::percent_beside(figure, bound),
        Measure::Goodput => format!("{}/s", units::number_beside(figure, bound)),
    }
}

/// The outcome of an objective, to append to the objective's own text.
pub(crate) fn objective(found: &ObjectiveFindings) -> String {
    let place = found
        .step
        .map_or_else(String::new, |step| format!(" in step {}", step + 1));
    let figure = found
        .figure
        .map(|figure| measured(&found.objective, figure));
    let figure = figure.unwrap_or_default();
    match found.outcome {
        ObjectiveOutcome::Reached => {
            if place.is_empty() {
                format!("met ({figure})")
            } else {
                format!("met in every step ({figure} at worst,{place})")
            }
        }
        ObjectiveOutcome::Missed => match found.unanswered {
            Some(share) => {
                let share = units::percent(share);
                format!("missed{place}: {share} of the calls never succeeded")
            }
            None => format!("missed{place} ({figure})"),
        },
        ObjectiveOutcome::TooFewCalls { calls, needed } => format!(
            "not shown{place}: {} calls are too few, at least {} are needed",
            units::count(calls),
            units::count(needed)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_does_not_look_like_a_bound_that_it_is_not() {
        let table = [
            ("p99<20ms", 20_037_631.0, "20.04 ms"),
            ("p99<20ms", 19_996_671.0, "19.997 ms"),
            ("p99<20ms", 20_000_000.0, "20.0 ms"),
            ("p99<20ms", 21_000_000.0, "21.0 ms"),
            ("max<1s", 999_800_000.0, "0.9998 s"),
            ("errors<0.01%", 0.000_5, "0.05%"),
            ("errors<0.01%", 0.000_05, "0.005%"),
            ("errors<0.1%", 0.000_5, "< 0.1%"),
            ("errors<0.1%", 0.001_04, "0.104%"),
            ("errors<=0", 0.000_2, "< 0.1%"),
            ("errors<10%", 0.099_6, "9.96%"),
            ("errors<10%", 0.099_4, "9.9%"),
            ("goodput>500", 499.8, "499.8/s"),
            ("goodput>500", 480.0, "480/s"),
        ];
        for (objective, figure, shown) in table {
            let objective: Objective = objective.parse().unwrap();
            assert_eq!(measured(&objective, figure), shown, "{objective}");
        }
    }
}
