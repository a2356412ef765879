//! The machine that a run was measured on, and what it allowed the lab to do.

use std::collections::BTreeMap;

use rpcgauge_contract::check_versions;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::settings::Idle;

/// The machine and the programs of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// rpcgauge's own version.
    pub rpcgauge: String,
    /// SHA-256 of rpcgauge's executable, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<String>,
    /// A digest of the machine's id (machine-id(5)), which distinguishes otherwise equal machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// The operating system and kernel.
    pub system: String,
    /// The processor's name, as the system reports it.
    pub processor: String,
    /// The number of cores that this program may use.
    pub cores: u32,
    /// The machine's memory, bytes.
    pub memory_bytes: u64,
    /// The virtual machine or container that it runs in, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualization: Option<String>,
    /// The CPU frequency governor, if the system reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The requested and the granted idle states.
    pub idle: IdleOutcome,
    /// The subjects of the run, by name, with the versions that they reported.
    #[serde(deserialize_with = "checked_versions")]
    pub subjects: BTreeMap<String, BTreeMap<String, String>>,
    /// By stack: the disk space that it needs, not including its language's runtime, bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disk: BTreeMap<String, u64>,
    /// Other facts about the machine that make figures noisy, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

fn checked_versions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, BTreeMap<String, String>>, D::Error> {
    let subjects = BTreeMap::<String, BTreeMap<String, String>>::deserialize(deserializer)?;
    let mut each = subjects.values();
    each.try_for_each(check_versions)
        .map_err(D::Error::custom)?;
    Ok(subjects)
}

/// The requested and the granted idle states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleOutcome {
    /// What the study requested.
    pub asked: Idle,
    /// What the machine granted.
    pub got: Idle,
    /// Why they differ, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
