//! Errors in schemas.

use super::FIRST_PROTOC;
use crate::nearest::Nearest;

/// A schema that cannot be loaded, or that lacks the requested item. Each error is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A .proto file has an error.
    #[error("{file}:{line}:{column}: {what}")]
    Proto {
        /// The file's path, as found in the include paths.
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
        "{importer}: import \"{import}\" was not found in {searched}; specify its folder \
         with --include"
    )]
    MissingImport {
        /// The importing file with line and column.
        importer: String,
        /// The missing file, as in the `import` statement.
        import: String,
        /// The folders that were searched.
        searched: String,
    },
    /// A file does not exist, cannot be read, or is outside all include paths.
    #[error("{file}: {what}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A file needs a compiler that supports editions, and none was found.
    #[error(
        "{file}: files with `edition` need protoc ({FIRST_PROTOC} or newer) or buf on the PATH, but \
         {found}; or provide a compiled descriptor set with --descriptor-set"
    )]
    NoEditionsCompiler {
        /// The file.
        file: String,
        /// What was found on the PATH instead.
        found: String,
    },
    /// The built-in compiler refused the files, perhaps by mistake, and no other compiler was found.
    #[error(
        "{built_in}; if the file is valid, put protoc ({FIRST_PROTOC} or newer) or buf on the PATH, but {found}"
    )]
    BuiltInCompiler {
        /// The built-in compiler's error.
        built_in: Box<SchemaError>,
        /// What was found on the PATH instead.
        found: String,
    },
    /// The built-in compiler refused the files, and so did one on the PATH.
    #[error("{built_in}; {compiler} also rejects it:  {what}")]
    BothCompilers {
        /// The built-in compiler's error.
        built_in: Box<SchemaError>,
        /// The name of the compiler on the PATH.
        compiler: &'static str,
        /// The first line of its error.
        what: String,
    },
    /// The compiler that supports editions refused the files.
    #[error("{compiler}: {what}")]
    Compiler {
        /// The compiler's name.
        compiler: &'static str,
        /// The first line of its error.
        what: String,
    },
    /// The bytes are not a usable descriptor set.
    #[error(
        "not a usable descriptor set: {}{what}; generate it with protoc --include_imports --descriptor_set_out, or with buf build",
        .file.as_ref().map_or_else(String::new, |file| format!("{file}: "))
    )]
    DescriptorSet {
        /// The import name of the invalid file in the set, if known.
        file: Option<String>,
        /// What is wrong.
        what: String,
    },
    /// There is no such method.
    #[error("no method \"{name}\"{hint}")]
    UnknownMethod {
        /// The requested name.
        name: String,
        /// Similar names as suggestions; if there are none, some existing names.
        hint: String,
    },
    /// There is no such message type.
    #[error("no message type \"{name}\"{nearest}")]
    UnknownType {
        /// The requested name.
        name: String,
        /// Similar names, as suggestions.
        nearest: Nearest,
    },
}
