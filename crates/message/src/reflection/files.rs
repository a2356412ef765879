//! Collects the files that a server sends, until none is missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use buffa::{Message as _, MessageField};
use buffa_descriptor::generated::descriptor::{FileDescriptorProto, FileDescriptorSet};
use protox::file::GoogleFileResolver;

use crate::path::clip;
use crate::schema::{Schema, SchemaError, descriptor_set, file_name};

/// Files and their imports as sent by a server, within limits.
#[derive(Debug)]
pub struct Files {
    /// The encoded files. Decoded ones would need many times the memory.
    by_name: BTreeMap<Arc<str>, Vec<u8>>,
    /// Imported files that have not been added yet, each with a file that imports it.
    missing: BTreeMap<String, Arc<str>>,
    /// A named file that declares and imports nothing. Some servers send one in place of a file that they were
    /// built without.
    placeholder: Option<Arc<str>>,
    bytes: usize,
    max_files: usize,
    max_bytes: usize,
}

/// Why a server's files do not form a schema. Each error is one line, with the server's own text escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// The bytes are not a file descriptor.
    #[error("a file descriptor is damaged: {0}")]
    Damaged(String),
    /// A file or an import has a name that no code generator would accept.
    #[error("{0}")]
    Name(String),
    /// There are more files than allowed.
    #[error("more than {0} files")]
    TooMany(usize),
    /// There are more bytes than allowed.
    #[error("files of more than {0} bytes")]
    TooLarge(usize),
    /// The files cannot be linked.
    #[error("the files are inconsistent: {0}")]
    Unlinked(String),
}

impl Files {
    /// The maximum number of files: about ten times as many as in large schemas.
    pub const MAX_FILES: usize = 10_000;
    /// The maximum size of all files together, in bytes.
    pub const MAX_BYTES: usize = 64 << 20;
    /// The maximum memory in bytes of all messages, fields and other parts, decoded for linking: enough for
    /// some 100,000 fields.
    pub const MAX_MEMORY: usize = 64 << 20;

    /// Creates an empty collection with limits on its files and their total bytes.
    pub fn at_most(files: usize, bytes: usize) -> Self {
        Self {
            by_name: BTreeMap::new(),
            missing: BTreeMap::new(),
            placeholder: None,
            bytes: 0,
            max_files: files,
            max_bytes: bytes,
        }
    }

    /// Adds an encoded `google.protobuf.FileDescriptorProto`, and returns whether it was added. If several
    /// files have the same name, the first one stays.
    ///
    /// # Errors
    /// If the bytes are not a file descriptor, or exceed a limit.
    pub fn add(&mut self, bytes: &[u8]) -> Result<bool, FilesError> {
        // Checked first, so that nothing beyond the limit is decoded.
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > self.max_bytes {
            return Err(FilesError::TooLarge(self.max_bytes));
        }
        let mut file = FileDescriptorProto::decode_from_slice(bytes)
            .map_err(|error| FilesError::Damaged(clip(&error.to_string())))?;
        let name = file.name.as_deref().unwrap_or_default();
        file_name::check(name).map_err(FilesError::Name)?;
        if self.by_name.contains_key(name) {
            return Ok(false);
        }
        let is_empty = is_empty(&file);
        if is_empty && name.starts_with("google/protobuf/") {
            // Treat it as not sent: well-known files are never empty, and their content is available here.
            return Ok(false);
        }
        let name: Arc<str> = name.into();
        if is_empty {
            self.placeholder.get_or_insert_with(|| Arc::clone(&name));
        }
        self.missing.remove(&*name);
        // Drop the comments, which some servers include.
        file.source_code_info = MessageField::none();
        self.by_name.insert(Arc::clone(&name), file.encode_to_vec());
        self.check_number()?;
        for import in file.dependency {
            file_name::check(&import).map_err(FilesError::Name)?;
            if !self.has(&import) {
                self.missing.entry(import).or_insert_with(|| name.clone());
            }
            self.check_number()?;
        }
        Ok(true)
    }

    pub(super) fn add_all(&mut self, files: &[Vec<u8>]) -> Result<(), FilesError> {
        let mut files = files.iter();
        files.try_for_each(|file| self.add(file).map(drop))
    }

    /// Counts missing files too, because they will be added.
    fn check_number(&self) -> Result<(), FilesError> {
        if self.by_name.len() + self.missing.len() > self.max_files {
            Err(FilesError::TooMany(self.max_files))
        } else {
            Ok(())
        }
    }

    /// Adds a file of well-known types, such as `google/protobuf/timestamp.proto`, with its imports. These
    /// files are the same everywhere, and some servers do not send them. Returns false if there is no such
    /// file.
    pub(super) fn add_well_known(&mut self, name: &str) -> Result<bool, FilesError> {
        let mut compiler = protox::Compiler::with_file_resolver(GoogleFileResolver::new());
        if compiler.include_imports(true).open_file(name).is_err() {
            return Ok(false);
        }
        let set = FileDescriptorSet::decode_from_slice(&compiler.encode_file_descriptor_set())
            .map_err(|error| FilesError::Damaged(clip(&error.to_string())))?;
        let files: Vec<_> = set.file.iter().map(|file| file.encode_to_vec()).collect();
        self.add_all(&files).map(|()| true)
    }

    /// Whether a file with this name was added.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// A file that is imported but has not been added, with a file that imports it.
    pub fn missing(&self) -> Option<(&str, &str)> {
        let (import, importer) = self.missing.first_key_value()?;
        Some((import, importer))
    }

    /// A possible placeholder: a file that declares and imports nothing.
    pub(super) fn placeholder(&self) -> Option<&str> {
        self.placeholder.as_deref()
    }

    /// Links all files into a schema.
    pub fn into_schema(self) -> Result<Schema, FilesError> {
        let set = descriptor_set(self.by_name.into_values());
        Schema::from_set_within(set, Self::MAX_MEMORY).map_err(|error| match error {
            SchemaError::DescriptorSet { file: None, what } => FilesError::Unlinked(what),
            SchemaError::DescriptorSet {
                file: Some(file),
                what,
            } => FilesError::Unlinked(format!("{file}: {what}")),
            other => FilesError::Unlinked(other.to_string()),
        })
    }
}

/// Whether a file declares and imports nothing.
fn is_empty(file: &FileDescriptorProto) -> bool {
    file.dependency.is_empty()
        && file.message_type.is_empty()
        && file.enum_type.is_empty()
        && file.service.is_empty()
        && file.extension.is_empty()
}

impl Default for Files {
    /// Creates an empty collection with the default limits.
    fn default() -> Self {
        Self::at_most(Self::MAX_FILES, Self::MAX_BYTES)
    }
}
