//! The embedded reference server: the subject that is always there.
