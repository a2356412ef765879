//! `[workload]`: a built-in by its name, or a user's own method.

use std::num::NonZeroU32;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::error::{Source, StudyError};
use crate::features::WorkloadKind;
use crate::read::{Line, PathText, Table, one_or_more};

/// A workload as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WorkloadWritten {
    /// A built-in workload and its size, if it has one.
    BuiltIn {
        kind: Spanned<WorkloadKind>,
        n: Option<Spanned<NonZeroU32>>,
    },
    /// The position of the table, and the user's own method.
    Own(Range<usize>, Box<OwnWritten>),
}

/// A user's own method, as written; paths are relative to the study file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct OwnWritten {
    pub(crate) proto: Option<Spanned<Paths>>,
    pub(crate) include: Option<Spanned<Paths>>,
    pub(crate) descriptor_set: Option<Spanned<PathText>>,
    pub(crate) method: Spanned<Line>,
    pub(crate) request: Spanned<PathText>,
    pub(crate) response: Spanned<PathText>,
    pub(crate) scale: Option<Spanned<NonZeroU32>>,
}

/// One path or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Paths(#[serde(deserialize_with = "one_or_more")] pub(crate) Vec<PathText>);

impl WorkloadWritten {
    /// Reads the `workload` of a table.
    pub(super) fn read(table: &mut Table<'_>) -> Result<Option<Self>, StudyError> {
        let Some(mut table) = table.table("workload")? else {
            return Ok(None);
        };
        if table.place("name").is_none() && table.place("method").is_none() {
            return Err(table.error(
                "has neither the \"name\" of a built-in workload nor a \"method\" of your own",
            ));
        }
        if let Some(kind) = table.take::<Spanned<WorkloadKind>>("name")? {
            if *kind.get_ref() == WorkloadKind::Own {
                let message =
                    "\"own\" is not a built-in workload; write the \"method\" of your own";
                return Err(table.source.error(kind.span(), message));
            }
            let n = table.take("n")?;
            table.hinting(built_in_has_none).end()?;
            return Ok(Some(Self::BuiltIn { kind, n }));
        }
        let (source, span) = (table.source, table.span.clone());
        let needs_one =
            table.error("needs \"proto\" or \"descriptor-set\"; write proto = \"service.proto\"");
        let own: OwnWritten = table.hinting(own_has_none).rest()?;
        if own.proto.is_none() && own.descriptor_set.is_none() {
            return Err(needs_one);
        }
        check_description(source, &own.proto, &own.include, &own.descriptor_set)?;
        Ok(Some(Self::Own(span, Box::new(own))))
    }
}

/// Refuses conflicting keys in the description of messages, in `[workload]` and `[service]`.
pub(crate) fn check_description(
    source: &Source,
    proto: &Option<Spanned<Paths>>,
    include: &Option<Spanned<Paths>>,
    descriptor_set: &Option<Spanned<PathText>>,
) -> Result<(), StudyError> {
    match (proto, descriptor_set, include) {
        (Some(_), Some(set), _) => Err(source.error(
            set.span(),
            "a message is described by \"proto\" or by \"descriptor-set\"; keep one of the two",
        )),
        (None, Some(_), Some(include)) => Err(source.error(
            include.span(),
            "\"include\" is for \"proto\"; a descriptor set already contains its imports",
        )),
        (None, None, Some(include)) => Err(source.error(
            include.span(),
            "\"include\" is for the imports of \"proto\", and there is no \"proto\"; leave it out",
        )),
        _ => Ok(()),
    }
}

fn built_in_has_none(key: &str) -> Option<&'static str> {
    let of_own = "proto include descriptor-set method request response scale";
    let is_own = of_own.split(' ').any(|own| own == key);
    is_own.then_some("it is for your own method; a built-in workload does not need it")
}

fn own_has_none(key: &str) -> Option<&'static str> {
    (key == "n").then_some("it is for built-in workloads; \"scale\" makes your own response longer")
}
