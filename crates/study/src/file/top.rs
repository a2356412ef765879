//! The study's own keys: question, seed, repetitions, placement, bounds.

use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::error::StudyError;
use crate::objective::Objective;
use crate::plan::check::{CONFIDENCE, MARGIN};
use crate::read::{Line, Table, Time, one_or_more, value};
use crate::settings::{Idle, Placement, Stop};
use crate::words::parse_time_ms;

/// Keys that are valid only at the top level of a study.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Top {
    pub(super) question: Option<Line>,
    pub(crate) seed: Option<u64>,
    pub(crate) idle: Option<Spanned<Idle>>,
    pub(crate) margin: Option<Spanned<f64>>,
    pub(crate) confidence: Option<Spanned<f64>>,
    /// How long a slice should last when variants take turns.
    pub(crate) slice: Option<Time>,
    pub(crate) a_a: Option<Spanned<Line>>,
    /// How long the whole run may take.
    pub(crate) budget: Option<Spanned<Time>>,
    /// The objectives that every live service must meet.
    pub(crate) objectives: Option<Spanned<Vec<Objective>>>,
    pub(crate) capacity: Option<Spanned<CapacityWritten>>,
}

/// `[capacity]` as written: a search for the highest rate that meets all objectives.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CapacityWritten {
    pub(crate) start_rate: Option<Spanned<f64>>,
    pub(crate) max_rate: Option<Spanned<f64>>,
    pub(crate) precision: Option<Spanned<f64>>,
}

/// `placement` as written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlacementWritten {
    pub(crate) main: Option<Spanned<Placement>>,
    pub(crate) others: Option<Spanned<Others>>,
    pub(crate) invocations: Option<Spanned<NonZeroU32>>,
    pub(crate) blocks: Option<Spanned<NonZeroU32>>,
    /// Its position in the file.
    #[serde(skip)]
    pub(crate) place: Option<Range<usize>>,
}

/// One placement or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Others(#[serde(deserialize_with = "one_or_more")] pub(crate) Vec<Placement>);

/// `warm-up` as written: the bounds after which a trial that has not settled is measured anyway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmupWritten {
    pub(crate) calls: Option<NonZeroU64>,
    pub(crate) time: Option<WarmupTime>,
}

/// The maximum time of a warm-up, ms; 0 disables the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct WarmupTime(pub(crate) u64);

impl TryFrom<String> for WarmupTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "0" | "0s" | "0ms" => Ok(Self(0)),
            text => parse_time_ms(text).map(Self),
        }
    }
}

impl WarmupWritten {
    /// The bounds; `None` if neither key is set.
    pub(crate) fn stop(&self) -> Option<Stop> {
        let (calls, time_ms) = match (self.calls, self.time) {
            (None, None) => return None,
            // A time of 0 disables the warm-up, whatever the number of calls.
            (_, Some(WarmupTime(0))) => (None, Some(0)),
            (calls, time) => (calls.map(NonZeroU64::get), time.map(|WarmupTime(ms)| ms)),
        };
        Some(Stop { calls, time_ms })
    }
}

impl Top {
    /// Reads the remaining keys of the file.
    pub(super) fn read(table: Table<'_>) -> Result<Self, StudyError> {
        let source = table.source;
        let top: Self = table.rest()?;
        for (share, value) in [(MARGIN, &top.margin), (CONFIDENCE, &top.confidence)] {
            if let Some(value) = value {
                share
                    .check(*value.get_ref())
                    .map_err(|message| source.error(value.span(), message))?;
            }
        }
        Ok(top)
    }
}

impl PlacementWritten {
    pub(super) fn read(table: &mut Table<'_>) -> Result<Self, StudyError> {
        let Some(table) = table.table_or("placement", "main")? else {
            return Ok(Self::default());
        };
        let (source, place) = (table.source, table.span.clone());
        let written: Self = table.rest()?;
        if let Some(others) = &written.others {
            let main = value(&written.main);
            let Others(all) = others.get_ref();
            let is_repeated = |at: usize| Some(all[at]) == main || all[..at].contains(&all[at]);
            if (0..all.len()).any(is_repeated) {
                let message =
                    "duplicate placement; \"others\" lists the placements besides \"main\"";
                return Err(source.error(others.span(), message));
            }
        }
        Ok(Self {
            place: Some(place),
            ..written
        })
    }
}
