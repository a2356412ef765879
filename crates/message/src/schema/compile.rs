//! Compiles .proto files with the built-in compiler, falling back to protoc or buf if it refuses them.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::external::{self, NotCompiled};
use super::includes::{find, import_name, include_paths, list};
use super::sources::{Places, Sources, refused, source_of};
use super::{SchemaError, descriptor_set};

/// Compiles files into an encoded descriptor set that includes their imports.
pub(super) fn compile(files: &[PathBuf], includes: &[PathBuf]) -> Result<Vec<u8>, SchemaError> {
    let includes = include_paths(files, includes);
    let names = files
        .iter()
        .map(|file| import_name(file, &includes))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    compile_built_in(&names, &includes).or_else(|error| {
        if let Some(refused) = refused(&error) {
            return Err(refused);
        }
        let with_edition = external::first_with_edition(&names, &includes);
        external::compile(&names, &includes).map_err(|outside| match (with_edition, outside) {
            // Only the built-in compiler's error names the missing folder.
            _ if error.is_file_not_found() => describe(&error, &includes),
            // The built-in compiler does not support editions, so its error would be misleading.
            (Some(_), NotCompiled::Refused { compiler, what }) => {
                SchemaError::Compiler { compiler, what }
            }
            (Some(file), NotCompiled::NoCompiler(found)) => SchemaError::NoEditionsCompiler {
                file: file.display().to_string(),
                found,
            },
            (None, NotCompiled::Refused { compiler, what }) => SchemaError::BothCompilers {
                built_in: Box::new(describe(&error, &includes)),
                compiler,
                what,
            },
            (None, NotCompiled::NoCompiler(found)) => SchemaError::BuiltInCompiler {
                built_in: Box::new(describe(&error, &includes)),
                found,
            },
        })
    })
}

/// Converts an error about a compiled descriptor set into one about the .proto files, because the user did not
/// provide a descriptor set.
pub(super) fn of_files(error: SchemaError, files: &[PathBuf], includes: &[PathBuf]) -> SchemaError {
    let SchemaError::DescriptorSet { file, what } = error else {
        return error;
    };
    let file = match file {
        Some(name) => find(&name, &include_paths(files, includes)),
        None => list(files),
    };
    SchemaError::File { file, what }
}

/// The maximum number of source locations for which a second compilation is worthwhile: enough for some 15,000
/// lines. The compiler searches all of them for each error.
const MAX_PLACES: usize = 100_000;

/// Compiles without source locations, which would take up most of the compiler's memory. If an error needs its
/// location, a second compilation finds it.
fn compile_built_in(names: &[PathBuf], includes: &[PathBuf]) -> Result<Vec<u8>, protox::Error> {
    let found = Rc::new(Cell::new(0));
    let compile = |places| {
        let sources = Sources::new(includes, places, Rc::clone(&found));
        let mut compiler = protox::Compiler::with_file_resolver(sources);
        compiler.open_files(names)?;
        let pool = compiler.descriptor_pool();
        Ok(descriptor_set(
            pool.files().map(|file| file.encode_to_vec()),
        ))
    };
    compile(Places::LeftOut).map_err(|error: protox::Error| {
        if refused(&error).is_some() || error.is_parse() || found.get() > MAX_PLACES {
            return error;
        }
        let places = if error.to_string().starts_with("import ") {
            Places::InText
        } else {
            Places::Kept
        };
        compile(places).err().unwrap_or(error)
    })
}

/// Converts a compiler error to [`SchemaError`].
fn describe(error: &protox::Error, includes: &[PathBuf]) -> SchemaError {
    // The `Debug` form is `file:line:column: what` if the location is known.
    let text = format!("{error:?}");
    let text = text.lines().next().unwrap_or_default();
    let message = error.to_string();
    let place = text.strip_suffix(message.as_str());
    let place = place.map(|place| place.trim_end_matches([' ', ':']));
    let name = error.file().unwrap_or_default();
    let file = find(name, includes);
    if error.is_file_not_found() {
        let import = message.split('\'').nth(1).unwrap_or(&message).to_owned();
        if message.starts_with("import ") {
            let importer = place.unwrap_or(name).replacen(name, &file, 1);
            return SchemaError::MissingImport {
                importer,
                import,
                searched: list(includes),
            };
        }
        return SchemaError::File {
            file: import,
            what: format!("not found in {}", list(includes)),
        };
    }
    let position = place.and_then(|place| {
        let (rest, column) = place.rsplit_once(':')?;
        let (_, line) = rest.rsplit_once(':')?;
        Some((line.parse().ok()?, column.parse().ok()?))
    });
    let position = position.or_else(|| {
        // The compiler reports no location for an unexpected end of file. Use the end of the last line.
        error.is_parse().then(|| {
            let source = source_of(Path::new(&file));
            let last = source.lines().last().unwrap_or_default();
            (source.lines().count().max(1), last.chars().count() + 1)
        })
    });
    let Some((line, column)) = position else {
        let what = message;
        return SchemaError::File { file, what };
    };
    SchemaError::Proto {
        // The compiler takes the import's quoted path for a group name.
        what: if message == "invalid group name" && is_text(&file, line, column) {
            IMPORT_PATHS.to_owned()
        } else {
            message
        },
        file,
        line,
        column,
    }
}

/// Replaces a misleading compiler error.
const IMPORT_PATHS: &str = "an import must be a path relative to an include path, without \"..\", \".\", \
                            \"//\" or \"\\\"; specify the folder that it starts from with --include";

/// Whether a quoted string begins at this location.
fn is_text(file: &str, line: usize, column: usize) -> bool {
    let source = source_of(Path::new(file));
    let line = source.lines().nth(line.saturating_sub(1));
    let found = line.and_then(|line| line.chars().nth(column.saturating_sub(1)));
    found.is_some_and(|found| ['"', '\''].contains(&found))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Needs protoc on the PATH. Remove a row once the built-in compiler accepts it.
    #[test]
    fn what_the_built_in_compiler_refuses_by_mistake_is_compiled_by_protoc() {
        let before = "syntax = \"proto2\"; package p; import \"google/protobuf/descriptor.proto\";
            extend google.protobuf.MessageOptions {
              optional double limit = 50001; optional A set = 50002; optional string text = 50003;
            }\n";
        for rest in [
            "message A { extensions 100 [verification = UNVERIFIED]; }",
            "message A { option (limit) = inf; }",
            "message A { option (limit) = -inf; }",
            "message A { option (limit) = -nan; }",
            "message A { extensions 100; extend A { optional int32 x = 100; } }
             message B { option (set) = { [A.x]: 1 }; }",
            "message A { option (google.protobuf.MessageOptions.deprecated) = true; }",
            "message A { option (text) = \"\\xff\"; }",
            "message A { reserved \"f\\\\o\"; }",
            "message A { option message_set_wire_format = true; extensions 4 to max; }
             message B { extend A { optional B b = 2147483646; } }",
            "message A {} enum E { X = 0 [feature_support = { edition_introduced: EDITION_2023 }]; }",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let includes = [folder.path().to_owned()];
            let file = folder.path().join("a.proto");
            fs::write(&file, format!("{before}{rest}")).unwrap();
            let built_in = compile_built_in(&[PathBuf::from("a.proto")], &includes);
            assert!(built_in.is_err(), "{rest}");
            let schema = crate::Schema::compile(&[file], &[]);
            let schema = schema.unwrap_or_else(|error| panic!("{error}\n{rest}"));
            schema.message_type("p.A").unwrap();
        }
    }
}
