//! Include paths: maps files to import names, and import names to files.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{SchemaError, file_name};

/// Returns the include paths. If there are none, returns the folder of each file.
pub(super) fn include_paths(files: &[PathBuf], includes: &[PathBuf]) -> Vec<PathBuf> {
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

/// Returns a file's import name: its path relative to the first include path that contains it, even if the two
/// are spelled differently. For a symbolic link, its own path is tried first and its target last.
pub(super) fn import_name(file: &Path, includes: &[PathBuf]) -> Result<PathBuf, SchemaError> {
    let wrong = |what: String| SchemaError::File {
        file: file.display().to_string(),
        what,
    };
    if file.is_dir() {
        return Err(wrong(
            "is a folder; specify the .proto files in it".to_owned(),
        ));
    }
    if !file.exists() {
        let by_import = |include: &PathBuf| file.is_relative() && include.join(file).is_file();
        return if includes.iter().any(by_import) {
            Ok(file.to_owned())
        } else {
            Err(wrong("no such file".to_owned()))
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
    let name = includes.iter().find_map(name_in).ok_or_else(|| {
        wrong(format!(
            "is in none of the include paths ({}); add the folder that imports start from with \
             --include",
            list(includes)
        ))
    })?;
    file_name::check(&name.to_string_lossy()).map_err(wrong)?;
    Ok(name)
}

/// Where the file with an import name is.
pub(super) fn located(name: &str, includes: &[PathBuf]) -> Option<PathBuf> {
    let is_there = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| !found.is_dir());
    let mut paths = includes.iter().map(|include| include.join(name));
    paths.find(is_there)
}

/// A file's path on disk, by its import name.
pub(super) fn find(name: &str, includes: &[PathBuf]) -> String {
    located(name, includes).map_or_else(|| name.to_owned(), |path| shown(&path))
}

/// A path without a leading `./`.
pub(super) fn shown(path: &Path) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.display().to_string()
}

pub(super) fn list(includes: &[PathBuf]) -> String {
    let paths = includes.iter().map(|path| path.display().to_string());
    paths.collect::<Vec<_>>().join(", ")
}
