//! A user's own method: its description compiled, its samples checked, all of it put into the
//! plan, so that a plan needs no other file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Limits, MessageType, Schema, whole_file};
use serde_json::Value;
use toml::Spanned;

use crate::error::{Source, StudyError};
use crate::file::{OwnWritten, Paths};
use crate::read::Line;
use crate::system::sentence;

/// Where a user's own method and its samples are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSource {
    /// The .proto files; empty when there is a descriptor set.
    pub proto: Vec<PathBuf>,
    /// Where imports are looked for; empty for each file's own folder.
    pub include: Vec<PathBuf>,
    /// A compiled descriptor set.
    pub descriptor_set: Option<PathBuf>,
    /// `package.Service/Method`.
    pub method: String,
    /// The request, as a JSON file.
    pub request: PathBuf,
    /// The answer, as a JSON file.
    pub response: PathBuf,
}

/// Why a user's own method cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OwnError {
    /// The key of `[workload]`, and the command line's option, that led here.
    pub key: &'static str,
    /// What is wrong, where, and what to do.
    pub message: String,
}

impl OwnError {
    fn new(key: &'static str, message: impl ToString) -> Self {
        Self {
            key,
            message: message.to_string(),
        }
    }
}

/// Loads a user's own method.
pub trait OwnLoader {
    /// Loads the method and its samples.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, the description does not compile, the method is not there, or
    /// a sample does not fit its message.
    fn load(&self, source: &OwnSource) -> Result<OwnWorkload, OwnError>;
}

/// Loads from files, paths taken from a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLoader {
    /// The folder that relative paths start from: the study file's, or the current one.
    pub folder: PathBuf,
}

impl FileLoader {
    /// For the paths in a study file.
    pub fn beside(study_file: &Path) -> Self {
        Self {
            folder: study_file
                .parent()
                .map_or_else(PathBuf::new, Path::to_owned),
        }
    }

    fn schema(&self, source: &OwnSource) -> Result<Schema, OwnError> {
        if let Some(path) = &source.descriptor_set {
            let path = self.folder.join(path);
            let bytes = whole_file::read(&path)
                .map_err(|error| unreadable("descriptor-set", &path, &error))?;
            return Schema::from_descriptor_set(&bytes).map_err(|error| {
                OwnError::new("descriptor-set", format!("{}: {error}", path.display()))
            });
        }
        let at = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().map(|path| self.folder.join(path)).collect()
        };
        Schema::compile(&at(&source.proto), &at(&source.include))
            .map_err(|error| OwnError::new("proto", error))
    }

    fn sample(
        &self,
        key: &'static str,
        path: &Path,
        message: &MessageType,
    ) -> Result<Value, OwnError> {
        let path = self.folder.join(path);
        let text = whole_file::read_text(&path).map_err(|error| unreadable(key, &path, &error))?;
        OwnWorkload::sample(message, &text)
            .map_err(|error| OwnError::new(key, error.in_file(&path.display().to_string())))
    }
}

fn unreadable(key: &'static str, path: &Path, error: &std::io::Error) -> OwnError {
    OwnError::new(
        key,
        format!("cannot read {}: {}", path.display(), sentence(error)),
    )
}

impl OwnLoader for FileLoader {
    fn load(&self, source: &OwnSource) -> Result<OwnWorkload, OwnError> {
        let schema = self.schema(source)?;
        let method = schema
            .method(&source.method)
            .map_err(|e| OwnError::new("method", e))?;
        Ok(OwnWorkload {
            request: self.sample("request", &source.request, &method.request)?,
            response: self.sample("response", &source.response, &method.response)?,
            method: method.name,
            descriptor_set: STANDARD.encode(schema.descriptor_set()),
        })
    }
}

/// Each method loaded once, however many variants call it.
pub(super) struct OwnCache<'a> {
    loader: &'a dyn OwnLoader,
    loaded: Vec<(OwnSource, OwnWorkload)>,
}

impl<'a> OwnCache<'a> {
    pub(super) fn new(loader: &'a dyn OwnLoader) -> Self {
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
        let source = own.source();
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
            Some(factor) => crate::scale::answer(&workload, *factor.get_ref(), limits)
                .map_err(|error| study.error(factor.span(), error.to_string())),
        }
    }
}

impl OwnWritten {
    fn source(&self) -> OwnSource {
        let path = |path: &Spanned<Line>| PathBuf::from(path.get_ref().as_str());
        let paths = |paths: &Option<Spanned<Paths>>| {
            let paths = paths.iter().flat_map(|paths| &paths.get_ref().0);
            paths.map(|path| PathBuf::from(path.as_str())).collect()
        };
        OwnSource {
            proto: paths(&self.proto),
            include: paths(&self.include),
            descriptor_set: self.descriptor_set.as_ref().map(path),
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
