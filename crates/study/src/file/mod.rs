//! A study as written: TOML, with the place of everything in it.
//!
//! [`StudyFile::parse`] checks what one key can tell: names, types, ranges, keys that contradict
//! each other. What needs the whole, or other files, is checked when it is resolved.

mod part;
pub(crate) mod read;
mod setting;
mod top;
mod workload;

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::error::{Source, StudyError};

pub(crate) use part::{ClaimWritten, Names, PairWritten, Part, VariantWritten};
pub(crate) use setting::{CALL_KEYS, CODEC_KEYS, Key, Layer, Value};
pub(crate) use top::Top;
pub(crate) use workload::{OwnWritten, WorkloadWritten};

/// A study file, parsed as written and not yet resolved.
#[derive(Debug, Clone)]
pub struct StudyFile {
    pub(crate) source: Source,
    pub(crate) name: String,
    pub(crate) top: Top,
}

impl StudyFile {
    /// Parses a study's text. `file` is what messages call it: its path as the user wrote it, or a
    /// built-in's name; its stem becomes the study's name.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, StudyError> {
        let source = Source {
            file: file.into(),
            text: text.into(),
        };
        let document = read::document(&source)?;
        let top = Top::read(&read::Table::root(&source, "a study", &document), text)?;
        Ok(Self {
            name: study_name(file),
            top,
            source,
        })
    }

    /// The study's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The question it asks.
    pub fn question(&self) -> &str {
        &self.top.question
    }

    /// The text as given.
    pub fn text(&self) -> &str {
        &self.source.text
    }
}

/// Every key that a study file can have, anywhere in it, for completions and for the guide's test.
pub fn known_keys() -> Vec<&'static str> {
    let mut keys = setting::setting_keys();
    let lists: [&[&str]; 8] = [
        &top::TOP_KEYS,
        &top::PLACEMENT_KEYS,
        &top::WARMUP_KEYS,
        &part::PART_KEYS,
        &part::PAIR_KEYS,
        &part::CLAIM_KEYS,
        &part::PUBLISHED_KEYS,
        &workload::OWN_KEYS,
    ];
    keys.extend(lists.concat());
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A file's stem in the characters that a directory's name can hold anywhere.
fn study_name(file: &str) -> String {
    let stem = Path::new(file)
        .file_stem()
        .map_or_else(String::new, |s| s.to_string_lossy().into());
    let plain: String = stem
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    if plain.is_empty() {
        "study".to_owned()
    } else {
        plain
    }
}
