//! The study's own keys: question, seed, repetitions, placement, bounds.

use rpcgauge_message::whole_file::without_mark;
use toml::Spanned;

use super::part::{Group, PART_KEYS, Part, belongs_into};
use super::read::{Entry, Table};
use crate::error::StudyError;
use crate::settings::{Idle, Placement};

/// Keys that only the study itself has.
pub(super) const TOP_KEYS: [&str; 10] = [
    "question",
    "seed",
    "placement",
    "idle",
    "margin",
    "confidence",
    "warm-up",
    "slice",
    "a-a",
    "groups",
];

pub(super) const PLACEMENT_KEYS: [&str; 4] = ["main", "others", "invocations", "blocks"];
pub(super) const WARMUP_KEYS: [&str; 2] = ["calls", "time"];

/// A whole study as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Top {
    pub(crate) question: String,
    pub(crate) seed: Option<u64>,
    pub(crate) placement: PlacementWritten,
    pub(crate) idle: Option<Idle>,
    pub(crate) margin: Option<f64>,
    pub(crate) confidence: Option<f64>,
    pub(crate) warmup: WarmupWritten,
    /// How long a slice should last where variants are measured in turn, ms.
    pub(crate) slice_ms: Option<u64>,
    pub(crate) a_a: Option<Spanned<String>>,
    pub(crate) part: Part,
    pub(crate) groups: Vec<Group>,
}

/// `placement` as written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PlacementWritten {
    pub(crate) main: Option<Spanned<Placement>>,
    pub(crate) others: Option<Vec<Spanned<Placement>>>,
    pub(crate) invocations: Option<Spanned<u32>>,
    pub(crate) blocks: Option<Spanned<u32>>,
}

/// `warm-up` as written: the bounds after which a trial that has not settled is measured anyway.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WarmupWritten {
    pub(crate) calls: Option<u64>,
    pub(crate) time_ms: Option<u64>,
}

impl Top {
    pub(super) fn read(table: &Table<'_>, text: &str) -> Result<Self, StudyError> {
        let mut keys = TOP_KEYS.to_vec();
        keys.extend(PART_KEYS);
        table.known(&keys, |key| belongs_into("[base]", key))?;
        let fraction = |key: &str, low: f64, high: f64| -> Result<Option<f64>, StudyError> {
            let Some(entry) = table.get(key) else {
                return Ok(None);
            };
            let value = *entry.number()?.get_ref();
            if value > low && value < high {
                return Ok(Some(value));
            }
            Err(entry.error(format!(
                "\"{key}\" must be between {low} and {high}, not {value}"
            )))
        };
        Ok(Self {
            question: read_question(table, text)?,
            seed: table
                .read("seed", |entry| entry.integer(0, i64::MAX as u64))?
                .map(Spanned::into_inner),
            placement: table
                .read("placement", PlacementWritten::read)?
                .unwrap_or_default(),
            idle: table.read("idle", Entry::word)?.map(Spanned::into_inner),
            margin: fraction("margin", 0.0, 1.0)?,
            confidence: fraction("confidence", 0.5, 1.0)?,
            warmup: table
                .read("warm-up", WarmupWritten::read)?
                .unwrap_or_default(),
            slice_ms: table
                .read("slice", Entry::time_ms)?
                .map(Spanned::into_inner),
            a_a: table.read("a-a", Entry::line)?,
            part: Part::read(table)?,
            groups: match table.get("groups") {
                None => Vec::new(),
                Some(entry) => entry
                    .tables("[[groups]]")?
                    .iter()
                    .map(Group::read)
                    .collect::<Result<_, _>>()?,
            },
        })
    }
}

/// The question: its key, or else the comment in the first line.
fn read_question(table: &Table<'_>, text: &str) -> Result<String, StudyError> {
    if let Some(entry) = table.get("question") {
        return entry.line().map(Spanned::into_inner);
    }
    let first = without_mark(text).lines().next();
    let first = first.and_then(|line| line.strip_prefix('#'));
    match first.map(|comment| comment.trim_matches(['#', ' '])) {
        Some(question) if !question.is_empty() => Ok(question.to_owned()),
        _ => Err(table.error(
            "a study begins with its question; write question = \"Is …?\" or a comment in the first line",
        )),
    }
}

impl PlacementWritten {
    fn read(entry: Entry<'_>) -> Result<Self, StudyError> {
        if !entry.is_table() {
            return Ok(Self {
                main: Some(entry.word()?),
                ..Self::default()
            });
        }
        let table = entry.table("\"placement\"")?;
        table.known(&PLACEMENT_KEYS, |_| None)?;
        let others = match table.get("others") {
            None => None,
            Some(entry) => Some(
                entry
                    .one_or_more()?
                    .into_iter()
                    .map(Entry::word)
                    .collect::<Result<Vec<_>, _>>()?,
            ),
        };
        let written = Self {
            main: table.read("main", Entry::word)?,
            others,
            invocations: table.read("invocations", Entry::count)?,
            blocks: table.read("blocks", Entry::count)?,
        };
        let mut seen: Vec<Placement> = written.main.iter().map(|main| *main.get_ref()).collect();
        for other in written.others.iter().flatten() {
            if seen.contains(other.get_ref()) {
                let message =
                    "this placement stands twice; \"others\" are checked besides \"main\"";
                return Err(table.source.error(other.span(), message));
            }
            seen.push(*other.get_ref());
        }
        Ok(written)
    }
}

impl WarmupWritten {
    fn read(entry: Entry<'_>) -> Result<Self, StudyError> {
        let table = entry.table("\"warm-up\"")?;
        table.known(&WARMUP_KEYS, |_| None)?;
        Ok(Self {
            calls: table
                .read("calls", |entry| entry.integer(1, u64::from(u32::MAX)))?
                .map(Spanned::into_inner),
            time_ms: table.read("time", Entry::time_ms)?.map(Spanned::into_inner),
        })
    }
}
