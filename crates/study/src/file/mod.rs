//! A study file as written: every value with its position in the TOML.
//!
//! [`StudyFile::parse`] makes the checks that need nothing but the table at hand: names, types, ranges, conflicting
//! keys. Checks that need the whole study or other files wait until the study is resolved.

mod layer;
mod part;
mod service;
mod top;
mod workload;

#[cfg(test)]
mod tests;

use std::path::Path;

use rpcgauge_message::whole_file::without_mark;

use crate::error::{Source, StudyError};
use crate::read::Table;
use crate::setting::Key;

pub(crate) use layer::{Layer, Values};
use part::each;
pub(crate) use part::{ClaimWritten, Group, PairWritten, Part, Processes, VariantWritten};
pub use service::parse_header;
pub(crate) use service::{CallWritten, ServiceWritten};
pub(crate) use top::{CapacityWritten, Others, PlacementWritten, Top};
pub(crate) use workload::{OwnWritten, Paths, WorkloadWritten, check_description};

/// A study file, parsed as written and not yet resolved.
#[derive(Debug, Clone)]
pub struct StudyFile {
    pub(crate) source: Source,
    pub(crate) name: String,
    question: String,
    pub(crate) placement: PlacementWritten,
    pub(crate) top: Top,
    pub(crate) part: Part,
    pub(crate) groups: Vec<Group>,
}

impl StudyFile {
    /// Parses a study's text. `file` is its name in messages: the path as the user wrote it, or a built-in's name.
    /// Its stem becomes the study's name.
    ///
    /// # Errors
    /// The first problem, with its line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, StudyError> {
        let source = Source {
            file: file.into(),
            text: text.into(),
        };
        // Settings are the keys most often written one level too high.
        let mut table = Table::root(&source)?
            .hinting(|key| Key::from_name(key).map(|_| "it is a setting: write it under [base]"));
        let placement = PlacementWritten::read(&mut table)?;
        let part = Part::read(&mut table)?;
        let groups = each(table.tables("groups")?, Group::read)?;
        let top = Top::read(table)?;
        let question = match &top.question {
            Some(question) => Some(question.to_string()),
            None => first_comment(text),
        };
        let question = question.ok_or_else(|| {
            let message = "a study begins with its question; write question = \"Is …?\" or a comment \
                in the first line";
            source.error(0..0, message)
        })?;
        Ok(Self {
            name: study_name(file),
            question,
            placement,
            top,
            part,
            groups,
            source,
        })
    }

    /// The study's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The question that the study asks.
    pub fn question(&self) -> &str {
        &self.question
    }

    /// The text as given.
    pub fn text(&self) -> &str {
        &self.source.text
    }
}

/// Returns the comment in the first line, which is the question of a study without a `question` key.
pub(crate) fn first_comment(text: &str) -> Option<String> {
    let comment = without_mark(text).lines().next()?.strip_prefix('#')?;
    let question = comment.trim_matches(['#', ' ']);
    (!question.is_empty()).then(|| question.to_owned())
}

/// Returns a file's stem, with `-` in place of each character that is not safe in a directory name on every system.
pub(crate) fn study_name(file: &str) -> String {
    let stem = Path::new(file).file_stem().unwrap_or_default();
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    match stem.to_string_lossy().replace(|c| !is_plain(c), "-") {
        empty if empty.is_empty() => "study".to_owned(),
        plain => plain,
    }
}
