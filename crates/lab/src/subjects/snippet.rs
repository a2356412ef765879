//! Code with the settings of a stack, for users to paste.
//!
//! It is in the subject's folder [`FOLDER`], in a file with the name of the stack and the role, such as
//! `grpc-go-client.go`, and `grpc-go-client-gzip.go` for calls that are compressed.

use rpcgauge_study::features::Role;
use rpcgauge_study::subject::{Recommended, version_of};
use rpcgauge_study::words::Named as _;

use super::Subjects;

/// The folder of a subject that contains its snippets, and perhaps tests of them.
pub(super) const FOLDER: &str = "snippets";

/// What is known of a stack's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackSettings<'s> {
    /// What the guide of its library recommends and the stack follows.
    pub recommended: &'s [Recommended],
    /// A file with code, and its text.
    pub snippet: Option<(String, String)>,
}

impl Subjects {
    /// The settings of a stack, given as SUBJECT/STACK, with or without a version. `gzip` indicates whether it compresses
    /// messages. `None` if there is no such stack.
    pub fn settings(&self, stack: &str, role: Role, gzip: bool) -> Option<StackSettings<'_>> {
        let stack = version_of(stack).map_or(stack, |(stack, _)| stack);
        let (subject, name) = stack.split_once('/')?;
        let package = self.packages.get(subject)?;
        let compression = if gzip { "-gzip" } else { "" };
        let stem = format!("{name}-{}{compression}", role.as_str());
        let mut snippets = package.snippets.0.iter();
        let snippet = snippets.find(|file| {
            let name = file.name.rsplit_once('.');
            name.is_some_and(|(name, _)| name == stem)
        });
        Some(StackSettings {
            recommended: &package.manifest.stack(name)?.recommended,
            snippet: snippet.map(|file| {
                let path = format!("{subject}/{FOLDER}/{}", file.name);
                let code = String::from_utf8_lossy(&file.bytes).into_owned();
                (path, code)
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_snippet_belongs_to_a_stack_that_has_its_role() {
        let subjects = Subjects::load(&[]).unwrap();
        let mut found = 0;
        for package in subjects.all() {
            let manifest = package.manifest();
            let files = package.snippets.0.iter();
            for file in files.filter(|file| !file.name.contains("_test.")) {
                let (stem, _) = file.name.rsplit_once('.').expect("a file extension");
                let plain = stem.strip_suffix("-gzip").unwrap_or(stem);
                let (stack, role) = plain.rsplit_once('-').expect("STACK-ROLE");
                let stack = manifest.stack(stack);
                let stack = stack.unwrap_or_else(|| panic!("{stem}: no such stack"));
                let mut roles = stack.features.roles.iter();
                assert!(roles.any(|one| one.as_str() == role), "{stem}");
                found += 1;
            }
        }
        assert!(found > 0);
    }

    #[test]
    fn a_stack_has_the_snippet_of_its_role_and_compression() {
        let subjects = Subjects::load(&[]).unwrap();
        let file = |stack, role, gzip| {
            let settings = subjects.settings(stack, role, gzip)?;
            assert!(!settings.recommended.is_empty());
            Some(settings.snippet?.0)
        };
        assert_eq!(
            file("go/grpc-go@1.80.0", Role::Client, true).as_deref(),
            Some("go/snippets/grpc-go-client-gzip.go")
        );
        assert_eq!(
            file("go/grpc-go", Role::Server, false).as_deref(),
            Some("go/snippets/grpc-go-server.go")
        );
        assert_eq!(file("go/grpc-gateway", Role::Server, false), None);
        assert_eq!(file("go/none", Role::Server, false), None);
    }
}
