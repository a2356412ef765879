//! Opens .proto files for the built-in compiler. The compiler recurses into nested definitions and imports, and
//! uses many times a file's size in memory, so files that exceed a limit are never passed to it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use buffa_descriptor::generated::descriptor::FileDescriptorProto;
use protox::Error;
use protox::file::{File, FileResolver, GoogleFileResolver};
use protox::prost::Message as _;
use protox::prost_reflect::prost_types;

use super::includes::{located, shown};
use super::{SchemaError, json_names};
use crate::position;
use crate::whole_file::{text_within, without_mark};

/// The maximum size of all files together, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The maximum length of a chain of files, each importing the next.
const MAX_CHAINED: usize = 200;

/// The maximum nesting of brackets. Compilers accept messages nested 31 levels deep, with option values nested
/// further inside.
const MAX_NESTED: usize = 64;

/// Whether the compiler records the source location of each name, type and number. Locations take up most of
/// its memory, and only errors need them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    LeftOut,
    /// As lines and columns.
    Kept,
    /// With the file's text, which is needed to locate an import. The compiler scans the text for each error.
    InText,
}

/// The .proto files in the include paths, plus the well-known ones.
pub(super) struct Sources {
    includes: Vec<PathBuf>,
    well_known: GoogleFileResolver,
    places: Places,
    /// The number of source locations in the files.
    found: Rc<Cell<usize>>,
    bytes_left: Cell<u64>,
    /// For each file that has not been opened yet, the length of the chain of imports that leads to it.
    chained: RefCell<HashMap<String, usize>>,
}

impl Sources {
    pub(super) fn new(includes: &[PathBuf], places: Places, found: Rc<Cell<usize>>) -> Self {
        Self {
            includes: includes.to_vec(),
            well_known: GoogleFileResolver::new(),
            places,
            found,
            bytes_left: Cell::new(MAX_BYTES),
            chained: RefCell::default(),
        }
    }

    fn read(&self, path: &Path) -> Result<String, SchemaError> {
        let (source, bytes) = read(path, self.bytes_left.get())?;
        self.bytes_left.set(self.bytes_left.get() - bytes);
        let Some(at) = too_nested(&source) else {
            return Ok(source);
        };
        let (line, column) = position(&source, at);
        Err(SchemaError::Proto {
            file: shown(path),
            line,
            column,
            what: format!("brackets are nested more than {MAX_NESTED} deep"),
        })
    }

    /// Records the chain of imports that leads to a file's imports. Fails if it is too long. The compiler opens
    /// a file when it is first imported, and recurses along the chain.
    fn chain(&self, name: &str, path: &Path, imports: &[String]) -> Result<(), SchemaError> {
        let mut chained = self.chained.borrow_mut();
        let length = chained.get(name).copied().unwrap_or(0) + 1;
        if length > MAX_CHAINED {
            return Err(SchemaError::File {
                file: shown(path),
                what: format!(
                    "is at the end of a chain of more than {MAX_CHAINED} files that import each other; \
                     provide a compiled descriptor set with --descriptor-set"
                ),
            });
        }
        for import in imports {
            let longest = chained.entry(import.clone()).or_default();
            *longest = length.max(*longest);
        }
        Ok(())
    }
}

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        // A copy in an include path may be from a newer release, which the compiler might not accept.
        if let Ok(file) = self.well_known.open_file(name) {
            return Ok(file);
        }
        let path = located(name, &self.includes).ok_or_else(|| Error::file_not_found(name))?;
        let source = self.read(&path).map_err(refusal)?;
        let file = File::from_source(name, &source)?;
        let descriptor = file.file_descriptor_proto();
        self.chain(name, &path, &descriptor.dependency)
            .map_err(refusal)?;
        let places = descriptor.source_code_info.as_ref();
        let places = places.map_or(0, |places| places.location.len());
        self.found.set(self.found.get() + places);
        if self.places == Places::InText {
            return Ok(file);
        }
        let mut descriptor = descriptor.clone();
        if self.places == Places::LeftOut {
            descriptor.source_code_info = None;
        }
        let unique = with_unique_json_names(descriptor).map_err(|what| {
            let file = shown(&path);
            refusal(SchemaError::File { file, what })
        })?;
        Ok(File::from_file_descriptor_proto(unique))
    }
}

/// Renames fields that share a derived JSON name, which proto2 allows but the compiler refuses.
fn with_unique_json_names(
    file: prost_types::FileDescriptorProto,
) -> Result<prost_types::FileDescriptorProto, String> {
    use buffa::Message as _;
    let decoded = FileDescriptorProto::decode_from_slice(&file.encode_to_vec());
    let mut ours = decoded.map_err(|error| error.to_string())?;
    if !json_names::make_unique(&mut ours)? {
        return Ok(file);
    }
    let bytes = ours.encode_to_vec();
    prost_types::FileDescriptorProto::decode(&*bytes).map_err(|error| error.to_string())
}

/// Passes our own error through the compiler.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refusal(#[source] SchemaError);

fn refusal(error: SchemaError) -> Error {
    Error::new(Refusal(error))
}

/// Returns our own error if the refusal did not come from the compiler.
pub(super) fn refused(error: &Error) -> Option<SchemaError> {
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<SchemaError>().cloned()
}

/// Returns a file's text without a byte order mark; empty if it cannot be read.
pub(super) fn source_of(path: &Path) -> String {
    read(path, MAX_BYTES).map_or_else(|_| String::new(), |(source, _)| source)
}

/// Returns a file's text without a byte order mark, and the file's size in bytes.
fn read(path: &Path, most: u64) -> Result<(String, u64), SchemaError> {
    let wrong = |what: String| SchemaError::File {
        file: shown(path),
        what,
    };
    let file = fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let source = text_within(file, most).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => wrong(format!(
            "the .proto files exceed {} MiB in total; provide a compiled descriptor set with \
             --descriptor-set",
            MAX_BYTES >> 20
        )),
        _ => wrong(error.to_string()),
    })?;
    Ok((without_mark(&source).to_owned(), source.len() as u64))
}

/// Returns the offset at which brackets are nested too deeply. After the first error in an invalid file, this
/// may count differently from the compiler, but the compiler stops there anyway.
fn too_nested(source: &str) -> Option<usize> {
    let bytes = source.as_bytes();
    let (mut at, mut nested) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        match byte {
            b'{' | b'[' | b'(' | b'<' => {
                nested += 1;
                if nested > MAX_NESTED {
                    return Some(at);
                }
            }
            b'}' | b']' | b')' | b'>' => nested = nested.saturating_sub(1),
            _ => {}
        }
        at += match byte {
            b'"' | b'\'' => text_len(rest),
            // In option values, and only there, `#` starts a comment.
            b'#' => line_len(rest),
            _ => comment_len(rest).unwrap_or(1),
        };
    }
    None
}

/// Replaces each comment with a space.
pub(super) fn without_comments(source: &str) -> String {
    let bytes = source.as_bytes();
    let (mut code, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        if let Some(length) = comment_len(rest) {
            code.push(b' ');
            at += length;
            continue;
        }
        let length = match byte {
            b'"' | b'\'' => text_len(rest),
            _ => 1,
        };
        code.extend_from_slice(&rest[..length]);
        at += length;
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// Returns the length of the comment that begins here, if there is one.
fn comment_len(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"//") {
        return Some(line_len(rest));
    }
    rest.starts_with(b"/*").then(|| {
        let end = rest[2..].windows(2).position(|pair| pair == b"*/");
        end.map_or(rest.len(), |end| end + 4)
    })
}

fn line_len(rest: &[u8]) -> usize {
    let end = rest.iter().position(|byte| *byte == b'\n');
    end.unwrap_or(rest.len())
}

/// Returns the length of the quoted string that begins here.
fn text_len(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        at += match byte {
            b'\\' => 2,
            b'\n' => return at,
            byte if *byte == rest[0] => return at + 1,
            _ => 1,
        };
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_comments_and_quotes_are_not_counted() {
        let nested = |depth: usize| format!("{}{}", "{".repeat(depth), "}".repeat(depth));
        let fits = nested(MAX_NESTED);
        assert_eq!(too_nested(&fits.repeat(3)), None);
        assert_eq!(too_nested(&nested(MAX_NESTED + 1)), Some(MAX_NESTED));
        for aside in [
            "// {\n", "# {\n", "/* { */", "/*/ { */", r#""{""#, r#""\"{""#, r#"'"{'"#,
        ] {
            assert_eq!(
                too_nested(&format!("{{{aside}}}").repeat(100)),
                None,
                "{aside}"
            );
        }
        // The end of each comment and quoted string is found.
        for aside in ["//\n", "/**/", r#""""#, r#""\\""#, "''"] {
            let deep = format!("{aside}{{").repeat(MAX_NESTED + 1);
            assert!(too_nested(&deep).is_some(), "{aside}");
        }
    }
}
