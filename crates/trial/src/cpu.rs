//! Processor time.

use serde::{Deserialize, Serialize};

/// Processor time of a thread or process, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// User and system together.
    pub total_ns: u64,
    /// In user mode, by the kernel's estimate; absent, as is `system_ns`, where the split is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_ns: Option<u64>,
    /// In the kernel, by the kernel's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_ns: Option<u64>,
}

impl Cpu {
    /// User and system time, where they are known apart. Both at 0 beside a total are not: the kernel
    /// counted no tick.
    pub fn split(&self) -> Option<[u64; 2]> {
        let split = [self.user_ns?, self.system_ns?];
        (split != [0, 0] || self.total_ns == 0).then_some(split)
    }
}
