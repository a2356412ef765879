//! The toolchain that a subject needs, and whether its versions are new enough.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use rpcgauge_study::subject::{Tool, Version};

use crate::program::{in_path, is_executable, version_text};

/// A program of the toolchain that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundTool {
    /// What the manifest calls it.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its version.
    pub(crate) version: String,
}

/// Looks for all of a subject's tools; what is missing, and what to do, one line each.
pub(super) fn find_all(tools: &[Tool]) -> Result<Vec<FoundTool>, Vec<String>> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for tool in tools {
        match find(tool) {
            Ok(tool) => found.push(tool),
            Err(why) => missing.push(format!("{why}; {}", tool.install)),
        }
    }
    if missing.is_empty() {
        Ok(found)
    } else {
        Err(missing)
    }
}

/// The program of a tool that will do, or why there is none: the first, or the newest where the tool names
/// folders.
pub(crate) fn find(tool: &Tool) -> Result<FoundTool, String> {
    let places = match &tool.folders[..] {
        [] => String::new(),
        folders => format!(", nor in {}", folders.join(" or ")),
    };
    let mut why = format!("there is no {} in PATH{places}", tool.programs.join(" or "));
    let mut newest: Option<(Option<Version>, PathBuf)> = None;
    for path in candidates(tool) {
        let at = path.display();
        let version = version_text(&path, &tool.version).ok();
        let version = version.and_then(|text| Version::find(&text));
        match (&version, &tool.least) {
            (None, Some(least)) => {
                why = format!("{at} prints no version, and {least} is needed");
            }
            (Some(version), Some(least)) if version < least => {
                why = format!("{at} is {version}, and {least} is needed");
            }
            _ if newest.as_ref().is_none_or(|(known, _)| *known < version) => {
                newest = Some((version, path));
            }
            _ => {}
        }
        if newest.is_some() && tool.folders.is_empty() {
            break;
        }
    }
    let (version, path) = newest.ok_or(why)?;
    Ok(FoundTool {
        name: tool.name.clone(),
        path,
        version: version.map_or_else(String::new, |version| version.to_string()),
    })
}

/// Where a tool's programs may be: in `PATH`, then in its folders.
fn candidates(tool: &Tool) -> impl Iterator<Item = PathBuf> {
    let in_folders = tool.folders.iter().filter_map(|folder| written_out(folder));
    let in_folders = in_folders.flat_map(|folder| matching(Path::new("/"), &folder));
    let in_folders: Vec<PathBuf> = in_folders.collect();
    tool.programs.iter().flat_map(move |program| {
        let others: Vec<PathBuf> = in_folders
            .iter()
            .map(|folder| folder.join(program))
            .filter(|path| is_executable(path))
            .collect();
        in_path(program).into_iter().chain(others)
    })
}

/// The files and folders that a path means; a `*` at the end of a name stands for the rest of it.
pub(super) fn matching(folder: &Path, path: &str) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let parts = Path::new(path).components();
    for part in parts.map(|part| Path::new(part.as_os_str())) {
        let start = part.to_str().and_then(|part| part.strip_suffix('*'));
        found = match start {
            None => found.into_iter().map(|path| path.join(part)).collect(),
            Some(start) => {
                let entries = found.iter().flat_map(fs::read_dir).flatten().flatten();
                let named = |entry: &fs::DirEntry| {
                    let name = entry.file_name();
                    name.to_str().is_some_and(|name| name.starts_with(start))
                };
                entries.filter(named).map(|entry| entry.path()).collect()
            }
        };
    }
    found
}

/// A folder with the variable of the environment at its begin, as `$JAVA_HOME/bin`, in its place; none where
/// the variable is not set.
fn written_out(folder: &str) -> Option<String> {
    let Some(rest) = folder.strip_prefix('$') else {
        return Some(folder.to_owned());
    };
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let value = env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(format!("{value}/{path}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_newest_program_of_a_tool_s_folders_is_used() {
        let place = tempfile::tempdir().unwrap();
        let put = |folder: &str, version: &str| {
            let folder = place.path().join(folder).join("bin");
            fs::create_dir_all(&folder).unwrap();
            let program = folder.join("rpcgauge-test-tool");
            fs::write(&program, format!("#!/bin/sh\necho tool {version}\n")).unwrap();
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let at = place.path().display();
        let mut tool = Tool {
            name: "tool".to_owned(),
            programs: vec!["rpcgauge-test-tool".to_owned()],
            folders: vec![
                "$RPCGAUGE_NO_SUCH_VARIABLE/bin".to_owned(),
                format!("{at}/jdk-*/bin"),
            ],
            version: vec!["--version".to_owned()],
            least: Version::parse("17"),
            install: String::new(),
        };
        let missing = find(&tool).unwrap_err();
        assert!(
            missing.contains("in PATH, nor in $RPCGAUGE_NO_SUCH_VARIABLE/bin or"),
            "{missing}"
        );
        put("jdk-a", "17.0.2");
        put("jdk-b", "25");
        put("jdk-c", "21.0.1");
        put("other", "99");
        let found = find(&tool).unwrap();
        assert_eq!(found.version, "25");
        assert_eq!(
            found.path,
            place.path().join("jdk-b/bin/rpcgauge-test-tool")
        );
        tool.least = Version::parse("26");
        assert!(find(&tool).unwrap_err().contains("and 26 is needed"));
    }
}
