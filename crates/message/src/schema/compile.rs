//! Compiles .proto files with the compiler inside, and hands files with editions on.

use std::path::{Path, PathBuf};

use super::{SchemaError, editions};

/// Compiles files into an encoded descriptor set with its imports.
pub(super) fn compile(files: &[PathBuf], includes: &[PathBuf]) -> Result<Vec<u8>, SchemaError> {
    let includes = include_paths(files, includes);
    let names = files
        .iter()
        .map(|file| import_name(file, &includes))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    match compile_inside(&names, &includes) {
        Ok(bytes) => Ok(bytes),
        Err(error) => match editions::first_with_edition(&names, &includes) {
            Some(file) => editions::compile(&file, &names, &includes),
            None => Err(describe(&error, &includes)),
        },
    }
}

fn compile_inside(names: &[PathBuf], includes: &[PathBuf]) -> Result<Vec<u8>, protox::Error> {
    let mut compiler = protox::Compiler::new(includes)?;
    compiler.include_imports(true).open_files(names)?;
    Ok(compiler.encode_file_descriptor_set())
}

/// The include paths, or the folder of each file where there are none.
fn include_paths(files: &[PathBuf], includes: &[PathBuf]) -> Vec<PathBuf> {
    if !includes.is_empty() {
        return includes.to_vec();
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for file in files {
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// The name that a file would be imported by: its path from the first include path it is in,
/// however either is spelled.
fn import_name(file: &Path, includes: &[PathBuf]) -> Result<PathBuf, SchemaError> {
    let wrong = |what: String| SchemaError::File {
        file: file.display().to_string(),
        what,
    };
    if file.is_dir() {
        return Err(wrong("is a folder; name the .proto files in it".to_owned()));
    }
    let Ok(absolute) = file.canonicalize() else {
        let by_import = |include: &PathBuf| file.is_relative() && include.join(file).is_file();
        return match includes.iter().any(by_import) {
            true => Ok(file.to_owned()),
            false => Err(wrong("no such file".to_owned())),
        };
    };
    includes
        .iter()
        .filter_map(|include| include.canonicalize().ok())
        .find_map(|include| absolute.strip_prefix(include).ok().map(Path::to_owned))
        .ok_or_else(|| {
            wrong(format!(
                "is in none of the include paths ({}); add the folder that imports start from \
                 with --include",
                list(includes)
            ))
        })
}

/// The compiler's error in our own words.
fn describe(error: &protox::Error, includes: &[PathBuf]) -> SchemaError {
    // Its `Debug` is `file:line:column: what` where the place is known.
    let text = format!("{error:?}")
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    let message = error.to_string();
    let place = text
        .strip_suffix(message.as_str())
        .map(|p| p.trim_end_matches([' ', ':']));
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
    match position {
        Some((line, column)) => SchemaError::Proto {
            file,
            line,
            column,
            what: message,
        },
        None if error.is_parse() => {
            // The compiler has no place for the end of the file; it is the last line's end.
            let source = std::fs::read_to_string(&file).unwrap_or_default();
            let line = source.lines().count().max(1);
            let column = source.lines().last().map_or(0, |l| l.chars().count()) + 1;
            SchemaError::Proto {
                file,
                line,
                column,
                what: message,
            }
        }
        None => SchemaError::File {
            file,
            what: message,
        },
    }
}

/// A file's path on disk from the name it is imported by.
pub(super) fn find(name: &str, includes: &[PathBuf]) -> String {
    includes
        .iter()
        .map(|include| include.join(name))
        .find(|path| path.is_file())
        .map_or_else(|| name.to_owned(), |path| shown(&path))
}

/// A path without a leading `./`.
fn shown(path: &Path) -> String {
    path.strip_prefix("./")
        .unwrap_or(path)
        .display()
        .to_string()
}

pub(super) fn list(includes: &[PathBuf]) -> String {
    let paths: Vec<String> = includes
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}
