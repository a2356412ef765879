//! Finds the toolchain that a subject needs: where its programs are, and whether they are recent enough.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rpcgauge_study::subject::{Tool, Version};
use rustix::fs::{Access, access};

use crate::subject::{MAX_PRINTED_BYTES, bound_output, run};

/// A toolchain program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundTool {
    /// The tool's name in the manifest.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) version: String,
}

/// Finds all of a subject's tools. The error contains one line for each missing tool, including what to do.
pub(crate) fn find_all(tools: &[Tool]) -> Result<Vec<FoundTool>, Vec<String>> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for tool in tools {
        match find(tool) {
            Ok(tool) => found.push(tool),
            Err(why) => missing.push(why),
        }
    }
    // Without a temporary folder, all of them fail with the same line.
    missing.dedup();
    if missing.is_empty() {
        Ok(found)
    } else {
        Err(missing)
    }
}

/// Finds a recent enough program for a tool: the first one, or the newest one if the tool lists folders. The
/// error says why there is none and what to do.
pub(crate) fn find(tool: &Tool) -> Result<FoundTool, String> {
    let places = match &tool.folders[..] {
        [] => String::new(),
        folders => format!(", nor in {}", folders.join(" or ")),
    };
    let mut why = format!("there is no {} in PATH{places}", tool.programs.join(" or "));
    let mut newest: Option<(Option<Version>, PathBuf)> = None;
    for path in candidates(tool) {
        let at = path.display();
        let text = match version_text(&path, &tool.version) {
            Ok(text) => Ok(text),
            Err(NoVersion::Temporary(error)) => {
                return Err(format!(
                    "cannot write a temporary file: {error}; set TMPDIR to a writable folder"
                ));
            }
            Err(NoVersion::Program(how)) => Err(how),
        };
        let version = text.as_deref().ok().and_then(Version::find);
        match (&version, &tool.least) {
            (None, Some(least)) => {
                let how = text.err().unwrap_or_else(|| "prints no version".to_owned());
                why = format!("{at} {how}, but {least} or newer is needed");
            }
            (Some(version), Some(least)) if version < least => {
                why = format!("{at} is {version}, but {least} or newer is needed");
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
    let (version, path) = newest.ok_or_else(|| format!("{why}; {}", tool.install))?;
    Ok(FoundTool {
        name: tool.name.clone(),
        path,
        version: version.map_or_else(String::new, |version| version.to_string()),
    })
}

/// Paths where a tool's programs may be: in `PATH`, then in its folders.
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

/// The files and folders that match a path. A `*` is allowed only at the end of a name, where it matches the
/// rest of the name.
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

/// Replaces a leading environment variable of a folder, as in `$JAVA_HOME/bin`; `None` if the variable is not
/// set.
fn written_out(folder: &str) -> Option<String> {
    let Some(rest) = folder.strip_prefix('$') else {
        return Some(folder.to_owned());
    };
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let value = env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(format!("{value}/{path}"))
}

/// How long a program may take to print its version. A JVM needs a considerable part of this.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// The maximum number of bytes to read from each stream.
const MAX_READ_BYTES: u64 = 64 << 10;

/// The first executable file with this name in `PATH`.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    first_executable(name, &env::var_os("PATH")?)
}

fn first_executable(name: &str, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// Why a program's version is unknown.
#[derive(Debug)]
enum NoVersion {
    /// No temporary file could be created for the program's output.
    Temporary(io::Error),
    /// What happened, as the end of a sentence.
    Program(String),
}

/// What a program prints when asked for its version: standard output, then standard error.
fn version_text(program: &Path, args: &[impl AsRef<OsStr>]) -> Result<String, NoVersion> {
    // Files instead of pipes, because a process that the program leaves running would keep a pipe open.
    let failed = NoVersion::Temporary;
    let stdout = tempfile::tempfile().map_err(failed)?;
    let stderr = tempfile::tempfile().map_err(failed)?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdout(stdout.try_clone().map_err(failed)?)
        .stderr(stderr.try_clone().map_err(failed)?);
    bound_output(&mut command);
    let status = run(&mut command, VERSION_TIMEOUT, |_| true)
        .map_err(|error| NoVersion::Program(format!("cannot be started ({error})")))?;
    let Some(status) = status else {
        let seconds = VERSION_TIMEOUT.as_secs();
        return Err(NoVersion::Program(format!(
            "printed no version in {seconds} s"
        )));
    };
    let length = stdout.metadata().map_err(failed)?.len();
    if length > MAX_PRINTED_BYTES {
        let most = MAX_PRINTED_BYTES >> 20;
        return Err(NoVersion::Program(format!("printed more than {most} MiB")));
    }
    if !status.success() {
        return Err(NoVersion::Program(format!("failed with {status}")));
    }
    Ok(text(stdout).map_err(failed)? + "\n" + &text(stderr).map_err(failed)?)
}

fn text(mut file: File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use rustix::fs::{Mode, OFlags};

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
        assert!(
            find(&tool)
                .unwrap_err()
                .contains("but 26 or newer is needed")
        );
    }

    #[test]
    fn the_first_executable_on_the_path_is_taken() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(a.path().join("tool"), "no program").unwrap();
        let expected = b.path().join("tool");
        fs::write(&expected, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&expected, fs::Permissions::from_mode(0o755)).unwrap();
        let path = env::join_paths([a.path(), b.path()]).unwrap();
        assert_eq!(first_executable("tool", &path), Some(expected));
        assert_eq!(first_executable("other", &path), None);
    }

    #[test]
    fn a_version_is_printed_on_either_stream() {
        // Use the shell, because a script that was just written may still be busy (ETXTBSY).
        let ask = |script| version_text(Path::new("/bin/sh"), &["-c", script]);
        assert_eq!(ask("echo v2 >&2; echo v1").unwrap(), "v1\n\nv2\n");
        let failed = ask("exit 3").unwrap_err();
        assert!(matches!(failed, NoVersion::Program(how) if how.contains('3')));
    }

    #[test]
    fn a_program_that_prints_without_end_is_stopped() {
        let said = version_text(Path::new("/bin/sh"), &["-c", "exec yes"]);
        let Err(NoVersion::Program(why)) = said else {
            panic!("{said:?}");
        };
        assert_eq!(why, "printed more than 64 MiB");
    }

    #[test]
    fn what_a_program_leaves_running_is_ended_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        // The process that the program leaves running keeps the pipe open while it lives.
        let script = format!("exec 3<>{}; sleep 1000 & echo v1", pipe.display());
        let said = version_text(Path::new("/bin/sh"), &["-c", &script]);
        assert_eq!(said.unwrap(), "v1\n\n");
        // Opening a pipe for writing without blocking fails if it has no reader.
        let is_open = || {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            rustix::fs::open(&pipe, flags, Mode::empty()).is_ok()
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while is_open() {
            assert!(Instant::now() < deadline, "the process is still running");
            std::thread::yield_now();
        }
    }
}
