//! The toolchain that a subject needs: looked for in `PATH`, and asked for its version.

use std::env;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rpcgauge_study::subject::{Tool, Version};
use rustix::fs::{Access, access};

use crate::subject::process::{end, ends_with_lab};

/// A program that does not tell its version in this time tells none. A JVM needs a good part of it.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// The most that is read of what a program says of its version, bytes.
const MOST_SAID: u64 = 64 << 10;

/// How often a program that is asked for its version is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A program of the toolchain that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundTool {
    /// What the manifest calls it.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its version.
    pub(super) version: String,
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

fn find(tool: &Tool) -> Result<FoundTool, String> {
    let mut why = format!("there is no {} in PATH", tool.programs.join(" or "));
    for program in &tool.programs {
        let Some(path) = in_path(program) else {
            continue;
        };
        let at = path.display();
        let version = said_by(&path, &tool.version).and_then(|said| Version::find(&said));
        match (&version, &tool.least) {
            (None, Some(least)) => {
                why = format!("{at} tells no version, and {least} is needed");
            }
            (Some(version), Some(least)) if version < least => {
                why = format!("{at} is {version}, and {least} is needed");
            }
            _ => {
                return Ok(FoundTool {
                    name: tool.name.clone(),
                    path,
                    version: version.map_or_else(String::new, |version| version.to_string()),
                });
            }
        }
    }
    Err(why)
}

fn in_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok())
}

/// What a program says when it is asked for its version; none where it fails or hangs.
fn said_by(program: &Path, args: &[String]) -> Option<String> {
    // A file and no pipe: what it may leave running would keep a pipe open.
    let mut said = tempfile::tempfile().ok()?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(said.try_clone().ok()?)
        .stderr(said.try_clone().ok()?);
    ends_with_lab(&mut command, None);
    let mut child = command.spawn().ok()?;
    let deadline = Instant::now() + VERSION_TIMEOUT;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= deadline {
            end(&mut child, &mut None, Duration::ZERO);
            return None;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let mut text = String::new();
    said.seek(SeekFrom::Start(0)).ok()?;
    said.take(MOST_SAID).read_to_string(&mut text).ok()?;
    Some(text)
}
