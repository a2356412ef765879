//! The outcome of a comparison, as a sign and in a word or two.

use super::{joined, on};
use crate::findings::verdict::{Combined, Comparison, OverallVerdict, PlacementVerdict};

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
        comparison.verdict.into()
    }

    /// The answer under one placement.
    pub(crate) fn under(verdict: &PlacementVerdict) -> Self {
        OverallVerdict::from(verdict.outcome).into()
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

impl From<OverallVerdict> for Answer {
    fn from(verdict: OverallVerdict) -> Self {
        match verdict {
            OverallVerdict::Faster => Self::Better,
            OverallVerdict::Slower => Self::Worse,
            OverallVerdict::NoDifference => Self::Same,
            OverallVerdict::DependsOnPlacement => Self::Depends,
            OverallVerdict::NotResolved => Self::Open,
            OverallVerdict::NoVerdict => Self::Nothing,
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
