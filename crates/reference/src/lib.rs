//! The embedded reference server: the subject that is always there.

pub mod floor;
pub mod listen;
