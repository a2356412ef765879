//! The files that a server has sent, until none is missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use buffa::{Message as _, MessageField};
use buffa_descriptor::generated::descriptor::{FileDescriptorProto, FileDescriptorSet};
use protox::file::GoogleFileResolver;

use crate::path::clip;
use crate::schema::{Schema, SchemaError, descriptor_set, file_name};

/// Files with their imports, as they come from a server, within bounds.
#[derive(Debug)]
pub struct Files {
    /// Each file encoded, which takes a fraction of what it takes decoded.
    by_name: BTreeMap<Arc<str>, Vec<u8>>,
    /// Imports that are not there, each with a file that imports it.
    missing: BTreeMap<String, Arc<str>>,
    /// A file that has a name and declares and imports nothing: some servers send one in place of a file
    /// that their program was built without.
    placeholder: Option<Arc<str>>,
    bytes: usize,
    max_files: usize,
    max_bytes: usize,
}

/// Why a server's files are not a schema. One line each; a server's own words are escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// Bytes that are not a file descriptor.
    #[error("a file descriptor is damaged: {0}")]
    Damaged(String),
    /// A file, or one that it imports, has a name that no generator could be given.
    #[error("{0}")]
    Name(String),
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
    pub const MAX_FILES: usize = 10_000;
    /// Most bytes of them together.
    pub const MAX_BYTES: usize = 64 << 20;
    /// Most bytes of memory that the messages, fields and other parts of all files may take when
    /// they are decoded to be linked: those of some 100,000 fields.
    pub const MAX_MEMORY: usize = 64 << 20;

    /// No files yet; at most `files` of them, of `bytes` together.
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

    /// Adds an encoded `google.protobuf.FileDescriptorProto`. Of a file that comes again, the first
    /// stays. Returns whether it is new.
    ///
    /// # Errors
    /// Bytes that are not such a file, and more than the bounds allow.
    pub fn add(&mut self, bytes: &[u8]) -> Result<bool, FilesError> {
        // Checked first, so that no more is decoded than is allowed.
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
            // The same as not sent: these files have content, which is known.
            return Ok(false);
        }
        let name: Arc<str> = name.into();
        if is_empty {
            self.placeholder.get_or_insert_with(|| Arc::clone(&name));
        }
        self.missing.remove(&*name);
        // The comments, which some servers send.
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

    /// A missing file counts too: it has to come.
    fn check_number(&self) -> Result<(), FilesError> {
        if self.by_name.len() + self.missing.len() > self.max_files {
            Err(FilesError::TooMany(self.max_files))
        } else {
            Ok(())
        }
    }

    /// Adds a file of the well-known types, as `google/protobuf/timestamp.proto`, with its imports:
    /// they are the same everywhere, and some servers do not send them. Returns whether it is one.
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

    /// Whether a file of this name is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// A file that another one imports and that is not there, with the importing file's name.
    pub fn missing(&self) -> Option<(&str, &str)> {
        let (import, importer) = self.missing.first_key_value()?;
        Some((import, importer))
    }

    /// A file that may be a placeholder: it declares and imports nothing.
    pub(super) fn placeholder(&self) -> Option<&str> {
        self.placeholder.as_deref()
    }

    /// The schema of all files.
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
    /// No files yet, within the bounds above.
    fn default() -> Self {
        Self::at_most(Self::MAX_FILES, Self::MAX_BYTES)
    }
}
