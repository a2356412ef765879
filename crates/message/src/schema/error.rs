//! What can be wrong with a schema.

use super::FIRST_PROTOC;
use crate::nearest::Nearest;

/// A schema that cannot be loaded, or that does not have what was asked for. One line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A .proto file is not right.
    #[error("{file}:{line}:{column}: {what}")]
    Proto {
        /// The file, as it was found.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// A file imports one that cannot be found.
    #[error(
        "{importer}: import \"{import}\" was not found in {searched}; name the folder it is in \
         with --include"
    )]
    MissingImport {
        /// The importing file with line and column.
        importer: String,
        /// The file that is missing, as it is imported.
        import: String,
        /// The folders that were searched.
        searched: String,
    },
    /// A file is not there, cannot be read, or is in none of the include paths.
    #[error("{file}: {what}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A file needs a compiler for editions, and there is none.
    #[error(
        "{file}: `edition` files need protoc ({FIRST_PROTOC} or newer) or buf on the PATH, where \
         {found}; or give a compiled descriptor set with --descriptor-set"
    )]
    NoEditionsCompiler {
        /// The file.
        file: String,
        /// What was found on the PATH instead.
        found: String,
    },
    /// The built-in compiler refused the files, which may be its own mistake, and no other can try them.
    #[error(
        "{built_in}; if the file is valid, put protoc ({FIRST_PROTOC} or newer) or buf on the PATH, where {found}"
    )]
    BuiltInCompiler {
        /// What the built-in compiler says.
        built_in: Box<SchemaError>,
        /// What was found on the PATH instead.
        found: String,
    },
    /// The built-in compiler refused the files, and so did one on the PATH.
    #[error("{built_in}; {compiler} refuses it too: {what}")]
    BothCompilers {
        /// What the built-in compiler says.
        built_in: Box<SchemaError>,
        /// The name of the other one.
        compiler: &'static str,
        /// Its own words, one line.
        what: String,
    },
    /// The compiler for editions refused the files.
    #[error("{compiler}: {what}")]
    Compiler {
        /// Its name.
        compiler: &'static str,
        /// Its own words, one line.
        what: String,
    },
    /// The bytes are not a usable descriptor set.
    #[error(
        "not a usable descriptor set: {}{what}; make it with protoc --include_imports --descriptor_set_out, or with buf build",
        .file.as_ref().map_or_else(String::new, |file| format!("{file}: "))
    )]
    DescriptorSet {
        /// The file of it that is wrong, as it is imported, where that is known.
        file: Option<String>,
        /// What is wrong.
        what: String,
    },
    /// No such method.
    #[error("no method \"{name}\"{hint}")]
    UnknownMethod {
        /// What was asked for.
        name: String,
        /// What was probably meant, or what there is where nothing is near.
        hint: String,
    },
    /// A method that streams.
    #[error(
        "\"{name}\" is a {kind}-streaming method; only unary methods (one request, one response) can be called for now"
    )]
    Streaming {
        /// The method.
        name: String,
        /// `client`, `server` or `bidirectional`.
        kind: &'static str,
    },
    /// No such message type.
    #[error("no message type \"{name}\"{nearest}")]
    UnknownType {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        nearest: Nearest,
    },
}
