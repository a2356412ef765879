//! A user's own method: its description compiled, its samples checked, all of it put into the
//! plan, so that a plan needs no other file.

use std::ops::Range;

use rpcgauge_message::Limits;
use rpcgauge_message::workload::OwnWorkload;
use toml::Spanned;

use super::loader::{FileLoader, OwnSource, SchemaSource};
use crate::error::{Source, StudyError};
use crate::file::{OwnWritten, Paths};
use crate::read::PathText;

/// Each method loaded once, however many variants call it.
pub(super) struct OwnCache<'a> {
    loader: &'a FileLoader,
    loaded: Vec<(OwnSource, OwnWorkload)>,
}

impl<'a> OwnCache<'a> {
    pub(super) fn new(loader: &'a FileLoader) -> Self {
        Self {
            loader,
            loaded: Vec::new(),
        }
    }

    /// The method that stands at `place` of the study.
    pub(super) fn load(
        &mut self,
        study: &Source,
        place: &Range<usize>,
        own: &OwnWritten,
        scale: Option<Spanned<u32>>,
        limits: Limits,
    ) -> Result<OwnWorkload, StudyError> {
        let source = own.source(self.loader);
        let workload = match self.loaded.iter().find(|(known, _)| *known == source) {
            Some((_, workload)) => workload.clone(),
            None => {
                let workload = self.loader.load(&source).map_err(|error| {
                    let place = own.place_of(error.key).unwrap_or_else(|| place.clone());
                    study.error(place, error.message)
                })?;
                self.loaded.push((source, workload.clone()));
                workload
            }
        };
        match scale {
            None => Ok(workload),
            Some(factor) => crate::scale::response(&workload, *factor.get_ref(), limits)
                .map_err(|error| study.error(factor.span(), error.to_string())),
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
            "proto" => self.proto.as_ref().map(Spanned::span),
            "include" => self.include.as_ref().map(Spanned::span),
            "descriptor-set" => self.descriptor_set.as_ref().map(Spanned::span),
            "method" => Some(self.method.span()),
            "request" => Some(self.request.span()),
            "response" => Some(self.response.span()),
            _ => None,
        }
    }
}

/// Where the description of messages is, from the keys that `[workload]` and `[service]` share.
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
    SchemaSource {
        proto: paths(proto),
        include: paths(include),
        descriptor_set: descriptor_set
            .as_ref()
            .map(|set| loader.path(set.get_ref())),
    }
}
