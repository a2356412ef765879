//! Toolchains: which are there, in which version, and what each unlocks.

use std::thread;

use rpcgauge_message::schema::{FIRST_PROTOC, protoc_release};

use super::capability::Capability;
use crate::program::{in_path, version_text};

/// A toolchain that may be on the PATH.
#[derive(Clone, Copy)]
struct Toolchain {
    name: &'static str,
    /// What asks it for its version.
    ask: &'static [&'static str],
    /// What it unlocks.
    unlocks: &'static str,
    /// What a version cannot do of that; the version is as the program prints it.
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

    /// Its version, or why it cannot be used here.
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

/// Looks for every toolchain, at the same time for all: a JVM takes a while to print its version.
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

/// The first line that is not empty.
fn version(name: &str, args: &[&str]) -> Result<String, String> {
    let program = in_path(name).ok_or_else(|| "is not on the PATH".to_owned())?;
    let at = program.display();
    let text = version_text(&program, args).map_err(|reason| format!("{at}: {reason}"))?;
    let line = text.lines().map(plain).find(|line| !line.is_empty());
    line.ok_or_else(|| format!("{at}: said nothing"))
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
