//! The files and environment variables that a study names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{MessageType, Schema, whole_file};
use serde_json::Value;

use crate::system::sentence;

/// Why a file of a study, or its content, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LoadError {
    /// The key of the study that named the file; the command-line option has the same name.
    pub key: &'static str,
    /// What is wrong, where, and what to do.
    pub message: String,
}

impl LoadError {
    fn new(key: &'static str, message: impl ToString) -> Self {
        Self {
            key,
            message: message.to_string(),
        }
    }
}

/// Loads files. Relative paths start from [`FileLoader::folder`].
#[derive(Clone, Default)]
pub struct FileLoader {
    /// The folder that relative paths start from: the study file's, or the current one.
    pub folder: PathBuf,
    /// Variables of a study that was built from a command line. They take precedence over the environment, and their
    /// values may be secrets.
    pub variables: BTreeMap<String, String>,
    /// A method that has already been loaded: its files may be pipes, which can be read only once.
    pub loaded: Option<(OwnSource, OwnWorkload)>,
}

impl FileLoader {
    /// A loader for the paths in a study file.
    pub fn beside(study_file: &Path) -> Self {
        Self {
            folder: study_file.parent().unwrap_or(Path::new("")).to_owned(),
            ..Self::default()
        }
    }

    /// A method with its description and samples.
    pub(super) fn load(&self, source: &OwnSource) -> Result<OwnWorkload, LoadError> {
        match &self.loaded {
            Some((known, own)) if known == source => Ok(own.clone()),
            _ => source.load(),
        }
    }

    /// Resolves a path of the study.
    pub(super) fn path(&self, written: &str) -> PathBuf {
        match written {
            // Standard input.
            "-" => PathBuf::from("-"),
            path => self.folder.join(path),
        }
    }

    /// The value of a variable. One of the environment may be any secret, so its braces are not placeholders.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let given = self.variables.get(name).cloned();
        let of_environment = || std::env::var(name).ok().map(|value| literal(&value));
        given.or_else(of_environment)
    }
}

/// A template whose text is `value`.
fn literal(value: &str) -> String {
    value.replace("{{", r#"{{"{{"}}"#)
}

/// What describes messages: .proto files or a descriptor set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaSource {
    /// The .proto files; empty when there is a descriptor set.
    pub proto: Vec<PathBuf>,
    /// The folders to search for imports; empty for each file's own folder.
    pub include: Vec<PathBuf>,
    /// A compiled descriptor set.
    pub descriptor_set: Option<PathBuf>,
}

impl SchemaSource {
    /// Reads the descriptor set, or compiles the .proto files.
    pub fn read(&self) -> Result<Schema, LoadError> {
        let Some(path) = &self.descriptor_set else {
            let compiled = Schema::compile(&self.proto, &self.include);
            return compiled.map_err(|error| LoadError::new("proto", error));
        };
        let key = "descriptor-set";
        let bytes = whole_file::read(path).map_err(|error| unreadable(key, path, &error))?;
        Schema::from_descriptor_set(&bytes)
            .map_err(|error| LoadError::new(key, format!("{}: {error}", path.display())))
    }
}

/// Where to find a user's own method and its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSource {
    /// What describes its messages.
    pub schema: SchemaSource,
    /// `package.Service/Method`.
    pub method: String,
    /// The request, as a JSON file.
    pub request: PathBuf,
    /// The response, as a JSON file.
    pub response: PathBuf,
}

impl OwnSource {
    /// Reads the method with its samples.
    ///
    /// # Errors
    /// A file cannot be read, the description does not compile, the method does not exist, or a sample does not match
    /// its message.
    pub fn load(&self) -> Result<OwnWorkload, LoadError> {
        let schema = self.schema.read()?;
        let method = schema.method(&self.method);
        let method = method.map_err(|error| LoadError::new("method", error))?;
        Ok(OwnWorkload {
            request: sample("request", &self.request, &method.request)?,
            response: sample("response", &self.response, &method.response)?,
            method: method.name,
            descriptor_set: STANDARD.encode(schema.descriptor_set()),
        })
    }
}

fn sample(key: &'static str, path: &Path, message: &MessageType) -> Result<Value, LoadError> {
    let text = whole_file::read_text(path).map_err(|error| unreadable(key, path, &error))?;
    OwnWorkload::sample(message, &text)
        .map_err(|error| LoadError::new(key, error.in_file(&path.display().to_string())))
}

/// Reads a text of limited size; `-` is standard input.
pub fn text(key: &'static str, path: &Path) -> Result<String, LoadError> {
    let read = if path == Path::new("-") {
        whole_file::text_within(std::io::stdin().lock(), whole_file::MAX_BYTES)
    } else {
        whole_file::read_text(path)
    };
    read.map_err(|error| unreadable(key, path, &error))
}

fn unreadable(key: &'static str, path: &Path, error: &std::io::Error) -> LoadError {
    let name = if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    LoadError::new(key, format!("cannot read {name}: {}", sentence(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_with_braces_is_literal() {
        assert_eq!(literal("a}}b"), "a}}b");
        assert_eq!(literal("a{{b}}"), r#"a{{"{{"}}b}}"#);
    }
}
