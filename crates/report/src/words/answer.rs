//! The outcome of a comparison, as a sign and in a word or two.

use super::{joined, on};
use crate::findings::verdict::{Combined, Comparison, Outcome, PlacementVerdict};

/// The outcome of a comparison, shown as a sign, a label or a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Better,
    Worse,
    Same,
    Depends,
    Open,
    Nothing,
    /// An A/A check, which is not an answer.
    Check,
}

/// The meaning of the signs.
pub(crate) const SIGNS: &str =
    "▲ better, ▼ worse, = no difference, ? not resolved, ~ depends on placement";

impl Answer {
    /// The answer of a whole comparison.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        if comparison.combined == Combined::DependsOnPlacement {
            return Self::Depends;
        }
        let mut answers = comparison.placements.iter().map(Self::under);
        let first = answers.clone().next();
        let resolved = answers.find(|answer| !matches!(answer, Self::Open | Self::Nothing));
        resolved.or(first).unwrap_or(Self::Nothing)
    }

    /// The answer under one placement.
    pub(crate) fn under(verdict: &PlacementVerdict) -> Self {
        match verdict.outcome {
            Outcome::Faster => Self::Better,
            Outcome::Slower => Self::Worse,
            Outcome::NoDifference => Self::Same,
            Outcome::NotResolved { .. } => Self::Open,
            Outcome::NoVerdict { .. } => Self::Nothing,
        }
    }

    pub(crate) fn sign(self) -> char {
        match self {
            Self::Better => '▲',
            Self::Worse => '▼',
            Self::Same => '=',
            Self::Depends => '~',
            Self::Open | Self::Nothing => '?',
            Self::Check => '·',
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "no difference",
            Self::Depends => "depends on placement",
            Self::Open => "not resolved",
            Self::Nothing => "no verdict",
            Self::Check => "A/A check",
        }
    }
}

/// A comparison's answer in a few words. If some placements leave it open, the text names those that show it.
pub(crate) fn answer(comparison: &Comparison) -> String {
    let answer = Answer::of(comparison);
    if comparison.combined != Combined::Unconfirmed {
        return answer.label().to_owned();
    }
    let same = comparison
        .placements
        .iter()
        .filter(|v| Answer::under(v) == answer);
    let places = joined(same.map(|v| on(v.placement)), " and ");
    format!("{} {places} only", answer.label())
}
