//! Programs of a toolchain: looked for in `PATH`, and asked for their version.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Access, access};

use crate::subject::run;

/// A program that prints no version in this time has none. A JVM needs a good part of it.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// The most that is read of each stream, bytes.
const MOST_READ: u64 = 64 << 10;

/// The first executable file of this name in `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    first_executable(name, &env::var_os("PATH")?)
}

fn first_executable(name: &str, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// What a program prints when it is asked for its version: its standard output, then its standard
/// error.
///
/// # Errors
/// It cannot be started, fails, or does not end in time: one line.
pub(crate) fn version_text(program: &Path, args: &[impl AsRef<OsStr>]) -> Result<String, String> {
    // Files and no pipes: a process that the program leaves running would keep a pipe open.
    let failed = |error: io::Error| error.to_string();
    let stdout = tempfile::tempfile().map_err(failed)?;
    let stderr = tempfile::tempfile().map_err(failed)?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdout(stdout.try_clone().map_err(failed)?)
        .stderr(stderr.try_clone().map_err(failed)?);
    let status = run(&mut command, VERSION_TIMEOUT, |_| true).map_err(failed)?;
    let Some(status) = status else {
        let seconds = VERSION_TIMEOUT.as_secs();
        return Err(format!("gave no version in {seconds} s"));
    };
    if !status.success() {
        return Err(format!("failed with {status}"));
    }
    Ok(text(stdout).map_err(failed)? + "\n" + &text(stderr).map_err(failed)?)
}

fn text(mut file: File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(MOST_READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use rustix::fs::{Mode, OFlags};

    use super::*;

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
        // The shell, since a script that was just written may still be busy.
        let ask = |script| version_text(Path::new("/bin/sh"), &["-c", script]);
        assert_eq!(ask("echo v2 >&2; echo v1").unwrap(), "v1\n\nv2\n");
        assert!(ask("exit 3").unwrap_err().contains('3'));
    }

    #[test]
    fn what_a_program_leaves_running_is_ended_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        // The process that is left has the pipe open as long as it lives.
        let script = format!("exec 3<>{}; sleep 1000 & echo v1", pipe.display());
        let said = version_text(Path::new("/bin/sh"), &["-c", &script]);
        assert_eq!(said.unwrap(), "v1\n\n");
        // A pipe without a reader cannot be opened for writing without waiting.
        let is_open = || {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            rustix::fs::open(&pipe, flags, Mode::empty()).is_ok()
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while is_open() {
            assert!(Instant::now() < deadline, "it was not ended");
            std::thread::yield_now();
        }
    }
}
