//! Compiles .proto files with the compiler inside, and hands files with editions on.

use std::path::{Component, Path, PathBuf};

use super::sources::{Places, Sources, located, refused, source_of};
use super::{SchemaError, descriptor_set, editions};

/// Compiles files into an encoded descriptor set with its imports.
pub(super) fn compile(files: &[PathBuf], includes: &[PathBuf]) -> Result<Vec<u8>, SchemaError> {
    let includes = include_paths(files, includes);
    let names = files
        .iter()
        .map(|file| import_name(file, &includes))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    match compile_inside(&names, &includes) {
        Ok(bytes) => Ok(bytes),
        Err(error) => match refused(&error) {
            Some(refused) => Err(refused),
            None => match editions::first_with_edition(&names, &includes) {
                Some(file) => editions::compile(&file, &names, &includes),
                None => Err(describe(&error, &includes)),
            },
        },
    }
}

/// Where the files are not right they are compiled once more, for the place of what is wrong.
fn compile_inside(names: &[PathBuf], includes: &[PathBuf]) -> Result<Vec<u8>, protox::Error> {
    let compile = |places| {
        let mut compiler = protox::Compiler::with_file_resolver(Sources::new(includes, places));
        compiler.open_files(names)?;
        let pool = compiler.descriptor_pool();
        Ok(descriptor_set(
            pool.files().map(|file| file.encode_to_vec()),
        ))
    };
    compile(Places::LeftOut).map_err(|error: protox::Error| match refused(&error) {
        Some(_) => error,
        None => compile(Places::Kept).err().unwrap_or(error),
    })
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
/// however either is spelled. A link is a file where it lies; where it leads is tried last.
fn import_name(file: &Path, includes: &[PathBuf]) -> Result<PathBuf, SchemaError> {
    let wrong = |what: String| SchemaError::File {
        file: file.display().to_string(),
        what,
    };
    if file.is_dir() {
        return Err(wrong("is a folder; name the .proto files in it".to_owned()));
    }
    if !file.exists() {
        let by_import = |include: &PathBuf| file.is_relative() && include.join(file).is_file();
        return match includes.iter().any(by_import) {
            true => Ok(file.to_owned()),
            false => Err(wrong("no such file".to_owned())),
        };
    }
    let spellings: [fn(&Path) -> Option<PathBuf>; 3] = [
        |file| std::path::absolute(file).ok(),
        |file| {
            let folder = std::path::absolute(file).ok()?.parent()?.canonicalize();
            Some(folder.ok()?.join(file.file_name()?))
        },
        |file| file.canonicalize().ok(),
    ];
    let name_in = |include: &PathBuf| {
        let folders = [
            std::path::absolute(include).ok(),
            include.canonicalize().ok(),
        ];
        let mut paths = spellings.iter().filter_map(|spelled| spelled(file));
        paths.find_map(|path| {
            let mut folders = folders.iter().flatten();
            let name = folders.find_map(|folder| path.strip_prefix(folder).ok())?;
            let is_name = |part| matches!(part, Component::Normal(_));
            name.components().all(is_name).then(|| name.to_owned())
        })
    };
    includes.iter().find_map(name_in).ok_or_else(|| {
        wrong(format!(
            "is in none of the include paths ({}); add the folder that imports start from with \
             --include",
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
            // Where the name of a group should be there is no text in quotes.
            what: match message == "invalid group name" && is_text(&file, line, column) {
                true => IMPORT_PATHS.to_owned(),
                false => message,
            },
            file,
            line,
            column,
        },
        None if error.is_parse() => {
            // The compiler has no place for the end of the file; it is the last line's end.
            let source = source_of(Path::new(&file));
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

/// What the compiler says wrongly of an import, in our own words.
const IMPORT_PATHS: &str = "an import is a path from an include path on, without \"..\", \".\", \
                            \"//\" or \"\\\"; name the folder that it starts from with --include";

/// Whether a text in quotes begins at a place.
fn is_text(file: &str, line: usize, column: usize) -> bool {
    let source = source_of(Path::new(file));
    let line = source.lines().nth(line.saturating_sub(1));
    let found = line.and_then(|line| line.chars().nth(column.saturating_sub(1)));
    found.is_some_and(|found| ['"', '\''].contains(&found))
}

/// A file's path on disk from the name it is imported by.
pub(super) fn find(name: &str, includes: &[PathBuf]) -> String {
    located(name, includes).map_or_else(|| name.to_owned(), |path| shown(&path))
}

/// A path without a leading `./`.
pub(super) fn shown(path: &Path) -> String {
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
