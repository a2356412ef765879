//! Who must act on a failure.

use serde::{Deserialize, Serialize};

/// Who can do something about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// What the user asked for cannot be done: a sample that does not fit its message, for one.
    User,
    /// This program, its settings or its message: to a subject, whoever wrote its settings line.
    Instrument,
    /// What is called: a server, or something in between that speaks for it; a subject that lacks
    /// what it declared, or broke.
    Subject,
    /// The machine: a port, a path, a limit, memory.
    Machine,
}

impl Fault {
    /// The exit code of a subject that ends with this fault.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Subject => 1,
            Self::User | Self::Instrument => 2,
            Self::Machine => 3,
        }
    }
}
