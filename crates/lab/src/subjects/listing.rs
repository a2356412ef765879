//! Lists all subjects and what their stacks support.

use std::collections::BTreeMap;

use rpcgauge_study::features::{Features, embedded_only};
use rpcgauge_study::settings::REFERENCE;
use rpcgauge_study::subject::Recommended;
use serde::Serialize;

use super::{Package, State, Subjects, SubjectsError};

/// A subject in the list.
#[derive(Debug, Serialize)]
pub struct ListedSubject<'a> {
    /// The subject's name.
    pub name: &'a str,
    /// The language it is written in.
    pub language: &'a str,
    /// `built`, `not-built`, `missing` or `embedded`.
    pub state: &'static str,
    /// What the subject needs but is missing, and what to do.
    pub missing: Vec<String>,
    /// The versions of the subject's libraries.
    pub versions: BTreeMap<String, String>,
    /// The subject's stacks.
    pub stacks: Vec<ListedStack<'a>>,
}

/// A stack in the list.
#[derive(Debug, Serialize)]
pub struct ListedStack<'a> {
    /// The stack's name, as studies write it.
    pub name: String,
    /// What the stack supports.
    #[serde(flatten)]
    pub features: Features,
    /// The settings that the stack's library recommends.
    pub recommended: &'a [Recommended],
}

impl Subjects {
    /// Lists all subjects, the embedded one first.
    ///
    /// # Errors
    /// Fails if there is no folder for the cache.
    pub fn list(&self) -> Result<Vec<ListedSubject<'_>>, SubjectsError> {
        let mut listed = vec![embedded()];
        for package in self.all() {
            listed.push(package.describe()?);
        }
        Ok(listed)
    }
}

fn embedded() -> ListedSubject<'static> {
    let stack = |(name, features)| ListedStack {
        name,
        features,
        recommended: &[],
    };
    ListedSubject {
        name: REFERENCE,
        language: "Rust",
        state: "embedded",
        missing: Vec::new(),
        versions: BTreeMap::new(),
        stacks: embedded_only().into_iter().map(stack).collect(),
    }
}

impl Package {
    fn describe(&self) -> Result<ListedSubject<'_>, SubjectsError> {
        let manifest = self.manifest();
        let (state, missing) = match self.state()? {
            State::Built => ("built", Vec::new()),
            State::NotBuilt => ("not-built", Vec::new()),
            State::Missing(missing) => ("missing", missing),
        };
        let stacks = manifest.stacks.iter().zip(manifest.features());
        Ok(ListedSubject {
            name: &manifest.name,
            language: &manifest.language,
            state,
            missing,
            versions: manifest.versions.clone(),
            stacks: stacks
                .map(|(stack, (name, features))| ListedStack {
                    name,
                    features,
                    recommended: &stack.recommended,
                })
                .collect(),
        })
    }
}
