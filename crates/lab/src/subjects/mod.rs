//! The subjects that can be started: the built-in ones, which are part of this program, and a user's own. Each
//! combination of sources and toolchain is built once, in the user's cache folder.

mod build;
mod check;
mod commands;
mod error;
mod folders;
mod listing;
mod preparation;
mod snippet;
pub(crate) mod sources;
mod stacks;
pub(crate) mod tools;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::workload::RECORDS_CSV;
use rpcgauge_study::features::{Features, embedded_only};
use rpcgauge_study::subject::{MANIFEST, Manifest, version_of};

pub use build::Built;
pub use check::{Check, Tried};
pub use commands::Step;
pub(crate) use commands::{Commands, run_one};
pub use error::{CommandFailed, SubjectsError};
pub(crate) use folders::{beside, empty};
pub use listing::{ListedStack, ListedSubject};
pub use preparation::{BuildEvent, Preparation};
pub use snippet::StackSettings;
use sources::{SourceFile, Sources, unreadable};
pub use stacks::Stacks;

// The embedded files: `BUILT_IN`, `BUILT_IN_APPS`, `GOLDEN` and `PROTO`.
include!(concat!(env!("OUT_DIR"), "/subjects.rs"));

/// A subject's sources and manifest.
pub struct Package {
    manifest: Manifest,
    sources: Sources,
    /// Code with the settings of its stacks. It is not built, so a subject does not change with it.
    snippets: Sources,
}

/// Whether a subject can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The subject has been built.
    Built,
    /// The subject can be built.
    NotBuilt,
    /// Required tools are missing: one line for each, including what to do.
    Missing(Vec<String>),
}

/// All subjects except the embedded one, by name.
pub struct Subjects {
    packages: BTreeMap<String, Package>,
    /// Stacks with another version of their library, by SUBJECT/STACK@VERSION.
    versions: BTreeMap<String, Package>,
    left_out: Vec<SubjectsError>,
}

impl Subjects {
    /// Loads the built-in subjects and those in a user's folders. A broken subject is left out, so that it
    /// does not prevent runs of the others.
    ///
    /// # Errors
    /// Fails if a folder cannot be read or contains no usable subject.
    pub fn load(folders: &[PathBuf]) -> Result<Self, SubjectsError> {
        let mut packages = BTreeMap::new();
        for (name, files) in BUILT_IN {
            let manifest = format!("subjects/{name}/{MANIFEST}");
            let package = Package::new(&manifest, Sources::carried(files))?;
            packages.insert((*name).to_owned(), package);
        }
        let mut subjects = Self {
            packages,
            versions: BTreeMap::new(),
            left_out: Vec::new(),
        };
        for folder in folders {
            subjects.add_folder(folder)?;
        }
        Ok(subjects)
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), SubjectsError> {
        let entries =
            fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.map_err(unreadable(folder))?;
        let mut found: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
        found.retain(|path| path.join(MANIFEST).is_file());
        found.sort();
        if found.is_empty() {
            let what = "there is no subject in this folder; give the folder that contains NAME/subject.toml";
            return Err(SubjectsError::Folder(folder.to_owned(), what.to_owned()));
        }
        let mut unusable = Vec::new();
        let count = found.len();
        for folder in found {
            match self.read(&folder) {
                Ok(package) => {
                    let name = package.manifest.name.clone();
                    self.packages.insert(name, package);
                }
                Err(error) => unusable.push(error),
            }
        }
        if unusable.len() == count {
            return Err(unusable.swap_remove(0));
        }
        self.left_out.append(&mut unusable);
        Ok(())
    }

    /// Reads a subject. Its name must match its folder and must not be taken by another subject.
    fn read(&self, folder: &Path) -> Result<Package, SubjectsError> {
        let package = Package::read(folder)?;
        let name = &package.manifest.name;
        let wrong = |what| SubjectsError::Folder(folder.join(MANIFEST), what);
        if folder.file_name() != Some(name.as_ref()) {
            return Err(wrong(format!(
                "the name is \"{name}\", but the folder has another; make them the same"
            )));
        }
        if embedded_only().contains_key(name) || self.packages.contains_key(name) {
            return Err(wrong(format!(
                "there is a subject \"{name}\" already; choose another name"
            )));
        }
        Ok(package)
    }

    /// Why some subjects in the user's folders cannot be used.
    pub fn left_out(&self) -> &[SubjectsError] {
        &self.left_out
    }

    /// All subjects except the embedded one, by name.
    pub fn all(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// Finds a subject by name.
    ///
    /// # Errors
    /// Fails if there is no such subject. The error suggests the closest name.
    pub fn find(&self, name: &str) -> Result<&Package, SubjectsError> {
        self.packages.get(name).ok_or_else(|| {
            let known = self.packages.keys().map(String::as_str);
            SubjectsError::Unknown(name.to_owned(), Nearest::or_known(name, known))
        })
    }

    /// Adds the stacks of these names that have a version, as in `go/grpc-go@1.80.0`. Ignores other names.
    ///
    /// # Errors
    /// Fails if there is no such subject or stack, or if its library has only the subject's own version.
    pub fn add_versions<'n>(
        &mut self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), SubjectsError> {
        for name in names {
            let Some((stack, version)) = version_of(name) else {
                continue;
            };
            let wrong = |what: String| SubjectsError::Version(name.to_owned(), what);
            let (subject, stack) = stack
                .split_once('/')
                .ok_or_else(|| wrong("it is not SUBJECT/STACK@VERSION".to_owned()))?;
            let package = self.find(subject)?;
            let manifest = &package.manifest;
            if manifest.stack(stack).is_none() {
                let hint = manifest.nearest_stack(stack);
                return Err(wrong(format!("{subject} has no stack \"{stack}\"{hint}")));
            }
            // Go's tools write v1.80.0.
            let version = version.strip_prefix('v').unwrap_or(version);
            let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+_".contains(c);
            let begins = version.starts_with(|c: char| c.is_ascii_digit());
            if !begins || !version.chars().all(is_plain) {
                let what = format!("\"{version}\" is not a version; write a number, as in 1.80.0");
                return Err(wrong(what));
            }
            let manifest = manifest.at_version(stack, version).ok_or_else(|| {
                wrong(format!(
                    "{subject}/{stack} has no \"version\" in its subject.toml, so only its own version can be used"
                ))
            })?;
            let package = Package {
                manifest,
                sources: package.sources.clone(),
                snippets: package.snippets.clone(),
            };
            self.versions.insert(name.to_owned(), package);
        }
        Ok(())
    }

    /// The subject that contains a stack, given the two parts of its name, and the stack's name without a version.
    fn package_of<'s>(
        &self,
        (subject, stack): (&str, &'s str),
    ) -> Result<(&Package, &'s str), SubjectsError> {
        match version_of(stack) {
            None => Ok((self.find(subject)?, stack)),
            Some((plain, _)) => {
                let name = format!("{subject}/{stack}");
                let package = self.versions.get(&name);
                let unknown =
                    || SubjectsError::Version(name.clone(), "it was not added".to_owned());
                Ok((package.ok_or_else(unknown)?, plain))
            }
        }
    }

    /// The features of each stack, including the embedded one, by the stack's name in studies.
    pub fn features(&self) -> BTreeMap<String, Features> {
        let mut features = embedded_only();
        features.extend(self.all().flat_map(|package| package.manifest.features()));
        let versions = self.versions.iter();
        features.extend(versions.flat_map(|(name, package)| {
            let stacks = package.manifest.stacks.iter();
            stacks.map(|stack| (name.clone(), stack.features.clone()))
        }));
        features
    }
}

impl Package {
    fn new(file: &str, mut sources: Sources) -> Result<Self, SubjectsError> {
        let manifest = Manifest::parse(&sources.text(MANIFEST), file)?;
        let snippets = sources.take_folder(snippet::FOLDER);
        sources.0.extend(GOLDEN.iter().chain(PROTO).cloned());
        sources.0.push(SourceFile {
            name: "contract/data/birdstrikes.csv".into(),
            bytes: RECORDS_CSV.as_bytes().into(),
            executable: false,
        });
        Ok(Self {
            manifest,
            sources,
            snippets,
        })
    }

    fn read(folder: &Path) -> Result<Self, SubjectsError> {
        let sources = Sources::read(folder)?;
        Self::new(&folder.join(MANIFEST).display().to_string(), sources)
    }

    /// The parsed `subject.toml`.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

#[cfg(test)]
mod tests;
