//! Checks the code against the rules of ARCHITECTURE.md: which crates may use which others, and
//! which dependencies and names are banned.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The sibling crates that each crate's own code may use. Tests may use more.
const ALLOWED: [(&str, &[&str]); 15] = [
    ("rpcgauge-contract", &["rpcgauge-message", "rpcgauge-trial"]),
    ("rpcgauge-message", &["rpcgauge-trial"]),
    ("rpcgauge-wire", &[]),
    ("rpcgauge-stats", &[]),
    ("rpcgauge-trial", &[]),
    (
        "rpcgauge-study",
        &["rpcgauge-contract", "rpcgauge-message", "rpcgauge-trial"],
    ),
    ("rpcgauge-link", &["rpcgauge-trial"]),
    ("rpcgauge-load", &["rpcgauge-trial", "rpcgauge-wire"]),
    ("rpcgauge-locust", &[]),
    (
        "rpcgauge-reference",
        &["rpcgauge-contract", "rpcgauge-message"],
    ),
    (
        "rpcgauge-lab",
        &[
            "rpcgauge-contract",
            "rpcgauge-study",
            "rpcgauge-message",
            "rpcgauge-link",
            "rpcgauge-load",
            "rpcgauge-stats",
            "rpcgauge-trial",
        ],
    ),
    ("rpcgauge-model", &["rpcgauge-trial"]),
    (
        "rpcgauge-report",
        &["rpcgauge-model", "rpcgauge-study", "rpcgauge-stats"],
    ),
    (
        "rpcgauge-conformance",
        &[
            "rpcgauge-message",
            "rpcgauge-reference",
            "rpcgauge-trial",
            "rpcgauge-wire",
        ],
    ),
    (
        "rpcgauge",
        &[
            "rpcgauge-lab",
            "rpcgauge-link",
            "rpcgauge-load",
            "rpcgauge-locust",
            "rpcgauge-message",
            "rpcgauge-reference",
            "rpcgauge-report",
            "rpcgauge-study",
            "rpcgauge-trial",
        ],
    ),
];

/// Libraries that a crate's own code must not use, with the reason.
const ABSENT: [(&str, &str, &str); 8] = [
    ("rpcgauge-wire", "mio", "wire is sans-I/O"),
    ("rpcgauge-wire", "libc", "wire is sans-I/O and has no clock"),
    ("rpcgauge-wire", "tokio", "wire is sans-I/O"),
    ("rpcgauge-load", "tokio", "no async runtime on the hot path"),
    ("rpcgauge-load", "hyper", "the engine has its own client"),
    (
        "rpcgauge-lab",
        "tokio",
        "the lab waits for processes, not for futures",
    ),
    (
        "rpcgauge-lab",
        "hyper",
        "every subject is a process behind the contract",
    ),
    (
        "rpcgauge-report",
        "hdrhistogram",
        "records own the histogram type",
    ),
];

/// Text that may appear only in certain places of the crates' own code, with the reason.
const ONLY_IN: [(&str, &[&str], &str); 2] = [
    (
        "process::Command",
        &[
            "crates/lab/src",
            "crates/message/src/schema",
            "crates/cli/src/commands/link",
        ],
        "only the lab starts subjects; message starts protoc or buf for .proto files, and `rpcgauge link` what it is given",
    ),
    (
        "CLOCK_MONOTONIC",
        &["crates/load/src", "crates/reference/src"],
        "only load reads the clock of a call, and the reference server its handler marks",
    ),
];

/// Text that must not appear in certain crates' own code, with the reason.
const NOT_IN: [(&str, &str, &str); 3] = [
    ("std::net", "crates/wire/src", "wire is sans-I/O"),
    ("Instant", "crates/wire/src", "wire has no clock"),
    ("SystemTime", "crates/wire/src", "wire has no clock"),
];

/// Maximum number of packages in Cargo.lock.
const MAX_PACKAGES: usize = 250;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the checkout")
}

/// Each workspace crate's own dependencies, without those for development or build scripts.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| {
            let own = package["dependencies"]
                .as_array()
                .expect("dependencies")
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .map(|dependency| text(&dependency["name"]))
                .collect();
            (text(&package["name"]), own)
        })
        .collect()
}

#[test]
fn crates_use_only_the_siblings_they_may() {
    let dependencies = dependencies();
    let allowed: BTreeMap<_, _> = ALLOWED.into_iter().collect();
    assert_eq!(
        dependencies.keys().map(String::as_str).collect::<Vec<_>>(),
        allowed.keys().copied().collect::<Vec<_>>(),
        "the workspace's crates must match ARCHITECTURE.md"
    );
    for (name, own) in &dependencies {
        for sibling in own.iter().filter(|name| name.starts_with("rpcgauge")) {
            assert!(
                allowed[name.as_str()].contains(&sibling.as_str()),
                "{name} may not use {sibling}: see ARCHITECTURE.md, \"Who may use whom\""
            );
        }
    }
}

#[test]
fn what_must_be_absent_is_absent() {
    let dependencies = dependencies();
    for (name, library, reason) in ABSENT {
        assert!(
            !dependencies[name].contains(library),
            "{name} uses {library}, but {reason}"
        );
    }
}

#[test]
fn the_lock_file_stays_small() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    assert!(
        packages > 0 && packages <= MAX_PACKAGES,
        "{packages} packages in Cargo.lock"
    );
}

#[test]
fn processes_and_clocks_stay_where_they_belong() {
    let root = root();
    let mut found = BTreeMap::<&str, usize>::new();
    for file in rust_sources(&root.join("crates")) {
        let shown = file
            .strip_prefix(&root)
            .expect("inside")
            .to_string_lossy()
            .into_owned();
        let code = own_code(&fs::read_to_string(&file).expect("a source file"));
        for (word, places, reason) in ONLY_IN {
            if code.contains(word) {
                *found.entry(word).or_default() += 1;
                assert!(
                    places.iter().any(|place| shown.starts_with(place)),
                    "{shown} contains {word}, but {reason}"
                );
            }
        }
        for (word, place, reason) in NOT_IN {
            if code.contains(word) {
                *found.entry(word).or_default() += 1;
                assert!(
                    !shown.starts_with(place),
                    "{shown} contains {word}, but {reason}"
                );
            }
        }
    }
    let words = ONLY_IN.map(|(word, ..)| word).into_iter();
    for word in words.chain(NOT_IN.map(|(word, ..)| word)) {
        assert!(
            found.contains_key(word),
            "{word} was not found: its rule no longer checks anything"
        );
    }
}

/// Source files of the crates' own code, without tests, benches and examples.
fn rust_sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && !["tests", "benches", "examples"].contains(&name.as_str()) {
            files.extend(rust_sources(&path));
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "build.rs" {
            files.push(path);
        }
    }
    files
}

/// The code before the unit tests, without comments.
fn own_code(source: &str) -> String {
    source
        .split("#[cfg(test)]")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}
