//! A user's own method. Its description is compiled, its samples are checked, and the plan includes both, so that it
//! needs no other file.

use std::ops::Range;

use rpcgauge_message::workload::OwnWorkload;
use toml::Spanned;

use super::loader::{FileLoader, OwnSource, SchemaSource};
use super::{Resolver, once};
use crate::error::StudyError;
use crate::file::{OwnWritten, Paths};
use crate::read::{PathText, place};
use crate::scale;

impl Resolver<'_> {
    /// Loads the method that is described at `span` of the study, with its response scaled.
    pub(super) fn own(
        &mut self,
        span: &Range<usize>,
        own: &OwnWritten,
        scale: Option<Spanned<u32>>,
    ) -> Result<OwnWorkload, StudyError> {
        let (study, loader) = (self.source, self.context.loader);
        let workload = once(&mut self.own, own.source(loader), |source| {
            loader.load(source).map_err(|error| {
                let place = own.place_of(error.key).unwrap_or_else(|| span.clone());
                study.error(place, error.message)
            })
        })?;
        match scale {
            None => Ok(workload),
            Some(factor) => {
                let limits = self.context.overrides.limits;
                scale::response(&workload, *factor.get_ref(), limits)
                    .map_err(|error| study.error(factor.span(), error.to_string()))
            }
        }
    }
}

impl OwnWritten {
    fn source(&self, loader: &FileLoader) -> OwnSource {
        let path = |path: &Spanned<PathText>| loader.path(path.get_ref());
        OwnSource {
            schema: schema_source(loader, &self.proto, &self.include, &self.descriptor_set),
            method: self.method.get_ref().to_string(),
            request: path(&self.request),
            response: path(&self.response),
        }
    }

    fn place_of(&self, key: &str) -> Option<Range<usize>> {
        match key {
            "proto" => place(&self.proto),
            "include" => place(&self.include),
            "descriptor-set" => place(&self.descriptor_set),
            "method" => Some(self.method.span()),
            "request" => Some(self.request.span()),
            "response" => Some(self.response.span()),
            _ => None,
        }
    }
}

/// Where to find the description of messages, from the keys that `[workload]` and `[service]` share.
pub(super) fn schema_source(
    loader: &FileLoader,
    proto: &Option<Spanned<Paths>>,
    include: &Option<Spanned<Paths>>,
    descriptor_set: &Option<Spanned<PathText>>,
) -> SchemaSource {
    let paths = |paths: &Option<Spanned<Paths>>| {
        let paths = paths.iter().flat_map(|paths| &paths.get_ref().0);
        paths.map(|path| loader.path(path)).collect()
    };
    let set = descriptor_set.as_ref();
    SchemaSource {
        proto: paths(proto),
        include: paths(include),
        descriptor_set: set.map(|set| loader.path(set.get_ref())),
    }
}
