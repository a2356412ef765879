//! Files that others may have put something else in place of, and folders that end with this program.

pub(crate) mod regular;
pub(crate) mod scratch;
