//! The files that a server has told, until none is missing.

use std::collections::BTreeMap;

use buffa::Message as _;
use buffa_descriptor::generated::descriptor::{FileDescriptorProto, FileDescriptorSet};
use protox::file::GoogleFileResolver;

use crate::schema::{Schema, SchemaError};

/// Files with their imports, as they come from a server, within bounds.
#[derive(Debug)]
pub struct Files {
    by_name: BTreeMap<String, FileDescriptorProto>,
    bytes: usize,
    most_files: usize,
    most_bytes: usize,
}

/// Why a server's files are no schema. One line each; what a server said is shown escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// Bytes that are no file descriptor.
    #[error("a file descriptor is damaged: {0}")]
    Damaged(String),
    /// A file without a name cannot be imported.
    #[error("a file descriptor has no name")]
    NoName,
    /// More files than are taken.
    #[error("more than {0} files")]
    TooMany(usize),
    /// More bytes than are taken.
    #[error("files of more than {0} bytes")]
    TooLarge(usize),
    /// Files that do not fit together.
    #[error("the files do not fit together: {0}")]
    Unlinked(String),
}

impl Files {
    /// Most files of a schema: some ten times what large schemas have.
    pub const MOST: usize = 10_000;
    /// Most bytes of them together.
    pub const MOST_BYTES: usize = 64 << 20;

    /// No files yet, and at most so many, of so many bytes.
    pub fn at_most(files: usize, bytes: usize) -> Self {
        Self {
            by_name: BTreeMap::new(),
            bytes: 0,
            most_files: files,
            most_bytes: bytes,
        }
    }

    /// Adds an encoded `google.protobuf.FileDescriptorProto`. Of a file that comes again, the first
    /// stays. Says whether it is new.
    ///
    /// # Errors
    /// Bytes that are no such thing, and more than the bounds allow.
    pub fn add(&mut self, bytes: &[u8]) -> Result<bool, FilesError> {
        // Looked at first, so that no more is decoded than is allowed.
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > self.most_bytes {
            return Err(FilesError::TooLarge(self.most_bytes));
        }
        let file = FileDescriptorProto::decode_from_slice(bytes)
            .map_err(|error| FilesError::Damaged(error.to_string()))?;
        let Some(name) = file.name.clone().filter(|name| !name.is_empty()) else {
            return Err(FilesError::NoName);
        };
        if self.by_name.contains_key(&name) {
            return Ok(false);
        }
        if self.by_name.len() == self.most_files {
            return Err(FilesError::TooMany(self.most_files));
        }
        self.by_name.insert(name, file);
        Ok(true)
    }

    /// Adds a file of the well-known types, as `google/protobuf/timestamp.proto`, with its imports:
    /// they are the same everywhere, and some servers do not tell them. Says whether it is one.
    ///
    /// # Errors
    /// More than the bounds allow.
    pub fn add_well_known(&mut self, name: &str) -> Result<bool, FilesError> {
        let mut compiler = protox::Compiler::with_file_resolver(GoogleFileResolver::new());
        if compiler.include_imports(true).open_file(name).is_err() {
            return Ok(false);
        }
        let set = FileDescriptorSet::decode_from_slice(&compiler.encode_file_descriptor_set())
            .map_err(|error| FilesError::Damaged(error.to_string()))?;
        for file in set.file {
            self.add(&file.encode_to_vec())?;
        }
        Ok(true)
    }

    /// Whether a file of this name is there.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// A file that another one imports and that is not there, with the importing file's name.
    pub fn missing(&self) -> Option<(&str, &str)> {
        self.by_name.values().find_map(|file| {
            let import = file
                .dependency
                .iter()
                .find(|import| !self.by_name.contains_key(*import))?;
            Some((import.as_str(), file.name.as_deref().unwrap_or_default()))
        })
    }

    /// The schema of all files.
    ///
    /// # Errors
    /// Files that do not fit together.
    pub fn into_schema(self) -> Result<Schema, FilesError> {
        let set = FileDescriptorSet {
            file: self.by_name.into_values().collect(),
            ..Default::default()
        };
        Schema::from_descriptor_set(&set.encode_to_vec()).map_err(|error| match error {
            SchemaError::DescriptorSet { what } => FilesError::Unlinked(what),
            other => FilesError::Unlinked(other.to_string()),
        })
    }
}

impl Default for Files {
    /// No files yet, within the bounds above.
    fn default() -> Self {
        Self::at_most(Self::MOST, Self::MOST_BYTES)
    }
}
