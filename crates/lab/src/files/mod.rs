//! Regular files, which another program may have replaced, and folders that are removed when this program ends.

pub(crate) mod regular;
pub(crate) mod scratch;
