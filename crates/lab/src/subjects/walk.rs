//! Finds the files in a folder that are a subject's sources. The build script uses the same rule.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Folders that builds and interpreters create. Hidden files are also excluded.
const LEFT_OUT: [&str; 4] = ["__pycache__", "node_modules", "target", "venv"];

pub(crate) struct Walked {
    /// The path within the folder, with `/` as the separator.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) executable: bool,
    #[allow(dead_code, reason = "the build script accepts any size")]
    pub(crate) bytes: u64,
}

/// Lists the files in a folder, sorted by name. Symbolic links are not followed.
pub(crate) fn walk(folder: &Path) -> io::Result<Vec<Walked>> {
    let mut files = Vec::new();
    enter(folder, "", &mut files)?;
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn enter(folder: &Path, within: &str, files: &mut Vec<Walked>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.starts_with('.') || LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let (kind, name) = (entry.file_type()?, format!("{within}{name}"));
        if kind.is_dir() {
            enter(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            let metadata = entry.metadata()?;
            files.push(Walked {
                name,
                path: entry.path(),
                executable: metadata.permissions().mode() & 0o111 != 0,
                bytes: metadata.len(),
            });
        }
    }
    Ok(())
}
