//! Failed trials for the lists in reports, grouped by variant, placement and reason.

use std::collections::BTreeMap;

use rpcgauge_study::settings::Placement;

use crate::findings::{FailedTrial, Findings};
use crate::units;
use crate::words::joined;

/// The maximum number of failures to list. The others are only counted, since reasons may differ only in a port or a
/// path, and each has a log of some kilobytes.
pub(crate) const MAX_LISTED: usize = 20;

/// Trials that failed in the same way.
pub(crate) struct Failure<'a> {
    /// The first of these trials.
    pub(crate) first: &'a FailedTrial,
    /// The numbers of all these trials.
    pub(crate) trials: Vec<u32>,
}

impl Failure<'_> {
    /// `trial 3`, or `trials 3, 8`.
    pub(crate) fn numbers(&self) -> String {
        match &self.trials[..] {
            [only] => format!("trial {only}"),
            several => format!("trials {}", joined(several, ", ")),
        }
    }
}

/// The failures to list, in order of occurrence, and the number of trials that failed in other ways.
pub(crate) struct Failures<'a> {
    pub(crate) listed: Vec<Failure<'a>>,
    pub(crate) others: usize,
}

impl<'a> Failures<'a> {
    /// The failures of variants with a measured trial. [`crate::findings::VariantFindings::not_run`] explains the
    /// failures of other variants.
    pub(crate) fn of(findings: &'a Findings) -> Self {
        let mut places: BTreeMap<(&str, Placement, &str), usize> = BTreeMap::new();
        let mut listed: Vec<Failure<'a>> = Vec::new();
        let is_measured = |trial: &&FailedTrial| {
            let variant = findings.variant(&trial.variant);
            variant.is_none_or(|v| v.not_run.is_empty())
        };
        for trial in findings.failures.iter().filter(is_measured) {
            let key = (&*trial.variant, trial.placement, &*trial.reason);
            let place = *places.entry(key).or_insert(listed.len());
            match listed.get_mut(place) {
                Some(failure) => failure.trials.push(trial.index),
                None => listed.push(Failure {
                    first: trial,
                    trials: vec![trial.index],
                }),
            }
        }
        let others = listed.iter().skip(MAX_LISTED);
        let others = others.map(|f| f.trials.len()).sum();
        listed.truncate(MAX_LISTED);
        Self { listed, others }
    }

    /// A note about the trials that are not listed; `None` if all are.
    pub(crate) fn left_out(&self) -> Option<String> {
        let others = units::counted(self.others as u64, "more trial");
        (self.others > 0).then(|| format!("{others} failed in other ways; trials.csv lists them"))
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::record::TrialOutcome;

    use super::*;
    use crate::fixture::{Builder, Sample, findings, two};

    /// A run in which all trials of `rest` except the first fail, for the given reasons.
    fn failing(reasons: impl Fn(usize) -> String) -> Sample {
        let builder = Builder {
            invocations: 20,
            calls: 50,
            ..two(2.0)
        };
        let mut sample = builder.build();
        let of_rest = sample.trials.iter_mut().filter(|t| t.variant == "rest");
        for (number, trial) in of_rest.skip(1).enumerate() {
            trial.outcome = TrialOutcome::Failed {
                reason: reasons(number),
                fault: rpcgauge_study::record::Fault::Machine,
                requests_sent: None,
                log: "<".repeat(4 << 10),
            };
        }
        sample
    }

    #[test]
    fn trials_that_failed_in_the_same_way_are_one_failure() {
        let findings = findings(&failing(|number| format!("reason {}", number % 2)));
        let failures = Failures::of(&findings);
        let numbers: Vec<usize> = failures.listed.iter().map(|f| f.trials.len()).collect();
        assert_eq!(numbers, [30, 29]);
        assert_eq!(failures.left_out(), None);
        let first = &failures.listed[0];
        assert!(
            first
                .numbers()
                .starts_with(&format!("trials {}, ", first.first.index))
        );
        let text = crate::markdown::render(&findings);
        let line = format!(
            "#### Failed trials\n\n- rest on two cores, {}: reason 0 (the machine)\n",
            first.numbers()
        );
        assert!(text.contains(&line), "{text}");
    }

    #[test]
    fn of_many_failures_the_first_are_listed_and_the_page_stays_small() {
        let findings = findings(&failing(|number| format!("port {number} was in use")));
        let failures = Failures::of(&findings);
        assert_eq!(failures.listed.len(), MAX_LISTED);
        let others = "39 more trials failed in other ways; trials.csv lists them";
        assert_eq!(failures.left_out().as_deref(), Some(others));
        let page = crate::html::render(&findings);
        assert!(page.len() < crate::html::LIMIT, "{} bytes", page.len());
        assert!(page.contains(others));
        assert!(crate::markdown::render(&findings).contains(others));
    }
}
