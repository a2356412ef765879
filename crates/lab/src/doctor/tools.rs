//! Toolchains: which are there, in which version, and what each unlocks.

use std::thread;

use rpcgauge_message::schema::FIRST_PROTOC;
use rpcgauge_study::subject::{Tool, Version};

use super::capability::Capability;
use crate::subjects::Subjects;
use crate::subjects::tools::find;

const EDITIONS: &str = ".proto files with editions";

/// What rpcgauge itself uses, and what each tool unlocks.
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

/// Looks for every tool, at the same time for all: some take a while to print their version.
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
        let state = state.unwrap_or_else(|_| Err("could not be asked".to_owned()));
        Capability::new(&tool.name, state, unlocks)
    })
    .collect()
}

/// Its version and place, or why it cannot be used here and what to do.
fn state(tool: &Tool) -> Result<String, String> {
    let found = find(tool)?;
    let shown = format!("{} {}", found.version, found.path.display());
    Ok(shown.trim().to_owned())
}
