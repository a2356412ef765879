//! Toolchains: which are there, in which version, and what each unlocks.

use std::env;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_message::schema::{FIRST_PROTOC, protoc_release};

use super::capability::Capability;

/// A toolchain that does not tell its version in this time tells none.
const LIMIT: Duration = Duration::from_secs(5);

/// How often it is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The most that is read of what it says, bytes.
const MOST_READ: u64 = 4 << 10;

/// A toolchain that may be on the PATH.
#[derive(Clone, Copy)]
struct Toolchain {
    name: &'static str,
    /// What asks it for its version.
    ask: &'static [&'static str],
    /// What it unlocks.
    unlocks: &'static str,
    /// What a version, as it tells it, cannot do of that.
    lacks: fn(&str) -> Option<String>,
}

impl Toolchain {
    /// A toolchain of which any version does.
    const fn new(name: &'static str, ask: &'static [&'static str], unlocks: &'static str) -> Self {
        Self {
            name,
            ask,
            unlocks,
            lacks: |_| None,
        }
    }

    /// Its version, or why it is of no use here.
    fn state(&self) -> Result<String, String> {
        let said = version(self.name, self.ask)?;
        match (self.lacks)(&said) {
            Some(lack) => Err(format!("{said}: {lack}")),
            None => Ok(said),
        }
    }
}

const TOOLCHAINS: [Toolchain; 9] = [
    Toolchain {
        lacks: cargo_lacks,
        ..Toolchain::new("cargo", &["--version"], "building rpcgauge itself")
    },
    Toolchain::new(
        "go",
        &["version"],
        "subjects in Go, which this release has none of",
    ),
    Toolchain::new(
        "java",
        &["-version"],
        "subjects on the JVM, which this release has none of",
    ),
    Toolchain::new(
        "mvn",
        &["--version"],
        "building subjects on the JVM, which this release has none of",
    ),
    Toolchain::new(
        "node",
        &["--version"],
        "subjects in JavaScript, which this release has none of",
    ),
    Toolchain::new("python3", &["--version"], "the subject python"),
    Toolchain {
        lacks: protoc_lacks,
        ..Toolchain::new("protoc", &["--version"], EDITIONS)
    },
    Toolchain::new("buf", &["--version"], EDITIONS),
    Toolchain::new("perf", &["--version"], "profiles of a subject"),
];

const EDITIONS: &str = ".proto files with editions";

/// A version that cannot be read is not called too old.
fn protoc_lacks(version: &str) -> Option<String> {
    let release = protoc_release(version)?;
    (release < FIRST_PROTOC).then(|| format!("editions need {FIRST_PROTOC} or newer"))
}

/// The same for `cargo 1.95.0 (f2d3ce0bd 2026-03-21)`.
fn cargo_lacks(version: &str) -> Option<String> {
    let needed = env!("CARGO_PKG_RUST_VERSION");
    let found = version.strip_prefix("cargo ")?;
    (minor(found)? < minor(needed)?).then(|| format!("building rpcgauge needs {needed} or newer"))
}

/// The first two numbers of a version.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Looks for every toolchain. They are asked at the same time: a JVM takes a while to answer.
pub(super) fn toolchains() -> Vec<Capability> {
    let asked = TOOLCHAINS.map(|toolchain| {
        let asked = thread::spawn(move || toolchain.state());
        (toolchain.name, toolchain.unlocks, asked)
    });
    asked
        .into_iter()
        .map(|(name, unlocks, asked)| {
            let state = asked
                .join()
                .unwrap_or_else(|_| Err("could not be asked".to_owned()));
            Capability::new(name, state, unlocks)
        })
        .collect()
}

fn version(name: &str, args: &[&str]) -> Result<String, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let program = find(name, &env::split_paths(&path).collect::<Vec<_>>())
        .ok_or_else(|| "is not on the PATH".to_owned())?;
    let said = ask(&program, args).map_err(|reason| format!("{}: {reason}", program.display()))?;
    Ok(said)
}

/// The first executable file of that name.
fn find(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    folders
        .iter()
        .map(|folder| folder.join(name))
        .find(is_program)
}

/// The first line that it says, on either stream.
fn ask(program: &Path, args: &[&str]) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let deadline = Instant::now() + LIMIT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(Some(status)) => return Err(format!("failed with {status}")),
            Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
            _ => {
                // Ours, and of no use any more.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("gave no version in {} s", LIMIT.as_secs()));
            }
        }
    }
    first_line(&mut child).ok_or_else(|| "said nothing".to_owned())
}

/// It has ended, so that what it said is in the pipes.
fn first_line(child: &mut Child) -> Option<String> {
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = stdout.take(MOST_READ).read_to_string(&mut said);
    }
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(MOST_READ).read_to_string(&mut said);
    }
    let line = said.lines().map(plain).find(|line| !line.is_empty())?;
    Some(line)
}

/// Without control characters, and without the colours that some tools write to any stream.
fn plain(line: &str) -> String {
    let mut rest = line;
    let mut shown = String::new();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        shown.push_str(before);
        rest = after
            .split_once(|c: char| c.is_ascii_alphabetic())
            .map_or("", |(_, rest)| rest);
    }
    shown.push_str(rest);
    shown
        .chars()
        .filter(|c| !c.is_control())
        .collect::<String>()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_first_executable_on_the_path_is_taken() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(a.path().join("tool"), "no program").unwrap();
        let expected = script(b.path(), "tool", "");
        let folders = [a.path().to_owned(), b.path().to_owned()];
        assert_eq!(find("tool", &folders), Some(expected));
        assert_eq!(find("other", &folders), None);
    }

    #[test]
    fn the_first_line_is_the_version_on_either_stream() {
        // A copy of the shell is run, since a script that was just written may still be busy.
        let shell = Path::new("/bin/sh");
        assert_eq!(
            ask(shell, &["-c", "echo; echo v1; echo more"]),
            Ok("v1".to_owned())
        );
        assert_eq!(ask(shell, &["-c", "echo v2 >&2"]), Ok("v2".to_owned()));
        assert_eq!(ask(shell, &["-c", "true"]), Err("said nothing".to_owned()));
        assert!(ask(shell, &["-c", "exit 3"]).unwrap_err().contains('3'));
    }

    #[test]
    fn a_version_that_lacks_what_it_would_unlock_says_so() {
        let lack = Some("editions need 27 or newer".to_owned());
        assert_eq!(protoc_lacks("libprotoc 3.21.12"), lack);
        assert_eq!(protoc_lacks("libprotoc 26.1"), lack);
        assert_eq!(protoc_lacks("libprotoc 27.0"), None);
        assert_eq!(protoc_lacks("a protoc of one's own"), None);
        let old = cargo_lacks("cargo 1.75.0 (1d8b05cdd 2023-11-20)").unwrap();
        assert!(old.contains(env!("CARGO_PKG_RUST_VERSION")), "{old}");
        assert_eq!(
            cargo_lacks(concat!("cargo ", env!("CARGO_PKG_RUST_VERSION"), ".0")),
            None
        );
        assert_eq!(cargo_lacks("cargo 2.0.0"), None);
        assert_eq!(cargo_lacks("cargo"), None);
    }

    #[test]
    fn colours_are_left_out() {
        assert_eq!(
            plain("\u{1b}[1mApache Maven 3.8.7\u{1b}[m"),
            "Apache Maven 3.8.7"
        );
        assert_eq!(plain("\tplain \u{7}"), "plain");
    }
}
