//! `[workload]`: a built-in by its name, or a user's own method.

use std::ops::Range;

use toml::Spanned;

use super::read::{Entry, Table};
use crate::error::StudyError;
use crate::features::WorkloadKind;

/// What is called, as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WorkloadWritten {
    /// A built-in and its size, where it has one.
    BuiltIn {
        kind: Spanned<WorkloadKind>,
        n: Option<Spanned<u32>>,
    },
    /// A user's own method.
    Own(Box<OwnWritten>),
}

/// A user's own method, as written; paths are relative to the study file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnWritten {
    pub(crate) span: Range<usize>,
    pub(crate) proto: Vec<Spanned<String>>,
    pub(crate) include: Vec<Spanned<String>>,
    pub(crate) descriptor_set: Option<Spanned<String>>,
    pub(crate) method: Spanned<String>,
    pub(crate) request: Spanned<String>,
    pub(crate) response: Spanned<String>,
    pub(crate) scale: Option<Spanned<u32>>,
}

pub(super) const OWN_KEYS: [&str; 7] = [
    "proto",
    "include",
    "descriptor-set",
    "method",
    "request",
    "response",
    "scale",
];

impl WorkloadWritten {
    pub(super) fn read(entry: Entry<'_>) -> Result<Self, StudyError> {
        let table = entry.table("[workload]")?;
        let mut keys = vec!["name", "n"];
        keys.extend(OWN_KEYS);
        table.known(&keys, |_| None)?;
        match table.get("name") {
            Some(name) => built_in(&table, name),
            None if OWN_KEYS.iter().any(|key| table.get(key).is_some()) => {
                own(&table).map(|own| Self::Own(Box::new(own)))
            }
            None => Err(table.error(
                "[workload] says neither the \"name\" of a built-in workload nor a \"method\" of your own",
            )),
        }
    }
}

fn built_in(table: &Table<'_>, name: Entry<'_>) -> Result<WorkloadWritten, StudyError> {
    if let Some(own) = OWN_KEYS.iter().find_map(|key| table.get(key)) {
        return Err(table.source.error(
            own.span(),
            format!(
                "\"{}\" is for a method of your own; a built-in workload has its own",
                own.key
            ),
        ));
    }
    let kind = name.word::<WorkloadKind>()?;
    if *kind.get_ref() == WorkloadKind::Own {
        return Err(name.error("a method of your own has no name here; write its \"method\""));
    }
    let n = table.read("n", Entry::count)?;
    Ok(WorkloadWritten::BuiltIn { kind, n })
}

fn own(table: &Table<'_>) -> Result<OwnWritten, StudyError> {
    if let Some(n) = table.get("n") {
        return Err(table.source.error(
            n.span(),
            "\"n\" is for built-in workloads; \"scale\" makes your own answer longer",
        ));
    }
    let paths = |key| -> Result<Vec<Spanned<String>>, StudyError> {
        let Some(entry) = table.get(key) else {
            return Ok(Vec::new());
        };
        entry.one_or_more()?.into_iter().map(Entry::line).collect()
    };
    let own = OwnWritten {
        span: table.span(),
        proto: paths("proto")?,
        include: paths("include")?,
        descriptor_set: table.read("descriptor-set", Entry::line)?,
        method: table
            .need("method", "method = \"package.Service/Method\"")?
            .line()?,
        request: table
            .need("request", "request = \"request.json\"")?
            .line()?,
        response: table
            .need("response", "response = \"response.json\"")?
            .line()?,
        scale: table.read("scale", Entry::count)?,
    };
    match (&own.descriptor_set, own.proto.is_empty()) {
        (None, true) => Err(table.error(
            "[workload] needs \"proto\" or \"descriptor-set\"; write proto = \"service.proto\"",
        )),
        (Some(set), false) => Err(table.source.error(
            set.span(),
            "a message is described by \"proto\" or by \"descriptor-set\"; keep one of the two",
        )),
        (Some(_), true) if !own.include.is_empty() => Err(table.source.error(
            own.include[0].span(),
            "\"include\" is for \"proto\"; a descriptor set holds its imports already",
        )),
        _ => Ok(own),
    }
}
