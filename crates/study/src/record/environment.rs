//! The machine that a run was measured on, and what it allowed.

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
    /// A digest of the machine's id (machine-id(5)), which tells equal machines apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// The operating system and kernel.
    pub system: String,
    /// The processor's name, as the system reports it.
    pub processor: String,
    /// Cores this program may use.
    pub cores: u32,
    /// Memory of the machine, bytes.
    pub memory_bytes: u64,
    /// The virtual machine or container that it runs in, if any is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualization: Option<String>,
    /// The frequency governor, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The idle states that were asked for, and those that were granted.
    pub idle: IdleOutcome,
    /// The subjects that took part, by name, with the versions that they reported.
    #[serde(deserialize_with = "checked_versions")]
    pub subjects: BTreeMap<String, BTreeMap<String, String>>,
    /// What the stacks that took part need on the disk, without their language's runtime, bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disk: BTreeMap<String, u64>,
    /// Anything else about the machine that makes figures noisy, one line each.
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

/// The idle states that were asked for, and those that were granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleOutcome {
    /// What the study asked for.
    pub asked: Idle,
    /// What the machine granted.
    pub got: Idle,
    /// Why they differ, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
