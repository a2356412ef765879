//! Opens regular files that another program may have replaced, and manages folders that exist only while this
//! program runs.

pub(crate) mod regular;
pub(crate) mod scratch;
