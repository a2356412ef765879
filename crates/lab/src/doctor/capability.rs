//! The privileges and toolchains that this machine has, and what each one enables.

use std::fs::OpenOptions;
use std::io;
use std::thread;

use rpcgauge_message::schema::FIRST_PROTOC;
use rpcgauge_study::subject::{Tool, Version};
use serde::Serialize;

use crate::machine::idle;
use crate::machine::process::ProcessMeter;
use crate::subjects::Subjects;
use crate::subjects::tools::find;

/// A privilege or toolchain that this machine may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Capability {
    pub(super) name: String,
    pub(super) found: bool,
    /// The version or path if found; otherwise why it was not found.
    pub(super) detail: String,
    pub(super) unlocks: String,
}

impl Capability {
    pub(super) fn new(name: &str, state: Result<String, String>, unlocks: &str) -> Self {
        Self {
            name: name.to_owned(),
            found: state.is_ok(),
            detail: state.unwrap_or_else(|why| why),
            unlocks: unlocks.to_owned(),
        }
    }
}

/// Every privilege that some part of rpcgauge needs.
pub(super) fn privileges(links: Result<String, String>) -> Vec<Capability> {
    vec![
        Capability::new(
            "root",
            root(),
            "everything below, if the container allows it",
        ),
        Capability::new(
            idle::DEVICE,
            writable(idle::DEVICE),
            "idle states disabled: local calls are measured without CPU wake-up latency",
        ),
        Capability::new(
            "peak memory reset",
            peak_reset(),
            "peak memory per trial instead of per process lifetime",
        ),
        Capability::new(
            "emulated links",
            links,
            "a network between client and server (`rpcgauge link check` measures which)",
        ),
    ]
}

fn root() -> Result<String, String> {
    let user = rustix::process::geteuid();
    let detail = format!("user {user}");
    if user.is_root() {
        Ok(detail)
    } else {
        Err(detail)
    }
}

fn writable(path: &str) -> Result<String, String> {
    match OpenOptions::new().write(true).open(path) {
        Ok(_) => Ok("can be opened for writing".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("does not exist".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn peak_reset() -> Result<String, String> {
    let meter = ProcessMeter::of_self().map_err(|error| error.to_string())?;
    if meter.reset_peak() {
        Ok("works".to_owned())
    } else {
        Err("the kernel refuses it (/proc/self/clear_refs)".to_owned())
    }
}

const EDITIONS: &str = ".proto files with editions";

/// The tools that rpcgauge itself uses, and what each one enables.
fn own() -> [(Tool, String); 3] {
    let (rust, protoc) = (env!("CARGO_PKG_RUST_VERSION"), FIRST_PROTOC.to_string());
    let rust_unlocks = "building rpcgauge itself";
    let protoc_at = "github.com/protocolbuffers/protobuf has it";
    [
        ("cargo", rust, "rustup.rs has it", rust_unlocks),
        ("protoc", &protoc, protoc_at, EDITIONS),
        ("buf", "", "buf.build has it", EDITIONS),
    ]
    .map(|(name, least, install, unlocks)| {
        let tool = Tool {
            name: name.to_owned(),
            programs: vec![name.to_owned()],
            folders: Vec::new(),
            version: vec!["--version".to_owned()],
            least: Version::parse(least),
            install: install.to_owned(),
        };
        (tool, unlocks.to_owned())
    })
}

/// Looks for all tools concurrently, because some are slow to print their version.
pub(super) fn toolchains(subjects: &Subjects) -> Vec<Capability> {
    let of_subjects = subjects.all().map(|package| package.manifest());
    let of_subjects = of_subjects.flat_map(|subject| {
        let unlocks = move |tool: &Tool| (tool.clone(), format!("the subject {}", subject.name));
        subject.toolchain.iter().map(unlocks)
    });
    let tools: Vec<_> = own().into_iter().chain(of_subjects).collect();
    let states: Vec<_> = thread::scope(|scope| {
        let asked = tools.iter().map(|(tool, _)| scope.spawn(|| state(tool)));
        let asked: Vec<_> = asked.collect();
        asked
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect()
    });
    let rows = tools.iter().zip(states);
    rows.map(|((tool, unlocks), state)| {
        let state = state.unwrap_or_else(|_| Err("its version could not be determined".to_owned()));
        Capability::new(&tool.name, state, unlocks)
    })
    .collect()
}

/// A tool's version and path, or why it cannot be used here and what to do about it.
fn state(tool: &Tool) -> Result<String, String> {
    let found = find(tool)?;
    let shown = format!("{} {}", found.version, found.path.display());
    Ok(shown.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_says_so() {
        assert_eq!(
            writable("/nonexistent/device"),
            Err("does not exist".to_owned())
        );
    }

    #[test]
    fn each_privilege_says_what_it_unlocks() {
        for privilege in privileges(Ok("work".to_owned())) {
            assert!(
                !privilege.detail.is_empty() && !privilege.unlocks.is_empty(),
                "{privilege:?}"
            );
        }
    }
}
