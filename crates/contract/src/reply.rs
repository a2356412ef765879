//! What a subject replies to its settings.

use std::collections::BTreeMap;

use rpcgauge_message::CodeKind;
use rpcgauge_trial::{Address, Fault};
use serde::{Deserialize, Serialize};

use crate::ContractError;

/// A subject's only reply to its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The subject is ready.
    Ready(Ready),
    /// It cannot do what was asked. It exits after this line.
    Failed(Failed),
}

/// The subject is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ready {
    /// The reply of a process with one part.
    #[serde(flatten)]
    pub only: ReadyPart,
    /// The reply of each part, in the order of the settings; empty for a single part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ReadyPart>,
    /// The process whose CPU time and memory are measured, if it is not the process that was
    /// started (for example, the child of a wrapper script).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Versions of the language, the libraries and the subject itself, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
}

/// The reply of one ready part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReadyPart {
    /// Where the part listens; absent for a client or codec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The server's certificate in PEM, if it was asked to serve TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Whether generated or dynamic code builds and reads the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeKind>,
    /// The resolution of the clock of a client or codec, ns; absent if it is finer than what is timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ns: Option<u32>,
}

impl Ready {
    /// Returns the reply of each of the `count` parts in the settings.
    ///
    /// # Errors
    /// [`ContractError::Parts`] if the reply does not have exactly `count` parts.
    pub fn parts(self, count: usize) -> Result<Vec<ReadyPart>, ContractError> {
        let parts = if self.parts.is_empty() {
            vec![self.only]
        } else {
            self.parts
        };
        if parts.len() == count {
            Ok(parts)
        } else {
            Err(ContractError::Parts {
                asked: count,
                said: parts.len(),
            })
        }
    }
}

/// The subject cannot do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failed {
    /// One line: what failed, where, and how to fix it.
    pub error: String,
    /// Who can fix it.
    pub fault: Fault,
}

/// Maximum number of versions reported by a subject, or in the environment of a run.
pub const MAX_VERSIONS: usize = 64;

/// Maximum length, in characters, of the name or text of a version.
pub const MAX_VERSION_CHARS: usize = 100;

/// Checks the versions that a subject reports, because reports show them.
///
/// # Errors
/// There are too many versions, or one is too long or not printable ASCII.
pub fn check_versions(versions: &BTreeMap<String, String>) -> Result<(), String> {
    if versions.len() > MAX_VERSIONS {
        let count = versions.len();
        return Err(format!(
            "\"versions\" has {count} entries; at most {MAX_VERSIONS} are allowed"
        ));
    }
    let mut texts = versions.iter().flat_map(|(name, version)| [name, version]);
    let is_plain = |c: u8| c == b' ' || c.is_ascii_graphic();
    match texts.find(|text| text.len() > MAX_VERSION_CHARS || !text.bytes().all(is_plain)) {
        Some(_) => Err(format!(
            "\"versions\" must be printable ASCII of at most {MAX_VERSION_CHARS} characters each"
        )),
        None => Ok(()),
    }
}
