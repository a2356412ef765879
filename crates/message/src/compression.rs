//! How encoded bytes become fewer.

use serde::{Deserialize, Serialize};

/// How encoded bytes become fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip (RFC 1952).
    Gzip {
        /// 1 (fast) to 9 (small).
        level: u32,
    },
    /// Zstandard (RFC 8878).
    Zstd {
        /// 1 (fast) to 19 (small).
        level: i32,
    },
}
