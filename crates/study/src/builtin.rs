//! The built-in studies, embedded in the program.

use rpcgauge_message::nearest::Nearest;

use crate::app::AppStudy;
use crate::error::StudyError;
use crate::file::StudyFile;

/// A built-in study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name on the command line.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

macro_rules! built_in {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../studies/", $name, ".toml")),
        }
    };
}

/// All built-in studies, beginning with the one to try first.
pub static ALL: [BuiltIn; 16] = [
    built_in!("quickstart"),
    built_in!("several"),
    built_in!("list"),
    built_in!("gzip"),
    built_in!("links"),
    built_in!("unix-socket"),
    built_in!("campus"),
    built_in!("encodings"),
    built_in!("connections"),
    built_in!("python"),
    built_in!("stacks"),
    built_in!("styles"),
    built_in!("streaming"),
    built_in!("crossings"),
    built_in!("advice"),
    built_in!("libraries"),
];

impl BuiltIn {
    /// Whether it is a study of an application.
    pub fn is_of_app(&self) -> bool {
        AppStudy::is_one(self.text)
    }

    /// The question that it asks.
    ///
    /// # Errors
    /// The study cannot be parsed.
    pub fn question(&self) -> Result<String, StudyError> {
        if self.is_of_app() {
            AppStudy::parse(self.text, self.name).map(|study| study.question().to_owned())
        } else {
            StudyFile::parse(self.text, self.name).map(|study| study.question().to_owned())
        }
    }
}

/// There is no built-in study of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no built-in study \"{name}\"{hint}")]
pub struct NoSuchStudy {
    name: String,
    hint: Nearest,
}

/// Returns the built-in study with this name.
///
/// # Errors
/// There is no such study. The message suggests the nearest names.
pub fn find(name: &str) -> Result<&'static BuiltIn, NoSuchStudy> {
    let found = ALL.iter().find(|study| study.name == name);
    found.ok_or_else(|| NoSuchStudy {
        name: name.to_owned(),
        hint: Nearest::or_known(name, ALL.iter().map(|study| study.name)),
    })
}
