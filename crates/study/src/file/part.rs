//! What both a whole study and a group of it have: workload, base, factors, variants, pairs,
//! claims.

use std::collections::BTreeMap;

use toml::Spanned;

use super::read::{Entry, Table};
use super::setting::{Key, Layer, Value, refuse_contradictions, setting_keys};
use super::workload::WorkloadWritten;
use crate::error::{Source, StudyError};
use crate::plan::{Metric, Published};
use crate::words::Word;

/// Keys that a study and a group share.
pub(super) const PART_KEYS: [&str; 9] = [
    "workload",
    "base",
    "factors",
    "exclude",
    "variants",
    "pairs",
    "claims",
    "invocations",
    "blocks",
];

pub(super) const PAIR_KEYS: [&str; 5] = ["of", "against", "metric", "question", "headline"];
pub(super) const CLAIM_KEYS: [&str; 7] = [
    "name",
    "source",
    "says",
    "of",
    "against",
    "metric",
    "published",
];
pub(super) const PUBLISHED_KEYS: [&str; 3] = ["of", "against", "unit"];

/// One question's part of a study.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) workload: Option<WorkloadWritten>,
    pub(crate) base: Layer,
    pub(crate) factors: BTreeMap<Key, Vec<Spanned<Value>>>,
    pub(crate) excludes: Vec<Exclude>,
    pub(crate) variants: Vec<VariantWritten>,
    pub(crate) pairs: Vec<PairWritten>,
    pub(crate) claims: Vec<ClaimWritten>,
    pub(crate) invocations: Option<Spanned<u32>>,
    pub(crate) blocks: Option<Spanned<u32>>,
}

/// A part of the study with a name and a question of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: Spanned<String>,
    pub(crate) question: Option<String>,
    pub(crate) part: Part,
}

/// Combinations to leave out: those that have one of the values for each key.
pub(crate) type Exclude = Spanned<BTreeMap<Key, Vec<Spanned<Value>>>>;

/// A variant as listed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VariantWritten {
    pub(crate) name: Spanned<String>,
    pub(crate) workload: Option<WorkloadWritten>,
    pub(crate) settings: Layer,
}

/// The two variants of a pair or a claim, by name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Names {
    pub(crate) of: Spanned<String>,
    pub(crate) against: Spanned<String>,
}

/// A pair as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairWritten {
    pub(crate) names: Names,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) question: Option<String>,
    pub(crate) headline: bool,
}

/// A claim as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClaimWritten {
    pub(crate) span: std::ops::Range<usize>,
    pub(crate) name: Option<String>,
    pub(crate) names: Names,
    pub(crate) source: String,
    pub(crate) says: String,
    pub(crate) metric: Metric,
    pub(crate) published: Published,
}

impl Part {
    pub(super) fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        Ok(Self {
            workload: table.read("workload", WorkloadWritten::read)?,
            base: table.read("base", read_base)?.unwrap_or_default(),
            factors: table.read("factors", read_factors)?.unwrap_or_default(),
            excludes: table.all("exclude", "[[exclude]]", read_exclude)?,
            variants: table.all("variants", "[[variants]]", VariantWritten::read)?,
            pairs: table.all("pairs", "[[pairs]]", PairWritten::read)?,
            claims: table.all("claims", "[[claims]]", ClaimWritten::read)?,
            invocations: table.read("invocations", Entry::count)?,
            blocks: table.read("blocks", Entry::count)?,
        })
    }
}

impl Group {
    pub(super) fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        let mut keys = vec!["name", "question"];
        keys.extend(PART_KEYS);
        table.known(&keys, |key| belongs_into("[groups.base]", key))?;
        Ok(Self {
            name: read_name(table, "name = \"small-messages\"")?,
            question: table
                .read("question", Entry::line)?
                .map(Spanned::into_inner),
            part: Part::read(table)?,
        })
    }
}

/// Settings are the commonest keys to stand one level too high.
pub(super) fn belongs_into(base: &str, key: &str) -> Option<String> {
    Key::from_word(key).map(|_| format!("it is a setting: write it under {base}"))
}

fn read_name(table: &Table<'_>, example: &str) -> Result<Spanned<String>, StudyError> {
    let name = table.need("name", example)?.line()?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:+".contains(c);
    // After `--only` and `--against` a name with `-` before it would be taken for an option.
    if name.get_ref().chars().all(plain) && !name.get_ref().starts_with('-') {
        return Ok(name);
    }
    Err(table.source.error(
        name.span(),
        format!(
            "the name \"{}\" must be of lower-case letters, digits and - . : +, and begin with no -",
            name.get_ref()
        ),
    ))
}

fn read_base(entry: Entry<'_>) -> Result<Layer, StudyError> {
    let table = entry.table("[base]")?;
    table.known(&setting_keys(), |_| None)?;
    Layer::read(&table)
}

fn read_factors(entry: Entry<'_>) -> Result<BTreeMap<Key, Vec<Spanned<Value>>>, StudyError> {
    let table = entry.table("[factors]")?;
    table.known(&setting_keys(), |_| None)?;
    let mut factors = BTreeMap::new();
    for (name, entry) in table.entries() {
        let Some(key) = Key::from_word(name.get_ref()) else {
            continue;
        };
        let values: Vec<_> = entry
            .list()?
            .into_iter()
            .map(|item| key.read(item))
            .collect::<Result<_, _>>()?;
        refuse_repeats(table.source, &values)?;
        factors.insert(key, values);
    }
    refuse_contradictions(table.source, |key| {
        factors
            .get(&key)
            .and_then(|values| values.first())
            .map(Spanned::span)
    })?;
    Ok(factors)
}

fn refuse_repeats(source: &Source, values: &[Spanned<Value>]) -> Result<(), StudyError> {
    for (place, value) in values.iter().enumerate() {
        if values[..place]
            .iter()
            .any(|before| before.get_ref() == value.get_ref())
        {
            let message = format!("the value {} stands twice in this list", value.get_ref());
            return Err(source.error(value.span(), message));
        }
    }
    Ok(())
}

fn read_exclude(table: &Table<'_>) -> Result<Exclude, StudyError> {
    table.known(&setting_keys(), |_| None)?;
    let mut settings = BTreeMap::new();
    for (name, entry) in table.entries() {
        let Some(key) = Key::from_word(name.get_ref()) else {
            continue;
        };
        let items = entry.one_or_more()?;
        settings.insert(
            key,
            items
                .into_iter()
                .map(|item| key.read(item))
                .collect::<Result<_, _>>()?,
        );
    }
    if settings.is_empty() {
        return Err(table.error("this [[exclude]] says no setting, so it would exclude everything"));
    }
    Ok(Spanned::new(table.span(), settings))
}

impl VariantWritten {
    fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        let mut keys = vec!["name", "workload"];
        keys.extend(setting_keys());
        table.known(&keys, |_| None)?;
        Ok(Self {
            name: read_name(table, "name = \"grpc-gzip\"")?,
            workload: table.read("workload", WorkloadWritten::read)?,
            settings: Layer::read(table)?,
        })
    }
}

impl Names {
    fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        let names = Self {
            of: table
                .need("of", "of = \"grpc\", a variant's name")?
                .line()?,
            against: table
                .need("against", "against = \"rest-json\", a variant's name")?
                .line()?,
        };
        if names.of.get_ref() == names.against.get_ref() {
            return Err(table.source.error(
                names.against.span(),
                "a variant is held against itself; the A/A pair is there in every study",
            ));
        }
        Ok(names)
    }
}

impl PairWritten {
    fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        table.known(&PAIR_KEYS, |_| None)?;
        let metrics = match table.get("metric") {
            None => vec![Metric::LatencyP50],
            Some(entry) => entry
                .one_or_more()?
                .into_iter()
                .map(|item| item.word().map(Spanned::into_inner))
                .collect::<Result<_, _>>()?,
        };
        Ok(Self {
            names: Names::read(table)?,
            metrics,
            question: table
                .read("question", Entry::line)?
                .map(Spanned::into_inner),
            headline: table
                .read("headline", Entry::boolean)?
                .is_some_and(Spanned::into_inner),
        })
    }
}

impl ClaimWritten {
    fn read(table: &Table<'_>) -> Result<Self, StudyError> {
        table.known(&CLAIM_KEYS, |_| None)?;
        let published = table
            .need(
                "published",
                "published = { of = 1.5, against = 3.0, unit = \"ms\" }",
            )?
            .table("\"published\"")?;
        published.known(&PUBLISHED_KEYS, |_| None)?;
        Ok(Self {
            span: table.span(),
            name: table.read("name", Entry::line)?.map(Spanned::into_inner),
            names: Names::read(table)?,
            source: table
                .need("source", "source = \"title, year\"")?
                .line()?
                .into_inner(),
            says: table
                .need("says", "says = \"what was published\"")?
                .line()?
                .into_inner(),
            metric: table
                .need("metric", "metric = \"latency-mean\"")?
                .word()?
                .into_inner(),
            published: Published {
                of: published.need("of", "of = 1.5")?.positive()?.into_inner(),
                against: published
                    .need("against", "against = 3.0")?
                    .positive()?
                    .into_inner(),
                unit: published
                    .need("unit", "unit = \"ms\"")?
                    .line()?
                    .into_inner(),
            },
        })
    }
}
