//! Checks the versions that a subject reports against those in its `subject.toml`.

use std::collections::{BTreeMap, BTreeSet};

use super::wrong;
use crate::error::TrialResult;

/// The versions in ready lines, by library. A stack may report different libraries, for example codecs,
/// depending on its settings.
#[derive(Debug, Default)]
pub(super) struct Reported {
    by_name: BTreeMap<String, BTreeSet<String>>,
    starts: u32,
}

impl Reported {
    pub(super) fn note(&mut self, versions: &BTreeMap<String, String>) {
        self.starts += 1;
        for (name, version) in versions {
            let all = self.by_name.entry(name.clone()).or_default();
            all.insert(version.clone());
        }
    }

    /// Whether there has been a ready line.
    pub(super) fn is_known(&self) -> bool {
        self.starts > 0
    }

    /// What several stacks reported.
    pub(super) fn all(several: Vec<Self>) -> Self {
        let mut all = Self::default();
        for other in several {
            all.starts += other.starts;
            for (name, versions) in other.by_name {
                all.by_name.entry(name).or_default().extend(versions);
            }
        }
        all
    }

    /// Checks that the reported versions match the pinned ones. A stack reports only the libraries that it
    /// uses.
    pub(super) fn agree(&self, pinned: &BTreeMap<String, String>) -> TrialResult {
        let mut others = Vec::new();
        for (name, pinned) in pinned {
            let reported = self.by_name.get(name).into_iter().flatten();
            let other = reported.filter(|version| *version != pinned);
            others.extend(other.map(|version| format!("{name} {version}, but {pinned} is pinned")));
        }
        if others.is_empty() {
            Ok(())
        } else {
            Err(wrong(format!("it reports {}", others.join("; "))))
        }
    }

    /// Checks that every pinned version was reported.
    pub(super) fn is_complete(&self, pinned: &BTreeMap<String, String>) -> TrialResult {
        let names = pinned.keys().map(String::as_str);
        let missing: Vec<&str> = names
            .filter(|name| !self.by_name.contains_key(*name))
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(wrong(format!("no stack reports {}", missing.join(", "))))
        }
    }
}
