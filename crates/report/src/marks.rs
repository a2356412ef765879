//! Marks beside figures: what must be known of them, in a letter or a few words.

use std::collections::BTreeSet;

use rpcgauge_study::record::Code;

use crate::findings::{Cell, TrialCounts};

/// What must be known of a cell beside its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    ClientBound,
    Unsettled,
    FailedCalls,
    FailedConnects,
    NeverBegun,
    Uncompressed,
    Incomplete,
    Dynamic,
}

impl Mark {
    const ALL: [Self; 8] = [
        Self::ClientBound,
        Self::Unsettled,
        Self::FailedCalls,
        Self::FailedConnects,
        Self::NeverBegun,
        Self::Uncompressed,
        Self::Incomplete,
        Self::Dynamic,
    ];

    /// A letter for where there is little room.
    fn letter(self) -> char {
        match self {
            Self::ClientBound => 'C',
            Self::Unsettled => 'U',
            Self::FailedCalls => 'F',
            Self::FailedConnects => 'X',
            Self::NeverBegun => 'N',
            Self::Uncompressed => 'P',
            Self::Incomplete => 'I',
            Self::Dynamic => 'D',
        }
    }

    /// Which of a cell's trials it is about, and of how many, where it is about trials: what was not
    /// measured of the planned ones, else what is so of the measured ones.
    fn trials(self, trials: &TrialCounts) -> Option<(u64, u64)> {
        let measured = |count| Some((count, trials.measured));
        match self {
            Self::ClientBound => measured(trials.client_bound),
            Self::Unsettled => measured(trials.unsettled),
            Self::FailedConnects => measured(trials.connects_failed),
            Self::NeverBegun => measured(trials.never_begun),
            Self::Uncompressed => measured(trials.uncompressed),
            Self::Incomplete => Some((trials.planned - trials.measured, trials.planned)),
            Self::FailedCalls | Self::Dynamic => None,
        }
    }

    /// In a word or two.
    fn name(self) -> &'static str {
        match self {
            Self::ClientBound => "client-bound",
            Self::Unsettled => "unsettled",
            Self::FailedCalls => "failed calls",
            Self::FailedConnects => "failed connects",
            Self::NeverBegun => "calls never begun",
            Self::Uncompressed => "plain answers",
            Self::Incomplete => "incomplete",
            Self::Dynamic => "dynamic code",
        }
    }

    /// In full.
    fn meaning(self) -> &'static str {
        match self {
            Self::ClientBound => "the client used more than 80% of its core",
            Self::Unsettled => "latency was still drifting when measuring began",
            Self::FailedCalls => "some calls failed",
            Self::FailedConnects => "attempts to open a connection failed",
            Self::NeverBegun => "calls were due but not begun before the trial ended",
            Self::Uncompressed => "answers came uncompressed although a compression was asked for",
            Self::Incomplete => "trials failed or did not run",
            Self::Dynamic => "a descriptor was interpreted, no generated code",
        }
    }
}

/// The marks of a cell.
fn marks(cell: &Cell) -> Vec<Mark> {
    let figures = cell.figures.as_deref();
    let has = |mark: &Mark| match mark {
        Mark::FailedCalls => figures.is_some_and(|f| f.calls.failed_total() > 0),
        Mark::Dynamic => figures.is_some_and(|f| f.code.contains(&Code::Dynamic)),
        of_trials => of_trials
            .trials(&cell.trials)
            .is_some_and(|(count, _)| count > 0),
    };
    Mark::ALL.into_iter().filter(has).collect()
}

/// The letters of a cell's marks: capital, or small where only a minority of its trials is meant.
pub(crate) fn letters(cell: &Cell) -> String {
    let letter = |mark: Mark| {
        if is_minority(mark, cell) {
            mark.letter().to_ascii_lowercase()
        } else {
            mark.letter()
        }
    };
    marks(cell).into_iter().map(letter).collect()
}

/// The names of a cell's marks that are cautions, each with its trials; how its code was made
/// stands elsewhere.
pub(crate) fn names(cell: &Cell) -> String {
    let name = |mark: Mark| match mark.trials(&cell.trials) {
        Some((count, of)) => format!("{} {count}/{of}", mark.name()),
        None => mark.name().to_owned(),
    };
    let cautions = marks(cell).into_iter().filter(|m| *m != Mark::Dynamic);
    cautions.map(name).collect::<Vec<_>>().join(", ")
}

/// The names of those cautions that are about more than a minority of a cell's trials.
pub(crate) fn main(cell: &Cell) -> String {
    let is_main = |m: &Mark| *m != Mark::Dynamic && !is_minority(*m, cell);
    let marks = marks(cell).into_iter().filter(is_main);
    marks.map(Mark::name).collect::<Vec<_>>().join(", ")
}

fn is_minority(mark: Mark, cell: &Cell) -> bool {
    mark.trials(&cell.trials)
        .is_some_and(|(count, of)| count * 2 <= of)
}

/// What the letters of some cells mean, for a footnote; only those that are used.
pub(crate) fn legend<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<String> {
    let used: BTreeSet<char> = cells
        .flat_map(|cell| letters(cell).chars().collect::<Vec<_>>())
        .collect();
    let meaning = |mark: &Mark| {
        let (all, some) = (mark.letter(), mark.letter().to_ascii_lowercase());
        let small = used.contains(&some);
        (small || used.contains(&all)).then(|| {
            let small = if small {
                format!(" ({some}: in at most half of the trials)")
            } else {
                String::new()
            };
            format!("{all} {}: {}{small}", mark.name(), mark.meaning())
        })
    };
    Mark::ALL.iter().filter_map(meaning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Findings;
    use crate::fixture::{findings, two};

    #[test]
    fn a_small_letter_is_a_minority() {
        let mut found = findings(&two(2.0).build());
        let first = |findings: &Findings| letters(&findings.variants[0].cells[0]);
        assert_eq!(first(&found), "");
        found.variants[0].cells[0].trials.unsettled = 2;
        assert_eq!(first(&found), "u");
        assert_eq!(main(&found.variants[0].cells[0]), "");
        assert_eq!(names(&found.variants[0].cells[0]), "unsettled 2/12");
        found.variants[0].cells[0].trials.unsettled = 12;
        assert_eq!(first(&found), "U");
        let legend = legend(found.variants[0].cells.iter());
        assert_eq!(
            legend,
            ["U unsettled: latency was still drifting when measuring began"]
        );
    }

    #[test]
    fn of_an_interrupted_run_the_measured_trials_count() {
        let mut builder = two(2.0);
        builder.specs[0].client_share = 0.95;
        let mut sample = builder.build();
        sample.trials.retain(|trial| trial.trial.invocation == 0);
        let found = findings(&sample);
        let cell = &found.variants[0].cells[0];
        assert_eq!(names(cell), "client-bound 3/3, incomplete 9/12");
        assert_eq!(letters(cell), "CI");
    }
}
