//! The keys that a study and each of its groups can contain: workload, base, factors, variants, pairs, claims.

use std::num::NonZeroU32;

use serde::Deserialize;
use toml::Spanned;

use super::layer::{Exclude, Layer, Values, exclude, factors};
use super::service::ServiceWritten;
use super::top::WarmupWritten;
use super::workload::WorkloadWritten;
use crate::error::StudyError;
use crate::plan::{Metric, Published};
use crate::read::{Line, Table, filled, one_or_more};
use crate::setting::Key;

/// The keys of a study, or of one of its groups, that describe what to compare.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) workload: Option<WorkloadWritten>,
    pub(crate) service: Option<ServiceWritten>,
    pub(crate) base: Layer,
    pub(crate) factors: Values,
    pub(crate) excludes: Vec<Exclude>,
    pub(crate) variants: Vec<VariantWritten>,
    pub(crate) pairs: Vec<PairWritten>,
    pub(crate) claims: Vec<ClaimWritten>,
    pub(crate) invocations: Option<Spanned<NonZeroU32>>,
    pub(crate) blocks: Option<Spanned<NonZeroU32>>,
    pub(crate) processes: Option<Processes>,
    pub(crate) warm_up: Option<Spanned<WarmupWritten>>,
}

/// Whether variants share processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Processes {
    /// Variants share a process if one program contains their stacks.
    Shared,
    /// Each variant has its own processes.
    Own,
}

/// A named part of the study with its own question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub(crate) name: Spanned<Name>,
    pub(crate) part: Part,
}

/// A variant as listed under `[[variants]]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VariantWritten {
    pub(crate) name: Spanned<Name>,
    pub(crate) workload: Option<WorkloadWritten>,
    pub(crate) service: Option<ServiceWritten>,
    pub(crate) settings: Layer,
}

/// The name of a variant or group.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Name(pub(crate) String);

/// A pair as written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PairWritten {
    pub(crate) of: Spanned<Line>,
    pub(crate) against: Spanned<Line>,
    #[serde(default = "latency", deserialize_with = "one_or_more")]
    pub(crate) metric: Vec<Metric>,
    pub(crate) question: Option<Line>,
    #[serde(default)]
    pub(crate) headline: bool,
}

fn latency() -> Vec<Metric> {
    vec![Metric::LatencyP50]
}

/// A claim as written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimWritten {
    pub(crate) of: Spanned<Line>,
    pub(crate) against: Spanned<Line>,
    pub(crate) name: Option<Line>,
    pub(crate) source: Line,
    pub(crate) says: Line,
    pub(crate) metric: Metric,
    pub(crate) published: Spanned<Published>,
    #[serde(default, deserialize_with = "filled")]
    pub(crate) stacks: Vec<StackName>,
}

/// A stack as `SUBJECT/STACK`. The stack need not exist: a publication may have measured stacks that are not installed
/// here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct StackName(pub(crate) String);

impl TryFrom<String> for StackName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let is_part = |part: &str| {
            let mut letters = part.chars();
            !part.is_empty() && letters.all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
        };
        match name.split_once('/') {
            Some((subject, stack)) if is_part(subject) && is_part(stack) => Ok(Self(name)),
            _ => Err(format!(
                "\"{name}\" is not a stack: write SUBJECT/STACK, such as \"go/grpc-go\""
            )),
        }
    }
}

impl Part {
    pub(super) fn read(table: &mut Table<'_>) -> Result<Self, StudyError> {
        let part = Self {
            workload: WorkloadWritten::read(table)?,
            service: ServiceWritten::read(table)?,
            base: table
                .table("base")?
                .map_or(Ok(Layer::default()), Layer::read)?,
            factors: table.table("factors")?.map_or(Ok(Values::new()), factors)?,
            excludes: each(table.tables("exclude")?, exclude)?,
            variants: each(table.tables("variants")?, VariantWritten::read)?,
            pairs: each(table.tables("pairs")?, Table::rest)?,
            claims: each(table.tables("claims")?, Table::rest)?,
            invocations: table.take("invocations")?,
            blocks: table.take("blocks")?,
            processes: table.take("processes")?,
            warm_up: table.take("warm-up")?,
        };
        let compared = part.pairs.iter().map(|pair| (&pair.of, &pair.against));
        let claimed = part.claims.iter().map(|claim| (&claim.of, &claim.against));
        let mut both = compared.chain(claimed);
        if let Some((_, against)) = both.find(|(of, against)| of == against) {
            let message = "a variant is compared with itself; every study already has an A/A pair";
            return Err(table.source.error(against.span(), message));
        }
        let mut figures = part.claims.iter().map(|claim| &claim.published);
        if let Some(published) = figures.find(|published| !published.get_ref().is_sound()) {
            return Err(table.source.error(published.span(), Published::UNSOUND));
        }
        Ok(part)
    }
}

pub(super) fn each<'a, T>(
    tables: Vec<Table<'a>>,
    read: impl Fn(Table<'a>) -> Result<T, StudyError>,
) -> Result<Vec<T>, StudyError> {
    tables.into_iter().map(read).collect()
}

impl Group {
    pub(super) fn read(table: Table<'_>) -> Result<Self, StudyError> {
        let mut table = table.hinting(|key| {
            Key::from_name(key).map(|_| "it is a setting: write it under [groups.base]")
        });
        let name = table.need("name")?;
        // A group's question is only for readers of the file: its pairs have their own.
        let _: Option<Line> = table.take("question")?;
        let part = Part::read(&mut table)?;
        table.end()?;
        Ok(Self { name, part })
    }
}

impl VariantWritten {
    fn read(mut table: Table<'_>) -> Result<Self, StudyError> {
        Ok(Self {
            name: table.need("name")?,
            workload: WorkloadWritten::read(&mut table)?,
            service: ServiceWritten::read(&mut table)?,
            settings: Layer::read(table)?,
        })
    }
}

/// The maximum number of characters in a name. Names are shown in tables and used in file names.
const MAX_NAME_CHARS: usize = 200;

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let length = name.chars().count();
        if length > MAX_NAME_CHARS {
            return Err(format!(
                "this name has {length} characters; the limit is {MAX_NAME_CHARS}"
            ));
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-./:+=@".contains(c);
        // After `--only` and `--against`, a name that begins with `-` would be parsed as an option.
        if !name.is_empty() && name.chars().all(plain) && !name.starts_with('-') {
            return Ok(Self(name));
        }
        Err(format!(
            "the name \"{name}\" must consist of lower-case letters, digits and - . / : + = @, and not begin with -"
        ))
    }
}

impl std::ops::Deref for Name {
    type Target = String;

    fn deref(&self) -> &String {
        &self.0
    }
}
