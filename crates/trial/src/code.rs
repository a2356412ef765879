//! The code that writes and reads messages.

use serde::{Deserialize, Serialize};

/// Whether generated or dynamic code writes and reads the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CodeKind {
    /// Code generated from the descriptors at build time.
    Generated,
    /// Code that works from descriptors at run time.
    Dynamic,
}
